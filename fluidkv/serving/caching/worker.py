"""What an engine offers to whoever hands it requests step by step: a router, a single run.

All engines of a run share one table of requests and its prompts; each serves those that it was
offered.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

from fluidkv.errors import InputError
from fluidkv.runs.checks import count


def number(name: str) -> Any:
    """A property that reads an integer of the engine's records."""
    return property(lambda request: int(request._engine.known(request.index, name)))


def _time(name: str) -> Any:
    """A property that reads a time, or None where there is none yet."""

    def read(request: "ServedRequest") -> float | None:
        time = float(request._engine.known(request.index, name))
        return None if time != time else time

    return property(read)


class ServedRequest:
    """One request and how far it is, read from its engine's records. Times: None is not yet.

    Fields:
        outputs: tokens emitted and kept.
        highest: most tokens ever computed: what lies below is computed again.
        hit_tokens, first_hit_tokens: found in a prefix cache, at all admissions and at its first.
        halted: from evictions to the next new output.
    """

    __slots__ = ("_engine", "index")
    input_length: int = number("input")
    output_length: int = number("target")
    outputs: int = number("outputs")
    highest: int = number("highest")
    evictions: int = number("evictions")
    hit_tokens: int = number("hit_tokens")
    first_hit_tokens: int = number("first_hit_tokens")
    arrival: float = _time("arrival")
    admitted_at: float | None = _time("admitted")
    first_token_at: float | None = _time("first_token")
    last_token_at: float | None = _time("last_token")
    longest_gap: float = _time("longest_gap")
    halted: float = _time("halted")

    def __init__(self, engine: "Worker", index: int) -> None:
        self._engine, self.index = engine, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.index == other.index

    def __hash__(self) -> int:
        return self.index

    @property
    def finished(self) -> bool:
        return self.outputs == self.output_length


R = TypeVar("R", bound=ServedRequest)


class Worker(ABC, Generic[R]):
    """One engine. `all` has an entry for every request of the table, offered to it or not.

    Examples:
        >>> from fluidkv.serving import Engine
        >>> from fluidkv.serving.caching.worker import Worker
        >>> def served(worker: Worker) -> float:
        ...     worker.offer(0)
        ...     worker.advance(until=100.0)
        ...     return worker.all[0].last_token_at
        ...
        >>> server = fk.Server("vllm+cache", fk.Limits(40), fk.IterationClock(0.5))
        >>> served(Engine(fk.Requests([12], [3]), server, offered=True))
        1.5
    """

    all: Sequence[R]
    _run: Any  # the record of its run
    _open: set[int]  # requests that may still be offered: one that came twice would never end

    @abstractmethod
    def known(self, index: int, name: str) -> Any:
        """A field of a request's records, as far as it is now."""

    @property
    def now(self) -> float:
        """Its clock: the end of its last iteration."""
        return float(self._run["now"])

    @property
    def iteration(self) -> int:
        """Iterations done."""
        return int(self._run["iteration"])

    @property
    def arrived(self) -> int:
        return int(self._run["arrived"])

    @property
    def done(self) -> int:
        """Aborted ones among them."""
        return int(self._run["done"])

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""

    @property
    @abstractmethod
    def stuck(self) -> bool:
        """Nothing runs, and whoever waits first can never be admitted."""

    @property
    @abstractmethod
    def running(self) -> Collection[R]: ...

    @property
    @abstractmethod
    def waiting(self) -> Collection[R]:
        """From the head of the queue."""

    @abstractmethod
    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue.

        It has come: its arrival is not after `now`, or the engine is idle, whose clock then goes on
        to that arrival.

        Raises:
            InputError: no request of the table, one that was offered before or has not come; an
                engine whose requests come by the table.
        """

    @abstractmethod
    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing.

        Raises:
            InputError: no request of the table.
        """

    @abstractmethod
    def step(self) -> Mapping[str, int]:
        """One iteration; its counts."""

    @abstractmethod
    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle or stuck.

        The same as `step` in a loop; an engine may do it faster.
        """

    def _serves(self, all: Sequence[R], *, offered: bool) -> None:
        """These are its requests; with `offered` they come only by `offer`."""
        self.all, self._offered = all, offered
        self._open = set(range(len(all)) if offered else ())

    def _of_table(self, index: int) -> int:
        return count("index", index, least=0, most=len(self.all) - 1)

    def _take(self, index: int) -> R:
        """The request; it is offered now."""
        if not self._offered:
            raise InputError("index", index, "none: this engine was made without offered=True")
        if index not in self._open:
            last = len(self.all) - 1
            raise InputError("index", index, f"a request from 0 to {last} not offered before")
        request = self.all[index]
        # A stuck engine has stopped its clock; whoever comes waits behind the one that is stuck.
        if request.arrival > self.now and not (self.idle or self.stuck):
            said = f"one that has come: it comes at {request.arrival:g}, now is {self.now:g}"
            raise InputError("index", index, said)
        self._open.remove(index)
        return request
