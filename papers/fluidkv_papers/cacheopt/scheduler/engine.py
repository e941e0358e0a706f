"""CacheOPT iteration by iteration; no server's loop, as memory is lent and inherited.

The engine to read beside section 3 of the paper:

    arrive    who has come joins the queue
    clear     guests that lie where their hosts write next are sent away (3.3.1)
    give      critical requests, then all others by the three cases, then who still lacks memory
              gets a block of the pool, of the reservation or of the preempted (3.3.2, 3.3.3)
    execute   as in `fluidkv.serving`; who is done leaves its memory to its guests, its heirs and
              the pool

Open in the paper, and decided here. The reservation serves those that run and find nothing in the
pool, before anybody is preempted for them. A guest is not itself a host. Who is sent away in an
iteration is not let in again by the same one. Of the waiting, the last in order of remaining time
are left out where not all can have what they need at least.
"""

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import COUNTS as COMMON
from fluidkv.serving.limits import Limits
from fluidkv_papers.cacheopt.scheduler import sharing
from fluidkv_papers.cacheopt.scheduler.embedding import Hosts
from fluidkv_papers.cacheopt.scheduler.memory import CountedMemory
from fluidkv_papers.cacheopt.scheduler.requests import Copies
from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt, Selection
from fluidkv_papers.cacheopt.scheduler.state import Request, Server
from fluidkv_papers.cacheopt.scheduler.urgency import rules_of

COUNTS = (
    *COMMON,
    "embedded",  # times that somebody was given slots in a host
    "pushed_out",  # of the evictions, guests in the way of their hosts
    "handed_on",  # tokens that heirs got of those that completed
    "reserved_blocks",  # blocks of the reservation in use after scheduling
)
"""What an iteration counts, in this order; all integers."""


class CacheOptEngine:
    """The state of a run. `step` does one iteration and returns its counts.

    Args:
        requests, settings, limits, clock: the run.
        clients: of a closed population, as `fluidkv.serving.Engine`.
    """

    def __init__(
        self,
        requests: Requests,
        settings: CacheOpt,
        limits: Limits,
        clock: IterationClock,
        clients: int | None = None,
    ) -> None:
        self.clients = clients
        self.arrived = self.done = self.iteration = 0
        self.all = _requests(requests)
        reserve = settings.reserved_blocks * limits.block_size
        memory = CountedMemory(limits.blocks * limits.block_size, reserve)
        copies = Copies(settings.restore, limits.swap)
        self.server = Server(settings, limits, clock, memory, rules_of(settings), copies)
        self._reserve = reserve

    @property
    def now(self) -> float:
        return self.server.now

    @property
    def stuck(self) -> bool:
        """Nothing runs, nobody comes any more, and nobody who waits can be let in."""
        server = self.server
        more_come = self.clients is None and self.arrived < len(self.all)
        if server.running or not server.waiting or more_come:
            return False
        return all(server.in_blocks(r.length) > server.memory.pool for r in server.waiting)

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `COUNTS`."""
        server = self.server
        running_in = len(server.running)
        server.begin()
        self._arrive()
        self._clear()
        if server.settings.selection is Selection.FIRST_COME:
            sharing.serve_first_come(server)
        else:
            hosts = Hosts(server)
            critical = sharing.give_critical(server, hosts)
            sharing.share_rest(server, hosts, critical)
            sharing.serve_who_lacks(server, critical)
        resumed = sum(request.evictions > 0 for request in server.admitted)
        began = server.now
        server.now, copied = server.copies.go(server.now, server.admitted)
        free = server.memory.pool + server.memory.reserve
        reserved = self._reserve - server.memory.reserve
        scheduled = {
            "running_in": running_in,
            "running": len(server.running),
            "waiting": len(server.waiting),
            "used_blocks": server.limits.blocks - free // server.block,
            "preempt": len(server.evicted),
            "admit_new": len(server.admitted) - resumed,
            "admit_resumed": resumed,
        }
        return (
            scheduled
            | self._execute(began)
            | {
                "copied_tokens": copied,
                "embedded": server.embedded,
                "pushed_out": len(server.pushed_out),
                "handed_on": server.handed_on,
                "reserved_blocks": -(-reserved // server.block),
            }
        )

    def _arrive(self) -> None:
        while self.arrived < len(self.all) and self._has_come(self.all[self.arrived]):
            request = self.all[self.arrived]
            if self.clients is not None:
                request.arrival = self.now
            self.server.waiting.append(request)
            self.arrived += 1

    def _has_come(self, request: Request) -> bool:
        if self.clients is not None:
            return request.index < self.clients + self.done
        return request.arrival <= self.now

    def _clear(self) -> None:
        """Who writes this iteration needs its slots; a guest that lies there is preempted."""
        server, memory = self.server, self.server.memory
        for host, tokens in list(server.computing.items()):
            for guest in memory.in_the_way(host.index, host.computed + tokens):
                server.pushed_out.append(self.all[guest])
                server.preempt(self.all[guest])

    def _execute(self, began: float) -> dict[str, int]:
        server, computing = self.server, self.server.computing
        prefill = recomputed = completed = new_outputs = 0
        lasts = server.duration()
        for request, tokens in computing.items():
            prefill += 0 if request.decoding else tokens
            recomputed += max(0, min(tokens, request.highest - request.computed))
            request.computed += tokens
            server.memory.write(request.index, request.computed)
        cached = sum(request.computed for request in server.running)
        self._advance(began, lasts)
        for request in computing:
            if request.computed == request.length:
                request.is_new = False
                new_outputs += request.emit(self.now)
            request.highest = max(request.highest, request.computed)
            if request.outputs == request.output_length:
                server.running.remove(request)
                server.handed_on += sum(server.memory.release(request.index).values())
                request.finished = True
                completed += 1
        self.done += completed
        self.iteration += 1
        server.iteration += 1
        return {
            "completed": completed,
            "sched_reqs": len(computing),
            "tokens": sum(computing.values()),
            "prefill_tokens": prefill,
            "recomputed_tokens": recomputed,
            "kv_tokens": cached,
            "new_outputs": new_outputs,
        }

    def _advance(self, began: float, lasts: float) -> None:
        """An iteration lasts what it costs; an idle one, a tick or until who it waits for."""
        server = self.server
        if server.computing:
            server.now += lasts
            server.longest = max(server.longest, server.now - began)
        elif server.clock.jumps and (events := self._events()):
            server.now = max(server.now, min(events))
        else:
            server.now += server.clock.base

    def _events(self) -> list[float]:
        """Who is copied back; if nobody waits, who comes next."""
        events = [request.ready_at for request in self.server.running if request.kept]
        more_come = self.clients is None and self.arrived < len(self.all)
        if more_come and not self.server.waiting:
            events.append(self.all[self.arrived].arrival)
        return events


def _requests(table: Requests) -> list[Request]:
    columns = {
        "input_length": table.input_length,
        "output_length": table.output_length,
        "max_output": table.max_output,
        "arrival": table.arrival,
        "priority": table.priority,
        "predicted": table.predicted_output,
        "estimated": table.estimated_output,
        "tbt_slo": table.tbt_slo,
        "ttft_slo": table.ttft_slo,
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        Request(index, **dict(zip(columns, row, strict=True))) for index, row in enumerate(rows)
    ]
