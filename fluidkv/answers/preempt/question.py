"""`fluidkv preempt`: whom to preempt, how to bring it back, how much memory to give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import LoggedMemory
from fluidkv.answers.preempt.result import PreemptAnswer
from fluidkv.answers.preempt.swapping import Prices
from fluidkv.answers.served.load import Arrivals, Asking, Origin
from fluidkv.answers.served.server_options import (
    BATCHED_TOKENS,
    BLOCK_SIZE,
    CLOCK,
    CLOCK_FROM,
    COUNT,
    ENGINE,
    ServedLoad,
    engine_of,
    served_load,
    server_as_set,
)
from fluidkv.errors import InputError
from fluidkv.questions.answer import table_csv
from fluidkv.questions.kinds import FEW_DIGITS, Whole, Written, metric_bound, rational
from fluidkv.questions.options import RUN, SERVER, Made, Option, seed_of
from fluidkv.questions.question import Late, Question

if TYPE_CHECKING:
    from enum import Enum

    from fluidkv.answers.preempt.forecasts import Forecast
    from fluidkv.answers.preempt.objectives import Objectives
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.limits import Limits
    from fluidkv.serving.rules import Allocation, Restore, Victim

_rule_option = partial(Option, panel="The rules", many=True)
_UNITS = {"s": 1, "ms": 1000, "": 1}  # in a second
_OBJECTIVE = (
    "ttft=2s, tbt=100ms, or a scale of the mean times: 1.5, or 0.5:2.5 drawn for each request"
)


# --- how options are read -----------------------------------------------------------------------


def _rule(kind: str, argument: str, text: str) -> "Enum":
    """A victim, restore or allocation rule by its name."""
    from fluidkv.serving import rules

    try:
        return rules.rule_of(getattr(rules, kind), text)
    except InputError as error:
        raise InputError(argument, error.value, error.allowed) from None


def _predictor(argument: str, text: str) -> "tuple[str, Forecast]":
    """As it is written, and what it is."""
    from fluidkv.answers.preempt.forecasts import forecast_of

    try:
        return text, forecast_of(text)
    except InputError as error:
        named = error.argument in ("predictor", "predictions")
        kind = text.partition(":")[0]  # the rest is the reader's own, however long
        name = argument if named else f"{argument} {kind}:{error.argument}"
        raise InputError(name, error.value, error.allowed) from None


@dataclass(frozen=True)
class _Bound:
    """One objective: a time of ttft or tbt, or a scale of both.

    Fields:
        text: as it was written.
        name: ttft, tbt or scale.
        value: the time, or the ends of the scale.
        seconds: whether it is a time in seconds.
    """

    text: str
    name: str
    value: Any
    seconds: bool = False


def _bound(argument: str, text: str) -> _Bound:
    if "=" not in text:
        ends = [rational(part, FEW_DIGITS) for part in text.split(":")]
        low, high = ends[0], ends[-1]
        if not all(end is not None and end > 0 for end in ends) or len(ends) > 2:
            raise InputError(argument, text, _OBJECTIVE)
        assert low is not None
        assert high is not None
        if low > high:
            raise InputError(argument, text, "a scale above 0, or two, the least first")
        return _Bound(text, "scale", (float(low), float(high)))
    if "=-" in text:
        raise InputError(argument, text, "a time above 0")
    name, bound, unit = metric_bound(argument, text, needs=_OBJECTIVE)
    if name not in ("ttft", "tbt") or unit not in _UNITS:
        raise InputError(argument, text, f"{_OBJECTIVE}; each once")
    if bound <= 0:
        raise InputError(argument, text, "a time above 0")
    return _Bound(text, name, float(bound / _UNITS[unit]), bool(unit))


# --- options ------------------------------------------------------------------------------------

_ENGINE = Option(
    "--engine NAME",
    ENGINE,
    "Engine whose other rules are kept: vllm, vllm-0.11, sglang, trtllm-max-utilization, "
    r"trtllm-no-evict, vidur-sarathi, restart. \[default: that of a log, else vllm]",
    SERVER,
)
_SEQS = Option(
    "--max-num-seqs N", COUNT, r"Most requests running at once. \[default: no limit]", SERVER
)
_VICTIMS = _rule_option(
    "--victim NAME",
    Written(partial(_rule, "Victim")),
    "Which goes: last-admitted, fewest-outputs, least-progressed, most-outputs, most-blocks, "
    "least-computed, most-computed, longest-remaining, fewest-blocks, least-urgent, cost-aware, "
    r"loosest-objective, random; repeatable. \[default: all]",
)
_RESTORES = _rule_option(
    "--restore NAME",
    Written(partial(_rule, "Restore")),
    "How a cache comes back: recompute, swap, cheaper (of the two, by length); repeatable. "
    r"\[default: recompute, and all where swapping has a price]",
)
_ALLOCATIONS = _rule_option(
    "--allocation NAME",
    Written(partial(_rule, "Allocation")),
    "How much memory a request is given: by-block, estimate-then-blocks, estimate-then-more (RLP), "
    r"estimate-then-double (S3); repeatable, beside the engine's own. \[default: by-block]",
)
_PREDICTORS = _rule_option(
    "--predictor NAME",
    Written(_predictor),
    "What is known of lengths, NAME[:PARAMETER=VALUE,...][+PADDING]: perfect, uniform, gaussian, "
    "log-normal, biased, bucketed, classifier, blind, mean, rlp, s3, file:PATH (a CSV: request, "
    "predicted); padding constant, share, bucket, confidence; repeatable. "
    r"\[default: perfect, and what needs it is not picked]",
    means=("predictions",),
)
_SLO = _rule_option(
    "--slo OBJECTIVE",
    Written(_bound),
    "Objectives of each request: ttft=2s and tbt=100ms; or a scale of the mean times, 1.5, or "
    "0.5:2.5 drawn for each request; repeatable.",
)
_REQUESTS = Option(
    "--requests N",
    COUNT,
    "Number of requests in each run; of a trace at its own times the first N. "
    r"\[default: all of such a trace, else ten times what memory carries, 200 to 2,000]",
    RUN,
)
_SEEDS = Option(
    "--seeds N",
    Whole(1, 10_000),
    "Number of runs of each combination, each with other requests; of a trace at its own times "
    r"parts of N requests. \[default: 8, or 1 of such a trace]",
    RUN,
)


def _server(
    engine: Annotated[str | None, _ENGINE] = None,
    clock: Annotated["IterationClock | None", CLOCK] = None,
    clock_from: Annotated[str | None, CLOCK_FROM] = None,
    block_size: Annotated[int | None, BLOCK_SIZE] = None,
    max_num_seqs: Annotated[int | None, _SEQS] = None,
    max_num_batched_tokens: Annotated[int | None, BATCHED_TOKENS] = None,
) -> "tuple[str | None, ServerSettings]":
    """The engine's name, and the server as the options say it, but for its memory."""
    from fluidkv.answers.served.setting import Setting

    now = Setting(max_num_seqs=max_num_seqs)
    return engine, server_as_set(clock, clock_from, block_size, max_num_batched_tokens, now)


@dataclass(frozen=True)
class _Rules:
    """What is compared, and what each request is to meet."""

    victim: Annotated["Sequence[Victim] | None", _VICTIMS] = None
    restore: Annotated["Sequence[Restore] | None", _RESTORES] = None
    allocation: Annotated["Sequence[Allocation] | None", _ALLOCATIONS] = None
    predictor: Annotated["Sequence[tuple[str, Forecast]] | None", _PREDICTORS] = None
    slo: Annotated[Sequence[_Bound] | None, _SLO] = None

    def __post_init__(self) -> None:
        self.objectives()

    def objectives(self) -> "Objectives | None":
        """All bounds together.

        Raises:
            InputError: a scale beside another one, and one twice.
        """
        from fluidkv.answers.preempt.objectives import Objectives

        values: dict[str, Any] = {}
        bounds = self.slo or ()
        for each in bounds:
            if each.name == "scale" and len(bounds) > 1:
                raise InputError("--slo", each.text, "a scale alone, or ttft=TIME and tbt=TIME")
            if each.name in values:
                raise InputError("--slo", each.text, f"{_OBJECTIVE}; each once")
            values[each.name] = each.value
        return Objectives(**values) if values else None

    def check_seconds(self, clock: "IterationClock | None") -> None:
        """Refuse times in seconds where the clock has none."""
        if any(each.seconds for each in self.slo or ()) and (clock is None or clock.unit != "s"):
            texts = " ".join(each.text for each in self.slo or ())
            raise InputError("--slo", texts, "numbers of iterations, or --clock for seconds")


def _load(
    origin: Annotated[Origin, Made(Origin)],
    arrivals: Annotated[Arrivals, Made(Arrivals)],
    reading: Annotated[Asking, Made(Asking)],
    memory: Annotated[LoggedMemory, Made(LoggedMemory)],
    server: Annotated["tuple[str | None, ServerSettings]", Made(_server)],
    on_read: Callable[[Any], object] | None = None,
) -> ServedLoad:
    name, settings = server

    def engine(logged: "LoggedServer | None") -> str:
        """The rules of a log's server, without its cache and its settings."""
        own = "vllm" if logged is None else logged.engine.partition("+")[0]
        return engine_of(name or own, logged, "vllm")

    return served_load(origin, arrivals, reading, memory, settings, engine, on_read=on_read)


def _limits(served: ServedLoad, prices: Prices, restores: "Sequence[Enum]") -> "Limits":
    """Memory and caps, and what swapping costs."""
    from fluidkv.answers.served.memory import BLOCK_SIZES
    from fluidkv.serving.engines import served_engine
    from fluidkv.serving.limits import Limits

    server = served.server
    prices.check(server.clock, restores)
    swap, rows = prices.swap(server.clock)
    served.notes.extend(rows)
    return Limits(
        server.capacity or 0,
        server.block_size or BLOCK_SIZES.get(served_engine(served.engine).rules.name, 1),
        server.now.max_num_seqs,
        server.max_num_batched_tokens,
        swap=swap,
    )


def which_to_preempt(
    served: Annotated[ServedLoad, Made(_load, doing="reading requests")],
    rules: Annotated[_Rules, Made(_Rules)],
    prices: Annotated[Prices, Made(Prices)],
    requests: Annotated[int | None, _REQUESTS] = None,
    seeds: Annotated[int | None, _SEEDS] = None,
    seed: Annotated[int, seed_of("the first run")] = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> PreemptAnswer:
    """Which running request to preempt, and what it costs: the recompute tax.

    Runs every victim and restore rule on the same requests: recompute tax,
    throughput, tails of the time to first token and between tokens, SLO
    attainment; what of it the rules explain, and whether any is better than the
    engine's own by more than noise.
    """
    from fluidkv.answers.preempt.study import preempt_study

    clock = served.server.clock
    rules.check_seconds(clock)
    answer = preempt_study(
        served.load,
        _limits(served, prices, rules.restore or ()),
        engine=served.engine,
        demand=served.demand,
        clock=clock,
        victims=rules.victim,
        restores=rules.restore,
        allocations=rules.allocation,
        predictors=dict(rules.predictor) if rules.predictor else None,
        objectives=rules.objectives(),
        requests=requests,
        seeds=seeds,
        seed=seed,
        on_progress=on_progress,
        **served.log_options(requests),
    )
    return replace(answer, name=served.load.name, notes=served.notes)


def _tables(answer: PreemptAnswer) -> dict[str, str]:
    from fluidkv.answers.preempt.rules import FACTORS

    return {"preempt.csv": table_csv(answer.table, names={"combination": FACTORS})}


PREEMPT = Question(
    name="preempt",
    ask=which_to_preempt,
    say=Late("fluidkv.answers.preempt.page:say_preemption"),
    figures=Late("fluidkv.answers.preempt.figures:preempt_figure"),
    doing="running every rule",
    time=lambda answer: answer.clock.unit,
    tables=_tables,
    assumes=(
        "Rules are simulated, not tried on a server: the engine's own, with other victims and "
        "other ways to bring them back.",
        "How long an iteration lasts stands beside 'clock', and is the same function of the batch "
        "under every rule.",
        "All rules serve the same requests, run by run; the differences are taken pair by pair.",
    ),
    examples=(
        "fluidkv preempt --preset sharegpt --capacity 41408 --rate 16",
        "fluidkv preempt trace.csv --capacity 200000 --clock 0.02:1e-7:1e-4",
    ),
    sweep=None,
)
