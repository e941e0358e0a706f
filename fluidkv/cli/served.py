"""What commands about a server share: who asks, its memory and clock, what its log says."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.served.demand import Demand
    from fluidkv.answers.served.fresh import Horizon
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.answers.served.window import Window
    from fluidkv.cli.memory import LoggedMemory
    from fluidkv.report.page import Row
    from fluidkv.runs.max_tokens import MaxTokens
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.rules import EngineRules
    from fluidkv.traces import LoadReport, Scaling, Trace
    from fluidkv.workload import Workload

LARGEST_COUNT = 10**6
_COUNT = {"most": LARGEST_COUNT}
_ABOVE_ZERO = "a finite number above 0"

_RATE = "Rate of Poisson arrivals per second; per iteration without --clock."
Rate = Annotated[
    Fraction | None,
    opt.option("--rate --qps R", read.positive_number, _RATE, opt.WHO, allowed=_ABOVE_ZERO),
]
_CLIENTS = "Number of clients, each with one request at a time."
Clients = Annotated[
    int | None, opt.option("--clients N", read.whole_number, _CLIENTS, opt.WHO, **_COUNT)
]
_REPLAY = "Replay the trace at its own times, which is the default with a --clock."
Replay = Annotated[bool, opt.flag("--replay", _REPLAY, opt.WHO)]
_SPEED = "Replay the trace X times as fast."
Speed = Annotated[
    Fraction, opt.option("--speed X", read.positive_number, _SPEED, opt.WHO, allowed=_ABOVE_ZERO)
]
_CLOCK = (
    "Seconds of an iteration: D0, D1 more for each KV token, D2 more for each token of prefill, D3 "
    "more for each pair of such a token and one that is not behind it; "
    "or a name of those that fluidkv clocks lists, or MODEL@GPU (modelled: llama-3.1-8b@h100, "
    "llama-3.1-70b-fp8@4xh200/sglang). "
    r"\[default: fitted to a log folder, else time in iterations]"
)
Clock = Annotated[str | None, opt.option("--clock D0[:D1[:D2[:D3]]]", str, _CLOCK, opt.SERVER)]
_CLOCK_FROM = (
    "Log of another run on a server like this one (a folder, or sample:NAME): the clock is fitted "
    "to it, and what it missed there stands beside the answer. Instead of --clock."
)
ClockFrom = Annotated[str | None, opt.option("--clock-from LOG", str, _CLOCK_FROM, opt.SERVER)]
_BLOCK = r"Tokens of a KV block. \[default: the engine's]"
Block = Annotated[
    int | None,
    opt.option("--block-size TOKENS", read.whole_number, _BLOCK, opt.SERVER, **_COUNT),
]
_BUDGET = r"Most tokens of an iteration. \[default: no limit]"
Budget = Annotated[
    int | None,
    opt.option(
        "--max-num-batched-tokens TOKENS",
        read.whole_number,
        _BUDGET,
        opt.SERVER,
        **_COUNT,
    ),
]


_DRAWS = (
    "Fresh draws that the answer is to hold for: conversations of SOURCE drawn again, arrivals by "
    r"their own process; 0: none. \[default: 20; size, of a SOURCE with times: 40]"
)
FreshDraws = Annotated[
    int | None,
    opt.option("--draws N", read.whole_number, _DRAWS, opt.RUN, least=0, most=1000),
]
_HORIZON = r"Length of a draw: requests, or a time such as 600s, 30min, 2h. \[default: 3,000]"
HorizonOf = Annotated[str | None, opt.option("--horizon N|TIME", str, _HORIZON, opt.RUN)]
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def horizon_of(text: str | None) -> "Horizon":
    """Of the option `--horizon`.

    Raises:
        InputError: neither a number of requests nor a time.
    """
    from fluidkv.answers.served.fresh import MOST_REQUESTS, Horizon

    if text is None:
        return Horizon()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    allowed = f"1 to {MOST_REQUESTS:,} requests, or a time such as 600s, 30min or 2h"
    if unit and unit not in _UNITS:
        raise InputError("--horizon", text, allowed)
    if unit:
        seconds = float(read.positive_number("--horizon", number, allowed))
        return Horizon(seconds=seconds * _UNITS[unit])
    if not number.isdecimal() or not 1 <= int(number) <= MOST_REQUESTS:
        raise InputError("--horizon", text, allowed)
    return Horizon(int(number))


def clock_of(text: str) -> "IterationClock":
    """Of the option `--clock`."""
    from fluidkv.answers.served.clock import read_clock

    return read_clock("--clock", text)


def which_clock(clock: str | None, log: str | None) -> "IterationClock | None":
    """The one that is given: --clock, or --clock-from; None: neither.

    Raises:
        InputError: both; what `clock_of` refuses; a log that has no clock.
    """
    if log is None:
        return None if clock is None else clock_of(clock)
    if clock is not None:
        raise InputError("--clock-from", log, "either --clock or --clock-from")
    from fluidkv.answers.served.clock_from import clock_from

    with read.as_options({"source": "--clock-from", "clock_from": "--clock-from"}):
        return clock_from(log).clock


def engine_named(argument: str, text: str) -> str:
    """The text of an engine that is known: refused before a file is read, if it is not."""
    from fluidkv.serving.engines import served_engine

    with read.as_options({"engine": argument}):
        served_engine(text)
    return text


@dataclass(frozen=True)
class Arrivals:
    """Options that say when requests come; none: all wait from the start, or as a trace has it."""

    rate: Rate = None
    clients: Clients = None
    replay: Replay = False
    speed: Speed = Fraction(1)

    def demand(
        self,
        load: "Workload | Trace",
        clock: "IterationClock | None",
        max_tokens: "MaxTokens | None" = None,
    ) -> "tuple[Demand, str]":
        """Who asks, and why that, where nobody said: a trace with times is replayed if it can be.

        Args:
            load: the requests.
            clock: of the server; a replay needs one in seconds.
            max_tokens: what clients ask for at most.
        """
        from fluidkv.answers.served.demand import Demand
        from fluidkv.traces import Trace

        asked = (("--rate", self.rate), ("--clients", self.clients), ("--replay", self.replay))
        given = [name for name, there in asked if there]
        if len(given) > 1:
            raise InputError(given[0], " ".join(given), "one of --rate, --clients, --replay")
        replay, seconds = self.replay, clock is not None and clock.unit == "s"
        timed = isinstance(load, Trace) and load.arrival_times_s is not None
        why = ""
        if not given and timed:
            replay = seconds
            why = "" if replay else "its times are in seconds: --clock would replay them"
        if replay and not seconds:
            raise InputError("--replay", "no --clock", "together with a clock in seconds")
        if replay and not timed:
            raise InputError("--replay", load.name or "no trace", "a trace with arrival times")
        if self.speed != 1 and not replay:
            raise InputError("--speed", str(self.speed), "only where a trace is replayed")
        rate = None if self.rate is None else float(self.rate)
        with read.as_options({"max_tokens": "--max-tokens"}):
            return Demand(rate, self.clients, replay, float(self.speed), max_tokens), why


AS_IT_COMES = Arrivals()


def short_form(rules: "EngineRules", caching: bool) -> str:
    """What `sglang` leaves out that `sglang+cache` has; "" of others."""
    from fluidkv.serving.engines import SGLANG

    if rules != SGLANG or caching:
        return ""
    return " (a short form of its scheduler without the prefix tree; sglang+cache has both)"


def asked_rows(rules: "EngineRules", demand: "Demand") -> list[tuple[str, str]]:
    """What an engine takes outputs to be at most, where its admission looks at that."""
    from fluidkv.serving.rules import Gate

    if rules.gate not in (Gate.PEAK, Gate.RATIO):
        return []
    if demand.max_tokens is None:
        said = "as it sees all outputs to come exactly; --max-tokens says what clients ask for"
        return [("CAUTION", f"{rules.name} sets room aside {said}")]
    return [("max tokens", f"{demand.max_tokens}: {rules.name} sets room aside by it")]


def log_of(
    source: str | None, report: "LoadReport | None", scaling: "Scaling | None" = None
) -> "tuple[LoggedServer | None, list[tuple[str, str]]]":
    """The server of a log, if the source is one; and what to say of the reading.

    Args:
        scaling: of the requests since then; what was measured is not of those.
    """
    notes = [("scaled", str(scaling))] if scaling else []
    if report is None:
        return None, notes
    first, *reasons = report.summary().splitlines()
    notes = [("read", first), *(("", reason.strip()) for reason in reasons), *notes]
    if not report.of_log:
        return None, notes
    from fluidkv.answers.served.logged import read_server

    with read.as_options({"source": "SOURCE"}):
        server = read_server(source or "")
    return replace(server, scaled=bool(scaling)), notes


def engine_of(engine: str | None, logged: "LoggedServer | None", usual: str) -> str:
    """The engine that is meant: of a log its own, or the one that is named in the log's version."""
    if logged is None:
        return engine or usual
    with read.as_options({"engine": "--engine"}):
        return logged.asked(engine) if engine else logged.engine


def completed(
    server: "ServerSettings",
    memory: "LoggedMemory",
    logged: "LoggedServer | None",
    engine: str,
) -> "tuple[ServerSettings, list[tuple[str, str]]]":
    """What a log says where options do not, and the memory that these give; and rows on both.

    Args:
        server: as the options say, but for its memory.
        engine: whose blocks they are where nobody says how large.
    """
    from fluidkv.answers.served.memory import BLOCK_SIZES
    from fluidkv.serving.engines import served_engine

    notes: list[tuple[str, str]] = []
    if logged is not None:
        server, notes = server.as_logged(logged)
    with read.as_options({"engine": "--engine"}):
        serves = served_engine(engine)
    if serves.note:
        notes.append(("rules", serves.note))
    if memory.capacity is None:
        return server, notes
    block = server.block_size or BLOCK_SIZES.get(serves.rules.name, 1)
    return replace(server, capacity=memory.count(block)), [*notes, *memory.notes(block)]


def window_rows(window: "Window | None") -> list[tuple[str, str]]:
    """Which part of a trace is served, and how its rate compares; the rate in each tenth of it."""
    if window is None:
        return []
    rows: list[tuple[str, str]] = []
    if not window.whole:
        part = f"the first {window.requests * window.runs:,} of {window.of:,} requests"
        if window.busiest:
            part = f"the busiest {window.requests:,} requests in a row, of {window.of:,}"
        if window.runs > 1:
            part += f", in {window.runs} parts that each find an empty server"
        if window.rate is not None and window.rate_of_all is not None:
            own, whole = (f"{rate:.2f}" for rate in (window.rate, window.rate_of_all))
            part += f"; at the trace's own times {own} a second, and {whole} in all of it"
        rows.append(("window", part))
        if window.busiest:
            rest = f"the other {window.of - window.requests:,} are not served:"
            why = f"all may take over a minute or a gigabyte; --requests {window.of} serves them"
            if window.of > LARGEST_COUNT:
                why = f"a run has at most {LARGEST_COUNT:,} requests"
            rows.append(("", f"{rest} {why}"))
    if window.tenths:
        rates = ", ".join(f"{rate:.2f}" for rate in window.tenths)
        each = "arrivals a second in each tenth of the time that is served"
        rows.append(("tenths", f"{rates} {each}, at the trace's own times"))
    return rows


def tokens_of(server: "ServerSettings", block_size: int | None) -> int:
    """The capacity, which a given block size has to divide."""
    if server.capacity is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    if block_size is not None:
        _fits_blocks(server.capacity, block_size)
    return server.capacity


def _fits_blocks(capacity: int, block_size: int) -> None:
    """Refuse a block size of which a whole number does not make up the capacity."""
    if capacity % block_size:
        raise InputError(
            "--block-size",
            block_size,
            f"blocks that make up the capacity: {capacity:,} tokens are "
            f"{capacity // block_size:,} blocks of {block_size:,} and "
            f"{capacity % block_size:,} tokens",
        )


def clock_rows(
    clock: "IterationClock",
    *,
    capacity: float,
    running: int | None = None,
    prefill_tokens: int | None = None,
) -> "list[Row]":
    """The clock of a run, how far off a modelled one may be, and where the run leaves its range.

    Args:
        clock: of the run.
        capacity: KV tokens that the run may hold.
        running, prefill_tokens: most of an iteration, where they are limited.
    """
    from fluidkv.answers.served.clock_from import log_behind
    from fluidkv.serving.machines.against import cautions_of, caveat_of
    from fluidkv.serving.machines.named import known, outside

    rows: list[Row] = [("clock", clock_said(clock))]
    if (found := log_behind(clock)) is not None:
        return [*rows, ("", found.caveat)]
    named = known(clock)
    if named is None:
        return rows
    rows += [("", caveat)] if (caveat := caveat_of(named)) else []
    rows += [("CAUTION", caution) for caution in cautions_of(named)]
    beyond = outside(
        named.validity,
        running=running,
        kv_tokens=capacity,
        prefill_tokens=prefill_tokens,
    )
    return rows + [
        ("CAUTION", f"outside of what {clock.name} was taken from: {said}") for said in beyond
    ]


def clock_said(clock: "IterationClock") -> str:
    """A clock as a page says it."""
    if clock.unit == "iteration":
        return "every iteration lasts 1; --clock turns them into seconds"
    parts = [f"{clock.base:g} s per iteration"]
    for value, of in (
        (clock.per_kv_token, "KV token"),
        (clock.per_prefill_token, "prefill token"),
        (clock.per_prefill_pair, "pair of a prefill token and one before it"),
        (clock.per_request, "request that decodes"),
        (clock.experts, "reading of all experts"),
    ):
        if value:
            parts.append(f"{value:g} s per {of}")
    said = " + ".join(parts)
    return f"{said} ({clock.name})" if clock.name else said
