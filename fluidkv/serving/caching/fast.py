"""vLLM's scheduler with its prefix cache, compiled, as an engine that is handed its requests.

An iteration is that of `kernel.caching`: rules, counts and times are those of `vllm`, iteration by
iteration and bit by bit.
"""

from collections.abc import Sequence

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import arrays_of
from fluidkv.serving.caching.names import BlockNames, names_of
from fluidkv.serving.caching.table import check_modelled
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.checks import check_fits
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import WITH_CACHE
from fluidkv.serving.kernel import layout
from fluidkv.serving.kernel.batches import LONGEST, space_of
from fluidkv.serving.kernel.engine import MOST_COST, covers
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Requeue


class FastRequest:
    """One request and how far it is, as `progress.Request`: read from the kernel's records."""

    __slots__ = ("_engine", "index")

    def __init__(self, engine: "FastEngine", index: int) -> None:
        self._engine, self.index = engine, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FastRequest) and self.index == other.index

    def __hash__(self) -> int:
        return self.index

    @property
    def input_length(self) -> int:
        return int(self._engine.requests.input_length[self.index])

    @property
    def output_length(self) -> int:
        return int(self._engine.requests.output_length[self.index])

    @property
    def outputs(self) -> int:
        """Tokens emitted and kept."""
        return self._of("requests", "outputs")

    @property
    def computed(self) -> int:
        """Tokens whose cache is in memory."""
        return self._of("requests", "computed")

    @property
    def evictions(self) -> int:
        return self._of("requests", "evictions")

    @property
    def hit_tokens(self) -> int:
        return self._of("aside", "hits")

    @property
    def first_hit_tokens(self) -> int:
        return self._of("aside", "first_hits")

    @property
    def finished(self) -> bool:
        return self.outputs == self.output_length

    @property
    def arrival(self) -> float:
        return self._engine.arrival_of(self.index)

    @property
    def admitted_at(self) -> float | None:
        return self._time(layout.ADMITTED)

    @property
    def first_token_at(self) -> float | None:
        return self._time(layout.FIRST)

    @property
    def last_token_at(self) -> float | None:
        return self._time(layout.LAST)

    @property
    def longest_gap(self) -> float:
        return float(self._engine.batch.found.times[0, layout.GAP, self.index])

    def _of(self, records: str, field: str) -> int:
        return int(getattr(self._engine.batch.space, records)[field][self.index])

    def _time(self, row: int) -> float | None:
        time = float(self._engine.batch.found.times[0, row, self.index])
        return None if time != time else time


class FastEngine:
    """As `VllmEngine`.

    Args:
        names: of the blocks of `prompts`, which then is not looked at: many engines may have them
            in common.

    Raises:
        InputError: as `VllmEngine`; numbers that the kernel cannot hold; names of other blocks.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import FastEngine
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2], arrival=[0, 1]), fk.IterationClock(1.0)
        >>> limits = fk.Limits(40, block_size=4)
        >>> server = FastEngine(requests, alike, fk.engine("vllm"), limits, clock, offered=True)
        >>> server.offer(0)
        >>> server.advance(until=5.0)
        >>> server.found(1), server.iteration
        (8, 2)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        rules: EngineRules,
        limits: Limits,
        clock: IterationClock,
        clients: int | None = None,
        *,
        offered: bool = False,
        names: BlockNames | None = None,
    ) -> None:
        check_modelled(rules, limits)
        check_fits(requests, rules, limits)
        names = names_of(requests, prompts, limits.block_size, names)
        from fluidkv.serving.kernel.worker import start  # Numba takes half a second to load

        self.requests, self.rules, self.limits, self.clients = requests, rules, limits, clients
        arrays = arrays_of([requests], [limits], [clock], [clients], [])
        if not covers(rules, arrays):
            allowed = f"lengths and predictions below {LONGEST} in all; VllmEngine takes others"
            raise InputError("requests", "larger numbers", allowed)
        self.batch, self.blocks = space_of(rules, arrays, names.flat(), jumps=clock.jumps)
        start(self.batch, self.blocks, offered)
        self.all = [FastRequest(self, index) for index in range(len(requests))]
        self._run = self.batch.runs[0]
        self._offers = Offers(self.all, by_table=not offered)
        self._counts = np.zeros(len(WITH_CACHE), np.int64)

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def now(self) -> float:
        return float(self._run["now"])

    @property
    def iteration(self) -> int:
        """Iterations done."""
        return int(self._run["iteration"])

    @property
    def done(self) -> int:
        return int(self._run["done"])

    @property
    def arrived(self) -> int:
        return int(self._run["arrived"])

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return self._run["running"] == self._run["waiting"] == 0

    @property
    def stuck(self) -> bool:
        """Whoever waits first can never be admitted: this engine refuses such requests."""
        return False

    @property
    def running(self) -> Sequence[FastRequest]:
        """In the order of admission."""
        loose = self.batch.space.lists["loose"][: self._run["loose"]]
        return [self.all[r] for r in loose.tolist()]

    @property
    def waiting(self) -> Sequence[FastRequest]:
        """From the head of the queue."""
        queue, size = self.batch.space.lists["waiting"], int(self._run["waiting"])
        if self.rules.requeue is Requeue.BY_PRIORITY:
            line = self.batch.space.aside["who"][np.sort(queue[:size])]
        else:
            line = queue[(self._run["head"] + np.arange(size)) % queue.size]
        return [self.all[r] for r in line.tolist()]

    @property
    def admissions(self) -> list[tuple[int, int, int]]:
        """Of the last iteration: (request, tokens found, tokens computed) each."""
        return [(r, found, computed) for _, r, found, computed in self._events(layout.ENTERED)]

    @property
    def preempted(self) -> list[int]:
        """Of the last iteration, in order."""
        return [row[1] for row in self._events(layout.PREEMPTED)]

    @property
    def finished(self) -> list[int]:
        """Of the last iteration, in order."""
        return [row[1] for row in self._events(layout.FINISHED)]

    @property
    def line(self) -> list[int]:
        """The free blocks that may ever be taken; the first is reused next."""
        after, ends = self.blocks.line["after"], self.blocks.line.size - 1
        line = [int(after[ends])]
        while line[-1] != ends:
            line.append(int(after[line[-1]]))
        return line[:-1]

    def arrival_of(self, index: int) -> float:
        """When a request came, or will come."""
        if self.clients is not None and index < self.arrived:
            return float(self.batch.found.times[0, layout.ARRIVAL, index])
        return float(self.requests.arrival[index])

    def offer(self, index: int) -> None:
        """A request joins the queue; the clock of an idle engine goes on to its arrival."""
        from fluidkv.serving.kernel.worker import join

        request = self._offers.take(index, self, stuck=self.stuck)
        if self.idle:
            self._run["now"] = max(self.now, request.arrival)
        join(self.batch, index)

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing."""
        from fluidkv.serving.kernel.worker import found_tokens

        return found_tokens(self.batch, self.blocks, self._offers.of_table(index).index)

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle."""
        from fluidkv.serving.kernel.worker import go_on

        while not self.idle and self.now < until:
            go_on(self.batch, self.blocks, self._counts, until, MOST_COST)

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `WITH_CACHE`."""
        from fluidkv.serving.kernel.worker import go_on

        self._counts[:] = 0
        go_on(self.batch, self.blocks, self._counts, np.inf, 0)
        return dict(zip(WITH_CACHE, self._counts.tolist(), strict=True))

    def _events(self, kind: int) -> list[list[int]]:
        events = self.blocks.events[: self._run["noted"]]
        return [list(row) for row in events[events["kind"] == kind].tolist()]
