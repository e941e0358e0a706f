"""Systems as the compiled engine reads them: packed one after the other, without padding.

Of a system there are its ends, the different decode lengths, and its classes; no weights by stage,
since between two ends they grow by one token for each request that is alive.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.model import MassModel
from fluidkv.workload import System


class Tables(NamedTuple):
    """Systems in flat arrays.

    Fields, of each system:
        end, one: where its ends and its classes begin; one more at the end.
        by_class: whether a state has a row for each class; else one row, of units of admission.
    of each end, in increasing order:
        ends: decode length.
        units: of one unit of admission: requests that live between the end before and this one,
            and their input tokens; requests that complete here, and the tokens that they hold.
        classes: how many end here.
    of each class, those that end earlier first:
        rows: its place in the system, which is its row in a state.
        shares, inputs: p, l0.
    """

    end: Int[np.ndarray, " system+1"]
    one: Int[np.ndarray, " system+1"]
    by_class: Int[np.ndarray, " system"]
    ends: Int[np.ndarray, " end"]
    units: Float[np.ndarray, "end number"]
    classes: Int[np.ndarray, " end"]
    rows: Int[np.ndarray, " class"]
    shares: Float[np.ndarray, " class"]
    inputs: Float[np.ndarray, " class"]

    @property
    def stages(self) -> Int[np.ndarray, " system"]:
        """d, the longest decode length of each system."""
        return self.ends[self.end[1:] - 1]


def pack(
    lengths: Int[np.ndarray, "system class two"],
    shares: Float[np.ndarray, "system class"],
    *,
    by_class: bool,
) -> Tables:
    """Systems of (l0, l1) and p; a class of decode length 0 is none.

    With `by_class` states have a row for each class, as in `class_model`, else one for all, as in
    `cohort_model`. With one class both are the same.
    """
    inputs, decode = lengths[..., 0], lengths[..., 1]
    systems = len(decode)
    order = np.argsort(np.where(decode > 0, decode, np.iinfo(np.int64).max), axis=1, kind="stable")
    system, place = np.nonzero(np.take_along_axis(decode, order, axis=1) > 0)
    rows = order[system, place]
    ends, p = decode[system, rows], shares[system, rows]
    tokens = inputs[system, rows].astype(np.float64)
    # Classes that are the first of their end.
    first = np.ones(rows.size, bool)
    first[1:] = (ends[1:] != ends[:-1]) | (system[1:] != system[:-1])
    at = np.flatnonzero(first)
    leaving, input_leaving = np.add.reduceat(p, at), np.add.reduceat(p * tokens, at)
    freed = np.add.reduceat(p * (tokens + ends), at)
    counts = np.bincount(system, minlength=systems)
    end = np.concatenate([[0], np.cumsum(np.bincount(system[at], minlength=systems))])
    units = np.stack([_suffixes(leaving, end), _suffixes(input_leaving, end), leaving, freed], 1)
    return Tables(
        end=end.astype(np.int64),
        one=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        by_class=(np.full(systems, by_class) & (counts > 1)).astype(np.int64),
        ends=ends[at].astype(np.int64),
        units=units,
        classes=np.diff(np.append(at, rows.size)).astype(np.int64),
        rows=rows.astype(np.int64),
        shares=p.astype(np.float64),
        inputs=tokens,
    )


def of_systems(systems: Sequence[System], *, by_class: bool) -> Tables:
    """Exact systems, one after the other."""
    width = max(len(system.workload.classes) for system in systems)
    lengths = np.zeros((len(systems), width, 2), np.int64)
    shares = np.zeros((len(systems), width))
    for i, system in enumerate(systems):
        for k, c in enumerate(system.workload.classes):
            lengths[i, k] = c.input_length, c.decode_length
            shares[i, k] = float(c.share)
    return pack(lengths, shares, by_class=by_class)


def of_model(model: MassModel) -> Tables | None:
    """The one system of a model; None where the model is none of `class_model` or `cohort_model`.

    What is asked of the weights is what the engine uses: between two ends they grow by one token
    for each request that is alive, up to the roundings of `cohort_model`.
    """
    weights, alive = np.asarray(model.weights), np.asarray(model.survival)
    stage = np.arange(weights.shape[1])
    if len(weights) == 1:
        return _of_row(weights[0], alive[0], stage) if model.shares[0] == 1.0 else None
    decode = (weights > 0).sum(axis=1)
    lives = stage < decode[:, None]
    inputs = weights[:, 0] - 1
    told = np.where(lives, inputs[:, None] + 1 + stage, 0.0)
    if not (np.array_equal(weights, told) and np.array_equal(alive, lives) and decode.all()):
        return None
    if np.any(inputs != np.round(inputs)):
        return None
    lengths = np.stack([inputs.astype(np.int64), decode], axis=1)
    return pack(lengths[None], np.asarray(model.shares)[None], by_class=True)


def _of_row(weights: np.ndarray, alive: np.ndarray, stage: np.ndarray) -> Tables | None:
    """From effective weights V_s and survival: an end is where survival changes."""
    after = np.append(alive[1:], 0.0)
    ends = np.flatnonzero(alive != after) + 1
    if ends.size == 0 or ends[-1] != stage.size or np.any(alive < after) or weights.min() <= 0:
        return None
    first = np.concatenate([[0], ends[:-1]])
    held = alive[first]
    inputs = weights[first] - (1 + first) * held
    told = np.repeat(inputs, ends - first) + (1 + stage) * alive
    if np.any(np.abs(told - weights) > 8 * stage.size * np.finfo(np.float64).eps * weights):
        return None
    leaving = alive[ends - 1] - after[ends - 1]
    freed = inputs - np.append(inputs[1:], 0.0) + ends * leaving
    if np.any(freed <= 0):
        return None
    one = np.array([0, 1])
    return Tables(
        end=np.array([0, ends.size]),
        one=one,
        by_class=np.zeros(1, np.int64),
        ends=ends.astype(np.int64),
        units=np.stack([held, inputs, leaving, freed], 1),
        classes=np.ones(ends.size, np.int64),
        rows=np.zeros(1, np.int64),
        shares=np.ones(1),
        inputs=np.zeros(1),
    )


def _suffixes(values: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Sums from each end to the last of its system, added from there."""
    sums = np.array(values, np.float64)
    last = np.zeros(sums.size, bool)
    last[end[1:] - 1] = True
    for place in range(int(np.diff(end).max()) - 1):
        at = end[1:] - 2 - place
        at = at[at >= end[:-1]]
        sums[at] += sums[at + 1]
    return sums
