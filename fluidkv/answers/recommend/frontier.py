"""Settings of a server against each other: what to try, which are on the frontier, which to take.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order, so that differences are taken run by run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.served.setting import KNOBS, Setting
from fluidkv.answers.served.slo import Slo

_IN_PAIRS = ("watermark", "max_num_seqs")  # caps of the engine itself, tried together


def sweep(now: Setting, candidates: Mapping[str, Iterable[Any]]) -> tuple[Setting, ...]:
    """What to try: as it is now, first; each knob alone; watermark and max_num_seqs in pairs.

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
    pairs = product(*(values[name] for name in _IN_PAIRS))
    found += [replace(now, **dict(zip(_IN_PAIRS, pair, strict=True))) for pair in pairs]
    return tuple(dict.fromkeys(found))


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


# --- which to take ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """What to take, and what was left when it was taken; numbers are indices of settings.

    Fields:
        index: the setting to take; None if none is allowed.
        allowed: those that meet what is asked.
        ties: of those, the ones whose throughput is within `MARGIN` of the highest.
        closest: where none is allowed, the one that misses by least.
    """

    index: int | None
    allowed: tuple[int, ...]
    ties: tuple[int, ...]
    closest: int | None


MARGIN = 0.02
"""What counts as no loss. Noise is no measure for it: few runs would call a tenth of the throughput
a tie, and many runs nothing at all.
"""

RULE = (
    f"of those allowed and within {MARGIN:.0%} of the highest output throughput among them, the "
    "fewest preemptions; then the fewest knobs turned; then the higher throughput"
)


def choose(
    settings: Sequence[Setting],
    table: Mapping[str, Float[np.ndarray, "setting run"]],
    slos: Sequence[Slo] = (),
    *,
    throughput: str,
    tails: Sequence[str],
    among: Sequence[int] | None = None,
) -> Choice:
    """The setting to take, by `RULE`. Allowed is what meets every SLO in every run.

    Without SLOs, allowed is what lengthens none of the `tails` by more than `MARGIN` of what it is
    in the first setting, by the means.

    Args:
        settings: the first is how the server is set now.
        table: metric -> values; of `throughput`, "preemptions", `tails` and what SLOs name.
        slos: what is asked.
        throughput: the metric to make large.
        tails: metrics that must not get worse.
        among: indices of the settings that may be taken; None: all.
    """
    if slos:
        allowed = np.all([slo.met(table[slo.metric]) for slo in slos], axis=0)
    else:
        allowed = np.all([_no_worse(table[name]) for name in tails], axis=0)
    kept = tuple(i for i in np.flatnonzero(allowed).tolist() if among is None or i in among)
    if not kept:
        excess = np.array([slo.excess(table[slo.metric]) for slo in slos])
        missed = (excess > 0).sum(axis=0)
        order = np.lexsort((excess.max(axis=0), missed))
        return Choice(None, (), (), int(order[0]))
    speeds = table[throughput]
    means = speeds.mean(axis=1)
    best = max(kept, key=lambda i: means[i])
    ties = tuple(i for i in kept if means[i] >= (1 - MARGIN) * means[best])
    preemptions = table["preemptions"].mean(axis=1)
    chosen = min(
        ties, key=lambda i: (preemptions[i], len(settings[i].changed(settings[0])), -means[i])
    )
    return Choice(chosen, kept, ties, None)


def _no_worse(tail: Float[np.ndarray, "setting run"]) -> Bool[np.ndarray, " setting"]:
    """A tail that has no value now is nothing to compare with."""
    means = tail.mean(axis=1)
    if np.isnan(means[0]):
        return np.ones(means.size, bool)
    return means <= (1 + MARGIN) * means[0]


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
