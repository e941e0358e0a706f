"""Options that say which requests a server gets: of a trace, a preset, or classes; and when."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.prompt_options import SCALE_INPUT, SCALE_OUTPUT, SCALE_RATE
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, Exact, Text, Whole, Written, rational
from fluidkv.questions.options import WHO, Option, as_options, exactly_one, only_with
from fluidkv.workload import RequestClass, Workload

if TYPE_CHECKING:
    from fluidkv.answers.served.demand import Demand
    from fluidkv.runs.max_tokens import MaxTokens
    from fluidkv.serving.clock import IterationClock
    from fluidkv.traces import Trace
    from fluidkv.traces.read import LoadedTrace
    from fluidkv.traces.report import LoadReport
    from fluidkv.traces.scaling import Scaling

LARGEST_COUNT = 10**6
COLUMNS = {"input": "input_length", "output": "decode_length", "arrival": "arrival_time"}
SCALES = {f"scale_{name}": f"--scale-{name}" for name in ("input", "output", "rate")}
_CLASS = "IN:OUT or IN:OUT:SHARE, such as 128:256 or 128:256:1/2"
_who = partial(Option, panel=WHO)
_RATE = Exact(0, math.inf, example="0.01 or 1/100")


def columns_of(argument: str, text: str) -> dict[str, str]:
    """`input=COL,output=COL,arrival=COL`, some of them, as `read_trace` takes it."""
    allowed = "input=COL,output=COL,arrival=COL, each at most once, COL a column of the file"
    columns: dict[str, str] = {}
    for part in text.split(","):
        what, _, column = (word.strip() for word in part.partition("="))
        name = COLUMNS.get(what)
        if name is None or not column or name in columns:
            raise InputError(argument, text, allowed)
        columns[name] = column
    return columns


SOURCE = Option(
    "SOURCE",
    Text(),
    "Trace file, benchmark result or log folder, its format found from the content; or "
    "sample:vllm-rtx4090.",
    panel=None,
)
CLASSES = _who("--class IN:OUT[:SHARE]", Text(), "A request class; repeatable.", many=True)
PRESET = _who("--preset NAME", Text(), "A synthetic workload: alpaca, bookcorpus, sharegpt.")
FORMAT = _who(
    "--format NAME",
    Text(),
    "Format of SOURCE, instead of by its content: aiperf, azure, burstgpt, csv, genai-perf, "
    "guidellm, mooncake, segments, sglang-bench-serving, sglang-log, vidur, vllm-bench, "
    "vllm-bench-serve.",
)
_COLUMNS = _who(
    "--columns WHAT=COL,...",
    Written(columns_of),
    "Which columns of a CSV file hold lengths and times: input=COL,output=COL,arrival=COL, each "
    "where it has no usual name.",
)
_MAX_TOKENS = _who(
    "--max-tokens N",
    Text(),
    "What clients ask for at most: exact (just what they get, as a benchmark's clients do), a "
    "number, a multiple such as 2x, uniform:LOW:HIGH, context:TOKENS (what the input leaves of "
    "it, as chats do where nothing is said), or column:NAME of a CSV trace. Engines that reserve "
    r"memory for outputs to come look at it. \[default: exact]",
)
_ARRIVALS = {
    "rate": _who(
        "--rate --qps R",
        _RATE,
        "Rate of Poisson arrivals per second; per iteration without --clock.",
    ),
    "clients": _who(
        "--clients N",
        Whole(1, LARGEST_COUNT),
        "Number of clients, each with one request at a time.",
    ),
    "replay": _who(
        "--replay",
        None,
        "Replay the trace at its own times, which is the default with a --clock.",
    ),
    "speed": _who("--speed X", _RATE, "Replay the trace X times as fast."),
}


# --- classes ------------------------------------------------------------------------------------


def request_classes(texts: Sequence[str]) -> Workload:
    """`IN:OUT[:SHARE] ...` as a workload; without any SHARE the shares are equal."""
    rows = [text.split(":") for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if len(row) not in (2, 3):
            raise InputError("--class", text, _CLASS)
    shared = [len(row) == 3 for row in rows]
    if any(shared) and not all(shared):
        missing = texts[shared.index(False)]
        raise InputError("--class", missing, "a share for every class, or for none")
    classes = []
    for text, row in zip(texts, rows, strict=True):
        input_length, decode_length = (_length(text, part) for part in row[:2])
        portion = Fraction(1, len(rows))
        if len(row) == 3:
            share = rational(row[2], FEW_DIGITS)
            if share is None:
                raise InputError("--class", row[2], "a share such as 1/2 or 0.5")
            portion = share
        classes.append(RequestClass(input_length, decode_length, portion))
    return Workload(tuple(classes), name=" + ".join(texts) if len(texts) < 4 else "")


def _length(text: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", part.strip()) or int(part) < 1:
        raise InputError("--class", text, f"{_CLASS}, lengths whole and at least 1")
    return int(part)


@dataclass(frozen=True)
class Origin:
    """Where requests come from: one of these."""

    source: Annotated[str | None, SOURCE] = None
    class_: Annotated[Sequence[str] | None, CLASSES] = None
    preset: Annotated[str | None, PRESET] = None

    def check(self) -> None:
        """Refuse two of them, and none."""
        exactly_one(source=self.source, **{"class": self.class_}, preset=self.preset)


# --- how they are read --------------------------------------------------------------------------


@dataclass(frozen=True)
class Scales:
    """Options that make requests longer, shorter or faster; a factor of 1 changes nothing."""

    scale_input: Annotated[Fraction, SCALE_INPUT] = Fraction(1)
    scale_output: Annotated[Fraction, SCALE_OUTPUT] = Fraction(1)
    scale_rate: Annotated[Fraction, SCALE_RATE] = Fraction(1)

    @property
    def scaling(self) -> "Scaling":
        from fluidkv.traces.scaling import Scaling

        return Scaling(self.scale_input, self.scale_output, self.scale_rate)

    def check(self, source: str | None, **arrivals: object) -> None:
        """Refuse, before anything is read, a rate of what has none.

        Args:
            source: a trace or log, whose times alone can be scaled.
            arrivals: other options that say when requests come, by their names; None: not set.
        """
        if self.scale_rate == 1:
            return
        rate = str(self.scale_rate)
        only_with("--scale-rate", rate, "a SOURCE with times of arrival", source)
        for name, value in arrivals.items():
            if value:
                allowed = f"no --{name} beside it, which says when requests come"
                raise InputError("--scale-rate", rate, allowed)


@dataclass(frozen=True)
class Reading(Scales):
    """Options on how SOURCE is read and what is done to its requests."""

    format_: Annotated[str | None, FORMAT] = None
    columns: Annotated[Mapping[str, str] | None, _COLUMNS] = None

    @property
    def columns_text(self) -> str | None:
        """The columns as they were written."""
        words = {name: word for word, name in COLUMNS.items()}
        pairs = (f"{words.get(name, name)}={to}" for name, to in (self.columns or {}).items())
        return ",".join(pairs) or None

    def check(self, source: str | None, **arrivals: object) -> None:
        only_with("--format", self.format_, "SOURCE", source)
        only_with("--columns", self.columns_text, "SOURCE", source)
        super().check(source, **arrivals)

    def requests(
        self, origin: Origin, on_read: Callable[["LoadReport"], object] | None = None
    ) -> "tuple[Workload | Trace, LoadReport | None]":
        """Classes, a preset, or a trace with the report of its reader.

        Args:
            origin: exactly one of these.
            on_read: is told what the reader of a trace did with its rows.
        """
        load, report = self._read(origin)
        if report is not None and on_read is not None:
            on_read(report)
        if self.scaling:
            from fluidkv.traces import scale

            with as_options(SCALES):
                load = scale(load, self.scaling)
        return load, report

    def _read(self, origin: Origin) -> "tuple[Workload | Trace, LoadReport | None]":
        if origin.class_:
            return request_classes(origin.class_), None
        names = {"source": "SOURCE", "format": "--format", "preset": "--preset"}
        with as_options(names):
            if origin.preset is not None:
                from fluidkv.traces import preset

                return preset(origin.preset), None
            from fluidkv.traces import read_trace

            source = origin.source or ""
            try:
                return read_trace(source, format=self.format_, columns=self.columns)
            except InputError as error:
                if error.argument == "columns":
                    raise InputError("--columns", self.columns_text, error.allowed) from None
                logged = _of_log(source) if error.argument == "source" else None
                if logged is None:
                    raise
                return logged


@dataclass(frozen=True)
class Asking(Reading):
    """As `Reading`, and an option on what clients ask for at most."""

    max_tokens: Annotated[str | None, _MAX_TOKENS] = None

    @property
    def asks(self) -> "MaxTokens | None":
        """None: nobody says."""
        from fluidkv.runs.max_tokens import max_tokens_of

        if self.max_tokens is None:
            return None
        with as_options({"max_tokens": "--max-tokens"}):
            return max_tokens_of(self.max_tokens)

    def check(self, source: str | None, **arrivals: object) -> None:
        super().check(source, **arrivals)
        if self.asks is not None and self.asks.column:
            only_with("--max-tokens", self.max_tokens, "SOURCE", source)

    def requests(
        self, origin: Origin, on_read: Callable[["LoadReport"], object] | None = None
    ) -> "tuple[Workload | Trace, LoadReport | None]":
        if self.asks is None or not self.asks.column:
            return super().requests(origin, on_read)
        columns = {**(self.columns or {}), "max_tokens": self.asks.column}
        return replace(self, columns=columns, max_tokens=None).requests(origin, on_read)


NOWHERE, AS_IT_IS, AS_ASKED = Origin(), Reading(), Asking()


def _of_log(source: str) -> "LoadedTrace | None":
    """The requests of a log whose files have to be looked at for them; None if it is none.

    Raises:
        InputError: a log without requests, of files that are named for what they are.
    """
    from fluidkv.logs import read_log
    from fluidkv.logs.read import is_log
    from fluidkv.traces.read import LoadedTrace, read_trace

    if not is_log(source):
        return None
    log = read_log(source)
    if log.requests_from is None:
        what = "; ".join(f"{each.name} is {each.kind}" for each in log.files[:4])
        raise InputError("source", source, f"requests ({what}); {log.missing[0].command}")
    trace, report = read_trace(log.requests_from)
    return LoadedTrace(trace, replace(report, of_log=True))


# --- when they come -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrivals:
    """Options that say when requests come; none: all wait from the start, or as a trace has it."""

    rate: Annotated[Fraction | None, _ARRIVALS["rate"]] = None
    clients: Annotated[int | None, _ARRIVALS["clients"]] = None
    replay: Annotated[bool, _ARRIVALS["replay"]] = False
    speed: Annotated[Fraction, _ARRIVALS["speed"]] = Fraction(1)

    def demand(
        self,
        load: "Workload | Trace",
        clock: "IterationClock | None",
        max_tokens: "MaxTokens | None" = None,
    ) -> "tuple[Demand, str]":
        """When requests come, and why so, where no option says it: a trace with times is replayed
        if it can be.

        Args:
            load: the requests.
            clock: of the server; a replay needs one in seconds.
            max_tokens: what clients ask for at most.
        """
        from fluidkv.answers.served.demand import Demand
        from fluidkv.traces import Trace

        options = (("--rate", self.rate), ("--clients", self.clients), ("--replay", self.replay))
        named = [name for name, value in options if value]
        if len(named) > 1:
            raise InputError(named[0], " ".join(named), "one of --rate, --clients, --replay")
        replay, seconds = self.replay, clock is not None and clock.unit == "s"
        timed = isinstance(load, Trace) and load.arrival_times_s is not None
        why = ""
        if not named and timed:
            replay = seconds
            why = "" if replay else "its times are in seconds: --clock would replay them"
        if replay and not seconds:
            raise InputError("--replay", "no --clock", "together with a clock in seconds")
        if replay and not timed:
            raise InputError("--replay", load.name or "no trace", "a trace with arrival times")
        if self.speed != 1 and not replay:
            raise InputError("--speed", str(self.speed), "only where a trace is replayed")
        rate = None if self.rate is None else float(self.rate)
        with as_options({"max_tokens": "--max-tokens"}):
            return Demand(rate, self.clients, replay, float(self.speed), max_tokens), why
