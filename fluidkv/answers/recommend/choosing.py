"""Which setting to take: the best in what is asked for, then in what else users feel.

Nothing here runs an engine. Results come as tables [setting, run]; the runs of all settings serve
the same requests in the same order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.recommend.objective import MARGIN, Felt
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.record import Record

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
class Choice(Record):
    """What to take of some settings; numbers are indices of settings.

    Fields:
        index: the setting to take; None if none is allowed.
        candidate: what would be taken if every simulated difference were one of the server.
        allowed: those that meet what is asked.
        closest: where none is allowed, the one that misses by least.
    """

    index: int | None = None
    candidate: int | None = None
    allowed: tuple[int, ...] = ()
    closest: int | None = None


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
    conditions = [slo.met(table[slo.metric]) for slo in slos]
    for name in () if slos else felt.order[1:]:
        today = means[name][0]  # what has no value now is nothing to compare with
        conditions.append(
            np.isnan(today) | _no_worse(means[name], today, felt.more_is_better(name))
        )
    fine = np.all([np.ones(len(settings), bool), *conditions], axis=0)
    allowed = [i for i in np.flatnonzero(fine).tolist() if among is None or i in among]
    if not allowed:
        return Choice(closest=_closest(table, slos, among))
    left = allowed
    for name in felt.order:
        left = _near_the_best(left, means[name], felt.more_is_better(name))
    fastest = means[felt.throughput]
    index = min(left, key=lambda i: (len(settings[i].changed(settings[0])), -fastest[i]))
    return Choice(index, index, tuple(allowed))


def _near_the_best(
    places: Sequence[int], values: Float[np.ndarray, " setting"], more_is_better: bool
) -> Sequence[int]:
    """Those within `MARGIN` of the best; all, where none has a value."""
    finite = [i for i in places if np.isfinite(values[i])]
    if not finite:
        return places
    best = (max if more_is_better else min)(values[i] for i in finite)
    return [i for i in finite if _no_worse(values[i], best, more_is_better)]


def _no_worse(values: Any, than: float, more_is_better: bool) -> Any:
    """Whether values are within `MARGIN` of one, or better."""
    return values >= (1 - MARGIN) * than if more_is_better else values <= (1 + MARGIN) * than


def _closest(table: Table, slos: Sequence[Slo], among: Sequence[int] | None) -> int | None:
    """The one that misses fewest bounds, and of these by least."""
    if not slos:
        return None
    excess = np.array([slo.excess(table[slo.metric]) for slo in slos])
    missed = (excess > 0).sum(axis=0)
    order = np.lexsort((excess.max(axis=0), missed)).tolist()
    return next((i for i in order if among is None or i in among), None)
