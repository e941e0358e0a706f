"""`fluidkv size`: how much memory, how high a rate or how many replicas meet what is asked."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.cost import cost_of
from fluidkv.answers.served.load import AS_ASKED, LARGEST_COUNT, NOWHERE, Asking, Origin
from fluidkv.answers.served.server_options import (
    BATCHED_TOKENS,
    BLOCK_SIZE,
    CLOCK,
    CLOCK_FROM,
    DRAWS,
    HORIZON,
    PRICE,
    as_set,
    check_blocks,
    completed,
    engine_named,
    engine_of,
    log_of,
    server_as_set,
)
from fluidkv.answers.served.slo_option import read_slo, slos_of
from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.asked import as_written
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.source import requests_of
from fluidkv.errors import InputError
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers import Size, SizeAnswer
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.figures.figure import Figure
    from fluidkv.logs.timed import TimedRun
    from fluidkv.traces import Trace
    from fluidkv.workload import Workload

_ASKED = "What is asked"
_ARGUMENTS = {
    "max_num_seqs": "--now",
    "rate": "--qps",
    "replay": "--clock",
    "slos": "--slo",
    "watermark": "--now",
}  # of functions
_SLO = "What must hold in every run, such as ttft_p99=2s or tpot_p99=50ms; repeatable."
_Slo = Annotated[list[str] | None, opt.option("--slo METRIC=BOUND", str, _SLO, _ASKED)]
_KINDS = ("kv", "rate", "replicas")


def _kind(argument: str, text: str) -> str:
    if text not in _KINDS:
        raise InputError(argument, text, nearest(text, _KINDS))
    return text


_FIND = "What to look for: kv (smallest pool), rate (highest) or replicas (fewest)."
_Find = Annotated[str, opt.option("--find WHAT", _kind, _FIND, _ASKED)]
_QPS = (
    "Requests a second (an iteration, without --clock): the times of SOURCE are stretched or "
    r"squeezed to it; others arrive as Poisson. \[default: SOURCE's own]"
)
_Qps = Annotated[
    Fraction | None,
    opt.option(
        "--qps --rate R", read.positive_number, _QPS, opt.WHO, allowed="a finite number above 0"
    ),
]
_ENGINES = (
    "Engine whose rules are run, as recommend takes it. "
    r"\[default: what a log folder asks for, else vllm+cache]"
)
_Engine = Annotated[str | None, opt.option("--engine NAME", engine_named, _ENGINES, opt.SERVER)]
_OF_SERVER = ("capacity", "clock", "block_size", "max_num_batched_tokens")
_NOW = r"How the server is set: watermark, max_num_seqs; repeatable. \[default: 0 and no cap]"
_Now = Annotated[list[str] | None, opt.option("--now KNOB=VALUE", str, _NOW, opt.SERVER)]
_COUNT = {"most": LARGEST_COUNT}
_EACH = (
    "Number of requests in each run; of a SOURCE with times the first N. "
    r"\[default: all of such a SOURCE, else 1,000]"
)
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _EACH, opt.RUN, **_COUNT)
]
_RUNS = (
    "Number of runs, each with other requests; of a SOURCE with times parts of N requests. "
    r"\[default: 1 of such a SOURCE, else 2]"
)
_Runs = Annotated[int | None, opt.option("--runs N", read.whole_number, _RUNS, opt.RUN, **_COUNT)]
_WITHIN = "How near the answer and the next size that fails are to be, a share."
_Within = Annotated[Fraction, opt.option("--within X", read.share, _WITHIN, opt.RUN)]
_Out = Annotated[Path | None, opt.out("JSON, a table of all sizes, and a figure")]


def size(
    origin: Origin = NOWHERE,
    qps: _Qps = None,
    reading: Asking = AS_ASKED,
    slo: _Slo = None,
    find: _Find = "kv",
    memory: LoggedMemory = UNSAID_MEMORY,
    engine: _Engine = None,
    clock: Annotated[Any, CLOCK] = None,
    clock_from: Annotated[str | None, CLOCK_FROM] = None,
    price: Annotated[Fraction | None, PRICE] = None,
    now: _Now = None,
    block_size: Annotated[int | None, BLOCK_SIZE] = None,
    max_num_batched_tokens: Annotated[int | None, BATCHED_TOKENS] = None,
    requests: _Requests = None,
    runs: _Runs = None,
    draws: Annotated[int | None, DRAWS] = None,
    horizon: Annotated[Any, HORIZON] = None,
    within: _Within = Fraction(1, 100),
    seed: Annotated[int, opt.seed("the first run", most=2**62)] = 0,
    out: _Out = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """How much KV memory, at which rate, on how many servers, to meet the SLOs?

    Serves the same requests by servers of many sizes: the smallest KV pool, the
    highest rate or the fewest replicas that meet every --slo, also in nearly
    every fresh draw. A log brings clock, engine and the simulation's error.

    [bold]fluidkv size LOG_FOLDER --qps 1 --slo ttft_p99=2s --slo tpot_p99=50ms[/bold]
    [bold]fluidkv size trace.csv --clock llama-3.1-8b@h100 --slo ttft_p99=2s[/bold]
    """
    origin.check()
    reading.check(origin.source, qps=qps)
    bounds = [read_slo("--slo", text) for text in slo or []]
    if not bounds:
        raise InputError("--slo", "none", "at least one, such as ttft_p99=2s")
    memory.per_token()
    fresh: dict[str, Any] = {"draws": draws, "horizon": horizon}
    server = server_as_set(clock, clock_from, block_size, max_num_batched_tokens, as_set(now or []))
    load, report = requests_of(origin, reading)
    logged, notes = log_of(origin.source, report, reading.scaling)
    engine = engine_of(engine, logged, "vllm+cache")
    server, said = completed(server, memory, logged, engine)
    if server.capacity is not None:
        check_blocks(server, block_size)  # refuses blocks that do not make it up
    cost = cost_of(price, server.clock)
    log, why = _measured(logged, server, engine, reading)
    which = {"requests": requests, "runs": runs, "seed": seed} | fresh
    options: dict[str, Any] = which | {
        "find": find,
        **{name: getattr(server, name) for name in _OF_SERVER},
        "rate": None if qps is None else float(qps),
        "engine": engine,
        "setting": server.now,
        "log": log,
        "totals": None if log is None or logged is None else logged.totals,
        "within": float(within),
        "max_tokens": reading.asks,
    }
    answer = _run(load, slos_of(bounds, server.clock), options)
    from fluidkv.cli.commands.size.text import ASSUMES, say_size
    from fluidkv.cli.commands.size.verdict import costs

    give(
        lambda: answer.to_dict() | costs(answer, cost),
        lambda page: say_size(page, answer, load.name, memory, [*notes, *said], why, cost),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="size.json",
        time=answer.plan.clock.unit,
        beside=lambda: _beside(answer),
    )


def _measured(
    logged: "LoggedServer | None", server: "ServerSettings", engine: str, reading: Asking
) -> "tuple[TimedRun | None, str]":
    """The log whose error is to be said; else why there is none."""
    if logged is None:
        return None, "no log"
    from fluidkv.answers.served.demand import Demand

    return logged.measured(server, engine, Demand(replay=True, max_tokens=reading.asks), None)


def _run(load: "Workload | Trace", slos: list, options: dict[str, Any]) -> "SizeAnswer":
    from fluidkv.answers import size_server

    with progress("trying sizes") as line, as_written(_ARGUMENTS):

        def told(tried: int, total: int, best: "Size | None") -> None:
            so_far = "none meets the SLOs so far" if best is None else f"so far {_so_far(best)}"
            line.count(tried, total, f"sizes, {so_far}")

        return size_server(load, slos, on_progress=told, **options)


def _so_far(best: "Size") -> str:
    parts = [f"{best.blocks:,} blocks"]
    if best.speed != 1:
        parts.append(f"{best.speed:.4g} times as fast")
    if best.replicas != 1:
        parts.append(f"{best.replicas} replicas")
    return ", ".join(parts)


def _beside(answer: "SizeAnswer") -> "tuple[dict[str, bytes], list[Figure]]":
    from fluidkv.answers.figures.size import size_figure
    from fluidkv.answers.size.table import table_of

    return {"sizes.csv": table_of(answer).encode()}, [size_figure(answer)]
