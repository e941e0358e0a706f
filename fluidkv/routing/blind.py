"""Routers that do not look at caches: by chance, in turn, to the shortest queue."""

from dataclasses import dataclass
from typing import ClassVar

from fluidkv.errors import InputError
from fluidkv.routing.router import Choice, Router, View
from fluidkv.runs.checks import count


@dataclass(frozen=True)
class Random(Router):
    """Each worker is as likely as any other.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Random, Traffic, route
        >>> traffic = Traffic(*shared_prefixes(0, groups=4, queries=4, lengths=1000))
        >>> route(traffic, fk.Fleet(2, 20_000), Random(), seed=1).worker.tolist()
        [1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1]
    """

    label: ClassVar[str] = "random"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def route(self, state: None, view: View) -> Choice:
        return Choice(int(view.draws[0] * view.pending.size), state)


@dataclass(frozen=True)
class RoundRobin(Router):
    """Workers in turn.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import RoundRobin, Traffic, route
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> route(traffic, fk.Fleet(3, 20_000), RoundRobin()).worker.tolist()
        [0, 1, 2, 0, 1, 2, 0, 1]
    """

    label: ClassVar[str] = "round-robin"
    looks_at_caches: ClassVar[bool] = False

    def start(self, workers: int) -> int:
        return 0

    def route(self, state: int, view: View) -> Choice:
        return Choice(state, (state + 1) % view.pending.size)


@dataclass(frozen=True)
class LeastLoaded(Router):
    """The worker with the fewest requests that are not finished; of several the first.

    Examples:
        >>> from fluidkv.routing import LeastLoaded, View
        >>> none = np.zeros(3, int)
        >>> seen = View(0.0, 1000, none, none, np.array([4, 2, 2]), none, none, (0.0, 0.0))
        >>> LeastLoaded().route(None, seen).worker
        1
    """

    label: ClassVar[str] = "least loaded"
    looks_at_caches: ClassVar[bool] = False

    def route(self, state: None, view: View) -> Choice:
        return Choice(int(view.pending.argmin()), state)


@dataclass(frozen=True)
class PowerOfTwo(Router):
    """Of two different workers drawn, the one with fewer requests not finished; else the first.

    Source: M. Mitzenmacher, "The power of two choices in randomized load balancing" (2001); as in
    SGLang's router (`power_of_two`).

    Examples:
        >>> from fluidkv.routing import PowerOfTwo, View
        >>> none = np.zeros(3, int)
        >>> seen = View(0.0, 1000, none, none, np.array([4, 3, 0]), none, none, (0.0, 0.0))
        >>> PowerOfTwo().route(None, seen).worker  # of the first two
        1
    """

    label: ClassVar[str] = "two choices"
    looks_at_caches: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def route(self, state: None, view: View) -> Choice:
        workers = view.pending.size
        one = int(view.draws[0] * workers)
        other = (one + 1 + int(view.draws[1] * (workers - 1))) % workers
        return Choice(other if view.pending[other] < view.pending[one] else one, state)


@dataclass(frozen=True)
class Assigned(Router):
    """Every request to a worker that was fixed before: an offline schedule, played.

    Args:
        workers: of each request, in the order of their table; each at least 0.

    Raises:
        InputError: a worker below 0, or, when it is run, one that is not there.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Traffic, route
        >>> from fluidkv.routing.blind import Assigned
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=2, lengths=1000))
        >>> workers = tuple(traffic.requests.class_index.tolist())  # a worker for each group
        >>> [each.hits for each in route(traffic, fk.Fleet(2, 9_000), Assigned(workers)).times]
        [0, 500, 0, 500]
    """

    workers: tuple[int, ...]
    label: ClassVar[str] = "assigned"
    looks_at_caches: ClassVar[bool] = False

    def __post_init__(self) -> None:
        workers = tuple(count("workers", each, least=0) for each in self.workers)
        object.__setattr__(self, "workers", workers)

    def start(self, workers: int) -> int:
        if self.workers and max(self.workers) >= workers:
            raise InputError("workers", max(self.workers), f"workers from 0 to {workers - 1}")
        return 0

    def route(self, state: int, view: View) -> Choice:
        return Choice(self.workers[state], state + 1)
