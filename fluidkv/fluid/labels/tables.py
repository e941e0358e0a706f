"""Systems as the kernel reads them: a row of each table for each system, filled up with zeros.

A *unit* is what one unit of admission is made of: requests of each class, in the shares p_k. What a
unit of age s holds is V_s, and how many of its requests live is alpha_s, as in `cohort_model`. At
an *end*, a decode length, the requests of its classes complete.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.model import MassModel
from fluidkv.workload import System

STAGES, ENDS, CLASSES = range(3)
HELD, ALIVE = range(2)
LEAVING, GAINED = range(2)
ROW, PLACE, DECODE = range(3)
SHARE, INPUTS = range(2)


class Tables(NamedTuple):
    """Systems in arrays; the last axis of most has the columns named above.

    Fields, of each system:
        sizes: STAGES, d, its longest decode length; ENDS, how many there are; CLASSES that have a
            row in a state, or 0: there is one row, of units.
    of each age of a unit, below d:
        unit: HELD, V_s; ALIVE, alpha_s.
        segment: the first end beyond it.
    of each end, in increasing order:
        end: decode length.
        freed: LEAVING, requests of a unit that complete; GAINED, the tokens that this frees, with
            those that they would have grown by: the sum of p (l0 + l1 + 1).
    of each class, those that end earlier first:
        classes: ROW, its place in the system, which is its row in a state; PLACE, which of the ends
            is its own; DECODE, l1.
        amounts: SHARE, p; INPUTS, l0.
    """

    sizes: Int[np.ndarray, "system 3"]
    unit: Float[np.ndarray, "system stage 2"]
    segment: Int[np.ndarray, "system stage"]
    end: Int[np.ndarray, "system end"]
    freed: Float[np.ndarray, "system end 2"]
    classes: Int[np.ndarray, "system class 3"]
    amounts: Float[np.ndarray, "system class 2"]

    @property
    def stages(self) -> Int[np.ndarray, " system"]:
        """d, the longest decode length of each system."""
        return self.sizes[:, STAGES]


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
    exists = lengths[..., 1] > 0
    far = np.iinfo(np.int64).max
    row = np.argsort(np.where(exists, lengths[..., 1], far), axis=1, kind="stable")
    decode, inputs, share = (
        np.take_along_axis(np.where(exists, values, 0), row, axis=1)
        for values in (lengths[..., 1], lengths[..., 0].astype(np.float64), shares)
    )
    return _tables(row, decode.astype(np.int64), inputs, share, by_class)


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
    """The one system of a model; None where the model is none of `class_model` or `cohort_model`,
    or in float32.

    What is asked of the weights is what the kernel uses: between two ends they grow by one token
    for each request that is alive, up to the roundings of `cohort_model`.
    """
    if model.precision != "float64":
        return None
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
    prompts = weights[first] - (1 + first) * alive[first]
    told = np.repeat(prompts, ends - first) + (1 + stage) * alive
    if np.any(np.abs(told - weights) > 8 * stage.size * np.finfo(np.float64).eps * weights):
        return None
    leaving = alive[ends - 1] - after[ends - 1]
    inputs = (prompts - np.append(prompts[1:], 0.0)) / leaving
    if np.any(inputs + ends <= 0):
        return None
    places = np.arange(ends.size)
    return _tables(places[None], ends[None], inputs[None], leaving[None], by_class=False)


def _tables(
    row: Int[np.ndarray, "system class"],
    decode: Int[np.ndarray, "system class"],
    inputs: Float[np.ndarray, "system class"],
    share: Float[np.ndarray, "system class"],
    by_class: bool,
) -> Tables:
    """Classes in the order of their decode lengths; a decode length of 0 is no class."""
    systems = len(decode)
    exists = decode > 0
    stages, counts = decode.max(axis=1), exists.sum(axis=1)
    # Of each class the place of its end.
    new = exists & (decode != np.pad(decode[:, :-1], ((0, 0), (1, 0))))
    place = np.where(exists, np.cumsum(new, axis=1) - 1, 0)
    ends = new.sum(axis=1)

    def by_end(values: np.ndarray, most: int) -> np.ndarray:
        sums = np.zeros((systems, most))
        np.add.at(sums, (np.arange(systems)[:, None], place), np.where(exists, values, 0.0))
        return sums

    most = int(ends.max())
    end = np.zeros((systems, most), np.int64)
    end[np.nonzero(new)[0], place[new]] = decode[new]
    leaving, prompts = by_end(share, most), by_end(share * inputs, most)
    age = np.arange(int(stages.max()))
    passed = np.zeros((systems, age.size + 1), np.int64)
    np.put_along_axis(passed, end, 1, axis=1)
    passed[:, 0] = 0  # an end that is none
    lives = age < stages[:, None]
    segment = np.where(lives, np.cumsum(passed, axis=1)[:, :-1], 0)
    at = np.arange(systems)[:, None], segment
    alive = np.where(lives, _suffixes(leaving)[at], 0.0)
    tokens = np.where(lives, _suffixes(prompts)[at] + (1 + age) * alive, 0.0)
    with_rows = np.where(counts > 1, counts, 0) if by_class else np.zeros_like(counts)
    return Tables(
        sizes=np.stack([stages, ends, with_rows], axis=1),
        unit=np.stack([tokens, alive], axis=2),
        segment=segment,
        end=end,
        freed=np.stack([leaving, prompts + (end + 1) * leaving], axis=2),
        classes=np.stack([row, place, decode], axis=2),
        amounts=np.stack([share, inputs], axis=2),
    )


def _suffixes(values: Float[np.ndarray, "system end"]) -> Float[np.ndarray, "system end"]:
    """Sums from each end to the last, added from there: all are positive, nothing cancels."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
