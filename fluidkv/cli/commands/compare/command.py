"""`fluidkv compare`: engines and versions on one workload, with intervals."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli import served
from fluidkv.cli.asked import as_written
from fluidkv.cli.commands.recommend import values as values
from fluidkv.cli.memory import NOT_GIVEN, LoggedMemory
from fluidkv.cli.output import give
from fluidkv.cli.price import Price, cost_of
from fluidkv.cli.progress import progress
from fluidkv.cli.source import AS_ASKED, Asking
from fluidkv.errors import InputError
from fluidkv.plain import csv_text

if TYPE_CHECKING:
    from fluidkv.answers import Crossover, EngineComparison
    from fluidkv.answers.served.demand import Demand
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.figures.figure import Figure
    from fluidkv.logs.timed import TimedRun
    from fluidkv.traces import Trace
    from fluidkv.workload import Workload

_ARGUMENTS = {
    "engines": "--engine",
    "max_num_seqs": "--now",
    "prefix_blocks": "SOURCE, hash_ids",
    "replay": "--clock",
    "watermark": "--now",
}  # of functions
_ENGINES = (
    "An engine, with its settings behind a colon: vllm+cache, vllm-0.11, "
    "sglang+cache:conservativeness=0.3, trtllm-no-evict; repeatable; all are compared with the "
    r"first. \[default: what a log folder asks for first]"
)
_Engine = Annotated[list[str] | None, opt.option("--engine NAME", str, _ENGINES, opt.SERVER)]
_NOW = r"How servers are set: watermark, max_num_seqs; repeatable. \[default: 0 and no cap]"
_Now = Annotated[list[str] | None, opt.option("--now KNOB=VALUE", str, _NOW, opt.SERVER)]
_CROSS = (
    "Also where TensorRT-LLM's MAX_UTILIZATION and GUARANTEED_NO_EVICT change places, along "
    "max_tokens and along the pool."
)
_Cross = Annotated[bool, opt.flag("--crossover", _CROSS, opt.RUN)]
_COUNT = {"most": served.LARGEST_COUNT}
_EACH = (
    "Number of requests in each run; of a trace at its own times the first N. "
    r"\[default: all of such a trace, else 200 to 2,000]"
)
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _EACH, opt.RUN, **_COUNT)
]
_RUNS = (
    "Number of runs of each engine, each with other requests; of a trace at its own times parts of "
    r"N requests. \[default: 8, or 1 of such a trace]"
)
_Runs = Annotated[int | None, opt.option("--runs N", read.whole_number, _RUNS, opt.RUN, **_COUNT)]
_Out = Annotated[Path | None, opt.out("JSON, a table of all runs, and figures")]


def compare(
    source: opt.Source = None,
    class_: opt.MaybeClasses = None,
    preset: opt.Preset = None,
    arrivals: served.Arrivals = served.AS_IT_COMES,
    reading: Asking = AS_ASKED,
    engine: _Engine = None,
    memory: LoggedMemory = NOT_GIVEN,
    clock: served.Clock = None,
    clock_from: served.ClockFrom = None,
    price: Price = None,
    now: _Now = None,
    block_size: served.Block = None,
    max_num_batched_tokens: served.Budget = None,
    crossover: _Cross = False,
    requests: _Requests = None,
    runs: _Runs = None,
    draws: served.FreshDraws = None,
    horizon: served.HorizonOf = None,
    seed: Annotated[int, opt.seed("the first run", most=2**62)] = 0,
    out: _Out = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """Which engine, version or setting of a scheduler is better for these requests?

    Serves the same requests by each engine's own rules and compares all with the
    first: throughput, what users wait for, preemptions and recompute tax; which
    differences are more than noise, and, with a log, more than the simulation
    misses there.

    [bold]fluidkv compare LOG_FOLDER --engine vllm-0.11+cache[/bold]
    [bold]fluidkv compare trace.csv --capacity 40k --engine vllm --engine sglang[/bold]
    """
    read.places(out, html, "compare.json")
    read.exactly_one(source=source, **{"class": class_}, preset=preset)
    reading.check(source, rate=arrivals.rate, clients=arrivals.clients)
    names = _engines(engine or [])
    server = values.server_of(clock, clock_from, block_size, max_num_batched_tokens, now)
    fresh = {"draws": draws, "horizon": served.horizon_of(horizon)}
    _check_blocks(memory, block_size)
    tokens = memory.count(block_size)
    load, report = reading.requests(source, class_, preset)
    logged, notes = served.log_of(source, report, reading.scaling)
    if logged is not None:
        server, taken = server.as_logged(logged)
        notes += taken
    server = _with_capacity(server, tokens)
    notes += memory.notes(block_size)
    served.tokens_of(server, block_size)
    cost = cost_of(price, server.clock)
    demand, why = arrivals.demand(load, server.clock, reading.asked)
    notes += [("", why)] if why else []
    names = _with_logged(names, logged, crossover)
    block_size = block_size or _logged_block(server, names)
    options = _asked(server, demand, block_size, requests, runs, seed)
    found = _run(load, names, options | fresh | _log_of(logged, names, server, demand, requests))
    crossed = _cross(load, options) if crossover else None
    from fluidkv.cli.commands.compare.text import ASSUMES, costs, say_comparison

    give(
        lambda: _as_dict(found, crossed) | costs(found, cost),
        lambda page: say_comparison(page, found, crossed, load.name, notes, cost),
        as_json=json_,
        out=out,
        html=html,
        name="compare.json",
        beside=lambda: _beside(found, crossed),
        time=found.asked.clock.unit,
        assumes=ASSUMES,
    )


def _engines(texts: list[str]) -> list[str]:
    """Refused before anything is read, if they are not known."""
    from fluidkv.serving.engines import served_engine

    with as_written(_ARGUMENTS):
        for text in texts:
            served_engine(text)
    return texts


def _with_logged(names: list[str], logged: "LoggedServer | None", crossover: bool) -> list[str]:
    """Engines to compare: the log's own goes first, where one is given and only others named."""
    from fluidkv.answers.compare.crossover import POLICIES

    if logged is not None:
        names = [served.engine_of(name, logged, name) for name in names]
    if logged is not None and len(names) == 1 and logged.engine not in names:
        return [logged.engine, *names]
    if not names and crossover:
        return list(POLICIES)
    if len(names) < 2:
        given = names[0] if names else "none"
        raise InputError("--engine", given, "at least two, or one beside that of a log folder")
    return names


def _check_blocks(memory: LoggedMemory, block_size: int | None) -> None:
    """Refuse a number of blocks where nobody says how large one is: engines differ in that."""
    if memory.capacity is not None and memory.capacity.unit == "blocks" and block_size is None:
        allowed = "tokens, or --block-size beside it: each engine has blocks of its own size"
        raise InputError("--capacity", memory.capacity.text, allowed)


def _with_capacity(server: "ServerSettings", tokens: int | None) -> "ServerSettings":
    from dataclasses import replace

    return server if tokens is None else replace(server, capacity=tokens)


def _logged_block(server: "ServerSettings", names: list[str]) -> int | None:
    """The block size of a log, where every engine is its engine; None: each has its own."""
    from fluidkv.serving.engines import served_engine

    of_vllm = all(served_engine(name).rules.name.startswith("vllm") for name in names)
    return server.block_size if of_vllm else None


def _asked(
    server: "ServerSettings",
    demand: "Demand",
    block_size: int | None,
    requests: int | None,
    runs: int | None,
    seed: int,
) -> dict[str, Any]:
    """As `compare_engines` takes it."""
    return {
        "capacity": server.capacity,
        "demand": demand,
        "clock": server.clock,
        "now": server.now,
        "block_size": block_size,
        "max_num_batched_tokens": server.max_num_batched_tokens,
        "requests": requests,
        "runs": runs,
        "seed": seed,
    }


def _log_of(
    logged: "LoggedServer | None",
    names: list[str],
    server: "ServerSettings",
    demand: "Demand",
    requests: int | None,
) -> dict[str, Any]:
    """The log, and which engine's it is; nothing where it is none's."""
    if logged is None:
        return {}
    for place, name in enumerate(names):
        log: TimedRun | None
        log, _ = logged.measured(server, name, demand, requests)
        if log is not None:
            return {"log": log, "logged": place, "totals": logged.totals}
    return {}


def _run(load: "Workload | Trace", names: list[str], options: dict[str, Any]) -> "EngineComparison":
    from fluidkv.answers import compare_engines

    with progress("running every engine") as line, as_written(_ARGUMENTS):
        return compare_engines(
            load,
            engines=names,
            on_progress=lambda done, total: line.show(
                f"running every engine, {done:,} of {total:,} requests served"
            ),
            **options,
        )


def _cross(load: "Workload | Trace", options: dict[str, Any]) -> "Crossover":
    from fluidkv.answers import policies_crossover
    from fluidkv.answers.compare.plan import Asked
    from fluidkv.serving.clock import IterationClock

    clock: dict[str, Any] = {"clock": options["clock"] or IterationClock.iterations()}
    asked = Asked(**options | clock)
    with progress("looking for the crossover") as line, as_written(_ARGUMENTS):
        return policies_crossover(
            load,
            asked,
            on_progress=lambda done, total: line.show(
                f"looking for the crossover, {done:,} of {total:,} requests served"
            ),
        )


# --- files --------------------------------------------------------------------------------------


def _as_dict(found: "EngineComparison", crossed: "Crossover | None") -> dict[str, Any]:
    return found.to_dict() | {"crossover": None if crossed is None else crossed.to_dict()}


def _beside(
    found: "EngineComparison", crossed: "Crossover | None"
) -> "tuple[dict[str, bytes], list[Figure]]":
    from fluidkv.answers.figures.compare import crossover_figure, engines_figure

    figures = [engines_figure(found)]
    files = {"compare.csv": _table(found).encode()}
    if crossed is not None:
        figures.append(crossover_figure(crossed))
        files["crossover_runs.csv"] = _crossed_table(crossed).encode()
    return files, figures


def _table(found: "EngineComparison") -> str:
    """A row for each engine and run; empty where there is no value."""
    metrics = [str(name) for name in found.table.data_vars]
    rows = (
        [name, run, *(float(found.table[m].values[index, run]) for m in metrics)]
        for index, name in enumerate(found.names)
        for run in range(found.runs)
    )
    return csv_text(["engine", "run", *metrics], rows, whole=True)


def _crossed_table(crossed: "Crossover") -> str:
    """A row for each axis, point, policy and run."""
    from fluidkv.answers.compare.crossover import POLICIES

    both = (crossed.by_max_tokens, crossed.by_capacity)
    metrics = [str(name) for name in both[0].table.data_vars]
    rows = (
        [along.axis, point, name, run, *(float(along.table[m].values[p, at, run]) for m in metrics)]
        for along in both
        for at, point in enumerate(along.points)
        for p, name in enumerate(POLICIES)
        for run in range(crossed.runs)
    )
    return csv_text(["axis", "point", "policy", "run", *metrics], rows, whole=True)
