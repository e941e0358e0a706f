"""Settings of a server against each other: what to try, and which are on the frontier.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order, so that differences are taken run by run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.served.setting import KNOBS, Setting

IN_PAIRS = ("watermark", "max_num_seqs", "conservativeness")
"""Knobs of the engine itself, tried together, two at a time."""


def sweep(now: Setting, candidates: Mapping[str, Iterable[Any]]) -> tuple[Setting, ...]:
    """What to try: as it is now, first; each knob alone; the engine's own in pairs.

    Args:
        now: as the server is set.
        candidates: knob -> values to try.

    Returns:
        Settings without repetition.
    """
    values = {name: list(candidates.get(name, ())) for name in KNOBS}
    found = [now]
    for name, tried in values.items():
        found += [replace(now, **{name: value}) for value in tried]
    for one, other in combinations(IN_PAIRS, 2):
        both = product(values[one], values[other])
        found += [replace(now, **{one: a, other: b}) for a, b in both]
    return tuple(dict.fromkeys(found))


def frontier_of(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    """Settings that no other beats; of such with the same means the one with fewest knobs turned.

    Args:
        means: the first column is of a throughput, the others are to be small.
    """
    places = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(places[pareto(means[places], higher)].tolist())


def pareto(
    values: Float[np.ndarray, "setting objective"], higher: Sequence[bool]
) -> Bool[np.ndarray, " setting"]:
    """Which rows no other row beats: as good in every objective, and better in one.

    Args:
        values: one column an objective; NaN counts as worse than any number.
        higher: whether more is better, for each column.
    """
    signs = np.where(higher, 1.0, -1.0)
    good = np.where(np.isnan(values), -np.inf, values * signs)
    as_good = (good[:, None, :] >= good[None, :, :]).all(axis=2)
    better = (good[:, None, :] > good[None, :, :]).any(axis=2)
    return np.logical_not((as_good & better).any(axis=0))


def without_twins(
    values: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    """Of settings with the same results, the one with the fewest knobs turned; a cap that never
    binds is no setting of its own.
    """
    first: dict[bytes, int] = {}
    for index in sorted(range(len(settings)), key=lambda i: len(settings[i].changed(settings[0]))):
        first.setdefault(values[index].tobytes(), index)
    return tuple(sorted(first.values()))


def smallest_without_preemptions(
    settings: Sequence[Setting], preemptions: Float[np.ndarray, "setting run"]
) -> int | None:
    """The smallest watermark that ends preemption in every run, all else as it is now.

    Returns:
        Index of the setting; None if no watermark that was tried ends it.
    """
    return min(
        (i for i in watermarks_alone(settings) if not preemptions[i].any()),
        key=lambda i: settings[i].watermark,
        default=None,
    )


def watermarks_alone(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Settings that differ from the first in the watermark only, the first included."""
    alone = [i for i, s in enumerate(settings) if set(s.changed(settings[0])) <= {"watermark"}]
    return tuple(sorted(alone, key=lambda i: settings[i].watermark))
