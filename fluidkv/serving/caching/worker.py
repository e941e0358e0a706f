"""What an engine with a prefix cache offers to whatever hands it requests: a router, or a run.

All engines of a run share one table of requests and its prompts; each serves those that it was
offered.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from fluidkv.errors import InputError
from fluidkv.runs.checks import count


class Served(Protocol):
    """One request and how far it is, as `SteppedRequest`. Times: None is not yet."""

    @property
    def index(self) -> int: ...
    @property
    def input_length(self) -> int: ...
    @property
    def output_length(self) -> int: ...
    @property
    def arrival(self) -> float: ...
    @property
    def outputs(self) -> int: ...
    @property
    def evictions(self) -> int: ...
    @property
    def hit_tokens(self) -> int:
        """Tokens found in the cache, at all its admissions."""
        ...

    @property
    def first_hit_tokens(self) -> int:
        """Of these, at its first admission."""
        ...

    @property
    def admitted_at(self) -> float | None: ...
    @property
    def first_token_at(self) -> float | None: ...
    @property
    def last_token_at(self) -> float | None: ...
    @property
    def longest_gap(self) -> float: ...
    @property
    def finished(self) -> bool: ...


class Worker(Protocol):
    """One engine. `all` has an entry for every request of the table, offered to it or not.

    Examples:
        >>> from fluidkv.serving import Engine, Worker
        >>> def served(worker: Worker) -> float:
        ...     worker.offer(0)
        ...     worker.advance(until=100.0)
        ...     return worker.all[0].last_token_at
        ...
        >>> server = fk.Server("vllm+cache", fk.Limits(40), fk.IterationClock(0.5))
        >>> served(Engine(fk.Requests([12], [3]), server, offered=True))
        1.5
    """

    @property
    def all(self) -> Sequence[Served]: ...

    @property
    def now(self) -> float:
        """Its clock: the end of its last iteration."""
        ...

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        ...

    @property
    def running(self) -> Collection[Served]: ...

    @property
    def waiting(self) -> Collection[Served]: ...

    def offer(self, index: int) -> None:
        """Request `index` of the table joins the queue.

        It has come: its arrival is not after `now`, or the engine is idle, whose clock then goes on
        to that arrival.

        Raises:
            InputError: no request of the table, one that was offered before or has not come.
        """
        ...

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing.

        Raises:
            InputError: no request of the table.
        """
        ...

    def step(self) -> Mapping[str, int]:
        """One iteration; its counts."""
        ...

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle.

        The same as `step` in a loop; an engine may do it faster.
        """
        ...


R = TypeVar("R", bound=Served)


class Offers(Generic[R]):
    """The requests that an engine may still be offered. One that came twice would never end.

    Args:
        requests: of the table.
        by_table: they come at the times of the table instead, and none may be offered.
    """

    def __init__(self, requests: Sequence[R], *, by_table: bool = False) -> None:
        self._requests, self._by_table = requests, by_table
        self._open = set(() if by_table else range(len(requests)))

    def of_table(self, index: int) -> R:
        """A request, offered or not.

        Raises:
            InputError: as `Worker.found`.
        """
        return self._requests[count("index", index, least=0, most=len(self._requests) - 1)]

    def take(self, index: int, worker: Worker, *, stuck: bool) -> R:
        """The request; it is offered now.

        Raises:
            InputError: as `Worker.offer`.
        """
        if self._by_table:
            raise InputError("index", index, "none: this engine was made without offered=True")
        if index not in self._open:
            last = len(self._requests) - 1
            raise InputError("index", index, f"a request from 0 to {last} not offered before")
        request = self._requests[index]
        # A stuck engine has stopped its clock; whoever comes waits behind the one that is stuck.
        if request.arrival > worker.now and not (worker.idle or stuck):
            said = f"one that has come: it comes at {request.arrival:g}, now is {worker.now:g}"
            raise InputError("index", index, said)
        self._open.remove(index)
        return request
