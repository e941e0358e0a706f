"""Routers that do not look at caches: by chance, in turn, to the shortest queue."""

from dataclasses import dataclass
from typing import Any, ClassVar

from fluidkv.errors import InputError
from fluidkv.routing.router import Choice, View
from fluidkv.runs.checks import count


@dataclass(frozen=True)
class Random:
    """Each worker is as likely as any other."""

    label: ClassVar[str] = "random"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def start(self, workers: int) -> int:
        return workers

    def route(self, state: int, view: View) -> Choice:
        return Choice(int(view.draws[0] * state), state)

    def finished(self, state: int, ticket: Any, *, now: float, latency: float) -> int:
        return state


@dataclass(frozen=True)
class RoundRobin:
    """Workers in turn."""

    label: ClassVar[str] = "round-robin"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def start(self, workers: int) -> int:
        return 0

    def route(self, state: int, view: View) -> Choice:
        return Choice(state, (state + 1) % view.pending.size)

    def finished(self, state: int, ticket: Any, *, now: float, latency: float) -> int:
        return state


@dataclass(frozen=True)
class LeastLoaded:
    """The worker with the fewest requests that are not finished; of several the first."""

    label: ClassVar[str] = "least loaded"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def start(self, workers: int) -> int:
        return workers

    def route(self, state: int, view: View) -> Choice:
        return Choice(int(view.pending.argmin()), state)

    def finished(self, state: int, ticket: Any, *, now: float, latency: float) -> int:
        return state


@dataclass(frozen=True)
class PowerOfTwo:
    """Of two different workers drawn, the one with fewer requests not finished; else the first.

    Source: M. Mitzenmacher, "The power of two choices in randomized load balancing" (2001); as in
    SGLang's router (`power_of_two`).
    """

    label: ClassVar[str] = "two choices"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def start(self, workers: int) -> int:
        return workers

    def route(self, state: int, view: View) -> Choice:
        one = int(view.draws[0] * state)
        other = (one + 1 + int(view.draws[1] * (state - 1))) % state
        return Choice(other if view.pending[other] < view.pending[one] else one, state)

    def finished(self, state: int, ticket: Any, *, now: float, latency: float) -> int:
        return state


@dataclass(frozen=True)
class Assigned:
    """Every request to a worker that was fixed before: an offline schedule, played.

    Args:
        workers: of each request, in the order of their table; each at least 0.

    Raises:
        InputError: a worker below 0, or, when it is run, one that is not there.
    """

    workers: tuple[int, ...]
    label: ClassVar[str] = "assigned"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        workers = tuple(count("workers", each, least=0) for each in self.workers)
        object.__setattr__(self, "workers", workers)

    def start(self, workers: int) -> int:
        if self.workers and max(self.workers) >= workers:
            raise InputError("workers", max(self.workers), f"workers from 0 to {workers - 1}")
        return 0

    def route(self, state: int, view: View) -> Choice:
        return Choice(self.workers[state], state + 1)

    def finished(self, state: int, ticket: Any, *, now: float, latency: float) -> int:
        return state
