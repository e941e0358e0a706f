"""What the folder of a measured run says about its server, where nobody says otherwise."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fluidkv.answers.replay.repeats import read_repeats
from fluidkv.answers.replay.rows import step_rows
from fluidkv.answers.replay.source import read_source
from fluidkv.answers.replay.ways import asked_engine, engine_of_server, settings_of
from fluidkv.answers.served.bias import Totals
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.errors import InputError
from fluidkv.logs.log import ServerLog
from fluidkv.logs.read import read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.timed import TimedRun
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import tick_points
from fluidkv.serving.clock_fit.steps import fit_steps
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.sglang_settings import SglangSettings


@dataclass(frozen=True)
class LoggedServer(Record):
    """How a server was set and how long its iterations took.

    Fields:
        capacity: KV tokens that requests can hold; None where the log does not say.
        settings: out of its files.
        clock: fitted; None where there is no time series to fit it to.
        fit: in words, how well.
        log: what is measured in the run; NaN where it is not logged.
        read: all that its files say; None where nobody read any.
        scaled: whether other lengths or times than the log's are asked about.
        totals: what the log says of the run as a whole.

    Examples:
        >>> from fluidkv.answers import read_server
        >>> server = read_server("sample:vllm-rtx4090")
        >>> server.product, server.settings.max_num_seqs, server.settings.block_size
        ('vllm', 256, 16)
        >>> len(server.log.input_lengths), server.totals.counted  # preemptions are not in this log
        (300, False)
    """

    capacity: int | None
    settings: LoggedSettings
    clock: IterationClock | None
    fit: str
    log: TimedRun | None = None
    read: ServerLog | None = None
    scaled: bool = False
    totals: Totals = field(default_factory=Totals)

    @property
    def product(self) -> str:
        """What was logged: vllm, where no file says otherwise, or sglang."""
        return (self.read and self.read.engine) or "vllm"

    @property
    def engine(self) -> str:
        """That `replay` takes for it, as users write it: in its version, with its settings."""
        name = engine_of_server(self.settings, self.product).name
        if self.product != "sglang" or self.capacity is None:
            return name
        own = settings_of(self.settings, Limits(self.capacity, self.settings.block_size or 1))
        usual = SglangSettings(self.capacity)
        names = ("conservativeness", "clip", "radix")
        pairs = [(n, getattr(own, n)) for n in names if getattr(own, n) != getattr(usual, n)]
        said = ",".join(f"{n}={str(v).lower() if v is False else v}" for n, v in pairs)
        return self.asked(f"{name}:{said}" if said else name)

    def asked(self, engine: str) -> str:
        """An engine in the version of the log, where it names none."""
        return asked_engine(engine, self.settings, self.product).name

    def measured(
        self, settings: "ServerSettings", engine: str, demand: Demand, requests: int | None
    ) -> tuple[TimedRun | None, str]:
        """The log, if a run is of this very server and all its requests; else why it is not.

        Rules without the server's prefix cache are a poorer simulation of it, and no other server.
        """
        if self.log is None:
            return None, "the log lacks ticks, or times of its requests"
        if self.scaled:
            return None, "scaled requests"
        if demand.kind != "replay" or demand.speed != 1:
            return None, "other arrivals than the log's"
        if requests is not None and requests < len(self.log.input_lengths):
            return None, "not all requests of the log"
        if not served_engine(engine).schedules_as(served_engine(self.engine)):
            return None, f"the rules of {engine}, and the log is of {self.engine}"
        alone = ServerSettings(None, None, None, None, Setting()).as_logged(self)[0]
        # What the log does not say of its server is as whoever asks says.
        unsaid = [n for n in _SAID if getattr(alone, n) is None]
        alone = replace(alone, **{name: getattr(settings, name) for name in unsaid})
        if replace(settings, clock=alone.clock) != alone:
            return None, "other settings than those of the log's server"
        return self.log, ""


def read_server(source: str) -> LoggedServer:
    """Settings and clock of a log, as far as its files say.

    Raises:
        InputError: a file of it that cannot be read; files that contradict each other.

    Examples:
        >>> from fluidkv.answers import read_server
        >>> server = read_server("sample:vllm-rtx4090")
        >>> server.capacity, server.engine, round(server.clock.base, 4)
        (41392, 'vllm-0.19.0+cache', 0.0149)
        >>> server.fit
        'fitted to 87 ticks of the log, 2.6% of a tick left over (rms)'
    """
    read = read_log(source)
    capacity = read.settings.usable_capacity
    server = LoggedServer(capacity, read.settings, None, "", read=read)
    if read.ticks is None:
        return server
    if read.ticks.decode_steps is not None:
        return _of_steps(server, read, source)
    try:
        log = read.timed()
    except InputError:
        return replace(server, fit=f"none fitted: {_lacks(read)}")
    try:
        points = tick_points(**log.clock_arrays())
        found = fit_clock(points)
    except InputError as error:
        if error.argument == "source":
            raise
        lacks = error.argument == "capacity"
        return replace(server, fit=f"none fitted: {_lacks(read)}" if lacks else _TOO_FEW)
    ticks, rest = len(found.residuals), found.residuals.rms
    fit = f"fitted to {ticks} ticks of the log, {rest:.1%} of a tick left over (rms)"
    if "scheduled_s" in log.stood_in:
        fit = f"{fit}; {STOOD_IN}"
    if np.isnan(log.kv_used).all():
        fit = f"{fit}; {RECKONED}"
    if read.ticks.preemptions is not None:
        totals = Totals(preemptions=int(read.ticks.preemptions[-1]), counted=True)
    else:
        # Without the pool's size a snapshot that lags cannot be told from a preemption.
        least = None if log.capacity is None else int(np.maximum(-points.resumed, 0).sum())
        totals = Totals(preemptions=least)
    return replace(server, clock=found.clock, fit=fit, log=log, totals=totals)


_SAID = ("capacity", "block_size", "max_num_batched_tokens")

STOOD_IN = "requests are taken to be scheduled as their first tokens come, since no file says it"
"""On the measured vLLM run that changes the first two coefficients by 0.1 %, prefill's by 12 %."""


RECKONED = "KV in use is reckoned from lengths and times, since no file says it"
"""On the measured vLLM run that is off by 2 % (root mean square)."""

DELAYED = (
    "from the client to the scheduler and back, estimated: added to what is simulated where it is "
    "held against the log, and nowhere else"
)
_TOO_FEW = "too few ticks to fit a clock to"


def _of_steps(server: LoggedServer, read: ServerLog, source: str) -> LoggedServer:
    """Of a log that counts decode steps: SGLang's. It has no times of single requests."""
    ticks, requests = read.ticks, read.requests
    came = None if requests is None else requests.arrival_s
    if ticks is None or came is None or server.capacity is None:
        return replace(server, fit=f"none fitted: {_lacks(read)}")
    try:
        run = read_source(Path(source)).run
        rows, _ = step_rows(read, server.capacity)
        found = fit_steps(rows)
    except InputError:
        return replace(server, fit=_TOO_FEW)
    fit = f"fitted to {len(found)} rows of the log, {found.rms_s:.2g} s left over (rms)"
    steps = np.diff(np.asarray(ticks.decode_steps), prepend=0.0)
    repeats, retracted = read_repeats(source), ticks.preemptions
    walls = () if repeats is None else repeats.duration_s
    return replace(
        server,
        clock=found.clock,
        fit=fit,
        log=replace(run, generated_tokens=steps * run.running),  # in a step each gets one
        totals=Totals(
            duration_s=float(np.median(walls)) if walls else None,
            preemptions=None if retracted is None else int(retracted[-1]),
            counted=retracted is not None,
        ),
    )


def _lacks(read: ServerLog) -> str:
    """What a clock would need, and what would record it."""
    needed = [each for each in read.missing if "clock" in each.needed_for]
    return str((needed or read.missing or ("the log has no capacity",))[0])


@dataclass(frozen=True)
class ServerSettings:
    """How a server is set. None: not known, or as the engine has it.

    Fields:
        capacity: KV tokens that requests can hold.
        clock: durations of its iterations.
        block_size: tokens of a block.
        max_num_batched_tokens: most tokens of an iteration.
        now: what the flags say that a recommendation would change.

    Examples:
        >>> from fluidkv.answers import ServerSettings, Setting, read_server
        >>> asked = ServerSettings(None, None, None, None, Setting(max_num_seqs=64))
        >>> found, notes = asked.as_logged(read_server("sample:vllm-rtx4090"))
        >>> found.capacity, found.now.max_num_seqs, notes[0]
        (41392, 64, ('from the log', 'block_size, max_num_batched_tokens'))
    """

    capacity: int | None
    clock: IterationClock | None
    block_size: int | None
    max_num_batched_tokens: int | None
    now: Setting

    def as_logged(self, server: LoggedServer) -> "tuple[ServerSettings, list[tuple[str, str]]]":
        """What is not given here is taken from the log; and rows of text on what was taken."""
        logged, found = server.settings, self
        taken = []
        for name in ("block_size", "max_num_batched_tokens"):
            value = getattr(logged, name)
            if getattr(self, name) is None and value is not None:
                found = replace(found, **{name: value})
                taken.append(name)
        if self.now.max_num_seqs is None and logged.max_num_seqs is not None:
            found = replace(found, now=replace(found.now, max_num_seqs=logged.max_num_seqs))
            taken.append("max_num_seqs")
        notes = [("from the log", ", ".join(taken))] if taken else []
        if self.clock is None and server.fit:
            notes.append(("", f"clock: {server.fit}"))
        if server.log is not None and server.log.delay_s:
            notes.append(("", f"{server.log.delay_s:.2f} s {DELAYED}"))
        if logged.version is not None:
            notes.append(("", f"logged with {server.product} {logged.version}"))
        capacity, clock = self.capacity or server.capacity, self.clock or server.clock
        return replace(found, capacity=capacity, clock=clock), notes
