"""Parts of the logits of attention: each is one reason why a query attends to a key.

A request's weights are the softmax of the sum of its parts over the keys up to the query's own. So
what a part says of the ratio of two keys' weights holds whatever the other parts are, where these
do not tell the two apart.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, count, real

Logits = Float[np.ndarray, "#query key"]


class LogitPart(Protocol):
    """A summand of the logits. Keys after the query's own are left out later.

    Examples:
        >>> from fluidkv.tokenpd import Structure
        >>> class SecondThrice:
        ...     def logits(self, rng, length):
        ...         return np.log([[1, 3]])
        ...
        >>> weights = Structure((SecondThrice(),)).drawn(seed=0, request=0, prompt=1, length=2)
        >>> weights[1].round(2).tolist()
        [0.25, 0.75]
    """

    def logits(self, rng: Generator, length: int) -> Logits:
        """Of one request, over (query, key); one row where all queries have the same."""
        ...


@dataclass(frozen=True)
class Recency:
    """A key's weight halves each `half_life` tokens of distance.

    Raises:
        InputError: a half-life not above 0.

    Examples:
        >>> from fluidkv.tokenpd import Recency, Structure
        >>> row = Structure((Recency(half_life=1),)).drawn(0, 0, prompt=1, length=3)[2]
        >>> (row / row[2]).round(2).tolist()
        [0.25, 0.5, 1.0]
    """

    half_life: float = 32.0

    def __post_init__(self) -> None:
        above_0("half_life", self.half_life)

    def logits(self, rng: Generator, length: int) -> Logits:
        """See `LogitPart`."""
        return -math.log(2) / self.half_life * _distances(length)


@dataclass(frozen=True)
class PowerLaw:
    """A key at distance d has (1 + d)^-exponent times the weight of the query's own.

    Raises:
        InputError: an exponent not above 0.

    Examples:
        >>> from fluidkv.tokenpd import PowerLaw, Structure
        >>> row = Structure((PowerLaw(exponent=1),)).drawn(0, 0, prompt=1, length=4)[3]
        >>> (row / row[3]).round(2).tolist()  # 1/4, 1/3, 1/2, 1
        [0.25, 0.33, 0.5, 1.0]
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        above_0("exponent", self.exponent)

    def logits(self, rng: Generator, length: int) -> Logits:
        """See `LogitPart`."""
        return -self.exponent * np.log1p(_distances(length))


@dataclass(frozen=True)
class HeavyHitters:
    """Tokens have a log-normal importance that stays: exp(spread Z), Z standard normal.

    With no other part, and many tokens, the most important share p of them has the share
    Phi(spread + Phi^-1(p)) of the mass: 64 % on 5 % of the tokens for a spread of 2.

    Raises:
        InputError: a spread below 0.

    Examples:
        >>> from fluidkv.tokenpd import HeavyHitters
        >>> logits = HeavyHitters(spread=2).logits(np.random.default_rng(0), 100_000)
        >>> mass = np.sort(np.exp(logits[0]))
        >>> round(float(mass[-5000:].sum() / mass.sum()), 2)  # of the 5 % that have most
        0.65
    """

    spread: float = 2.0

    def __post_init__(self) -> None:
        _at_least_0("spread", self.spread)

    def logits(self, rng: Generator, length: int) -> Logits:
        """See `LogitPart`."""
        return self.spread * rng.standard_normal((1, length))


@dataclass(frozen=True)
class Noise:
    """Each query likes each key by exp(spread Z) more or less, drawn anew: nobody can know it.

    Raises:
        InputError: a spread below 0.

    Examples:
        >>> from fluidkv.tokenpd import Noise
        >>> logits = Noise(spread=2).logits(np.random.default_rng(0), 500)
        >>> logits.shape, round(float(logits.std()), 1)
        ((500, 500), 2.0)
    """

    spread: float = 1.0

    def __post_init__(self) -> None:
        _at_least_0("spread", self.spread)

    def logits(self, rng: Generator, length: int) -> Logits:
        """See `LogitPart`."""
        return self.spread * rng.standard_normal((length, length))


@dataclass(frozen=True)
class TopicShifts:
    """Each token has the topic that was current when it was written; queries look for their own.

    The current topic stays for another token with probability 2^(-1 / half_life), else one of the
    others follows, each as likely. A key of the query's topic has exp(gain) times the weight that
    it would have for a query of another one.

    Raises:
        InputError: fewer than two topics, a half-life not above 0, a gain below 0.

    Examples:
        >>> from fluidkv.tokenpd.attention.generators.parts import TopicShifts
        >>> TopicShifts(topics=3, half_life=4).current(np.random.default_rng(0), 16).tolist()
        [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0]
    """

    topics: int = 8
    half_life: float = 64.0
    gain: float = 3.0

    def __post_init__(self) -> None:
        count("topics", self.topics, least=2)
        above_0("half_life", self.half_life)
        _at_least_0("gain", self.gain)

    def current(self, rng: Generator, length: int) -> Int[np.ndarray, " token"]:
        """The topic of each token."""
        stays = rng.random(length) < 2 ** (-1 / self.half_life)
        steps = np.where(stays, 0, rng.integers(1, self.topics, length))
        steps[0] = rng.integers(self.topics)
        return np.cumsum(steps) % self.topics

    def logits(self, rng: Generator, length: int) -> Logits:
        """See `LogitPart`."""
        topic = self.current(rng, length)
        return self.gain * (topic[:, None] == topic)


def _distances(length: int) -> Float[np.ndarray, "query key"]:
    """From the query back to the key, tokens; 0 where the key comes later."""
    at = np.arange(length, dtype=float)
    return np.maximum(at[:, None] - at, 0)


def _at_least_0(argument: str, value: object) -> None:
    if not 0 <= real(value) < math.inf:
        raise InputError(argument, value, "a finite number of at least 0")
