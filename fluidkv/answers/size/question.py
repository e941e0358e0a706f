"""`fluidkv size`: how much memory, how high a rate or how many replicas meet what is asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import LoggedMemory
from fluidkv.answers.served.cost import cost_of
from fluidkv.answers.served.load import Asking, Origin
from fluidkv.answers.served.server_options import (
    ABOVE_0,
    COUNT,
    DRAWS,
    ENGINE,
    HORIZON,
    SEED,
    PricedServer,
    check_blocks,
    completed,
    engine_named,
    engine_of,
    log_of,
)
from fluidkv.answers.served.slo_options import BoundKind, WrittenSlo, slos_of
from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.sizes import AXES, Find, Size
from fluidkv.errors import InputError
from fluidkv.questions.kinds import SHARE, Number, Word
from fluidkv.questions.options import SERVER, WHO, Made, Option
from fluidkv.questions.question import Late, Question, Sweep, Swept

if TYPE_CHECKING:
    from fluidkv.answers.served.fresh import Horizon

_ASKED = "What is asked"


def _at_most(name: str, what: str) -> Option:
    """A bound that a sweep may set."""
    return Option(f"{name} S", Number(above=0), what, title=f"at most; {what}", unit="s")


_SLO = Option(
    "--slo METRIC=BOUND",
    BoundKind(),
    "What must hold in every run, such as ttft_p99=2s or tpot_p99=50ms; repeatable.",
    _ASKED,
    many=True,
    means=("slos",),
    settings={
        "ttft_p99": _at_most("ttft_p99", "to the first token, p99"),
        "tpot_p99": _at_most("tpot_p99", "between tokens, p99"),
        "latency_p99": _at_most("latency_p99", "to the last token, p99"),
    },
)
_FIND = Option(
    "--find WHAT",
    Word(tuple(AXES)),
    "What to look for: kv (smallest pool), rate (highest) or replicas (fewest).",
    _ASKED,
)
_QPS = Option(
    "--qps --rate R",
    ABOVE_0,
    "Requests a second (an iteration, without --clock): the times of SOURCE are stretched or "
    r"squeezed to it; others arrive as Poisson. \[default: SOURCE's own]",
    WHO,
    title="Poisson arrivals",
    unit="request / time",
    in_sweep=Number(above=0),
    means=("rate",),
)
_ENGINE = Option(
    "--engine NAME",
    ENGINE,
    "Engine whose rules are run, as recommend takes it. "
    r"\[default: what a log folder asks for, else vllm+cache]",
    SERVER,
    title="engine whose rules are run",
    in_sweep=Word(check=lambda text: engine_named("engine", text), what="an engine"),
)
_REQUESTS = Option(
    "--requests N",
    COUNT,
    "Number of requests in each run; of a SOURCE with times the first N. "
    r"\[default: all of such a SOURCE, else 1,000]",
    title="requests in a run",
)
_RUNS = Option(
    "--runs N",
    COUNT,
    "Number of runs, each with other requests; of a SOURCE with times parts of N requests. "
    r"\[default: 1 of such a SOURCE, else 2]",
)
_WITHIN = Option(
    "--within X",
    SHARE,
    "How near the answer and the next size that fails are to be, a share.",
    title="how near the edge is found",
    in_sweep=Number(above=0, below=1),
)


def _bounds(
    slo: Annotated[Sequence[WrittenSlo] | None, _SLO] = None,
    qps: Annotated[Fraction | None, _QPS] = None,
) -> tuple[Sequence[WrittenSlo], Fraction | None]:
    return slo or (), qps


def _load(
    origin: Annotated[Origin, Made(Origin)],
    reading: Annotated[Asking, Made(Asking)],
    bounds: Annotated[tuple[Sequence[WrittenSlo], Fraction | None], Made(_bounds)],
    memory: Annotated[LoggedMemory, Made(LoggedMemory)],
    server: Annotated[PricedServer, Made(PricedServer)],
    engine: Annotated[str | None, _ENGINE] = None,
    on_read: Callable[[Any], object] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of `size_server`: requests, bounds, the server and its log; and fields of the answer
    on how all of this was read.
    """
    from fluidkv.answers.served.demand import Demand

    slo, qps = bounds
    origin.check()
    reading.check(origin.source, qps=qps)
    if not slo:
        raise InputError("slo", "none", "at least one, such as ttft_p99=2s")
    memory.per_token()
    requests, report = reading.requests(origin, on_read)
    logged, notes = log_of(origin.source, report, reading.scaling)
    settings = server.settings()
    engine = engine_of(engine, logged, "vllm+cache")
    whole, more = completed(settings, memory, logged, engine)
    if whole.capacity is not None:
        check_blocks(whole, settings.block_size)
    log, unheld = None, "no log"
    if logged is not None:
        replay = Demand(replay=True, max_tokens=reading.asks)
        log, unheld = logged.measured(whole, engine, replay, None)
    names = ("capacity", "clock", "block_size", "max_num_batched_tokens")
    options = {
        **{name: getattr(whole, name) for name in names},
        "source": requests,
        "slos": slos_of(slo, whole.clock),
        "setting": whole.now,
        "engine": engine,
        "rate": None if qps is None else float(qps),
        "max_tokens": reading.asks,
        "log": log,
        "totals": None if log is None or logged is None else logged.totals,
    }
    about = {"name": requests.name, "notes": [*notes, *more], "memory": memory, "unheld": unheld}
    return options, about | {"cost": cost_of(server.price, whole.clock)}


def how_much(
    load: Annotated[tuple[dict[str, Any], dict[str, Any]], Made(_load, doing="reading requests")],
    find: Annotated[Find, _FIND] = "kv",
    requests: Annotated[int | None, _REQUESTS] = None,
    runs: Annotated[int | None, _RUNS] = None,
    draws: Annotated[int | None, DRAWS] = None,
    horizon: Annotated["Horizon | None", HORIZON] = None,
    within: Annotated[Fraction, _WITHIN] = Fraction(1, 100),
    seed: Annotated[int, SEED] = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> SizeAnswer:
    """How much KV memory, at which rate, on how many servers, to meet the SLOs?

    Serves the same requests by servers of many sizes: the smallest KV pool, the
    highest rate or the fewest replicas that meet every --slo, also in nearly
    every fresh draw. A log brings clock, engine and the simulation's error.
    """
    from fluidkv.answers.size.study import size_server

    def tell(tried: int, total: int, best: Size | None) -> None:
        if on_progress is not None:
            on_progress(tried, total, f"sizes, {_so_far(best)}")

    options, about = load
    answer = size_server(
        find=find,
        requests=requests,
        runs=runs,
        draws=draws,
        horizon=horizon,
        within=float(within),
        seed=seed,
        on_progress=tell,
        **options,
    )
    return replace(answer, **about)


def _so_far(best: Size | None) -> str:
    if best is None:
        return "none meets the SLOs so far"
    parts = [f"so far {best.blocks:,} blocks"]
    if best.speed != 1:
        parts.append(f"{best.speed:.4g} times as fast")
    if best.replicas != 1:
        parts.append(f"{best.replicas} replicas")
    return ", ".join(parts)


SIZE = Question(
    name="size",
    ask=how_much,
    say=Late("fluidkv.answers.size.page:say_size"),
    figures=Late("fluidkv.answers.size.figures:size_figure"),
    tables=lambda answer: {"sizes.csv": answer.to_csv()},
    doing="trying sizes",
    time=lambda answer: answer.plan.clock.unit,
    assumes=(
        "Sizes are simulated by the engine's own rules, not tried on a server. Every size serves "
        "the same requests, and the same fresh draws of what is like them, chosen once.",
        "How long an iteration lasts stands beside 'clock', and is the same function of the batch "
        "at every size.",
        "Where there are several replicas, they are alike and get requests in turn (round robin).",
        "An SLO is met where every run, and nearly every draw, meets it; nothing is concluded for "
        "a size that was not run.",
    ),
    examples=(
        "fluidkv size LOG_FOLDER --qps 1 --slo ttft_p99=2s --slo tpot_p99=50ms",
        "fluidkv size trace.csv --clock llama-3.1-8b@h100 --slo ttft_p99=2s",
    ),
    sweep=Sweep(
        settings=(
            *("class", "qps", "clock", "slo", "engine"),
            *("block_size", "requests", "within", "seed"),
        ),
        names={"qps": "rate"},
        variables={
            "kv_tokens": Swept(
                "values.answer.tokens", "smallest memory that meets every bound", "token", True
            ),
            "kv_blocks": Swept("values.answer.blocks", "the same in blocks", whole=True),
            "too_small": Swept(
                "values.answer.not_met_at",
                "next smaller memory tried, which does not",
                "token",
                True,
            ),
            "tried": Swept("values.sizes", "sizes tried", whole=True),
        },
        defaults={"block_size": 16, "requests": 1000, "within": 0.05},
        fixed={"runs": 1, "draws": 0},
        required=("rate", "clock", "engine", "slo"),
        title="How much memory meets what is asked of a server?",
        call="size_server",
        slow=True,
    ),
)
