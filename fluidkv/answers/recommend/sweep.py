"""The same requests through every setting, in one batch of whole-request runs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.recommend.beyond import beyond_bias
from fluidkv.answers.recommend.frontier import (
    Choice,
    choose,
    pareto,
    smallest_without_preemptions,
    without_twins,
)
from fluidkv.answers.recommend.plan import Draws, Plan, planned
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.served.bias import OUTPUT, Bias, biases
from fluidkv.answers.served.cases import Case, measured_cases
from fluidkv.answers.served.demand import Demand, mostly_start
from fluidkv.answers.served.memory import BLOCK_SIZES
from fluidkv.answers.served.setting import KNOBS, Setting, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.logs.timed import TimedRun
from fluidkv.runs.dataset import RunStatus
from fluidkv.serving.caching.run import serve_caching
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import with_cache
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.traces import Trace
from fluidkv.workload import Workload


def recommend_settings(
    source: Workload | Trace,
    capacity: int,
    *,
    engine: str | EngineRules | ServedEngine = "vllm",
    demand: Demand | None = None,
    clock: IterationClock | None = None,
    now: Setting | None = None,
    candidates: Mapping[str, Sequence[Any]] | None = None,
    slos: Iterable[Slo] = (),
    log: TimedRun | None = None,
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
        engine: a name out of `fluidkv.serving.engines.ENGINES`, or rules. "vllm+cache" and
            "vllm-0.11+cache" have vLLM's prefix cache, as far as a preempted request finds itself;
            "sglang+cache" is SGLang's own scheduler.
        demand: who asks; None: requests that all wait from the start.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        now: how the server is set; None: no watermark and no caps.
        candidates: knob -> values to try, instead of the usual ones. An empty list: none. Other
            numbers of clients are tried only if given here: they are another demand, and those who
            then wait outside are in no latency.
        slos: what must hold in every run.
        log: what was measured where these requests, all of them at their own times, were served
            with the setting `now`. Then a gain no larger than what the simulation misses there is
            none: `now` is the pick.
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
            requests wait from the start; one on times to first token with a clock on which prefill
            costs nothing; too few requests for a run as long as the longest answer where all wait
            from the start; too many runs.
    """
    plan = planned(
        source,
        Limits(
            capacity,
            block_size or BLOCK_SIZES.get(with_cache(engine)[0].name, 1),
            max_num_batched_tokens=max_num_batched_tokens,
        ),
        engine,
        demand or Demand(),
        clock or IterationClock.iterations(),
        now or Setting(),
        candidates,
        tuple(slos),
        Draws(requests, runs, seed),
    )
    table, statuses = _runs(plan, backend, on_progress)
    return _answer(plan, table, statuses, _held_against(plan, log) if log is not None else {})


def _runs(
    plan: Plan,
    backend: Literal["auto", "jax", "reference"],
    on_progress: Callable[[int, int], None] | None,
) -> tuple[xr.Dataset, list[str]]:
    """Metrics [setting, run] of everything that is planned, and how each run ended."""
    found, statuses = measured_cases(
        [
            Case(plan.engine, limits_of(plan.limits, each), plan.clock, each.clients)
            for each in plan.settings
        ],
        plan.tables,
        horizon=plan.horizon,
        every=plan.every,
        warm_up=plan.warm_up,
        backend=backend,
        on_progress=on_progress,
    )
    return _with_knobs(found.rename(case="setting"), plan.settings), statuses


def _answer(
    plan: Plan, table: xr.Dataset, statuses: Sequence[str], bias: Mapping[str, Bias]
) -> Recommendation:
    """What the runs say: the frontier, and what to take."""
    values = {str(name): column.values for name, column in table.data_vars.items()}
    throughput, _, *tails = plan.objectives
    choosing = {"throughput": throughput, "tails": tails}
    choice = choose(plan.settings, values, plan.slos, **choosing)
    end = smallest_without_preemptions(plan.settings, values["preemptions"])
    if mostly_start(plan.demand, plan.equilibrium, plan.size):  # they say nothing of later
        choice, end = Choice(None, (), (), None), None
    candidate = choice.index
    if bias:
        choice = beyond_bias(choice, bias, plan.settings, values, plan.slos, **choosing)
    objectives = np.stack([values[name].mean(axis=1) for name in plan.objectives], axis=1)
    right = RunStatus.DONE if plan.horizon is None else RunStatus.HORIZON
    return Recommendation(
        engine=plan.rules,
        caching=plan.caching,
        limits=plan.limits,
        demand=plan.demand,
        clock=plan.clock,
        equilibrium=plan.equilibrium,
        settings=plan.settings,
        table=table,
        objectives=plan.objectives,
        frontier=_frontier(objectives, plan.settings),
        slos=plan.slos,
        choice=choice,
        candidate=candidate,
        bias=bias,
        end_of_preemption=end,
        requests=plan.size,
        warm_up=plan.warm_up * plan.every,
        iterations=plan.horizon,
        unfinished=sum(status != right.name for status in statuses),
    )


def _held_against(plan: Plan, log: TimedRun) -> Mapping[str, Bias]:
    """What the simulation of the log's own server misses; the run is made again, step by step.

    Raises:
        InputError: requests that are not the log's.
    """
    requests, limits = plan.tables[0], limits_of(plan.limits, plan.settings[0])
    if len(requests) != len(log.input_lengths):
        raise InputError("log", f"{len(log.input_lengths)} requests", f"the {len(requests)} run")
    if plan.caching:
        run = serve_caching(requests, plan.engine, limits, plan.clock)
    else:
        run = serve(requests, plan.rules, limits, clock=plan.clock, backend="reference")
    wanted = (OUTPUT, *plan.objectives, *(slo.metric for slo in plan.slos))
    return biases(run, log, tuple(dict.fromkeys(wanted)))


def _frontier(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    kept = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(kept[pareto(means[kept], higher)].tolist())


def _with_knobs(table: xr.Dataset, settings: Sequence[Setting]) -> xr.Dataset:
    """Metrics [setting, run], with the knobs as coordinates."""
    knob = {
        name: ("setting", [_float(getattr(setting, name)) for setting in settings])
        for name in KNOBS
    }
    return table.assign_coords(knob)


def _float(value: float | Fraction | None) -> float:
    return math.nan if value is None else float(value)
