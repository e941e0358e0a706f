"""What the rows of a decode log computed: passes and prefill so far, for a clock.

Decode steps are logged; prefill passes are from the first one on that has a line. Before it, who
had come and did not wait had been prefilled, each by a pass of its own, since requests come one by
one. So many have been admitted:

    requests that have come - waiting + retracted so far

and as long as they are no more than had come before the first retraction, none of them is one that
comes back: the retracted wait behind those.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.logs.log import LoggedRequests, LoggedTicks, PrefillPass, ServerLog
from fluidkv.serving.clock_fit.steps import PerRow, StepRows

PerRequest = Float[np.ndarray, " request"]


@dataclass(frozen=True, eq=False)
class Prefilled:
    """Prefill so far, at each row; shapes (row,).

    Fields:
        passes, tokens: so far; NaN where it is not known what requests that come back computed.
        again: tokens that were computed again, in the whole log; None where it does not say.
    """

    passes: PerRow
    tokens: PerRow
    again: float | None


def step_rows(log: ServerLog, capacity: int) -> tuple[StepRows, float | None]:
    """The rows of a log that counts decode steps; and what it computed again, as `Prefilled`.

    Args:
        capacity: KV tokens of the pool.

    Raises:
        InputError: a log without such rows, or without arrivals.
    """
    ticks, requests = log.ticks, log.requests
    if ticks is None or ticks.decode_steps is None or ticks.kv_used is None:
        raise InputError("source", log.source, "a log whose rows count decode steps")
    if requests is None or requests.arrival_s is None:
        raise InputError("source", log.source, "a log with the arrivals of its requests")
    prefill = prefilled(log, requests, requests.arrival_s, ticks)
    rows = StepRows(
        ends_s=ticks.spread_s(),
        passes=ticks.decode_steps + np.nan_to_num(prefill.passes),
        kv_tokens=ticks.kv_used * capacity,
        prefill_tokens=np.nan_to_num(prefill.tokens),
        used=np.isfinite(prefill.passes),
    )
    return rows, prefill.again


def prefilled(
    log: ServerLog, requests: LoggedRequests, arrival_s: PerRequest, ticks: LoggedTicks
) -> Prefilled:
    """What was prefilled by each row's end."""
    retracted = np.zeros(len(ticks)) if ticks.preemptions is None else ticks.preemptions
    waiting = np.zeros(len(ticks)) if ticks.waiting is None else ticks.waiting
    # The log begins with the first request; both clocks are in whole seconds there.
    arrived = np.sort(arrival_s)
    came = np.searchsorted(arrived - arrived[0], ticks.ends_s, side="right")
    seen = came - waiting + retracted
    admitted = np.maximum.accumulate(seen)
    fresh = _of_each(requests, arrival_s)
    before = np.concatenate(([0.0], np.cumsum(fresh)))
    place = np.minimum(admitted.astype(int), len(fresh))
    first_back = came[np.argmax(retracted > 0)] if retracted.any() else np.inf
    known = admitted <= first_back
    passes = np.where(known, admitted, np.nan).astype(float)
    tokens = np.where(known, before[place], np.nan)
    if not log.prefills:
        return Prefilled(passes, tokens, 0.0 if not retracted.any() else None)
    after = _after(log.prefills, ticks)
    start = int(np.argmax(after > 0)) - 1  # the last row before a pass that is logged
    if start >= 0 and not known[start]:
        return Prefilled(passes, tokens, None)
    # where the first row has a pass that is logged, all are
    passes_then, tokens_then = (passes[start], tokens[start]) if start >= 0 else (0.0, 0.0)
    # `admitted` keeps a request that a cut second let come too early; this row alone does not
    known_then = before[min(int(seen[start]), len(fresh))] if start >= 0 else 0.0
    later = np.arange(len(ticks)) > start
    many = _after(log.prefills, ticks, tokens=True)
    # after the last row nobody is admitted any more, or it is not logged
    again = float(sum(p.tokens for p in log.prefills) - (fresh.sum() - known_then))
    return Prefilled(
        passes=np.where(later, passes_then + after, passes),
        tokens=np.where(later, tokens_then + many, tokens),
        again=max(again, 0.0),
    )


def _of_each(requests: LoggedRequests, arrival_s: PerRequest) -> PerRequest:
    """Tokens that each prompt computes when it comes for the first time, in order of arrival."""
    cached = 0 if requests.cached_prefix is None else requests.cached_prefix
    return (requests.input_lengths - cached)[np.argsort(arrival_s, kind="stable")]


def _after(
    prefills: tuple[PrefillPass, ...], ticks: LoggedTicks, *, tokens: bool = False
) -> PerRow:
    """Passes, or their tokens, that were logged by each row's end."""
    assert ticks.decode_steps is not None
    so_far = np.zeros(len(ticks))
    for prefill in prefills:
        after = (
            ticks.ends_s > prefill.time_s
            if prefill.after_step is None
            else ticks.decode_steps > prefill.after_step
        )
        so_far[after] += prefill.tokens if tokens else 1.0
    return so_far
