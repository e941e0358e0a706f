"""One server whose requests come by their table, as other engines' runs."""

from collections.abc import Sequence

from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.fast import FastSglang
from fluidkv.serving.caching.sglang.reference import SglangEngine
from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings


class SglangRun:
    """A run of the fast scheduler, or of the literal one, one iteration after the other.

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
    def all(self) -> Sequence[Request]:
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

    def _has_come(self, request: Request) -> bool:
        """Or is the next one, where nothing goes on and the clock need not tick until then."""
        if self.clients is not None:
            return request.index < self.clients + self.server.done
        return request.arrival <= self.now or (self.server.idle and self.server.clock.jumps)
