"""`fluidkv recommend`: settings of an engine for a workload, a KV capacity and what is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import LoggedMemory
from fluidkv.answers.recommend.records import OBJECTIVES
from fluidkv.answers.recommend.result import Recommendation
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
    knob_values,
    runs_of,
    served_load,
)
from fluidkv.answers.served.slo_options import BoundKind, WrittenSlo, slos_of
from fluidkv.questions.answer import table_csv
from fluidkv.questions.kinds import Text, Word, Written
from fluidkv.questions.options import SERVER, Made, Option, as_options, only_with
from fluidkv.questions.question import Late, Question

if TYPE_CHECKING:
    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.fresh import Horizon
    from fluidkv.answers.served.logged import LoggedServer

_goal = partial(Option, panel="What to try and to ask for")


def _values_of(knob: str) -> Written:
    """How `V,V,...` is read, values of a knob."""
    return Written(lambda argument, text: knob_values(argument, text, knob))


_ENGINE = Option(
    "--engine NAME",
    ENGINE,
    "Engine whose rules are run: vllm, vllm-0.11, sglang, trtllm-max-utilization, "
    "trtllm-no-evict, vidur-sarathi, restart; vllm+cache and vllm-0.11+cache with the prefix "
    "cache of preempted requests, sglang+cache for SGLang's own scheduler and tree. "
    r"\[default: what a log folder asks for, else vllm]",
    SERVER,
)
_NOW = Option(
    "--now KNOB=VALUE",
    Text(),
    r"How the server is set: watermark, max_num_seqs, rate_cap; repeatable. \[default: 0 and no "
    "caps]",
    SERVER,
    many=True,
)
_SLO = _goal(
    "--slo METRIC=BOUND",
    BoundKind(),
    "What must hold in every run, such as ttft_p99=2s or preemption_rate=0; repeatable.",
    many=True,
)
_OBJECTIVE = _goal(
    "--objective NAME",
    Word(OBJECTIVES),
    "The metric in which the pick is best: throughput, ttft_p99, latency_p99, tpot_p99, "
    "longest_gap_p99, or goodput, of requests within the times of every --slo.",
)
_WATERMARK = _goal(
    "--watermark W,W,...", _values_of("watermark"), "Watermarks to try, each in [0, 1)."
)
_SEQS = _goal(
    "--max-num-seqs N,N,...", _values_of("max_num_seqs"), "Caps on running requests to try."
)
_RATE_CAP = _goal(
    "--rate-cap R,R,...",
    _values_of("admission_rate"),
    "Caps on admissions per iteration to try, such as 1/2.",
    means=("admission_rate",),
)
_CLIENT_CAP = _goal(
    "--client-cap N,N,...",
    _values_of("clients"),
    "Other numbers of clients to try, with --clients.",
)


@dataclass(frozen=True)
class _Server(PricedServer):
    """The same, with a limit on admissions."""

    now: Annotated[Sequence[str] | None, _NOW] = None


def _engine(engine: Annotated[str | None, _ENGINE] = None) -> str | None:
    return engine


def _load(
    origin: Annotated[Origin, Made(Origin)],
    arrivals: Annotated[Arrivals, Made(Arrivals)],
    reading: Annotated[Asking, Made(Asking)],
    memory: Annotated[LoggedMemory, Made(LoggedMemory)],
    engine: Annotated[str | None, Made(_engine)],
    server: Annotated[_Server, Made(_Server)],
    on_read: Callable[[Any], object] | None = None,
) -> tuple[ServedLoad, Fraction | None]:
    """What is served by whom, and the price of a GPU."""
    settings = server.settings()

    def rules(logged: "LoggedServer | None") -> str:
        return engine_of(engine, logged, "vllm")

    served = served_load(origin, arrivals, reading, memory, settings, rules, on_read=on_read)
    return served, server.price


@dataclass(frozen=True)
class _Goal:
    """What to ask for, and what to try."""

    slo: Annotated[Sequence[WrittenSlo] | None, _SLO] = None
    objective: Annotated[str, _OBJECTIVE] = OBJECTIVES[0]
    watermark: Annotated[Sequence[float] | None, _WATERMARK] = None
    max_num_seqs: Annotated[Sequence[int] | None, _SEQS] = None
    rate_cap: Annotated[Sequence[Fraction] | None, _RATE_CAP] = None
    client_cap: Annotated[Sequence[int] | None, _CLIENT_CAP] = None

    @property
    def candidates(self) -> dict[str, Sequence[Any]]:
        """Knob -> values to try, of those that are named."""
        values = {
            "watermark": self.watermark,
            "max_num_seqs": self.max_num_seqs,
            "admission_rate": self.rate_cap,
            "clients": self.client_cap,
        }
        return {knob: tried for knob, tried in values.items() if tried is not None}


def which_settings(
    load: Annotated[tuple[ServedLoad, Fraction | None], Made(_load, doing="reading requests")],
    goal: Annotated[_Goal, Made(_Goal)],
    requests: Annotated[int | None, REQUESTS] = None,
    runs: Annotated[int | None, runs_of("setting", 4)] = None,
    draws: Annotated[int | None, DRAWS] = None,
    horizon: Annotated["Horizon | None", HORIZON] = None,
    seed: Annotated[int, SEED] = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
    on_first: Callable[[list[str]], None] | None = None,
) -> Recommendation:
    """Which watermark, max_num_seqs or rate limit to set, and what it buys.

    What the server does today, what gains more than chance and the simulation's
    own error on a log, and what if there were more memory. Exits with 1 if there
    is no setting to take: none meets every --slo, or the runs are too short.
    """
    from fluidkv.answers.recommend.page import first_lines
    from fluidkv.answers.recommend.study import recommend_settings

    served, price = load
    server = served.server
    cost = cost_of(price, server.clock)
    assert server.capacity is not None  # refused where requests are read

    def tell(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(done, total, "requests served")

    def tell_first(bias: "Mapping[str, Bias]") -> None:
        if on_first is not None:
            on_first(first_lines(bias))

    # A knob may be out of range as it is set now, or as it is to be tried.
    set_now = set(server.now.changed(type(server.now)())) - set(goal.candidates)
    with as_options(dict.fromkeys(set_now, "--now") | {"prefix_blocks": "SOURCE, hash_ids"}):
        answer = recommend_settings(
            served.load,
            server.capacity,
            engine=served.engine,
            demand=served.demand,
            clock=server.clock,
            now=server.now,
            candidates=goal.candidates,
            slos=slos_of(goal.slo or (), server.clock),
            objective=goal.objective,
            version=served.logged and served.logged.settings.version,
            block_size=server.block_size,
            max_num_batched_tokens=server.max_num_batched_tokens,
            requests=requests,
            runs=runs,
            seed=seed,
            draws=draws,
            horizon=horizon,
            on_progress=tell,
            on_first=tell_first,
            **served.log_options(requests),
        )
    return replace(answer, cost=cost, name=served.load.name, notes=served.notes)


def _check(options: Mapping[str, Any]) -> None:
    clients = options["client_cap"]
    text = clients and ",".join(map(str, clients))
    only_with("--client-cap", text, "--clients", options["clients"])


def _tables(answer: Recommendation) -> dict[str, str]:
    """A row for each setting and run; empty where there is no cap or no value."""
    import numpy as np

    from fluidkv.answers.served.setting import KNOBS

    table, choice = answer.table, answer.choice
    places = np.arange(len(answer.settings))[:, None].repeat(answer.runs, axis=1)
    marks = {
        "frontier": answer.frontier,
        "allowed": choice.allowed,
        "pick": [index for index in [choice.index] if index is not None],
    }
    columns = {name: (("setting", "run"), np.isin(places, i)) for name, i in marks.items()}
    marked = table.drop_vars(list(table.data_vars)).assign(columns).merge(table)
    return {"recommend.csv": table_csv(marked, names={"setting": KNOBS}, whole=True)}


RECOMMEND = Question(
    name="recommend",
    ask=which_settings,
    say=Late("fluidkv.answers.recommend.page:say_recommendation"),
    figures=Late("fluidkv.answers.recommend.figures:frontier_figure"),
    tables=_tables,
    check=_check,
    doing="running every setting",
    time=lambda answer: answer.plan.clock.unit,
    fails=lambda answer: not answer.to_take,
    assumes=(
        "Settings are simulated by the engine's own rules, not tried on a server. Where a log is "
        "given, its own run is simulated as well, and the error of that stands beside each gain.",
        "How long an iteration lasts stands beside 'clock', and is the same function of the batch "
        "in every setting.",
        "Every setting serves the same requests; how they come stands beside 'arrivals'. Another "
        "day may bring others.",
    ),
    examples=("fluidkv recommend --preset sharegpt --capacity 41408 --clients 128",),
    sweep=None,
)
