"""What a router is: a state and what it sees go in, a choice and a state come out.

Whatever chance decides is part of what it sees: a run is the same for the same seed, and all
routers of a comparison see the same draws.
"""

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int


class View(NamedTuple):
    """What is known when a request comes; tokens are prompt tokens.

    Fields:
        now: seconds.
        length: tokens of the request's prompt.
        hits: of these, how many each worker is believed to have in its cache.
        tree: tokens that each worker is believed to have cached in all.
        pending: requests routed to each and not finished.
        to_compute: tokens that each still has to compute, as far as known: not in its cache when
            their request was routed, no first token so far.
        active: tokens of the requests that each has and has not finished.
        draws: two numbers, uniform on [0, 1), for this request.

    Examples:
        >>> from fluidkv.routing import RoundRobin, View
        >>> none = np.zeros(2, int)
        >>> seen = View(0.0, 1000, none, none, none, none, none, draws=(0.0, 0.0))
        >>> RoundRobin().route(1, seen).worker  # the state is whose turn it is
        1
    """

    now: float
    length: int
    hits: Int[np.ndarray, " worker"]
    tree: Int[np.ndarray, " worker"]
    pending: Int[np.ndarray, " worker"]
    to_compute: Int[np.ndarray, " worker"]
    active: Int[np.ndarray, " worker"]
    draws: tuple[float, float]


class Choice(NamedTuple):
    """Who gets the request; what the router then knows; what it wants back when that is done.

    Examples:
        >>> from fluidkv.routing import Choice
        >>> choice = Choice(worker=1, state=None)
        >>> choice.worker, choice.ticket
        (1, None)
    """

    worker: int
    state: Any
    ticket: Any = None


class Router(Protocol):
    """A rule and its parameters, as a value.

    Attributes:
        label: its name, for tables.
        looks_at_caches: whether it reads `hits` or `tree`; for those that do not, nobody has to
            find them out.
        draws: whether it reads `draws`, be it among equals only.

    Examples:
        >>> from fluidkv.routing import LinearScore, RoundRobin, Router
        >>> routers: list[Router] = [RoundRobin(), LinearScore()]
        >>> [(router.label, router.looks_at_caches) for router in routers]
        [('round-robin', False), ('linear score', True)]
    """

    label: ClassVar[str]
    looks_at_caches: ClassVar[bool] = True
    draws: ClassVar[bool] = False

    def start(self, workers: int) -> Any:
        """What it knows before the first request; nothing, where it does not say."""
        return None

    def route(self, state: Any, view: View) -> Choice: ...

    def finished(self, state: Any, ticket: Any, *, now: float, latency: float) -> Any:
        """What it knows when a request is done: that of a ticket, `latency` seconds after it came.

        Requests are told of in the order in which they are done. Nothing new, where it does not
        say.
        """
        return state


def one_of_best(scores: Float[np.ndarray, " worker"], draw: float) -> int:
    """The worker with the highest score; among equal ones the draw decides."""
    best = np.flatnonzero(scores == scores.max())
    return int(best[int(draw * best.size)])
