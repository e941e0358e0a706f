"""SGLang's scheduler, compiled, as an engine that is handed its requests.

An iteration is that of `kernel.loop`: rules, counts, rows and times are those of `SglangEngine`,
step by step and bit by bit.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.sglang.kernel import layout
from fluidkv.serving.caching.sglang.kernel.engine import (
    MOST_COST,
    SglangServer,
    grown,
    new_state,
)
from fluidkv.serving.caching.sglang.seen import COUNTS, Row
from fluidkv.serving.caching.sglang.state import Mode
from fluidkv.serving.caching.sglang.table import check_table, tokens_alone
from fluidkv.serving.caching.table import checked_prompts
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

_MODES = {
    layout.PREFILL: Mode.PREFILL,
    layout.MIXED: Mode.MIXED,
    layout.DECODE: Mode.DECODE,
    layout.IDLE: Mode.IDLE,
}
_ALL_IN_ONE = 2**62
"""Iterations of a window, and of a run, that never ends for their number."""


def _number(field: str) -> Any:
    """A property that reads an integer of the kernel's records."""
    return property(lambda request: int(request._engine.records[field][request.index]))


def _flag(field: str) -> Any:
    return property(lambda request: bool(request._engine.records[field][request.index]))


def _time(field: str) -> Any:
    """A property that reads a time, or None where there is none yet."""

    def read(request: "FastRequest") -> float | None:
        time = float(request._engine.records[field][request.index])
        return None if math.isnan(time) else time

    def write(request: "FastRequest", time: float) -> None:
        request._engine.records[field][request.index] = time

    return property(read, write)


class FastRequest:
    """One request and how far it is, as `state.Request`."""

    __slots__ = ("_engine", "index")
    input_length: int = _number("input")
    output_length: int = _number("target")
    outputs: int = _number("outputs")
    evictions: int = _number("evictions")
    hit_tokens: int = _number("hit_tokens")
    first_hit_tokens: int = _number("first_hit_tokens")
    highest: int = _number("highest")
    slots: int = _number("slots")
    shared: int = _number("shared")
    finished: bool = _flag("finished")
    aborted: bool = _flag("aborted")
    arrival: float = _time("arrival")
    admitted_at: float | None = _time("admitted")
    first_token_at: float | None = _time("first_token")
    last_token_at: float | None = _time("last_token")
    longest_gap: float = _time("longest_gap")
    halted: float = _time("halted")

    def __init__(self, engine: "FastSglang", index: int) -> None:
        self._engine, self.index = engine, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FastRequest) and self.index == other.index

    def __hash__(self) -> int:
        return self.index


class FastSglang:
    """As `SglangEngine`.

    Args:
        names: of the pages of `prompts`: many servers may have them in common.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import FastSglang, SglangSettings
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2], arrival=[0, 5]), fk.IterationClock(1.0)
        >>> server = FastSglang(requests, alike, SglangSettings(40), clock)
        >>> server.offer(0)
        >>> server.advance(until=5.0)
        >>> server.found(1), server.idle
        (11, True)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        settings: SglangSettings,
        clock: IterationClock,
        *,
        names: BlockNames | None = None,
    ) -> None:
        said = checked_prompts(requests, prompts)
        check_table(requests, settings)
        if names is None and settings.radix:
            names = BlockNames(said, settings.page_size)
        self.settings, self.clock = settings, clock
        server = SglangServer(requests, said, settings, clock)
        self._state = new_state(server, names.strands() if names else None, offered=True)
        self._run = self._state.runs[0]
        self._all = [FastRequest(self, index) for index in range(len(requests))]
        self._offers = Offers(self._all)
        self._counts, self._clock = np.zeros((1, len(COUNTS)), np.int64), np.zeros(1)

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def records(self) -> np.ndarray:
        """Of the requests, as `kernel.layout.REQUEST`, as far as they are now."""
        self._write_down()
        return self._state.space.requests

    @property
    def all(self) -> list[FastRequest]:
        """Every request of the table."""
        return self._all

    @property
    def now(self) -> float:
        return float(self._run["now"])

    @property
    def arrived(self) -> int:
        return int(self._run["arrived"])

    @property
    def done(self) -> int:
        """Aborted ones among them."""
        return int(self._run["done"])

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
    def running(self) -> Sequence[FastRequest]:
        """Who has been admitted and is not done."""
        run, places = self._run, self._state.space.places
        inside = list(places[layout.DECODING, : run["decoding"]])
        if run["pass_admitted"]:
            inside += list(places[layout.PASSING, : run["pass_size"]])
        return [self._all[r] for r in inside if not self.records["finished"][r]]

    @property
    def waiting(self) -> Sequence[FastRequest]:
        """From the head of the queue."""
        queue = self._state.space.places[layout.WAITING]
        return [self._all[r] for r in queue[self._run["head"] : self._run["tail"]]]

    @property
    def stuck(self) -> bool:
        """Nothing runs, and whoever waits first has grown past what is ever admitted."""
        if self._run["in_memory"] or self._run["tail"] == self._run["head"]:
            return False
        first = self._state.space.places[layout.WAITING, self._run["head"]]
        lengths = self.records[["input", "outputs", "target", "most"]][first].tolist()
        needed = tokens_alone(*lengths, settings=self.settings)
        return bool(needed > self.settings.tokens)

    @property
    def row(self) -> Row:
        """What the records show of the last step."""
        run = self._run
        events = self._state.space.events[: run["noted"]].tolist()
        ids = [[r for kind, r, *_ in events if kind == wanted] for wanted in range(4)]
        return Row(
            arrived=int(run["seen_arrived"]),
            mode=_MODES[int(run["seen_mode"])].value,
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
        from fluidkv.serving.caching.sglang.kernel.loop import found_tokens

        self._write_down()
        return found_tokens(*self._state, index)

    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue; an idle clock goes on to its arrival."""
        from fluidkv.serving.caching.sglang.kernel.loop import offer

        self._offers.take(index, self, stuck=self.stuck)
        offer(*self._state, index)

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
        from fluidkv.serving.caching.sglang.kernel.loop import write_down

        if self._run["glided"]:
            write_down(*self._state)

    def _go_on(self, horizon: int, until: float) -> None:
        from fluidkv.serving.caching.sglang.kernel.loop import advance

        self._run["row"] = self._run["open"] = 0
        window = self._counts, self._clock, horizon, _ALL_IN_ONE, MOST_COST, until
        while advance(*self._state, *window) == layout.SHORT:
            self._state = grown(self._state)
