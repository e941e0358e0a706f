"""`serve` at many points: requests drawn from a workload, through an engine; victims compared.

Points of one seed, workload, rate and number of requests see the same requests, whatever the engine
and its settings: so engines are compared on the same draws.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Number, Whole, Word
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.sweeps.analyses.systems import SYSTEM, workload_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.runs.requests import Requests
    from fluidkv.serving.engine_text import ServedEngine
    from fluidkv.workload import Workload

_COUNT = Whole(1, 2**30)
_LAST = 10**9  # iterations are run one by one where the clock does not jump over idle ones


@cache
def clock_of(text: str | None) -> IterationClock:
    """The clock of a point: a name, numbers, or none for the theory's, where an iteration lasts 1.

    Raises:
        InputError: neither numbers nor a name that is known.
    """
    from fluidkv.answers.served.clock import read_clock

    return IterationClock.iterations() if text is None else read_clock("clock", text)


def _engine(text: str) -> "ServedEngine":
    from fluidkv.serving.engines import served_engine

    return served_engine(text)


def _rule(kind: str, text: str) -> Any:
    from fluidkv.serving import rules

    return rules.rule_of(getattr(rules, kind), text)


_ENGINE = Setting("engine", Word(check=_engine, what="an engine"), "engine whose rules are run")
_RULES = (
    Setting(
        "victim",
        Word(check=partial(_rule, "Victim"), what="a rule"),
        "whom to preempt; none: as the engine does",
        default=None,
    ),
    Setting(
        "allocation",
        Word(check=partial(_rule, "Allocation"), what="a rule"),
        "what memory a request is given; none: as the engine does",
        default=None,
    ),
)
_SERVER = (
    Setting("requests", Whole(1, 10**6), "requests in a run", default=1000),
    Setting(
        "rate",
        Number(above=0),
        "Poisson arrivals; none: all wait from the start",
        "request / time",
        default=None,
    ),
    Setting("block_size", _COUNT, "tokens a block", "token", default=16),
    Setting("max_num_seqs", _COUNT, "most requests running at once", default=None),
    Setting(
        "max_num_batched_tokens", _COUNT, "most tokens an iteration computes", "token", default=None
    ),
    Setting(
        "watermark", Number(least=0, below=1), "share of blocks left free at admission", default=0.0
    ),
    Setting(
        "clock",
        Word(check=clock_of, what="a clock"),
        "duration of an iteration; none: each lasts 1",
        default=None,
    ),
    Setting(
        "iterations",
        Whole(1, 10**9),
        "horizon; none: until all are served",
        "iteration",
        default=None,
    ),
    SEED,
)
_OF_REQUESTS = {
    "ttft": "from arrival to first token",
    "tpot": "between tokens of a request",
    "latency": "from arrival to last token",
}
_VARIABLES = (
    Variable("completions", "requests completed", "request", "int"),
    Variable("preemptions", "preemptions", "request", "int"),
    Variable("iterations_run", "iterations of the run", "iteration", "int", at="iterations"),
    Variable("duration", "what the clock ran", "time"),
    Variable("throughput", "requests completed", "request / time", at="throughput_per_time"),
    Variable(
        "output_throughput",
        "tokens that clients see",
        "token / time",
        at="output_throughput_per_time",
    ),
    Variable("recompute_tax", "share of the computed tokens that were computed before"),
    Variable("utilisation", "share of the blocks held, mean over iterations"),
    Variable("running_mean", "requests running, mean over iterations", "request"),
    Variable("queue_mean", "requests waiting, mean over iterations", "request"),
    *(
        Variable(f"{name}_{statistic}", f"{title}, {statistic}", "time")
        for name, title in _OF_REQUESTS.items()
        for statistic in ("mean", "p50", "p99")
    ),
)


class _Served(NamedTuple):
    """What a point stands for: the arguments of `serve`, and what may share a batch."""

    requests: "Requests"
    engine: "ServedEngine"
    limits: Limits
    clock: IterationClock
    iterations: int | None
    batch: tuple[Any, ...]


def _served(row: Row) -> _Served:
    from fluidkv.serving.checks import check_horizon, check_runs

    workload, engine, clock = workload_of(row), _engine(row["engine"]), clock_of(row["clock"])
    chosen = tuple((name, row.get(name)) for name in ("victim", "allocation"))
    rules = {name: _rule(name.capitalize(), text) for name, text in chosen if text is not None}
    if rules:
        if engine.caching:
            raise InputError("engine", row["engine"], "an engine without a cache")
        engine = _engine_of(replace(engine.rules, **rules))
    limits = Limits(
        row["capacity"],
        block_size=row["block_size"],
        max_num_seqs=row["max_num_seqs"],
        max_num_batched_tokens=row["max_num_batched_tokens"],
        watermark=row["watermark"],
        seed=row["seed"],
    )
    table = _drawn(workload, row["requests"], row["rate"], row["seed"], clock.jumps)
    check_runs([table], engine.rules, [limits], [clock], [None])
    check_horizon(row["iterations"], 1, engine.rules)
    if not clock.jumps and row["iterations"] is None and table.arrival.max() > _LAST:
        last = f"{table.arrival.max():.3g} iterations until the last request comes"
        raise InputError("rate", row["rate"], f"at most 10^9 of them, or a clock; {last}")
    batch = (row["engine"], chosen, clock.jumps, row["iterations"])
    return _Served(table, engine, limits, clock, row["iterations"], batch)


def _engine_of(rules: Any) -> "ServedEngine":
    from fluidkv.serving.engines import served_engine

    return served_engine(rules)


@lru_cache(maxsize=256)
def _drawn(
    workload: "Workload", requests: int, rate: float | None, seed: int, timed: bool
) -> "Requests":
    from fluidkv.runs.arrivals import poisson, saturated

    if rate is None:
        return saturated(workload, requests, rng=seed)
    return poisson(workload, rate, requests, rng=seed, per_iteration=not timed)


def _metrics(points: Sequence[_Served]) -> "xr.Dataset":
    """All points of one engine in one batch; what a run finds does not depend on the others."""
    from fluidkv.runs.measuring import metrics
    from fluidkv.serving.run import serve
    from fluidkv.serving.server import Server

    requests, engines, limits, clocks, iterations, _ = zip(*points, strict=True)
    server = Server(engines[0], list(limits), clock=list(clocks))
    return metrics(serve(list(requests), server, iterations=iterations[0]))


SERVE = Analysis(
    name="serve",
    title="How does a server perform on random requests?",
    call="fluidkv.serve",
    settings=(*SYSTEM, _ENGINE, *_SERVER),
    variables=_VARIABLES,
    admit=_served,
    find=_metrics,
    together=attrgetter("batch"),
    chunk=64,
    alone=True,
)
PREEMPT = replace(
    SERVE,
    name="preempt",
    title="What does each choice of victim cost?",
    settings=(*SYSTEM, replace(_ENGINE, default="vllm"), *_RULES, *_SERVER),
)
