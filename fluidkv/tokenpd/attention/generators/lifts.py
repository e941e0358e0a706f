"""Lifts: keys that are to have a stated share of a row's mass.

On the level of logits a lift adds one number to those keys in that row, just as large as the share
asks for; all other weights keep their ratios. Lifts are applied in turn: one that comes later takes
its share from all, from keys that were lifted before too.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Bool, Float
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import count, real

Weights = Float[np.ndarray, "query key"]


class Lift(Protocol):
    """A change of weights that keeps the sums of rows at one.

    Examples:
        >>> from fluidkv.tokenpd import Structure
        >>> class OnlyItself:
        ...     def lifted(self, rng, weights, prompt):
        ...         return np.eye(len(weights))
        ...
        >>> Structure(lifts=(OnlyItself(),)).drawn(seed=0, request=0, prompt=1, length=2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    def lifted(self, rng: Generator, weights: Weights, prompt: int) -> Weights:
        """The weights of one request afterwards.

        Args:
            prompt: tokens of its prompt; the rows after them are of generated tokens.
        """
        ...


def with_share(weights: Weights, keys: Bool[np.ndarray, " key"], share: float) -> Weights:
    """The weights with `share` of each row on these keys; rows with no others stay as they are."""
    on_them = weights[:, keys].sum(1, keepdims=True)
    both = (on_them > 0) & (on_them < 1 - 1e-12)
    safe = np.where(both, on_them, 0.5)
    raised = weights * np.where(keys, share / safe, (1 - share) / (1 - safe))
    return np.where(both, raised, weights)


@dataclass(frozen=True)
class Sinks:
    """The first `tokens` tokens have together `share` of each row, as soon as there are others.

    Raises:
        InputError: no tokens, a share outside (0, 1).

    Examples:
        >>> from fluidkv.tokenpd import Sinks, Structure
        >>> weights = Structure(lifts=(Sinks(tokens=1, share=0.6),)).drawn(0, 0, prompt=1, length=3)
        >>> weights[2].round(2).tolist()
        [0.6, 0.2, 0.2]
    """

    tokens: int = 4
    share: float = 0.5

    def __post_init__(self) -> None:
        count("tokens", self.tokens)
        _inside("share", self.share)

    def lifted(self, rng: Generator, weights: Weights, prompt: int) -> Weights:
        """See `Lift`."""
        return with_share(weights, np.arange(len(weights)) < self.tokens, self.share)


class Spot(NamedTuple):
    """Where a needle lies and when it matters."""

    key: int
    row: int


@dataclass(frozen=True)
class Needle:
    """One early token that matters once, late, and before and after that hardly.

    Its key is drawn from the first `early` of the prompt, its row from the last `late` of the
    generated ones (each at least one). That row has `share` on it; all other rows, its own aside,
    have `faint` times what they would have. Without generated tokens there is no needle.

    Raises:
        InputError: a number outside (0, 1); for early, late and faint 1 is allowed.

    Examples:
        >>> from fluidkv.tokenpd import Needle, Structure
        >>> weights = Structure(lifts=(Needle(share=0.7),)).drawn(0, 0, prompt=4, length=8)
        >>> weights[4:, 0].round(2).tolist()  # what the first token has of each generated row
        [0.02, 0.02, 0.02, 0.7]
    """

    share: float = 0.7
    early: float = 0.25
    late: float = 0.25
    faint: float = 0.1

    def __post_init__(self) -> None:
        _inside("share", self.share)
        for name in ("early", "late", "faint"):
            if not 0 < real(getattr(self, name)) <= 1:
                raise InputError(name, getattr(self, name), "a number above 0, at most 1")

    def spot(self, rng: Generator, prompt: int, length: int) -> Spot:
        """Of one request that has generated tokens."""
        key = int(rng.integers(max(1, int(self.early * prompt))))
        last = max(1, int(self.late * (length - prompt)))
        return Spot(key, int(rng.integers(length - last, length)))

    def lifted(self, rng: Generator, weights: Weights, prompt: int) -> Weights:
        """See `Lift`."""
        length = len(weights)
        if length == prompt:
            return weights
        key, row = self.spot(rng, prompt, length)
        faint = weights.copy()
        faint[key + 1 :, key] *= self.faint
        faint /= faint.sum(1, keepdims=True)
        it = np.arange(length) == key
        faint[row] = with_share(weights[row : row + 1], it, self.share)[0]
        return faint


def _inside(argument: str, value: object) -> None:
    if not 0 < real(value) < 1:
        raise InputError(argument, value, "a number above 0 and below 1")
