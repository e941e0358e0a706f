"""Systems as the kernel reads them: a row of each table for each system, filled up with zeros.

A *unit* is what one unit of admission is made of. What a unit of age s holds is V_s, and how many
of its requests live is alpha_s, as in `cohort_model`. Its *parts* are the requests that complete
together: with `class_model` those of one class, with `cohort_model` those of one decode length.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.model import MassModel

STAGES, PARTS, BY_CLASS = range(3)
HELD, ALIVE = range(2)
SHARE, FREED = range(2)

_EPS = float(np.finfo(np.float64).eps)


class Tables(NamedTuple):
    """Systems in arrays; the last axis of most has the columns named above.

    Fields, of each system:
        sizes: STAGES, d, its longest decode length; PARTS, how many there are; BY_CLASS, whether
            each part is a class that has a row in a state (1), or there is one row, of units (0).
    of each age of a unit, below d:
        unit: HELD, V_s; ALIVE, alpha_s.
    of each part:
        decode: decode length.
        parts: SHARE, its requests in a unit; FREED, the tokens by which memory is smaller where
            one of them completes, with the one that it would have grown by: l0 + l1 + 1.
    """

    sizes: Int[np.ndarray, "system 3"]
    unit: Float[np.ndarray, "system stage 2"]
    decode: Int[np.ndarray, "system part"]
    parts: Float[np.ndarray, "system part 2"]

    @property
    def rows(self) -> Int[np.ndarray, " system"]:
        """Rows of a state."""
        return np.where(self.sizes[:, BY_CLASS] > 0, self.sizes[:, PARTS], 1)


def of_model(model: MassModel) -> Tables | None:
    """The systems of a model, or its one system; None where it is none of `class_model` or
    `cohort_model`, or in float32.

    What is asked of the weights is what the kernel uses: as long as a request lives it grows by one
    token an iteration, up to the roundings of `cohort_model`.
    """
    if model.precision != "float64":
        return None
    rows, stages = model.weights.shape[-2:]
    weights, alive = (
        np.asarray(values, np.float64).reshape(-1, rows, stages)
        for values in (model.weights, model.survival)
    )
    shares = np.asarray(model.shares, np.float64).reshape(-1, rows)
    cohorts = rows == 1
    found = (
        _by_age(weights[:, 0], alive[:, 0], shares) if cohorts else _rows(weights, alive, shares)
    )
    if found is None:
        return None
    decode, parts = found
    unit = np.stack([np.einsum("sk,ska->sa", shares, each) for each in (weights, alive)], axis=2)
    counts = (decode > 0).sum(axis=1)
    by_class = (counts > 1) & (not cohorts)
    sizes = np.stack([decode.max(axis=1), counts, by_class], axis=1)
    return Tables(sizes.astype(np.int64), unit, decode, parts)


def _rows(
    weights: Float[np.ndarray, "system class stage"],
    alive: Float[np.ndarray, "system class stage"],
    shares: Float[np.ndarray, "system class"],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Decode lengths and parts, of classes; classes that a system does not have are the last."""
    decode = (weights > 0).sum(axis=2)
    stage = np.arange(weights.shape[2])
    lives = stage < decode[:, :, None]
    told = np.where(lives, weights[:, :, :1] + stage, 0.0)
    one_after_the_other = np.all(decode[:, 0] > 0) and np.all(
        (decode[:, 1:] > 0) <= (decode[:, :-1] > 0)
    )
    if not (np.array_equal(weights, told) and np.array_equal(alive, lives) and one_after_the_other):
        return None
    return decode, np.stack([shares, weights[:, :, 0] + decode], axis=2)


def _by_age(
    held: Float[np.ndarray, "system stage"],
    alive: Float[np.ndarray, "system stage"],
    shares: Float[np.ndarray, "system 1"],
) -> tuple[np.ndarray, np.ndarray] | None:
    """The same, of V_s and alpha_s: requests complete after each age at which alpha falls."""
    leaving = alive - np.pad(alive[:, 1:], ((0, 0), (0, 1)))
    freed = held + alive - np.pad(held[:, 1:], ((0, 0), (0, 1)))
    ends = leaving != 0.0
    rounding = 8 * held.shape[1] * _EPS * held
    good = np.where(ends, (leaving > 0) & (freed > 0), np.abs(freed) <= rounding)
    if not (np.all(good) and np.all(ends.any(axis=1)) and np.array_equal(held > 0, alive > 0)):
        return None
    if np.any(shares != 1.0):
        return None
    system, age = np.nonzero(ends)
    place = (np.cumsum(ends, axis=1) - 1)[ends]
    decode = np.zeros((len(held), int(ends.sum(axis=1).max())), np.int64)
    decode[system, place] = age + 1
    parts = np.zeros((*decode.shape, 2))
    parts[system, place] = np.stack([leaving, freed / np.where(ends, leaving, 1.0)], axis=2)[ends]
    return decode, parts
