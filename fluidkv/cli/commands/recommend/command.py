"""`fluidkv recommend`: settings of an engine for a workload, a KV capacity and what is asked."""

from fractions import Fraction
from itertools import product, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.cost import cost_of
from fluidkv.answers.served.load import (
    AS_ASKED,
    AS_IT_COMES,
    LARGEST_COUNT,
    NOWHERE,
    Arrivals,
    Asking,
    Origin,
)
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
    engine_named,
    engine_of,
    served_load,
    server_as_set,
)
from fluidkv.answers.served.slo_options import read_slo, slos_of
from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.asked import note_read, written_names
from fluidkv.cli.codes import NO_PICK
from fluidkv.cli.commands.recommend import values as values
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.plain import csv_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fluidkv.answers.recommend import Recommendation
    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.demand import Demand
    from fluidkv.figures.figure import Figure
    from fluidkv.traces import Trace
    from fluidkv.workload import Workload

_TRIED = "What to try and to ask for"
_LARGEST = LARGEST_COUNT
_OF_SERVER = ("clock", "now", "block_size", "max_num_batched_tokens")
_ARGUMENTS = {"admission_rate": "--rate-cap", "prefix_blocks": "SOURCE, hash_ids"}  # of functions


_ENGINES = (
    "Engine whose rules are run: vllm, vllm-0.11, sglang, trtllm-max-utilization, "
    "trtllm-no-evict, vidur-sarathi, restart; vllm+cache and vllm-0.11+cache with the prefix "
    "cache of preempted requests, sglang+cache for SGLang's own scheduler and tree. "
    r"\[default: what a log folder asks for, else vllm]"
)
_Engine = Annotated[str | None, opt.option("--engine NAME", engine_named, _ENGINES, opt.SERVER)]
_NOW = (
    r"How the server is set: watermark, max_num_seqs, rate_cap; repeatable. \[default: 0 and no "
    "caps]"
)
_Now = Annotated[list[str] | None, opt.option("--now KNOB=VALUE", str, _NOW, opt.SERVER)]
_SLO = "What must hold in every run, such as ttft_p99=2s or preemption_rate=0; repeatable."
_Slo = Annotated[list[str] | None, opt.option("--slo METRIC=BOUND", str, _SLO, _TRIED)]
_MARKS = "Watermarks to try, each in [0, 1)."
_Watermark = Annotated[str | None, opt.option("--watermark W,W,...", str, _MARKS, _TRIED)]
_SEQS = "Caps on running requests to try."
_Seqs = Annotated[str | None, opt.option("--max-num-seqs N,N,...", str, _SEQS, _TRIED)]
_RATES = "Caps on admissions per iteration to try, such as 1/2."
_RateCap = Annotated[str | None, opt.option("--rate-cap R,R,...", str, _RATES, _TRIED)]
_OTHERS = "Other numbers of clients to try, with --clients."
_ClientCap = Annotated[str | None, opt.option("--client-cap N,N,...", str, _OTHERS, _TRIED)]
_OBJECTIVE = (
    "The metric in which the pick is best: throughput, ttft_p99, latency_p99, tpot_p99, "
    "longest_gap_p99, or goodput, of requests within the times of every --slo."
)
_Objective = Annotated[str, opt.option("--objective NAME", str, _OBJECTIVE, _TRIED)]
_EACH = (
    "Number of requests in each run; of a trace at its own times the first N. "
    r"\[default: all of such a trace, else 200 to 2,000]"
)
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _EACH, opt.RUN, most=_LARGEST)
]
_RUNS = (
    "Number of runs of each setting, each with other requests; of a trace at its own times parts "
    r"of N requests. \[default: 4, or 1 of such a trace]"
)
_Runs = Annotated[
    int | None, opt.option("--runs N", read.whole_number, _RUNS, opt.RUN, most=_LARGEST)
]


_Out = Annotated[Path | None, opt.out("JSON, a table of all that was tried, and a figure")]


def recommend(
    origin: Origin = NOWHERE,
    arrivals: Arrivals = AS_IT_COMES,
    reading: Asking = AS_ASKED,
    memory: LoggedMemory = UNSAID_MEMORY,
    engine: _Engine = None,
    clock: Annotated[Any, CLOCK] = None,
    clock_from: Annotated[str | None, CLOCK_FROM] = None,
    price: Annotated[Fraction | None, PRICE] = None,
    now: _Now = None,
    block_size: Annotated[int | None, BLOCK_SIZE] = None,
    max_num_batched_tokens: Annotated[int | None, BATCHED_TOKENS] = None,
    slo: _Slo = None,
    objective: _Objective = "throughput",
    watermark: _Watermark = None,
    max_num_seqs: _Seqs = None,
    rate_cap: _RateCap = None,
    client_cap: _ClientCap = None,
    requests: _Requests = None,
    runs: _Runs = None,
    draws: Annotated[int | None, DRAWS] = None,
    horizon: Annotated[Any, HORIZON] = None,
    seed: Annotated[int, opt.seed("the first run", most=2**62)] = 0,
    out: _Out = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> int:
    """Which watermark, max_num_seqs or rate limit to set, and what it buys.

    What the server does today, what gains more than chance and the simulation's
    own error on a log, and what if there were more memory. Exits with 1 if there
    is no setting to take: none meets every --slo, or the runs are too short.

    [bold]fluidkv recommend --preset sharegpt --capacity 41408 --clients 128[/bold]
    """
    read.only_with("--client-cap", client_cap, "--clients", arrivals.clients)
    fresh: dict[str, Any] = {"draws": draws, "horizon": horizon}
    server = server_as_set(clock, clock_from, block_size, max_num_batched_tokens, as_set(now or []))
    tried = values.candidates(watermark, max_num_seqs, rate_cap, client_cap)
    values.check_objective(objective)
    bounds = [read_slo("--slo", text) for text in slo or []]
    with progress("reading requests"):
        served = served_load(
            origin,
            arrivals,
            reading,
            memory,
            server,
            lambda logged: engine_of(engine, logged, "vllm"),
            on_read=note_read,
        )
    server, load = served.server, served.load
    cost = cost_of(price, server.clock)
    which = {"requests": requests, "runs": runs, "seed": seed} | fresh
    options: dict[str, Any] = which | {
        **{name: getattr(server, name) for name in _OF_SERVER},
        **served.log_options(requests),
        "candidates": tried,
        "slos": slos_of(bounds, server.clock),
        "objective": objective,
        "version": served.logged and served.logged.settings.version,
    }
    found = _run(load, check_blocks(server, block_size), served.engine, served.demand, options)
    from fluidkv.cli.commands.recommend.text import ASSUMES, costs, say_recommendation

    give(
        lambda: found.to_dict() | costs(found, cost),
        lambda page: say_recommendation(page, found, load.name, served.notes, cost),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="recommend.json",
        time=found.plan.clock.unit,
        beside=lambda: _beside(found),
    )
    return 0 if found.to_take else NO_PICK


def _run(
    load: "Workload | Trace",
    tokens: int,
    engine: str,
    demand: "Demand",
    options: dict[str, Any],
) -> "Recommendation":
    from fluidkv.answers.recommend import recommend_settings

    with progress("running every setting") as line:
        try:
            return recommend_settings(
                load,
                tokens,
                engine=engine,
                demand=demand,
                on_progress=lambda served, total: line.count(served, total, "requests served"),
                on_first=lambda bias: line.tell(_first(bias)),
                **options,
            )
        except InputError as error:
            name = _option_of(error.argument, options)
            raise InputError(name, error.value, error.allowed) from None


def _first(bias: "Mapping[str, Bias]") -> list[str]:
    """The first table, as long as what may be better is not known."""
    from fluidkv.answers.served.rows import TITLES
    from fluidkv.report.numbers import short, signed

    said = [f"{'so far':<26}{'measured':>10}{'simulated':>11}{'off by':>8}"]
    for name, one in bias.items():
        numbers = f"{short(one.measured):>10}{short(one.simulated):>11}{signed(one.relative):>8}"
        said.append(f"{TITLES.get(name, 'output a second'):<26}{numbers}")
    return said


def _option_of(argument: str, options: dict[str, Any]) -> str:
    """What the reader wrote: a knob may have been given as it is set now, or to be tried."""
    as_set = argument in options["now"].changed(type(options["now"])())
    if as_set and argument not in options["candidates"]:
        return "--now"
    return written_names(_ARGUMENTS).get(argument, argument)


# --- files --------------------------------------------------------------------------------------


def _beside(found: "Recommendation") -> "tuple[dict[str, bytes], list[Figure]]":
    from fluidkv.answers.figures.recommend import recommend_frontier

    return {"recommend.csv": _table(found).encode()}, [recommend_frontier(found)]


def _table(found: "Recommendation") -> str:
    """A row for each setting and run; empty where there is no cap or no value."""
    knobs = [
        name
        for name, of in found.table.coords.items()
        if name != "setting" and of.dims == ("setting",)
    ]
    metrics = list(found.table.data_vars)

    def row(index: int, run: int) -> list[float]:
        marks = (
            index in found.frontier,
            index in found.choice.allowed,
            index == found.choice.index,
        )
        set_to = [float(found.table[name].values[index]) for name in knobs]
        values = [float(found.table[name].values[index, run]) for name in metrics]
        return [*set_to, run, *map(int, marks), *values]

    each = product(range(len(found.settings)), range(found.runs))
    header = map(str, [*knobs, "run", "frontier", "allowed", "pick", *metrics])
    return csv_text(header, starmap(row, each), whole=True)
