"""Servers whose requests come by their table: all at once, or one step by step."""

import sys
from collections.abc import Sequence
from typing import Any

from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.records import RunRecords
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.recorded import Hits, played_all
from fluidkv.serving.caching.sglang.fast import FastSglang
from fluidkv.serving.caching.sglang.kernel.engine import SglangServer, run_sglang
from fluidkv.serving.caching.sglang.reference import SglangEngine
from fluidkv.serving.caching.sglang.seen import COUNTS
from fluidkv.serving.caching.sglang.table import check_table
from fluidkv.serving.caching.worker import Served
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

LITERAL_STEPS = 10_000
"""Tokens and ticks, in all runs, up to which "auto" takes the literal engine in a new process: it
does 25,000 to 200,000 a second, and the kernel takes about half a second to load."""


def run_servers(
    servers: Sequence[SglangServer],
    backend: str,
    *,
    iterations: int,
    every: int,
    keep_requests: bool,
    on_progress: Progress | None,
) -> tuple[RunRecords, Hits | None]:
    """All runs, by the kernel or the literal scheduler, which agree; as `run_sglang`.

    Raises:
        InputError: as `check_table`, before the first one runs.
    """
    for each in servers:
        check_table(each.requests, each.settings)
    how: dict[str, Any] = {"every": every, "keep_requests": keep_requests}
    if backend == "reference" or (backend == "auto" and _is_little(servers, iterations)):
        engines = (SglangRun(*each, literally=True) for each in servers)
        longest = max(len(each.requests) for each in servers)
        how |= {"requests": longest, "on_progress": on_progress}
        return played_all(engines, COUNTS, iterations, **how)
    return run_sglang(servers, iterations=iterations, on_progress=on_progress, **how)


def _is_little(servers: Sequence[SglangServer], iterations: int) -> bool:
    """Whether the literal engine is done before the kernel, which is not there, is loaded."""
    if "fluidkv.serving.caching.sglang.kernel.loop" in sys.modules:
        return False
    steps = 0
    for each in servers:
        idle = 0 if each.clock.jumps else each.requests.arrival.max() / each.clock.base
        most = len(each.requests) * iterations
        steps += min(int(each.requests.output_length.sum() + idle), most)
    return steps <= LITERAL_STEPS


class SglangRun:
    """A run of the compiled scheduler, or of the literal one.

    Args:
        requests, prompts, settings, clock: as the scheduler's.
        clients: of a closed population; a request then comes when an earlier one is done. None:
            requests come at their arrival times.
        literally: by the literal scheduler.
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        settings: SglangSettings,
        clock: IterationClock,
        clients: int | None = None,
        *,
        literally: bool = False,
    ) -> None:
        scheduler = SglangEngine if literally else FastSglang
        self.server = scheduler(requests, prompts, settings, clock)
        self.clients, self.iteration = clients, 0
        self._coming = self.server.all

    @property
    def now(self) -> float:
        return self.server.now

    @property
    def arrived(self) -> int:
        return self.server.arrived

    @property
    def done(self) -> int:
        """Requests that were served."""
        return self.server.done - self.server.aborted

    @property
    def all(self) -> Sequence[Served]:
        return self.server.all

    @property
    def stuck(self) -> bool:
        """Whoever waits first is never admitted, or what is left was aborted."""
        return self.server.stuck or self.done < self.server.done == len(self._coming)

    def step(self) -> dict[str, int]:
        """Who has come joins the queue; one iteration; its counts, as `seen.COUNTS`."""
        while self.arrived < len(self._coming) and self._has_come(self._coming[self.arrived]):
            if self.clients is not None:
                self._coming[self.arrived].arrival = self.now
            self.server.offer(self.arrived)
        self.iteration += 1
        return self.server.step()

    def _has_come(self, request: Served) -> bool:
        """Or is the next one, where nothing goes on and the clock need not tick until then."""
        if self.clients is not None:
            return request.index < self.clients + self.server.done
        return request.arrival <= self.now or (self.server.idle and self.server.clock.jumps)
