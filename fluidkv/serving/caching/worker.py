"""What an engine with a prefix cache is to whoever hands it requests: a router, or a single run.

All engines of a run share one table of requests and its prompts; each serves those that it was
offered. An engine is constructed with (requests, prompts, rules, limits, clock).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol


class Served(Protocol):
    """One request and how far it is, as `serving.progress.Request`. Times: None is not yet."""

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
    """One engine. `all` has an entry for every request of the table, offered to it or not."""

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
        """
        ...

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing."""
        ...

    def step(self) -> Mapping[str, int]:
        """One iteration; its counts."""
        ...

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle.

        The same as `step` in a loop; an engine may do it faster.
        """
        ...
