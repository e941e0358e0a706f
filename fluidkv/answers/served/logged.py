"""What the folder of a measured run says about its server, where nobody says otherwise."""

from dataclasses import dataclass, replace

from fluidkv.answers.replay.rows import step_rows
from fluidkv.answers.replay.ways import rules_of_server
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.errors import InputError
from fluidkv.logs.log import ServerLog
from fluidkv.logs.read import read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.timed import TimedRun
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import tick_points
from fluidkv.serving.clock_fit.steps import fit_steps
from fluidkv.serving.engines import CACHE, served_engine


@dataclass(frozen=True)
class LoggedServer:
    """How a server was set and how long its iterations took.

    Fields:
        capacity: KV tokens that requests can hold; None where the log does not say.
        settings: out of its meta.json.
        clock: fitted; None where there is no time series to fit it to.
        fit: in words, how well.
        log: the run, where there are ticks and times of requests; what is measured in it.
        written_by: the engine.
        scaled: whether other lengths or times than the log's are asked about.
    """

    capacity: int | None
    settings: LoggedSettings
    clock: IterationClock | None
    fit: str
    log: TimedRun | None = None
    written_by: str = "vllm"
    scaled: bool = False

    @property
    def engine(self) -> str:
        """The rules that `replay` takes for it, by name."""
        rules, caching = rules_of_server(self.settings, self.written_by)
        return rules.name + CACHE * caching

    def measured(
        self, settings: "ServerSettings", engine: str, demand: Demand, requests: int | None
    ) -> tuple[TimedRun | None, str]:
        """The log, if a run is of this very server and all its requests; else why it is not.

        Rules without the server's prefix cache are a poorer simulation of it, and no other server.
        """
        if self.log is None:
            return None, "the log has no ticks, or no times of its requests"
        if self.scaled:
            return None, "scaled requests"
        if demand.kind != "replay" or demand.speed != 1:
            return None, "other arrivals than the log's"
        if requests is not None and requests < len(self.log.input_lengths):
            return None, "not all requests of the log"
        if not served_engine(engine).schedules_as(served_engine(self.engine)):
            return None, f"the rules of {engine}, and the log is of {self.engine}"
        alone = ServerSettings(None, None, None, None, Setting()).as_logged(self)[0]
        if replace(settings, clock=alone.clock) != alone:
            return None, "other settings than those of the log's server"
        return self.log, ""


def read_server(source: str) -> LoggedServer:
    """Settings and clock of a log folder.

    Raises:
        InputError: a file of it that cannot be read.
    """
    read = read_log(source)
    settings, capacity = read.settings, read.settings.usable_capacity
    by = read.engine or "vllm"
    if read.ticks is None:
        return LoggedServer(capacity, settings, None, "", written_by=by)
    if read.ticks.decode_steps is not None:
        return _counting_steps(read, capacity)
    log = read.timed()
    try:
        found = fit_clock(tick_points(**log.clock_arrays()))
    except InputError as error:
        if error.argument == "source":
            raise
        said = "too few ticks to fit a clock to"
        return LoggedServer(capacity, settings, None, said, written_by=by)
    ticks, rest = len(found.residuals), found.residuals.rms
    fit = f"fitted to {ticks} ticks of the log, {rest:.1%} of a tick left over (rms)"
    return LoggedServer(capacity, settings, found.clock, fit, log, written_by=by)


def _counting_steps(read: ServerLog, capacity: int | None) -> LoggedServer:
    """Of a decode log: rows count steps, and no request has times."""
    by = read.engine or "vllm"
    try:
        if capacity is None:
            raise InputError("capacity", None, "KV tokens")
        found = fit_steps(step_rows(read, capacity)[0])
    except InputError:
        said = "too little in the log to fit a clock to"
        return LoggedServer(capacity, read.settings, None, said, written_by=by)
    fit = f"fitted to {len(found)} rows of the log, their times off by {found.rms_s:.2f} s (rms)"
    return LoggedServer(capacity, read.settings, found.clock, fit, written_by=by)


@dataclass(frozen=True)
class ServerSettings:
    """How a server is set. None: not known, or as the engine has it.

    Fields:
        capacity: KV tokens that requests can hold.
        clock: durations of its iterations.
        block_size: tokens of a block.
        max_num_batched_tokens: most tokens of an iteration.
        now: what the flags say that a recommendation would change.
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
        if logged.version is not None:
            notes.append(("", f"logged with {server.written_by} {logged.version}"))
        capacity, clock = self.capacity or server.capacity, self.clock or server.clock
        return replace(found, capacity=capacity, clock=clock), notes
