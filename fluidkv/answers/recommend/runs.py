"""The same requests through every setting: as it is now first, then what may be better.

Where nothing is preempted now and nobody waits for a cap, nothing else is run. Where runs go one
after the other and are many, pairs of knobs are only those of the values that are best alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import xarray as xr

from fluidkv.answers.recommend.frontier import IN_PAIRS
from fluidkv.answers.recommend.plan import Plan
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.experiment import Backend
from fluidkv.answers.served.goodput import bounds_of, goodput, shares_by_segment
from fluidkv.answers.served.segments import by_segment
from fluidkv.answers.served.setting import KNOBS, Setting, engine_of, limits_of
from fluidkv.answers.served.window import check_rows
from fluidkv.labels import completed, variable
from fluidkv.record import Record
from fluidkv.serving.caching.run import one_by_one

Progress = Callable[[int, int], None]

WORK = 40_000_000
"""Output tokens in all settings, from which on pairs are picked: about a minute, one by one."""
ENOUGH = 10_000
"""Requests of runs without a preemption, after which no more draws are looked at."""
_BEST = 2  # values of each knob that are tried in pairs
_KNOBS = {  # of `KNOBS`: unit, what it is
    "watermark": ("1", "share of the blocks that admission leaves free"),
    "max_num_seqs": ("request", "most requests running at once; NaN: no cap"),
    "admission_rate": ("request / iteration", "most admissions; NaN: no cap"),
    "clients": ("request", "requests in the system at once; NaN: they come at their times"),
    "conservativeness": ("1", "of SGLang's admission; NaN: as the engine has it"),
}


@dataclass(frozen=True, eq=False)
class Ran(Record):
    """What was run.

    Fields:
        settings: the first is how the server is set now.
        table: metrics [setting, run], the knobs as coordinates.
        segments: metrics [setting, run, segment] of what users feel; None of several runs.
        statuses: how each run ended.
        left_out: settings that were not run, since their knobs are not the best alone.
        nothing_to_gain: whether only `now` was run, because nothing could be gained on it.
    """

    settings: tuple[Setting, ...]
    table: xr.Dataset
    segments: xr.Dataset | None
    statuses: tuple[str, ...]
    left_out: int = 0
    nothing_to_gain: bool = False


def run_now(plan: Plan, backend: Backend) -> Ran | None:
    """The server as it is, if that is all that needs to be run; None: the others have to be.

    Nothing can be gained where nothing is preempted, and where nobody waits or no cap of today's
    makes them. Caps only let less run at once. So it ends with the first run that preempts, and
    what was chosen by a user is run in any case.
    """
    if plan.chosen or plan.demand.kind == "saturated" or not _caps_cannot_help(plan):
        return None
    case = case_of(plan, plan.settings[0])
    found: list[Ran] = []
    for table, said in zip(plan.tables, plan.prompts, strict=True):
        one = replace(plan, tables=[table], prompts=(said,))
        found.append(_measured(one, plan.settings[:1], [case], backend, None))
        if not _nothing_to_gain(found[-1], plan):
            return None
        if len(found) * plan.size >= ENOUGH:
            break
    several = len(found) > 1
    return Ran(
        settings=plan.settings[:1],
        table=completed(xr.concat([one.table for one in found], "run", combine_attrs="override")),
        segments=None if several else found[0].segments,
        statuses=tuple(status for one in found for status in one.statuses),
        nothing_to_gain=True,
    )


def run_all(plan: Plan, backend: Backend, on_progress: Progress | None) -> Ran:
    """Every setting; or, where they are many, pairs of the best values alone."""
    alone = tuple(s for s in plan.settings if len(s.changed(plan.settings[0])) < 2)
    tokens = sum(int(table.output_length.sum()) for table in plan.tables)
    if not one_by_one(plan.engine) or len(plan.settings) * tokens <= WORK:
        alone = plan.settings
    _check_rows(plan)
    cases = [case_of(plan, each) for each in alone]
    first = _measured(plan, alone, cases, backend, on_progress)
    pairs = _best_pairs(plan, first) if len(alone) < len(plan.settings) else ()
    if not pairs:
        left = len(plan.settings) - len(alone)
        return replace(first, table=completed(first.table), left_out=left)
    cases = [case_of(plan, each) for each in pairs]
    second = _measured(plan, pairs, cases, backend, on_progress)
    both = [part.segments for part in (first, second) if part.segments is not None]
    return Ran(
        settings=(*alone, *pairs),
        table=completed(
            xr.concat([first.table, second.table], "setting", combine_attrs="override")
        ),
        segments=xr.concat(both, "setting") if both else None,
        statuses=(*first.statuses, *second.statuses),
        left_out=len(plan.settings) - len(alone) - len(pairs),
    )


def _check_rows(plan: Plan) -> None:
    """Refuse a setting under which a request of a trace can never be served, with its row."""
    if plan.window is None:
        return
    for setting in plan.settings:
        engine, limits = engine_of(plan.engine, setting), limits_of(plan.limits, setting)
        check_rows(plan.tables, engine, limits, plan.window, plan.window.first)


def run_settings(plan: Plan, settings: Sequence[Setting], backend: Backend) -> Ran:
    """Just these settings."""
    cases = [case_of(plan, each) for each in settings]
    return _measured(plan, settings, cases, backend, None)


def case_of(plan: Plan, setting: Setting) -> Case:
    limits = limits_of(plan.limits, setting)
    return Case(engine_of(plan.engine, setting), limits, plan.clock, setting.clients)


def _measured(
    plan: Plan,
    settings: Sequence[Setting],
    cases: Sequence[Case],
    backend: Backend,
    on_progress: Progress | None,
) -> Ran:
    table, segments, statuses = plan.measured(
        cases,
        backend,
        parts=lambda run: _parts(plan, run),
        also=lambda run: _also(plan, run),
        on_progress=on_progress,
    )
    knob = {
        name: variable("setting", [_float(getattr(s, name)) for s in settings], *_KNOBS[name])
        for name in KNOBS
    }
    table = table.rename(case="setting").assign_coords(knob)
    segments = None if segments is None else segments.rename(case="setting")
    return Ran(tuple(settings), table, segments, statuses)


def _also(plan: Plan, run: xr.Dataset) -> xr.Dataset:
    """The longest queue and batch, and goodput."""
    columns = {
        "queue_most": run.waiting.max("window"),
        "running_most": run.running.max("window"),
    }
    for name, title in (("queue_most", "waiting"), ("running_most", "running")):
        columns[name].attrs = {"long_name": f"most requests {title}", "units": "request"}
    if bounds := _bounds(plan):
        columns["goodput"] = goodput(run, bounds)
    return xr.Dataset(columns)


def _parts(plan: Plan, run: xr.Dataset) -> xr.Dataset:
    """What users feel in the parts of a single run."""
    parts = by_segment(run, plan.felt.order, plan.warm_up)
    bounds = _bounds(plan)
    return parts.assign(goodput=shares_by_segment(run, bounds)) if bounds else parts


def _bounds(plan: Plan) -> Mapping[str, float]:
    """Of the times of each request, where goodput is asked for."""
    return bounds_of(plan.slos) if "goodput" in plan.felt.order else {}


# --- whether anything can be gained -------------------------------------------------------------


def _caps_cannot_help(plan: Plan) -> bool:
    """Whether what is asked for is nothing that a smaller batch may better by itself."""
    bounded = bounds_of(plan.slos)
    return not plan.felt.order[0].startswith(("tpot", "longest_gap")) and not bounded


def _nothing_to_gain(ran: Ran, plan: Plan) -> bool:
    worst = {name: float(ran.table[name].max()) for name in ("preemptions", "queue_most")}
    if worst["preemptions"]:
        return False
    now = plan.settings[0]
    capped = now.max_num_seqs is not None and float(ran.table.running_most.max()) >= (
        now.max_num_seqs - 1e-9
    )
    held_back = bool(now.watermark) or now.admission_rate is not None or capped
    conservative = "conservativeness" in dict(plan.rules.flags)
    return not worst["queue_most"] or not (held_back or conservative)


# --- pairs of the best --------------------------------------------------------------------------


def _best_pairs(plan: Plan, ran: Ran) -> tuple[Setting, ...]:
    """Of the planned pairs, those of the values that are the best alone in the objective."""
    objective = plan.felt.order[0]
    sign = -1 if plan.felt.more_is_better(objective) else 1
    means = sign * ran.table[objective].values.mean(axis=1)
    now = ran.settings[0]
    kept = {}
    for knob in IN_PAIRS:
        alone = [i for i, s in enumerate(ran.settings) if s.changed(now) == (knob,)]
        best = sorted(alone, key=lambda i: (math.isnan(means[i]), means[i]))[:_BEST]
        kept[knob] = {getattr(ran.settings[i], knob) for i in best}
    return tuple(
        setting
        for setting in plan.settings
        if setting not in ran.settings
        and all(getattr(setting, knob) in kept.get(knob, ()) for knob in setting.changed(now))
    )


def _float(value: float | Fraction | None) -> float:
    return np.nan if value is None else float(value)
