"""An engine whose steps are its user's: it is asked for an iteration, looked at, handed requests.

The loop is that of `serve`, without the calendar: an iteration costs how many run. As plain Python
it is the page to compare with an engine's source, `kernel.loop`; it has no bound on numbers, and
can be copied in the middle of a run.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.inlined import as_objects, copied
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import Runs
from fluidkv.serving.caching.names import BlockNames, names_of
from fluidkv.serving.caching.table import check_modelled
from fluidkv.serving.caching.worker import ServedRequest, Worker, number
from fluidkv.serving.checks import check_fits
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import COUNTS, WITH_CACHE
from fluidkv.serving.kernel import layout, worker
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Requeue, Victim
from fluidkv.serving.running.batches import (
    LONGEST,
    arrivals_of,
    new_blocks,
    new_found,
    new_passes,
    new_space,
    new_times,
    rule_numbers,
    run_records,
    tables_of,
)
from fluidkv.serving.running.engine import MOST_COST, covers
from fluidkv.serving.running.own import give_own
from fluidkv.serving.server import Server

_TIMES = {
    "admitted": layout.ADMITTED,
    "first_token": layout.FIRST,
    "last_token": layout.LAST,
    "longest_gap": layout.GAP,
    "halted": layout.HALT,
}
_OF_REQUEST = frozenset(layout.REQUEST.names or ())


class SteppedRequest(ServedRequest):
    """As `ServedRequest`.

    Fields:
        computed: tokens whose cache is in memory.
        blocks: that it holds.
        kept: tokens whose cache is in the host's memory.
    """

    __slots__ = ()
    computed: int = number("computed")
    blocks: int = number("blocks")
    kept: int = number("kept")

    @property
    def length(self) -> int:
        """Tokens that must be in the cache before the next output comes."""
        return self.input_length + self.outputs


class Engine(Worker[SteppedRequest]):
    """The state of one server. `step` does one iteration and returns its counts.

    Args:
        requests: who comes.
        server: of one run.
        clients: of a closed population; a request then comes when an earlier one is done, and its
            own arrival time is not looked at. None: requests come at their arrival times.
        start: outputs of the requests that run already, the first ones, in running order.
        offered: nobody comes by itself, only by `offer`.
        names: of the blocks of the server's prompts, which then are not looked at: many engines may
            have them in common.
        compiled: the loop as machine code, which is worth it for long runs; else plain Python.

    Raises:
        InputError: SGLang's own scheduler, which is `SglangEngine`; with a cache: prompts of other
            lengths than the requests, a request that does not fit, rules that are not vLLM's, an
            admission rate, names of other blocks; numbers that machine code cannot hold.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import Engine
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests = fk.Requests([12, 12], [2, 2], arrival=[0, 1])
        >>> limits, clock = fk.Limits(40, block_size=4), fk.IterationClock(1.0)
        >>> server = fk.Server("vllm+cache", limits, clock=clock, prompts=alike)
        >>> engine = Engine(requests, server)
        >>> [engine.step()["tokens"] for _ in range(3)], engine.idle, engine.finished
        ([12, 5, 1], True, [1])
        >>> engine = Engine(requests, server, offered=True)
        >>> engine.offer(0)
        >>> engine.advance(until=5.0)
        >>> engine.found(1), engine.iteration
        (8, 2)
    """

    def __init__(
        self,
        requests: Requests,
        server: Server,
        clients: int | None = None,
        *,
        start: Sequence[int] = (),
        offered: bool = False,
        names: BlockNames | None = None,
        compiled: bool = False,
    ) -> None:
        limits, clock = server.limits, server.clock or IterationClock.iterations()
        if not (isinstance(limits, Limits) and isinstance(clock, IterationClock)):
            raise InputError("server", "of several runs", "one memory and one clock")
        if server.served.own_scheduler:
            raise InputError("server", server.served.name, "rules; see `SglangEngine`")
        self.requests, self.server, self.clients = requests, server, clients
        self.rules, self.limits, self._compiled = server.served.rules, limits, compiled
        batch = Runs([requests], [limits], [clock], [clients], [start])
        if compiled and not covers(self.rules, batch):
            allowed = f"lengths and predictions below {LONGEST} in all, or compiled=False"
            raise InputError("requests", "larger numbers", allowed)
        blocks = self._blocks(names) if server.served.caching else None
        tables, arrival = tables_of(self.rules, batch), arrivals_of(batch)
        runs = run_records(self.rules, batch, clock.jumps, True, caching=blocks is not None)
        found = new_found(1, len(requests), caching=blocks is not None)
        space = new_space(new_times(1, len(requests)), arrival)
        self.batch, self.blocks = layout.Batch(runs, space, tables, found), blocks
        if not compiled:
            self.batch, self.blocks = as_objects(self.batch), as_objects(blocks)
        give_own(self.rules, self.batch.runs, literally=not compiled)
        passes = None if blocks is not None else new_passes(None)
        self._memory = passes if compiled else as_objects(passes), self.blocks
        self._look(offered)
        self._call(worker.start, *self._server, self.batch.tables, *self._memory, offered)

    def _look(self, offered: bool) -> None:
        """At what stands in `batch`."""
        self._run, self._server = self.batch.runs[0], (self.batch.runs, self.batch.space)
        every = [SteppedRequest(self, index) for index in range(len(self.requests))]
        self._serves(every, offered=offered)
        self._counts = np.zeros(len(WITH_CACHE if self.blocks is not None else COUNTS), np.int64)

    def _blocks(self, names: BlockNames | None) -> layout.Blocks:
        requests, limits = self.requests, self.limits
        check_modelled(self.rules, limits)
        check_fits(requests, self.rules, limits)
        prompts: Any = self.server.prompts
        names = names_of(requests, prompts, limits.block_size, names)
        return new_blocks(limits.blocks, names.flat(), len(requests))

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        if self._compiled:
            from fluidkv.runs.kernels import compiled  # Numba takes half a second to load

            return compiled(function)(*given)
        with np.errstate(all="ignore"):
            return function(*given)

    # ---------------------------------------------------------------------------------- as a worker

    def known(self, index: int, name: str) -> Any:
        """A field of a request's records; its arrival: when it came, or will come."""
        space = self.batch.space
        if name in _OF_REQUEST:
            return space.requests[index][name]
        if name in _TIMES:
            return space.times[0, _TIMES[name], index]
        if name == "arrival":
            came = self.clients is not None and index < self.arrived
            return space.times[0, layout.ARRIVAL, index] if came else self.requests.arrival[index]
        return space.aside[index][name]

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return int(self._run["free"])

    @property
    def ratio(self) -> int:
        """Share of their outputs that running requests reserve, over `NewTokenRatio.SCALE`."""
        return int(self._run["ratio"])

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return bool(self._run["running"] == self._run["waiting"] == 0)

    @property
    def stuck(self) -> bool:
        """Nothing runs, nobody comes any more, and whoever waits first can never be admitted.

        An engine with a cache refuses such requests.
        """
        return self.blocks is None and bool(self._call(worker.stuck, *self._server))

    @property
    def running(self) -> Sequence[SteppedRequest]:
        """In the order of admission."""
        places = self.batch.space.lists[: self._run["loose"]]
        return [self.all[place["loose"]] for place in places]

    @property
    def waiting(self) -> Sequence[SteppedRequest]:
        """From the head of the queue."""
        lists, size = self.batch.space.lists, self._run["waiting"]
        if self.rules.requeue is Requeue.BY_PRIORITY:
            ranks = sorted(place["waiting"] for place in lists[:size])
            return [self.all[self.batch.space.aside[rank]["who"]] for rank in ranks]
        places = ((self._run["head"] + place) % lists.size for place in range(size))
        return [self.all[lists[place]["waiting"]] for place in places]

    @property
    def admissions(self) -> list[tuple[int, int, int]]:
        """Of the last iteration, with a cache: (request, tokens found, tokens computed) each."""
        return [(r, found, computed) for _, r, found, computed in self._events(layout.ENTERED)]

    @property
    def preempted(self) -> list[int]:
        """Of the last iteration, with a cache, in order."""
        return [row[1] for row in self._events(layout.PREEMPTED)]

    @property
    def finished(self) -> list[int]:
        """Of the last iteration, with a cache, in order."""
        return [row[1] for row in self._events(layout.FINISHED)]

    @property
    def line(self) -> list[int]:
        """With a cache: the free blocks that may ever be taken; the first is reused next."""
        assert self.blocks is not None
        blocks, ends = self.blocks.line, self.blocks.line.size - 1
        line = [int(blocks[ends]["after"])]
        while line[-1] != ends:
            line.append(int(blocks[line[-1]]["after"]))
        return line[:-1]

    def offer(self, index: int) -> None:
        """A request joins the queue; the clock of an idle engine goes on to its arrival."""
        request = self._take(index)
        if self.idle:
            self._run["now"] = max(self.now, request.arrival)
        self._call(worker.join, *self._server, index)

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing."""
        index = self._of_table(index)
        if self.blocks is None:
            return 0
        return self._call(worker.found_tokens, *self._server, self.blocks, index)

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle."""
        while not self.idle and self.now < until:
            self._call(worker.go_on, *self._server, *self._memory, self._counts, until, MOST_COST)

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `COUNTS`, or `WITH_CACHE`."""
        self._counts[:] = 0
        self._call(worker.go_on, *self._server, *self._memory, self._counts, np.inf, 0)
        names = WITH_CACHE if self.blocks is not None else COUNTS
        return dict(zip(names, self._counts.tolist(), strict=True))

    def copy(self) -> "Engine":
        """Another one in the same state, of plain Python."""
        assert not self._compiled
        other = copy(self)
        tables = self.batch.tables  # only read
        other.batch = copied(self.batch._replace(tables=None))._replace(tables=tables)
        other.blocks = copied(self.blocks)
        other._memory = self._memory[0], other.blocks
        other._look(offered=False)
        return other

    def name_victims(self, first: Sequence[int]) -> None:
        """These go first, in this order, whatever the rules say; somebody else after them."""
        ranks = {index: len(first) - place for place, index in enumerate(first)}
        for index, aside in enumerate(self.batch.space.aside):
            aside.rank = ranks.get(index, 0)
        rules = replace(self.rules, victim=Victim.LEAST_URGENT)
        for name, value in rule_numbers(rules).items():
            self._run[name] = value

    def _events(self, kind: int) -> list[list[int]]:
        assert self.blocks is not None
        events = self.blocks.events[: self._run["noted"]]
        rows = [[int(e[name]) for name in layout.EVENT.names or ()] for e in events]
        return [row for row in rows if row[0] == kind]
