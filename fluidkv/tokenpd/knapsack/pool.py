"""The tokens that may be kept, and what keeping each brings in each round."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count


@dataclass(frozen=True)
class Pool(Record):
    """Tokens of requests over rounds.

    Lists become arrays, and single precision double, in which worths are computed; integers, and
    arrays of objects such as Fractions, stay what they are.

    Fields:
        returns: R, what keeping the token in the round brings; within [0, 1].
        request: whose token it is.
        arrival, end: the token may be kept in rounds arrival <= t < end; its request ends then.
        risk: sigma^2 of the return.
        predicted: R as the rule sees it when it chooses; the returns themselves where None, as in
            Appendix A, which lets the rule see a round before it chooses.
        cost: c, units of memory of a token.

    Raises:
        InputError: axes that do not fit, or what is no number; a request that ends before it
            starts; returns outside [0, 1]; a risk below 0 or infinite, or such a prediction.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> returns, risk = [[1, 0.5], [1, 0.25]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 1], arrival=[0, 0], end=[2, 1], risk=risk)
        >>> pool.present.tolist()  # the second token's request ends after the first round
        [[True, True], [True, False]]
    """

    returns: Float[np.ndarray, "round token"]
    request: Int[np.ndarray, " token"]
    arrival: Int[np.ndarray, " token"]
    end: Int[np.ndarray, " token"]
    risk: Float[np.ndarray, "round token"]
    predicted: Float[np.ndarray, "round token"] | None = None
    cost: int = 1

    def __post_init__(self) -> None:
        for name in ("returns", "risk", "predicted"):
            values = getattr(self, name)
            if name != "predicted" or values is not None:
                object.__setattr__(self, name, _numbers(name, values))
        for name in ("request", "arrival", "end"):
            object.__setattr__(self, name, _integers(name, getattr(self, name)))
        rounds, tokens = _shape(self.returns)
        _fits("risk", self.risk, (rounds, tokens))
        if self.predicted is not None:
            _fits("predicted", self.predicted, (rounds, tokens))
        for name in ("request", "arrival", "end"):
            _fits(name, getattr(self, name), (tokens,))
        early = np.flatnonzero(self.end <= self.arrival)
        if early.size:
            at = int(early[0])
            raise InputError(
                "end", int(self.end[at]), f"a round after the arrival {int(self.arrival[at])}"
            )
        if not ((self.returns >= 0) & (self.returns <= 1)).all():
            raise InputError("returns", self.returns, "numbers within 0 and 1")
        if not ((self.risk >= 0) & (self.risk < np.inf)).all():
            raise InputError("risk", self.risk, "finite numbers of at least 0")
        if not ((self.seen > -np.inf) & (self.seen < np.inf)).all():
            raise InputError("predicted", self.predicted, "finite numbers")
        count("cost", self.cost)

    @property
    def seen(self) -> Float[np.ndarray, "round token"]:
        """R as the rule sees it."""
        return self.returns if self.predicted is None else self.predicted

    @property
    def present(self) -> np.ndarray:
        """Which tokens may be kept in which round: (round, token), bool."""
        rounds = np.arange(len(self.returns))[:, None]
        return (self.arrival <= rounds) & (rounds < self.end)


def _numbers(name: str, values: Any) -> np.ndarray:
    array = _array(name, values)
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind not in "iuO" or not all(isinstance(each, Real) for each in array.flat):
        raise InputError(name, values, "an array of numbers")
    return array


def _integers(name: str, values: Any) -> np.ndarray:
    array = _array(name, values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(name, values, "an array of integers")
    return array.astype(np.int64, copy=False)


def _array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        raise InputError(name, values, "an array") from None


def _shape(returns: np.ndarray) -> tuple[int, int]:
    if returns.ndim != 2:
        raise InputError("returns", returns.shape, "an array with the axes (round, token)")
    return returns.shape[0], returns.shape[1]


def _fits(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(name, array.shape, f"an array of shape {shape}, as returns have")
