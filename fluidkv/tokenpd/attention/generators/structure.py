"""A structure as a value, and attention weights drawn from it.

Each part and each request draws from a generator of its own, so that a request is the same however
many there are, and a part draws the same whatever stands beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator, SeedSequence

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import MOST_TOKENS, count, not_negative, real
from fluidkv.tokenpd.attention.generators.lifts import Lift
from fluidkv.tokenpd.attention.generators.parts import LogitPart
from fluidkv.tokenpd.attention.weights import Attention

_PARTS, _LIFTS, _SHARPNESS, _LENGTHS, _STARTS = range(5)  # what a generator is for


@dataclass(frozen=True)
class Structure(Record):
    """Who attends to whom: softmax over sharpness times the sum of parts, then the lifts in turn.

    Fields:
        parts: summands of the logits; none: all keys alike.
        lifts: shares of the mass, see `Lift`.
        sharpness: the least and the most; each request draws its own, the logarithm uniformly.
            Below 1 a request is more diffuse, above 1 more peaked than the parts say.

    Raises:
        InputError: a sharpness not above 0, or a most below the least.

    Examples:
        >>> from fluidkv.tokenpd import Structure
        >>> Structure().drawn(seed=0, request=0, prompt=1, length=2).tolist()  # all keys alike
        [[1.0, 0.0], [0.5, 0.5]]
    """

    parts: tuple[LogitPart, ...] = ()
    lifts: tuple[Lift, ...] = ()
    sharpness: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        least, most = self.sharpness
        if not 0 < real(least) <= real(most) < math.inf:
            raise InputError("sharpness", self.sharpness, "two numbers above 0, the least first")

    def drawn(
        self, seed: int, request: int, prompt: int, length: int
    ) -> Float[np.ndarray, "query key"]:
        """The weights of one request over (query, key), float64."""
        logits = np.zeros((length, length))
        for at, part in enumerate(self.parts):
            logits += part.logits(_stream(seed, request, _PARTS, at), length)
        least, most = np.log(self.sharpness)
        logits *= math.exp(_stream(seed, request, _SHARPNESS).uniform(least, most))
        weights = _softmax(logits)
        for at, lift in enumerate(self.lifts):
            weights = lift.lifted(_stream(seed, request, _LIFTS, at), weights, prompt)
        return weights


def generated(
    structure: Structure,
    seed: int,
    *,
    requests: int = 16,
    prompt: int | tuple[int, int] = 64,
    length: int | tuple[int, int] = 256,
    gap: float = 0.0,
    poisson: bool = False,
) -> Attention:
    """Attention weights of requests, a stream each, in float32.

    Args:
        seed: of all draws, at least 0.
        requests: how many.
        prompt: tokens of a prompt; the least and the most where each request draws its own.
        length: tokens at the end, the prompt included, at least as many; or the least and the most.
        gap: rounds between the starts of two requests, on average; fractions are rounded down. With
            0 all start in round 0. About (length - prompt + 1) / gap of many requests run at once.
        poisson: gaps are drawn from an exponential distribution, instead of all alike.

    Returns:
        An array of requests x length x length: 64 requests of 1,024 tokens take 268 MB.

    Raises:
        InputError: a count below 1, a length below the prompt's, a gap below 0, no structure.

    Examples:
        >>> from fluidkv.tokenpd import generated, generators
        >>> mixed = generators()["mixed"]
        >>> attention = generated(mixed, seed=0, requests=3, prompt=4, length=(8, 14))
        >>> attention.length.tolist(), attention.weights.shape
        ([9, 13, 14], (3, 14, 14))
    """
    count("seed", seed, least=0)
    number = count("requests", requests)
    not_negative("gap", gap, most=MOST_TOKENS)
    prompts = _sizes("prompt", prompt, seed, number, 0)
    lengths = _sizes("length", length, seed, number, 1)
    if (lengths < prompts).any():
        raise InputError("length", length, "no shorter than the prompt")
    weights = np.zeros((number, lengths.max(), lengths.max()), np.float32)
    for at, (first, last) in enumerate(zip(prompts.tolist(), lengths.tolist(), strict=True)):
        weights[at, :last, :last] = structure.drawn(seed, at, first, last)
    start = _starts(seed, number, gap, poisson=poisson)
    return Attention(weights, prompts, lengths, start, np.arange(number))


def _stream(seed: int, *path: int) -> Generator:
    return np.random.Generator(np.random.PCG64(SeedSequence([seed, *path])))


def _softmax(logits: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    logits = np.where(np.tri(len(logits), dtype=bool), logits, -np.inf)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def _sizes(
    argument: str, given: int | Sequence[int], seed: int, number: int, which: int
) -> Int[np.ndarray, " request"]:
    if isinstance(given, tuple | list):
        if len(given) != 2 or count(argument, given[1]) < count(argument, given[0]):
            raise InputError(argument, given, "a number of tokens, or the least and the most")
        drawn = [_stream(seed, at, _LENGTHS, which).random() for at in range(number)]
        return given[0] + (np.array(drawn) * (given[1] - given[0] + 1)).astype(np.int64)
    return np.full(number, count(argument, given))


def _starts(seed: int, number: int, gap: float, *, poisson: bool) -> Int[np.ndarray, " request"]:
    gaps = np.ones(number)
    if poisson:
        gaps = np.array([_stream(seed, at, _STARTS).exponential() for at in range(number)])
    gaps[0] = 0
    return np.floor(gap * np.cumsum(gaps)).astype(np.int64)
