"""The same requests through every setting, in one batch of whole-request runs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.recommend.demand import (
    MOST_RUNS,
    Demand,
    check_pace,
    horizon_of,
    length_of,
    mostly_start,
    requests_of_run,
    tables_of,
)
from fluidkv.answers.recommend.frontier import (
    KNOBS,
    Choice,
    Setting,
    Slo,
    choose,
    pareto,
    smallest_without_preemptions,
    without_twins,
)
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.recommend.settings import (
    BLOCK_SIZES,
    TIMED,
    check_memory,
    check_options,
    equilibrium_of,
    limits_of,
    settings_of,
)
from fluidkv.errors import InputError
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine as named
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.traces import Trace
from fluidkv.workload import Workload

_WINDOWS = 400  # records a run


def recommend_settings(
    source: Workload | Trace,
    capacity: int,
    *,
    engine: str | EngineRules = "vllm",
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    now: Setting | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
    slos: Iterable[Slo] = (),
    block_size: int | None = None,
    max_num_batched_tokens: int | None = None,
    requests: int | None = None,
    runs: int = 4,
    seed: int = 0,
    backend: Literal["auto", "jax", "reference"] = "auto",
    on_progress: Callable[[int, int], None] | None = None,
) -> Recommendation:
    """Try settings on the same requests, and say which to take.

    Requests are drawn from the workload, other ones in each run; a replay takes consecutive parts
    of the trace instead. Where requests wait from the start, runs have a horizon before which work
    does not run out, and a fifth of it is left out as warm-up; other runs go on until every request
    is served.

    Args:
        source: a workload, or a trace, which has one.
        capacity: M, KV tokens.
        engine: a name out of `fluidkv.serving.engines.ENGINES`, or rules.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        now: how the server is set; None: no watermark and no caps.
        candidates: knob -> values to try, instead of the usual ones. An empty list: none. Other
            numbers of clients are tried only if given here: they are another demand, and those who
            then wait outside are in no latency.
        slos: what must hold in every run.
        block_size: tokens; None: out of `BLOCK_SIZES`.
        max_num_batched_tokens: most tokens an iteration computes.
        requests: in each run; None: ten times what memory carries, 200 to 2,000; where memory is
            always full, four times what it carries at least, and where all wait from the start, so
            many that the run is as long as the longest answer.
        runs: of each setting. A replay has no more than the trace has parts.
        seed: of the first run's requests; the others follow.
        backend: of `serve`.
        on_progress: of `serve`.

    Raises:
        InputError: what `serve` and `Limits` refuse; a knob that the engine does not have; a replay
            without times or without a clock in seconds; an SLO on times since arrival where all
            requests wait from the start; too few requests for a run as long as the longest answer
            there; too many runs.
    """
    rules, demand = named(engine), demand or Demand()
    clock = clock or IterationClock.iterations()
    now, slos = replace(now or Setting(), clients=demand.clients), tuple(slos)
    limits = Limits(
        capacity,
        block_size or BLOCK_SIZES.get(rules.name, 1),
        max_num_batched_tokens=max_num_batched_tokens,
    )
    workload = source.workload() if isinstance(source, Trace) else source
    check_options(rules, demand, clock, slos, now, candidates)
    if demand.kind != "replay":
        check_memory(rules, limits, workload)
    equilibrium = equilibrium_of(workload, capacity)
    settings = settings_of(rules, limits, demand, workload, equilibrium, now, candidates)
    longest = max(c.decode_length for c in workload.classes)
    size = requests_of_run(requests, demand, equilibrium, longest)
    tables = tables_of(source, workload, demand, clock, size, runs, seed)
    size = len(tables[0])
    if len(settings) * len(tables) > MOST_RUNS:
        raise InputError(
            "runs",
            f"{len(settings)} settings, {len(tables)} runs each",
            f"{MOST_RUNS:,} runs in all",
        )
    check_pace(demand, clock, settings, size)
    horizon = horizon_of(demand, equilibrium, size)
    length = horizon or length_of(demand, clock, equilibrium, tables)
    every = max(1, length // _WINDOWS)
    warm_up = 0 if horizon is None else length // every // 5
    each = [setting for setting in settings for _ in tables]
    run = serve(
        tables * len(settings),
        rules,
        [limits_of(limits, setting) for setting in each],
        clock=clock,
        clients=[setting.clients for setting in each],
        iterations=horizon,
        every=every,
        backend=backend,
        on_progress=on_progress,
    )
    table = _table(run, settings, len(tables), warm_up)
    objectives = _objectives(demand, clock)
    values = {str(name): column.values for name, column in table.data_vars.items()}
    means = np.stack([values[name].mean(axis=1) for name in objectives], axis=1)
    choice = choose(settings, values, slos, throughput=objectives[0], tails=objectives[2:])
    end = smallest_without_preemptions(settings, values["preemptions"])
    if mostly_start(demand, equilibrium, size):  # they say nothing of how it goes on
        choice, end = Choice(None, (), (), None), None
    right = RunStatus.DONE if horizon is None else RunStatus.HORIZON
    return Recommendation(
        engine=rules,
        limits=limits,
        demand=demand,
        clock=clock,
        equilibrium=equilibrium,
        settings=settings,
        table=table,
        objectives=objectives,
        frontier=_frontier(means, settings),
        slos=slos,
        choice=choice,
        end_of_preemption=end,
        requests=size,
        warm_up=warm_up * every,
        iterations=horizon,
        unfinished=int((run.status != right.name).sum()),
    )


def _objectives(demand: Demand, clock: IterationClock) -> tuple[str, ...]:
    """Throughput, preemptions, tails."""
    throughput = "output_throughput_per_time" if clock.unit == "s" else "output_throughput"
    timed = demand.kind != "saturated"
    tails = ("ttft_p99", "latency_p99") if timed else ("longest_gap_p99",)
    return (throughput, "preemptions", *tails)


def _frontier(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    kept = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(kept[pareto(means[kept], higher)].tolist())


def _table(run: xr.Dataset, settings: Sequence[Setting], runs: int, warm_up: int) -> xr.Dataset:
    """Metrics [setting, run]. Where all wait from the start, of requests from their first token."""
    found = metrics(run)
    if warm_up:
        late = metrics(run, first=warm_up)
        keep = [n for n in found if str(n).startswith(("tpot", "longest_gap"))]
        drop = [n for n in late if str(n).startswith((*TIMED, "tpot", "longest_gap", "censored"))]
        found = late.drop_vars(drop).merge(found[keep])
    table = xr.Dataset(
        {
            name: (("setting", "run"), column.values.reshape(len(settings), runs), column.attrs)
            for name, column in found.data_vars.items()
        },
        attrs=run.attrs,
    )
    knob = {
        name: ("setting", [_float(getattr(setting, name)) for setting in settings])
        for name in KNOBS
    }
    return table.assign_coords(knob)


def _float(value: float | Fraction | None) -> float:
    return math.nan if value is None else float(value)
