"""The same requests through every setting, in one batch of whole-request runs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.answers.recommend.bias import OUTPUT, Bias, biases
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
    CACHE,
    TIMED,
    check_memory,
    check_options,
    equilibrium_of,
    limits_of,
    objectives_of,
    rules_of,
    settings_of,
)
from fluidkv.errors import InputError
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.prefix_cache import serve_caching
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.traces import Trace
from fluidkv.traces.vllm_log import VllmLog
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
    log: VllmLog | None = None,
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
            "vllm-0.11+cache" have vLLM's prefix cache, as far as a preempted request finds itself.
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
            costs nothing; a cache where requests wait from the start or clients ask again; too few
            requests for a run as long as the longest answer there; too many runs.
    """
    rules, caching = rules_of(engine)
    demand = demand or Demand()
    clock = clock or IterationClock.iterations()
    now, slos = replace(now or Setting(), clients=demand.clients), tuple(slos)
    limits = Limits(
        capacity,
        block_size or BLOCK_SIZES.get(rules.name, 1),
        max_num_batched_tokens=max_num_batched_tokens,
    )
    workload = source.workload() if isinstance(source, Trace) else source
    check_options(rules, demand, caching, clock, slos, now, candidates)
    if caching and demand.kind not in ("replay", "rate"):
        raise InputError(
            "engine", f"{rules.name}{CACHE}", f"{rules.name}, or a demand with a rate or a replay"
        )
    if demand.kind != "replay":
        check_memory(rules, limits, workload)
    equilibrium = equilibrium_of(workload, capacity)
    settings = settings_of(rules, limits, demand, caching, workload, equilibrium, now, candidates)
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
    served = tables * len(settings)
    limits_each = [limits_of(limits, setting) for setting in each]
    if caching:
        found = _serve_caching(served, rules, limits_each, clock, on_progress)
        statuses = [RunStatus.DONE.name] * len(served)
    else:
        run = serve(
            served,
            rules,
            limits_each,
            clock=clock,
            clients=[setting.clients for setting in each],
            iterations=horizon,
            every=every,
            backend=backend,
            on_progress=on_progress,
        )
        found, statuses = _metrics(run, warm_up), run.status.values.tolist()
    table = _table(found, settings, len(tables))
    objectives = objectives_of(demand, clock)
    values = {str(name): column.values for name, column in table.data_vars.items()}
    means = np.stack([values[name].mean(axis=1) for name in objectives], axis=1)
    choice = choose(settings, values, slos, throughput=objectives[0], tails=objectives[2:])
    end = smallest_without_preemptions(settings, values["preemptions"])
    if mostly_start(demand, equilibrium, size):  # they say nothing of how it goes on
        choice, end = Choice(None, (), (), None), None
    bias: Mapping[str, Bias] = {}
    if log is not None:
        wanted = (*objectives, *(slo.metric for slo in slos))
        bias = _held_against(log, tables[0], rules, caching, limits_each[0], clock, wanted)
    candidate = choice.index
    if bias and candidate is not None and 0 in choice.allowed:
        means_of = {name: values[name].mean(axis=1) for name in bias}
        real = [i for i in choice.allowed if _is_gain(i, means_of, bias, objectives[0])]
        taken = choose(
            settings,
            values,
            slos,
            throughput=objectives[0],
            tails=objectives[2:],
            among=real or [0],
        )
        choice = replace(choice, index=taken.index)
    right = RunStatus.DONE if horizon is None else RunStatus.HORIZON
    return Recommendation(
        engine=rules,
        caching=caching,
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
        candidate=candidate,
        bias=bias,
        end_of_preemption=end,
        requests=size,
        warm_up=warm_up * every,
        iterations=horizon,
        unfinished=sum(status != right.name for status in statuses),
    )


def _serve_caching(
    tables: Sequence[Requests],
    rules: EngineRules,
    limits: Sequence[Limits],
    clock: IterationClock,
    on_progress: Callable[[int, int], None] | None,
) -> xr.Dataset:
    """Metrics of runs with a prefix cache, one after the other: that engine is literal."""
    found = []
    for number, (requests, memory) in enumerate(zip(tables, limits, strict=True), 1):
        found.append(metrics(serve_caching(requests, rules, memory, clock)))
        if on_progress is not None:
            on_progress(number, number * len(requests))
    columns = {
        name: ("run", np.concatenate([each[name].values for each in found]), column.attrs)
        for name, column in found[0].data_vars.items()
    }
    return xr.Dataset(columns, attrs=found[0].attrs)


def _held_against(
    log: VllmLog,
    requests: Requests,
    rules: EngineRules,
    caching: bool,
    limits: Limits,
    clock: IterationClock,
    wanted: tuple[str, ...],
) -> Mapping[str, Bias]:
    """What the simulation of the log's own server misses; the run is made again, step by step.

    Raises:
        InputError: requests that are not the log's.
    """
    if len(requests) != len(log.input_lengths):
        raise InputError("log", f"{len(log.input_lengths)} requests", f"the {len(requests)} run")
    if caching:
        run = serve_caching(requests, rules, limits, clock)
    else:
        run = serve(requests, rules, limits, clock=clock, backend="reference")
    return biases(run, log, tuple(dict.fromkeys((OUTPUT, *wanted))))


def _is_gain(
    index: int,
    means: Mapping[str, Float[np.ndarray, " setting"]],
    bias: Mapping[str, Bias],
    throughput: str,
) -> bool:
    """Whether a setting gains more than the simulation misses on the log, and loses no such thing.

    Args:
        means: of what users feel, and of what SLOs name, in each setting.
        throughput: the metric of which more is better.
    """
    beyond = []
    for name, one in bias.items():
        gain = one.gain(float(means[name][index]), more_is_better=name == throughput)
        beyond.append((gain > one.error_bar, gain < -one.error_bar))
    return any(more for more, _ in beyond) and not any(less for _, less in beyond)


def _frontier(
    means: Float[np.ndarray, "setting objective"], settings: Sequence[Setting]
) -> tuple[int, ...]:
    kept = np.array(without_twins(means, settings))
    higher = [True] + [False] * (means.shape[1] - 1)
    return tuple(kept[pareto(means[kept], higher)].tolist())


def _metrics(run: xr.Dataset, warm_up: int) -> xr.Dataset:
    """Where all wait from the start, of requests from their first token."""
    found = metrics(run)
    if not warm_up:
        return found
    late = metrics(run, first=warm_up)
    keep = [n for n in found if str(n).startswith(("tpot", "longest_gap"))]
    drop = [n for n in late if str(n).startswith((*TIMED, "tpot", "longest_gap", "censored"))]
    return late.drop_vars(drop).merge(found[keep])


def _table(found: xr.Dataset, settings: Sequence[Setting], runs: int) -> xr.Dataset:
    """Metrics [setting, run], with the knobs as coordinates."""
    table = xr.Dataset(
        {
            name: (("setting", "run"), column.values.reshape(len(settings), runs), column.attrs)
            for name, column in found.data_vars.items()
        },
        attrs=found.attrs,
    )
    knob = {
        name: ("setting", [_float(getattr(setting, name)) for setting in settings])
        for name in KNOBS
    }
    return table.assign_coords(knob)


def _float(value: float | Fraction | None) -> float:
    return math.nan if value is None else float(value)
