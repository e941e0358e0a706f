"""`fluidkv preempt`: whom to preempt, how to bring it back, how much memory to give."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli import served
from fluidkv.cli.asked import as_written
from fluidkv.cli.commands.preempt import values as values
from fluidkv.cli.memory import NOT_GIVEN, LoggedMemory
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.source import AS_ASKED, Asking
from fluidkv.errors import InputError
from fluidkv.plain import csv_text

if TYPE_CHECKING:
    from fluidkv.answers.preempt.result import PreemptAnswer
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.rules import Restore
    from fluidkv.serving.swap import Swap
    from fluidkv.traces import Trace
    from fluidkv.workload import Workload

_RULES, _SWAP = "The rules", "Swapping"
_COUNT = {"most": served.LARGEST_COUNT}
_MOST_TOKENS = 10**12
_ARGUMENTS = {"predictions": "--predictor"}  # of functions
_ENGINES = (
    "Engine whose other rules are kept: vllm, vllm-0.11, sglang, trtllm-max-utilization, "
    r"trtllm-no-evict, vidur-sarathi, restart. \[default: that of a log, else vllm]"
)
_Engine = Annotated[
    str | None, opt.option("--engine NAME", served.engine_named, _ENGINES, opt.SERVER)
]
_SEQS = r"Most requests running at once. \[default: no limit]"
_Seqs = Annotated[
    int | None, opt.option("--max-num-seqs N", read.whole_number, _SEQS, opt.SERVER, **_COUNT)
]
_VICTIMS = (
    "Which goes: last-admitted, fewest-outputs, least-progressed, most-outputs, most-blocks, "
    "least-computed, most-computed, longest-remaining, fewest-blocks, least-urgent, cost-aware, "
    r"loosest-objective, random; repeatable. \[default: all]"
)
_Victims = Annotated[list[str] | None, opt.option("--victim NAME", str, _VICTIMS, _RULES)]
_RESTORES = (
    "How a cache comes back: recompute, swap, cheaper (of the two, by length); repeatable. "
    r"\[default: recompute, and all where swapping has a price]"
)
_Restores = Annotated[list[str] | None, opt.option("--restore NAME", str, _RESTORES, _RULES)]
_ALLOCATIONS = (
    "How much memory a request is given: by-block, estimate-then-blocks, estimate-then-more (RLP), "
    r"estimate-then-double (S3); repeatable, beside the engine's own. \[default: by-block]"
)
_Allocations = Annotated[
    list[str] | None, opt.option("--allocation NAME", str, _ALLOCATIONS, _RULES)
]
_PREDICTORS = (
    "What is known of lengths, NAME[:PARAMETER=VALUE,...][+PADDING]: perfect, uniform, gaussian, "
    "log-normal, biased, bucketed, classifier, blind, mean, rlp, s3, file:PATH (a CSV: request, "
    "predicted); padding constant, share, bucket, confidence; repeatable. "
    r"\[default: perfect, and what needs it is not picked]"
)
_Predictors = Annotated[list[str] | None, opt.option("--predictor NAME", str, _PREDICTORS, _RULES)]
_PER_TOKEN = "Time to copy the KV of a token to the host or back; iterations without --clock."
_PerToken = Annotated[
    Fraction | None, opt.option("--swap-per-token S", read.positive_number, _PER_TOKEN, _SWAP)
]
_GBPS = "Bandwidth of the bus to the host, 10^9 bytes per second; with --kv-bytes and --clock."
_Gbps = Annotated[Fraction | None, opt.option("--swap-gbps G", read.positive_number, _GBPS, _SWAP)]
_POOL = r"Tokens that the host can hold. \[default: what --host-memory holds, else no limit]"
_Pool = Annotated[
    int | None,
    opt.option("--swap-pool TOKENS", read.whole_number, _POOL, _SWAP, least=0, most=_MOST_TOKENS),
]
_HOST = "Memory of the host for the pool, 10^9 bytes; with --kv-bytes."
_Host = Annotated[
    Fraction | None, opt.option("--host-memory GB", read.positive_number, _HOST, _SWAP)
]
_SPOT = r"Tokens from which --restore cheaper swaps. \[default: of the profile, or clock and bus]"
_Spot = Annotated[
    int | None,
    opt.option("--sweet-spot TOKENS", read.whole_number, _SPOT, _SWAP, least=0, most=_MOST_TOKENS),
]
_PROFILE = (
    "CSV with the columns length, recompute_s and swap_s (out and in): measured times, to which "
    "the price and the sweet spot are fitted."
)
_Profile = Annotated[str | None, opt.option("--profile FILE", str, _PROFILE, _SWAP)]
_SLO = (
    "Objectives of each request: ttft=2s and tbt=100ms; or a scale of the mean times, 1.5, or "
    "0.5:2.5 drawn for each request; repeatable."
)
_Slo = Annotated[list[str] | None, opt.option("--slo OBJECTIVE", str, _SLO, _RULES)]
_EACH = (
    "Number of requests in each run; of a trace at its own times the first N. "
    r"\[default: all of such a trace, else ten times what memory carries, 200 to 2,000]"
)
_Requests = Annotated[
    int | None, opt.option("--requests N", read.whole_number, _EACH, opt.RUN, **_COUNT)
]
_SEEDS = (
    "Number of runs of each combination, each with other requests; of a trace at its own times "
    r"parts of N requests. \[default: 8, or 1 of such a trace]"
)
_Seeds = Annotated[
    int | None, opt.option("--seeds N", read.whole_number, _SEEDS, opt.RUN, most=10_000)
]
_Out = Annotated[Path | None, opt.out("JSON, a table of all runs, and a figure")]


def preempt(
    source: opt.Source = None,
    class_: opt.MaybeClasses = None,
    preset: opt.Preset = None,
    arrivals: served.Arrivals = served.AS_IT_COMES,
    reading: Asking = AS_ASKED,
    memory: LoggedMemory = NOT_GIVEN,
    engine: _Engine = None,
    clock: served.Clock = None,
    clock_from: served.ClockFrom = None,
    block_size: served.Block = None,
    max_num_seqs: _Seqs = None,
    max_num_batched_tokens: served.Budget = None,
    victim: _Victims = None,
    restore: _Restores = None,
    allocation: _Allocations = None,
    predictor: _Predictors = None,
    slo: _Slo = None,
    swap_per_token: _PerToken = None,
    swap_gbps: _Gbps = None,
    swap_pool: _Pool = None,
    host_memory: _Host = None,
    sweet_spot: _Spot = None,
    profile: _Profile = None,
    requests: _Requests = None,
    seeds: _Seeds = None,
    seed: Annotated[int, opt.seed("the first run", most=2**31)] = 0,
    out: _Out = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """Which running request to preempt, and what it costs: the recompute tax.

    Runs every victim and restore rule on the same requests: recompute tax,
    throughput, tails of the time to first token and between tokens, SLO
    attainment; what of it the rules explain, and whether any is better than the
    engine's own by more than noise.

    [bold]fluidkv preempt --preset sharegpt --capacity 41408 --rate 16[/bold]
    [bold]fluidkv preempt trace.csv --capacity 200000 --clock 0.02:1e-7:1e-4[/bold]
    """
    read.exactly_one(source=source, **{"class": class_}, preset=preset)
    reading.check(source, rate=arrivals.rate, clients=arrivals.clients)
    chosen = _chosen(victim, restore, allocation, predictor)
    asked, in_seconds = values.objectives(slo)
    bus = (swap_per_token, swap_gbps, profile)
    prices = values.Prices(*bus, memory.per_token(), swap_pool, host_memory, sweet_spot)
    prices.check()
    server = _server(clock, clock_from, block_size, max_num_batched_tokens, max_num_seqs)
    load, report = reading.requests(source, class_, preset)
    logged, notes = served.log_of(source, report, reading.scaling)
    engine = served.engine_of(engine or _logged_rules(logged), logged, "vllm")
    server, said = served.completed(server, memory, logged, engine)
    notes += said
    if in_seconds:
        values.check_seconds(slo, server.clock)
    swapping, fitted = _swapping(prices, server, chosen["restores"])
    limits = _limits(server, engine, block_size, swapping)
    demand, why = arrivals.demand(load, server.clock, reading.asked)
    notes += [*fitted, *([("", why)] if why else [])]
    options: dict[str, Any] = {**chosen, "demand": demand, "objectives": asked}
    if logged is not None:
        options["log"], why = logged.measured(server, engine, demand, requests)
        options["totals"] = logged.totals
        notes += [("", f"not held against the log: {why}")] if why else []
    options |= {"requests": requests, "clock": server.clock, "seeds": seeds, "seed": seed}
    answer = _run(load, limits, engine, options)
    from fluidkv.cli.commands.preempt.text import ASSUMES, say_preemption

    give(
        answer.to_dict,
        lambda page: say_preemption(page, answer, load.name, notes),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="preempt.json",
        time=answer.clock.unit,
        beside=lambda: _beside(answer),
    )


def _run(
    load: "Workload | Trace", limits: "Limits", engine: str, options: dict[str, Any]
) -> "PreemptAnswer":
    from fluidkv.answers.preempt.study import preempt_study

    with progress("running every rule") as line, as_written(_ARGUMENTS):
        return preempt_study(load, limits, engine=engine, on_progress=line.count, **options)


def _logged_rules(logged: "LoggedServer | None") -> str:
    """The rules of a log's server, without its cache and its settings."""
    return "vllm" if logged is None else logged.engine.partition("+")[0]


def _chosen(
    victim: list[str] | None,
    restore: list[str] | None,
    allocation: list[str] | None,
    predictor: list[str] | None,
) -> dict[str, Any]:
    """The four values, as `preempt_study` takes them."""
    from fluidkv.serving.rules import Allocation, Restore, Victim

    return {
        "victims": values.rules("--victim", Victim, victim),
        "restores": values.rules("--restore", Restore, restore),
        "allocations": values.rules("--allocation", Allocation, allocation),
        "predictors": values.forecasts(predictor),
    }


def _server(
    clock: str | None,
    clock_from: str | None,
    block_size: int | None,
    max_num_batched_tokens: int | None,
    max_num_seqs: int | None,
) -> "ServerSettings":
    """The server as the options say, but for its memory."""
    from fluidkv.answers.served.logged import ServerSettings
    from fluidkv.answers.served.setting import Setting

    ticks = served.which_clock(clock, clock_from)
    now = Setting(max_num_seqs=max_num_seqs)
    return ServerSettings(None, ticks, block_size, max_num_batched_tokens, now)


def _swapping(
    prices: values.Prices, server: "ServerSettings", restores: "list[Restore] | None"
) -> "tuple[Swap | None, list[tuple[str, str]]]":
    """What swapping costs, and a row on a profile that says it."""
    from fluidkv.serving.rules import Restore

    if prices.timed is not None and (server.clock is None or server.clock.unit != "s"):
        raise InputError(*prices.timed, "together with a --clock in seconds")
    swapping, why = prices.swap(server.clock)
    swaps = [each.name.lower() for each in restores or () if each is not Restore.RECOMPUTE]
    if swapping is None and swaps:
        allowed = "together with a price: --swap-per-token, --swap-gbps or --profile"
        raise InputError("--restore", ", ".join(swaps), allowed)
    return swapping, [("profile", why)] if why else []


def _limits(
    server: "ServerSettings",
    engine: str,
    block_size: int | None,
    swapping: "Swap | None",
) -> "Limits":
    """Memory and caps, and what swapping costs."""
    from fluidkv.answers.served.memory import BLOCK_SIZES
    from fluidkv.serving.engines import served_engine
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.swap import Swap

    tokens = served.tokens_of(server, block_size)
    with as_written(_ARGUMENTS):
        return Limits(
            tokens,
            server.block_size or BLOCK_SIZES.get(served_engine(engine).rules.name, 1),
            server.now.max_num_seqs,
            server.max_num_batched_tokens,
            swap=swapping or Swap(),
        )


def _beside(answer: "PreemptAnswer"):
    from fluidkv.answers.figures.preempt import preempt_figure

    return {"preempt.csv": _table(answer).encode()}, [preempt_figure(answer)]


def _table(answer: "PreemptAnswer") -> str:
    """A row for each combination and run; empty where there is no value."""
    from fluidkv.answers.preempt.rules import FACTORS

    metrics = [str(name) for name in answer.table.data_vars]
    columns = [answer.table[name].values for name in metrics]
    rows = (
        [*combination.names.values(), run, *(float(values[index, run]) for values in columns)]
        for index, combination in enumerate(answer.combinations)
        for run in range(answer.runs)
    )
    return csv_text([*FACTORS, "run", *metrics], rows)
