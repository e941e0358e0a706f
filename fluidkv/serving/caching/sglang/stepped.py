"""SGLang's scheduler whose steps are its user's: it is handed requests and looked at.

The loop is that of whole runs, `kernel.loop`. As plain Python it is the page to compare with
SGLang's source; compiled it gives the same counts, rows and times, bit for bit.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.lots import LEAVES, Lots
from fluidkv.runs.interpreted import interpreted
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.names import BlockNames, names_of
from fluidkv.serving.caching.sglang.kernel import layout
from fluidkv.serving.caching.sglang.kernel.engine import (
    LOOP,
    MOST_COST,
    SglangServer,
    grown,
    loop_of,
    new_state,
)
from fluidkv.serving.caching.sglang.seen import COUNTS, Row
from fluidkv.serving.caching.sglang.table import check_table, tokens_alone
from fluidkv.serving.caching.table import checked_prompts
from fluidkv.serving.caching.worker import ServedRequest, Worker, number
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

_MODES = ("prefill", "mixed", "decode", "idle")  # by the kernel's numbers
_ALL_IN_ONE = 2**62
"""Iterations of a window, and of a run, that never ends for their number."""


class SglangRequest(ServedRequest):
    """As `ServedRequest`; its halts end retractions.

    Fields:
        slots: tokens that have a place in memory.
        shared: of these, in the tree and locked; whole pages.
    """

    __slots__ = ()
    slots: int = number("slots")
    shared: int = number("shared")

    @property
    def finished(self) -> bool:
        return bool(self._engine.known(self.index, "finished"))

    @property
    def aborted(self) -> bool:
        return bool(self._engine.known(self.index, "aborted"))


class SglangEngine(Worker[SglangRequest]):
    """One server of SGLang. `step` does one iteration.

    Args:
        requests, prompts: the table, of which it serves those that it is offered; prompts None:
            nobody shares anything.
        settings: the server's options.
        clock: how long a pass lasts.
        names: of the pages of `prompts`: many servers may have them in common.
        offered: requests come only by `offer`; else at the times of the table.
        lots: leaves of the tree go by lot, whatever the settings say; plain Python only.
        compiled: the loop as machine code, which is worth it for long runs; else plain Python.

    Raises:
        InputError: prompts of other lengths than the requests; requests that are too long for this
            memory; with `ignore_eos`, one that does not emit all that is asked for; names of other
            pages; lots with machine code.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import SglangSettings
        >>> from fluidkv.serving.caching.sglang.stepped import SglangEngine
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2]), fk.IterationClock(1.0)
        >>> server = SglangEngine(requests, alike, SglangSettings(40), clock)
        >>> server.offer(0)
        >>> server.step()["tokens"], server.row.mode
        (12, 'prefill')
        >>> server.advance(until=5.0)
        >>> server.found(1), server.now
        (11, 2.0)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        settings: SglangSettings,
        clock: IterationClock,
        *,
        names: BlockNames | None = None,
        offered: bool = True,
        lots: Lots | None = None,
        compiled: bool = False,
    ) -> None:
        if lots is not None and compiled:
            raise InputError("compiled", compiled, "False, with lots")
        prompts = checked_prompts(requests, prompts)
        check_table(requests, settings)
        texts = None
        if settings.radix:
            texts = names_of(requests, prompts, settings.page_size, names).strands()
        self.settings, self.clock = settings, clock
        server = SglangServer(requests, prompts, settings, clock)
        self._state = new_state(server, texts, offered=offered, literally=not compiled)
        self._loop = loop_of(self._state)
        if lots is not None:
            self._loop = interpreted(LOOP, {LEAVES: lots})
        self._run = self._state.runs[0]
        every = [SglangRequest(self, index) for index in range(len(requests))]
        self._serves(every, offered=offered)
        self._counts, self._clock = np.zeros((1, len(COUNTS)), np.int64), np.zeros(1)

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def records(self) -> layout.Records:
        """Of the requests, as `kernel.layout.REQUEST`, as far as they are now."""
        self._write_down()
        return self._state.space.requests

    def known(self, index: int, name: str) -> Any:
        """A field of a request's records, as far as it is now."""
        return self.records[index][name]

    @property
    def aborted(self) -> int:
        return int(self._run["aborted"])

    @property
    def available(self) -> int:
        """Tokens of memory that nobody has, the tree neither."""
        return int(self._run["available"])

    @property
    def new_token_ratio(self) -> float:
        return float(self._run["ratio"])

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        run = self._run
        waits = run["tail"] > run["head"] or run["chunked"] != layout.NONE
        return not (waits or run["flying"] or run["in_memory"])

    @property
    def running(self) -> Sequence[SglangRequest]:
        """Who has been admitted and is not done."""
        run, places = self._run, self._state.space.places
        inside = list(places[layout.DECODING, : run["decoding"]])
        if run["pass_admitted"]:
            inside += list(places[layout.PASSING, : run["pass_size"]])
        return [self.all[r] for r in inside if not self.records[r]["finished"]]

    @property
    def waiting(self) -> Sequence[SglangRequest]:
        """From the head of the queue."""
        queue = self._state.space.places[layout.WAITING]
        return [self.all[r] for r in queue[self._run["head"] : self._run["tail"]]]

    @property
    def stuck(self) -> bool:
        """Nothing runs, and whoever waits first has grown past what is ever admitted."""
        if self._run["in_memory"] or self._run["tail"] == self._run["head"]:
            return False
        first = self._state.space.places[layout.WAITING, self._run["head"]]
        lengths = (
            int(self.records[first][name]) for name in ("input", "outputs", "target", "most")
        )
        needed = tokens_alone(*lengths, settings=self.settings)
        return bool(needed > self.settings.tokens)

    @property
    def row(self) -> Row:
        """What the records show of the last step."""
        run = self._run
        names = layout.EVENT.names or ()
        events = [[int(e[n]) for n in names] for e in self._state.space.events[: run["noted"]]]
        ids = [[r for kind, r, *_ in events if kind == wanted] for wanted in range(4)]
        return Row(
            arrived=int(run["seen_arrived"]),
            mode=_MODES[int(run["seen_mode"])],
            batch=int(run["seen_batch"]),
            running=int(run["seen_running"]),
            waiting=int(run["seen_waiting"]),
            admitted=int(run["first"]),
            retracted=int(run["retracted"]),
            completed=int(run["finished"]),
            prefill_tokens=int(run["prefill"]),
            hit_tokens=int(run["hits"]),
            used=int(run["tokens"] - run["seen_available"]),
            available=int(run["seen_available"]),
            evictable=int(run["seen_total"] - run["seen_protected"]),
            protected=int(run["seen_protected"]),
            new_token_ratio=float(run["seen_ratio"]),
            batch_is_full=int(run["seen_full"]),
            chunked=int(run["seen_chunked"]),
            admissions=[rest for kind, *rest in events if kind == layout.ADMITTED],
            retracted_ids=ids[layout.RETRACTED],
            finished_ids=sorted(ids[layout.FINISHED]),
            aborted_ids=ids[layout.ABORTED],
        )

    def found(self, index: int) -> int:
        """Tokens of a request's prompt that it would find now; looking changes nothing."""
        self._write_down()
        return int(self._call(self._loop.found_tokens, self._of_table(index)))

    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue; an idle clock goes on to its arrival."""
        self._take(index)
        self._call(self._loop.offer, index)

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle or stuck."""
        while self.now < until and not (self.idle or self.stuck):
            self._go_on(_ALL_IN_ONE, until)

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `seen.COUNTS`, and `row`."""
        self._go_on(int(self._run["iteration"]) + 1, np.inf)
        return dict(zip(COUNTS, self._counts[0].tolist(), strict=True))

    def _write_down(self) -> None:
        """At requests stands how far they are."""
        if self._run["glided"]:
            self._call(self._loop.write_down)

    def _go_on(self, horizon: int, until: float) -> None:
        self._run["row"] = self._run["open"] = 0
        window = self._counts, self._clock, horizon, _ALL_IN_ONE, MOST_COST, until
        while self._call(self._loop.advance, *window) == layout.SHORT:
            self._state = grown(self._state)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # in kernels nothing is warned of
            return function(*self._state, *arguments)
