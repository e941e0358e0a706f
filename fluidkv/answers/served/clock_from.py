"""The clock of one measured run, for other requests: fitted to its log, with what it missed there.

A clock that is fitted to a run is a clock of its server: model, GPU, engine and settings. What it
misses is known of that run itself, simulated as it was measured, and of the logs on record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from fluidkv.answers.served.bias import OUTPUT, Bias
from fluidkv.answers.served.elsewhere import on_itself, recorded
from fluidkv.answers.served.logged import read_server
from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import served_engine

FROM = "from "
"""What the name of such a clock begins with; the log stands behind."""
_TITLES = {OUTPUT: "output rate", "ttft_p99": "p99 TTFT", "latency_p99": "p99 latency"}


@dataclass(frozen=True)
class LoggedClock(Record):
    """A clock fitted to a log.

    Fields:
        clock: its name is "from " and the log.
        server: engine and version of the log; "" where no file says it.
        fit: in words, to what and how well.
        missed: of that run itself, by the clock: simulated against measured. Empty where the log
            has no times of single requests.

    Examples:
        >>> from fluidkv.answers.served.clock_from import clock_from
        >>> found = clock_from("sample:vllm-rtx4090")
        >>> found.clock.name, round(found.clock.base, 4)
        ('from sample:vllm-rtx4090', 0.0149)
        >>> round(found.missed["output_throughput_per_time"].relative, 3)
        -0.009
    """

    clock: IterationClock
    server: str
    fit: str
    missed: Mapping[str, Bias]

    @property
    def caveat(self) -> str:
        """What to say beside an answer on it."""
        said = [f"{self.fit}, of {self.server or 'a server that no file names'}"]
        if self.missed:
            own = (f"{_TITLES[n]} {one.relative:+.1%}" for n, one in self.missed.items())
            said.append(f"simulated over measured on that run: {', '.join(own)}")
        worst = max(abs(one.relative) for one in recorded())
        logs = len({one.log for one in recorded()})
        said.append(
            f"on {logs} logs whose clocks were fitted so at most {worst:.0%}; other requests than "
            "the log's may be farther off, another server is"
        )
        return "; ".join(said)


@cache
def clock_from(source: str) -> LoggedClock:
    """The clock of the server whose log that is.

    Args:
        source: a log folder or file, or "sample:NAME", as `read_server` takes them.

    Raises:
        InputError: no log; one that no clock can be fitted to, with what it lacks.

    Examples:
        >>> from fluidkv.answers.served.clock_from import clock_from
        >>> clock_from("sample:vllm-rtx4090").fit
        'fitted to 87 ticks of the log, 2.6% of a tick left over (rms)'
    """
    server = read_server(source)
    if server.clock is None:
        why = server.fit or "it has no time series"
        raise InputError("clock_from", source, f"a log that a clock can be fitted to: {why}")
    missed: Mapping[str, Bias] = {}
    timed = server.read is not None and server.read.ticks is not None
    if timed and server.product == "vllm" and server.capacity:
        missed = on_itself(server, served_engine(server.engine))
    version = server.settings.version or ""
    return LoggedClock(
        replace(server.clock, name=f"{FROM}{source}"),
        f"{server.product} {version}".strip(),
        server.fit,
        MappingProxyType({n: one for n, one in missed.items() if n in _TITLES}),
    )


def log_behind(clock: IterationClock) -> LoggedClock | None:
    """The log that a clock is from, where it is `clock_from`'s; else None.

    Examples:
        >>> from fluidkv.answers.served.clock_from import log_behind
        >>> log_behind(fk.IterationClock(0.01)) is None
        True
    """
    if not clock.name.startswith(FROM):
        return None
    found = clock_from(clock.name.removeprefix(FROM))
    return found if found.clock == clock else None
