"""Options that say what a server is: its engine, clock and caps; and what a log says where they
do not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.served.load import LARGEST_COUNT
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, Exact, Text, Whole, Word, Written, rational
from fluidkv.questions.options import RUN, SERVER, Option, as_options
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.answers.memory import Memory
    from fluidkv.answers.served.demand import Demand
    from fluidkv.answers.served.fresh import Horizon
    from fluidkv.answers.served.load import Arrivals, Asking, Origin
    from fluidkv.answers.served.logged import LoggedServer, ServerSettings
    from fluidkv.answers.served.setting import Setting
    from fluidkv.serving.clock import IterationClock
    from fluidkv.traces import Trace
    from fluidkv.traces.report import LoadReport
    from fluidkv.traces.scaling import Scaling
    from fluidkv.workload import Workload

ABOVE_0 = Exact(0, math.inf, example="0.01 or 1/100")
COUNT = Whole(1, LARGEST_COUNT)
_server = partial(Option, panel=SERVER)
_AS_SET = ("watermark", "max_num_seqs", "admission_rate")  # clients are no setting of a server
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def engine_named(argument: str, text: str) -> str:
    """The text of an engine that is known: refused before a file is read, if it is not."""
    from fluidkv.serving.engines import served_engine

    with as_options({"engine": argument}):
        served_engine(text)
    return text


def _clock(argument: str, text: str) -> "IterationClock":
    from fluidkv.answers.served.clock import read_clock

    return read_clock(argument, text)


def _horizon(argument: str, text: str) -> "Horizon":
    """A number of requests, or a time."""
    from fluidkv.answers.served.fresh import MOST_REQUESTS, Horizon

    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    allowed = f"1 to {MOST_REQUESTS:,} requests, or a time such as 600s, 30min or 2h"
    if unit:
        seconds = rational(number, FEW_DIGITS)
        if unit not in _UNITS or seconds is None or seconds <= 0:
            raise InputError(argument, text, allowed)
        return Horizon(seconds=float(seconds) * _UNITS[unit])
    if not number.isdecimal() or not 1 <= int(number) <= MOST_REQUESTS:
        raise InputError(argument, text, allowed)
    return Horizon(int(number))


ENGINE = Written(engine_named)
"""How the name of an engine is read."""
CLOCK = _server(
    "--clock D0[:D1[:D2[:D3]]]",
    Written(_clock),
    "Seconds of an iteration: D0, D1 more for each KV token, D2 more for each token of prefill, D3 "
    "more for each pair of such a token and one that is not behind it; "
    "or a name of those that fluidkv clocks lists, or MODEL@GPU (modelled: llama-3.1-8b@h100, "
    "llama-3.1-70b-fp8@4xh200/sglang). "
    r"\[default: fitted to a log folder, else time in iterations]",
    title="duration of an iteration",
    in_sweep=Word(check=partial(_clock, "clock"), what="a clock"),
)
CLOCK_FROM = _server(
    "--clock-from LOG",
    Text(),
    "Log of another run on a server like this one (a folder, or sample:NAME): the clock is fitted "
    "to it, and what it missed there stands beside the answer. Instead of --clock.",
)
NOW = _server(
    "--now KNOB=VALUE",
    Text(),
    r"How servers are set: watermark, max_num_seqs; repeatable. \[default: 0 and no cap]",
    many=True,
    means=("max_num_seqs", "watermark"),
)
BLOCK_SIZE = _server(
    "--block-size TOKENS",
    COUNT,
    r"Tokens of a KV block. \[default: the engine's]",
    title="tokens a block",
    unit="token",
)
BATCHED_TOKENS = _server(
    "--max-num-batched-tokens TOKENS",
    COUNT,
    r"Most tokens of an iteration. \[default: no limit]",
)
PRICE = _server(
    "--price PER_GPU_HOUR",
    ABOVE_0,
    "Price of a GPU for an hour: says what a million output tokens cost, in the same money.",
)
DRAWS = Option(
    "--draws N",
    Whole(0, 1000),
    "Fresh draws that the answer is to hold for: conversations of SOURCE drawn again, arrivals by "
    r"their own process; 0: none. \[default: 20; size, of a SOURCE with times: 40]",
    RUN,
)
HORIZON = Option(
    "--horizon N|TIME",
    Written(_horizon),
    r"Length of a draw: requests, or a time such as 600s, 30min, 2h. \[default: 3,000]",
    RUN,
)

REQUESTS = Option(
    "--requests N",
    COUNT,
    "Number of requests in each run; of a trace at its own times the first N. "
    r"\[default: all of such a trace, else 200 to 2,000]",
    RUN,
)
SEED = Option("--seed N", Whole(0, 2**62), "Seed of the first run.", RUN)


def runs_of(each: str, usual: int) -> Option:
    """The option `--runs`.

    Args:
        each: what is run so often: "engine".
        usual: runs where nobody says how many.
    """
    return Option(
        "--runs N",
        COUNT,
        f"Number of runs of each {each}, each with other requests; of a trace at its own times "
        rf"parts of N requests. \[default: {usual}, or 1 of such a trace]",
        RUN,
    )


def as_set(texts: Sequence[str]) -> "Setting":
    """Of the option `--now`."""
    from fluidkv.answers.served.setting import Setting

    allowed = "watermark=W, max_num_seqs=N or rate_cap=R, each once"
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = {"rate_cap": "admission_rate"}.get(name.strip(), name.strip())
        if not equals or name in values or name not in _AS_SET:
            raise InputError("--now", text, allowed)
        several = knob_values("--now", value, name)
        if len(several) > 1:
            raise InputError("--now", text, allowed)
        values[name] = several[0]
    return Setting(**values)


def knob_values(option: str, text: str, knob: str) -> list[Any]:
    """`V,V,...` as values of a knob."""
    parts = text.split(",")
    if knob in ("max_num_seqs", "clients"):
        return [COUNT.read(option, part) for part in parts]
    if knob == "watermark":
        allowed = "shares in [0, 1), such as 0.02"
        shares = [_number(option, part, allowed) for part in parts]
        if not all(0 <= share < 1 for share in shares):
            raise InputError(option, text, allowed)
        return [float(share) for share in shares]
    allowed = "admissions per iteration, above 0, such as 0.5 or 1/2"
    rates = [_number(option, part, allowed) for part in parts]
    if not all(0 < rate <= LARGEST_COUNT for rate in rates):
        raise InputError(option, text, allowed)
    return [max(rate.limit_denominator(10**6), Fraction(1, 10**6)) for rate in rates]


def _number(option: str, text: str, allowed: str) -> Fraction:
    number = rational(text, FEW_DIGITS)
    if number is None:
        raise InputError(option, text, allowed)
    return number


def server_as_set(
    clock: "IterationClock | None",
    clock_from: str | None,
    block_size: int | None,
    max_num_batched_tokens: int | None,
    now: "Setting",
) -> "ServerSettings":
    """The server as options say it, but for its memory."""
    from fluidkv.answers.served.logged import ServerSettings

    ticks = which_clock(clock, clock_from)
    return ServerSettings(None, ticks, block_size, max_num_batched_tokens, now)


@dataclass(frozen=True)
class PricedServer:
    """Options that say what a server is, but for its engine and memory, and what it costs."""

    clock: Annotated["IterationClock | None", CLOCK] = None
    clock_from: Annotated[str | None, CLOCK_FROM] = None
    price: Annotated[Fraction | None, PRICE] = None
    now: Annotated[Sequence[str] | None, NOW] = None
    block_size: Annotated[int | None, BLOCK_SIZE] = None
    max_num_batched_tokens: Annotated[int | None, BATCHED_TOKENS] = None

    def settings(self) -> "ServerSettings":
        """The server as they say it."""
        now, budget = as_set(self.now or ()), self.max_num_batched_tokens
        return server_as_set(self.clock, self.clock_from, self.block_size, budget, now)


def which_clock(clock: "IterationClock | None", log: str | None) -> "IterationClock | None":
    """Of --clock, or of --clock-from; None: neither is there.

    Raises:
        InputError: both; a log that has no clock.
    """
    if log is None:
        return clock
    if clock is not None:
        raise InputError("--clock-from", log, "either --clock or --clock-from")
    from fluidkv.answers.served.clock_from import clock_from

    with as_options({"source": "--clock-from", "clock_from": "--clock-from"}):
        return clock_from(log).clock


# --- the server of a log ------------------------------------------------------------------------


@dataclass(frozen=True)
class ServedLoad:
    """Requests, when they come, and the server that they meet, as options and a log say it.

    Fields:
        load: the requests.
        demand: when they come.
        server: its clock, caps and memory.
        engine: whose rules it has; "": several are compared.
        logged: what the log says that the requests are of; None: they are of none.
        notes: rows on how all of this was read.
    """

    load: "Workload | Trace"
    demand: "Demand"
    server: "ServerSettings"
    engine: str
    logged: "LoggedServer | None"
    notes: list[Row]

    def log_options(self, requests: int | None) -> dict[str, Any]:
        """The log that an answer is held against, as an answer takes it; a note where none is."""
        if self.logged is None:
            return {}
        log, why = self.logged.measured(self.server, self.engine, self.demand, requests)
        if why:
            self.notes.append(("", f"not held against the log: {why}"))
        return {"log": log, "totals": None if why else self.logged.totals}


def served_load(
    origin: "Origin",
    arrivals: "Arrivals",
    reading: "Asking",
    memory: "Memory",
    server: "ServerSettings",
    engine: Callable[["LoggedServer | None"], str] | None = None,
    on_read: Callable[["LoadReport"], object] | None = None,
) -> ServedLoad:
    """What is served, and by whom.

    Args:
        origin, arrivals, reading: of the requests.
        memory: KV tokens, where options say them.
        server: as options say it, but for its memory.
        engine: whose rules, of what a log says; None: of several engines.
        on_read: is told what the reader of a trace did with its rows.
    """
    origin.check()
    reading.check(origin.source, rate=arrivals.rate, clients=arrivals.clients)
    memory.per_token()
    load, report = reading.requests(origin, on_read)
    logged, read = log_of(origin.source, report, reading.scaling)
    rules = None if engine is None else engine(logged)
    block_size = server.block_size
    server, more = completed(server, memory, logged, rules)
    check_blocks(server, block_size)
    demand, why = arrivals.demand(load, server.clock, reading.asks)
    rows = [*read, *more, *([("", why)] if why else [])]
    return ServedLoad(load, demand, server, rules or "", logged, rows)


def log_of(
    source: str | None, report: "LoadReport | None", scaling: "Scaling | None" = None
) -> "tuple[LoggedServer | None, list[Row]]":
    """The server of a log, if the source is one; and what to say of the reading.

    Args:
        scaling: of the requests since then; what was measured is not of those.
    """
    notes: list[Row] = [("scaled", str(scaling))] if scaling else []
    if report is None:
        return None, notes
    first, *reasons = report.summary().splitlines()
    notes = [("read", first), *(("", reason.strip()) for reason in reasons), *notes]
    if not report.of_log:
        return None, notes
    from fluidkv.answers.served.logged import read_server

    with as_options({"source": "SOURCE"}):
        server = read_server(source or "")
    return replace(server, scaled=bool(scaling)), notes


def engine_of(engine: str | None, logged: "LoggedServer | None", usual: str) -> str:
    """The engine that is meant: of a log its own, or the one that is named in the log's version."""
    if logged is None:
        return engine or usual
    with as_options({"engine": "--engine"}):
        return logged.asked(engine) if engine else logged.engine


def completed(
    server: "ServerSettings", memory: "Memory", logged: "LoggedServer | None", engine: str | None
) -> "tuple[ServerSettings, list[Row]]":
    """What a log says where options do not, and the memory that these give; and rows on both.

    Args:
        server: as the options say, but for its memory.
        engine: whose blocks they are where nobody says how large; None: of several engines.
    """
    from fluidkv.answers.served.memory import BLOCK_SIZES
    from fluidkv.serving.engines import served_engine

    notes: list[Row] = []
    block = server.block_size
    if logged is not None:
        server, taken = server.as_logged(logged)
        notes += taken
    if engine is not None:
        with as_options({"engine": "--engine"}):
            serves = served_engine(engine)
        if serves.note:
            notes.append(("rules", serves.note))
        block = server.block_size or BLOCK_SIZES.get(serves.rules.name, 1)
    if memory.capacity is None:
        return server, notes
    return replace(server, capacity=memory.count(block)), [*notes, *memory.notes(block)]


def check_blocks(server: "ServerSettings", block_size: int | None) -> int:
    """The capacity, which a block size that is set has to divide."""
    capacity = server.capacity
    if capacity is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    if block_size is not None and capacity % block_size:
        raise InputError(
            "--block-size",
            block_size,
            f"blocks that make up the capacity: {capacity:,} tokens are "
            f"{capacity // block_size:,} blocks of {block_size:,} and "
            f"{capacity % block_size:,} tokens",
        )
    return capacity
