"""`fluidkv compare`: engines and versions on one workload, with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.compare.result import EngineComparison
from fluidkv.answers.memory import LoggedMemory
from fluidkv.answers.served.cost import cost_of
from fluidkv.answers.served.load import Arrivals, Asking, Origin
from fluidkv.answers.served.server_options import (
    DRAWS,
    ENGINE,
    HORIZON,
    REQUESTS,
    SEED,
    PricedServer,
    ServedLoad,
    engine_of,
    runs_of,
    served_load,
)
from fluidkv.errors import InputError
from fluidkv.questions.answer import table_csv
from fluidkv.questions.options import RUN, SERVER, Made, Option, as_options
from fluidkv.questions.question import Late, Question

if TYPE_CHECKING:
    from fluidkv.answers.served.fresh import Horizon
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings

_ENGINES = Option(
    "--engine NAME",
    ENGINE,
    "An engine, with its settings behind a colon: vllm+cache, vllm-0.11, "
    "sglang+cache:conservativeness=0.3, trtllm-no-evict; repeatable; all are compared with the "
    r"first. \[default: what a log folder asks for first]",
    SERVER,
    many=True,
    means=("engines",),
)
_CROSSOVER = Option(
    "--crossover",
    None,
    "Also where TensorRT-LLM's MAX_UTILIZATION and GUARANTEED_NO_EVICT change places, along "
    "max_tokens and along the pool.",
    RUN,
)


def _names(engine: Annotated[Sequence[str] | None, _ENGINES] = None) -> list[str]:
    return list(engine or ())


def _load(
    origin: Annotated[Origin, Made(Origin)],
    arrivals: Annotated[Arrivals, Made(Arrivals)],
    reading: Annotated[Asking, Made(Asking)],
    names: Annotated[list[str], Made(_names)],
    memory: Annotated[LoggedMemory, Made(LoggedMemory)],
    server: Annotated[PricedServer, Made(PricedServer)],
    on_read: Callable[[Any], object] | None = None,
) -> tuple[ServedLoad, list[str], PricedServer]:
    """What is served by whom, the engines that are named, and options of the server."""
    settings = server.settings()
    in_blocks = memory.capacity is not None and memory.capacity.unit == "blocks"
    if memory.capacity is not None and in_blocks and settings.block_size is None:
        allowed = "tokens, or --block-size beside it: each engine has blocks of its own size"
        raise InputError("--capacity", memory.capacity.text, allowed)
    served = served_load(origin, arrivals, reading, memory, settings, on_read=on_read)
    return served, names, server


def _engines(names: list[str], logged: "LoggedServer | None", crossover: bool) -> list[str]:
    """Engines to compare: the log's own goes first, where one is read and only others named."""
    from fluidkv.answers.compare.crossover import POLICIES

    if logged is not None:
        names = [engine_of(name, logged, name) for name in names]
    if logged is not None and len(names) == 1 and logged.engine not in names:
        return [logged.engine, *names]
    if not names and crossover:
        return list(POLICIES)
    if len(names) < 2:
        first = names[0] if names else "none"
        raise InputError("--engine", first, "at least two, or one beside that of a log folder")
    return names


def _block_size(size: int | None, server: "ServerSettings", engines: list[str]) -> int | None:
    """Also that of a log, where every engine is its engine; None: each has its own."""
    from fluidkv.serving.engines import served_engine

    of_vllm = all(served_engine(name).rules.name.startswith("vllm") for name in engines)
    return size or (server.block_size if of_vllm else None)


def _log(served: ServedLoad, engines: list[str], requests: int | None) -> dict[str, Any]:
    """The log, and which engine's it is; nothing where it is none's."""
    for place, name in enumerate(engines if served.logged else ()):
        assert served.logged is not None
        log, _ = served.logged.measured(served.server, name, served.demand, requests)
        if log is not None:
            return {"log": log, "logged": place, "totals": served.logged.totals}
    return {}


def which_engine(
    load: Annotated[
        tuple[ServedLoad, list[str], PricedServer], Made(_load, doing="reading requests")
    ],
    crossover: Annotated[bool, _CROSSOVER] = False,
    requests: Annotated[int | None, REQUESTS] = None,
    runs: Annotated[int | None, runs_of("engine", 8)] = None,
    draws: Annotated[int | None, DRAWS] = None,
    horizon: Annotated["Horizon | None", HORIZON] = None,
    seed: Annotated[int, SEED] = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> EngineComparison:
    """Which engine, version or setting of a scheduler is better for these requests?

    Serves the same requests by each engine's own rules and compares all with the
    first: throughput, what users wait for, preemptions and recompute tax; which
    differences are more than noise, and, with a log, more than the simulation
    misses there.
    """
    from fluidkv.answers.compare.crossover import policies_crossover
    from fluidkv.answers.compare.plan import Setup
    from fluidkv.answers.compare.study import compare_engines
    from fluidkv.serving.clock import IterationClock

    served, names, options_of_server = load
    server = served.server
    cost = cost_of(options_of_server.price, server.clock)
    engines = _engines(names, served.logged, crossover)
    options: dict[str, Any] = {
        "capacity": server.capacity,
        "demand": served.demand,
        "clock": server.clock or IterationClock.iterations(),
        "now": server.now,
        "block_size": _block_size(options_of_server.block_size, server, engines),
        "max_num_batched_tokens": server.max_num_batched_tokens,
        "requests": requests,
        "runs": runs,
        "seed": seed,
    }

    def tell(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(done, total, "requests served")

    with as_options({"prefix_blocks": "SOURCE, hash_ids"}):
        comparison = compare_engines(
            served.load,
            engines=engines,
            draws=draws,
            horizon=horizon,
            on_progress=tell,
            **options,
            **_log(served, engines, requests),
        )
        crossed = None
        if crossover:
            crossed = policies_crossover(served.load, Setup(**options), on_progress=tell)
    return replace(
        comparison, crossover=crossed, cost=cost, name=served.load.name, notes=served.notes
    )


def _tables(answer: EngineComparison) -> dict[str, str]:
    tables = {"compare.csv": table_csv(answer.table, whole=True)}
    if answer.crossover is not None:
        tables["crossover_runs.csv"] = answer.crossover.to_csv()
    return tables


COMPARE = Question(
    name="compare",
    ask=which_engine,
    say=Late("fluidkv.answers.compare.page:say_comparison"),
    figures=Late("fluidkv.answers.compare.figures:compare_figures"),
    tables=_tables,
    doing="running every engine",
    time=lambda answer: answer.setup.clock.unit,
    assumes=(
        "Engines differ in the rules of their schedulers alone, which are simulated; how long an "
        "iteration lasts is the same function of the batch for all of them.",
        "All engines serve the same requests, and the differences are taken pair by pair.",
        "How requests come stands beside 'arrivals'. Another day may bring others.",
    ),
    examples=(
        "fluidkv compare LOG_FOLDER --engine vllm-0.11+cache",
        "fluidkv compare trace.csv --capacity 40k --engine vllm --engine sglang",
    ),
    sweep=None,
)
