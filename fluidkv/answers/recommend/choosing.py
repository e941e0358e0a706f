"""Which setting to take: the best in what is asked for, then in what else users feel.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.record import Record

OBJECTIVES = (
    *("throughput", "ttft_p99", "latency_p99", "tpot_p99", "longest_gap_p99"),
    "goodput",
)
"""What a pick can be the best in; the first where nobody says."""

MARGIN = 0.02
"""What counts as no loss, and as no gain. Noise is no measure for it: few runs would call a tenth
of the throughput a tie, and many runs nothing at all.

>>> from fluidkv.answers import MARGIN
>>> best, other = 10.0, 9.85  # requests a second
>>> other >= best * (1 - MARGIN)  # counts as no loss
True
"""

RULE = (
    f"of those allowed, within {MARGIN:.0%} of the best in what is asked for; of these, within "
    f"{MARGIN:.0%} of the best in what else users feel, one after the other; then the fewest knobs "
    "turned; then the higher throughput"
)
"""How a setting is picked, in words for a page.

>>> from fluidkv.answers import RULE
>>> RULE.split(";")[0]
'of those allowed, within 2% of the best in what is asked for'
"""

Table = Mapping[str, Float[np.ndarray, "setting run"]]


@dataclass(frozen=True)
class Felt(Record):
    """What users feel, in the order in which it counts.

    Fields:
        order: metrics; the first is the objective.
        throughput: the metric of throughput among them.
    """

    order: tuple[str, ...]
    throughput: str

    @classmethod
    def of(cls, objective: str, throughput: str, tails: Sequence[str]) -> "Felt":
        """The objective, then throughput, then tails.

        Args:
            objective: one of `OBJECTIVES`.
            throughput: the metric of throughput on this clock.
            tails: metrics of times.
        """
        first = throughput if objective == "throughput" else objective
        return cls(tuple(dict.fromkeys((first, throughput, *tails))), throughput)

    def more_is_better(self, metric: str) -> bool:
        return metric in (self.throughput, "goodput")


@dataclass(frozen=True)
class Choice(Record):
    """What to take, and what was left when it was taken; numbers are indices of settings.

    Fields:
        index: the setting to take; None if none is allowed.
        allowed: those that meet what is asked.
        ties: of those, the ones that are within `MARGIN` of the best in the objective.
        closest: where none is allowed, the one that misses by least.
    """

    index: int | None
    allowed: tuple[int, ...]
    ties: tuple[int, ...]
    closest: int | None


def choose(
    settings: Sequence[Setting],
    table: Table,
    slos: Sequence[Slo] = (),
    *,
    felt: Felt,
    among: Sequence[int] | None = None,
) -> Choice:
    """The setting to take, by `RULE`. Allowed is what meets every SLO in every run.

    Without SLOs, allowed is what makes nothing that users feel, beside the objective, worse by more
    than `MARGIN` of what it is in the first setting, by the means.

    Args:
        settings: the first is how the server is set now.
        table: metric -> values; of `felt` and of what SLOs name.
        slos: what is asked.
        felt: what is to be had, in which order.
        among: indices of the settings that may be taken; None: all.
    """
    means = {name: table[name].mean(axis=1) for name in felt.order}
    if slos:
        allowed = np.all([slo.met(table[slo.metric]) for slo in slos], axis=0)
    else:
        rest = [_no_worse(means[name], felt.more_is_better(name)) for name in felt.order[1:]]
        allowed = np.all([np.ones(len(settings), bool), *rest], axis=0)
    kept = [i for i in np.flatnonzero(allowed).tolist() if among is None or i in among]
    if not kept:
        return Choice(None, (), (), _closest(table, slos, among))
    ties = left = _near_the_best(kept, means, felt, felt.order[0])
    for name in felt.order[1:]:
        left = _near_the_best(left, means, felt, name)
    fastest = means[felt.throughput]
    index = min(left, key=lambda i: (len(settings[i].changed(settings[0])), -fastest[i]))
    return Choice(index, tuple(kept), tuple(ties), None)


def _near_the_best(
    kept: Sequence[int],
    means: Mapping[str, Float[np.ndarray, " setting"]],
    felt: Felt,
    metric: str,
) -> list[int]:
    """Those within `MARGIN` of the best; all, where nobody has a value."""
    values = means[metric]
    there = [i for i in kept if np.isfinite(values[i])]
    if not there:
        return list(kept)
    if felt.more_is_better(metric):
        least = (1 - MARGIN) * max(values[i] for i in there)
        return [i for i in there if values[i] >= least]
    most = (1 + MARGIN) * min(values[i] for i in there)
    return [i for i in there if values[i] <= most]


def _no_worse(
    means: Float[np.ndarray, " setting"], more_is_better: bool
) -> Bool[np.ndarray, " setting"]:
    """What has no value now is nothing to compare with."""
    if np.isnan(means[0]):
        return np.ones(means.size, bool)
    if more_is_better:
        return means >= (1 - MARGIN) * means[0]
    return means <= (1 + MARGIN) * means[0]


def _closest(table: Table, slos: Sequence[Slo], among: Sequence[int] | None) -> int | None:
    """The one that misses fewest bounds, and of these by least."""
    if not slos:
        return None
    excess = np.array([slo.excess(table[slo.metric]) for slo in slos])
    missed = (excess > 0).sum(axis=0)
    order = np.lexsort((excess.max(axis=0), missed)).tolist()
    return next((i for i in order if among is None or i in among), None)
