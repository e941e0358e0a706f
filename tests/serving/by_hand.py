"""An engine with a few requests, small enough to be followed by hand."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, NewTokenRatio
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine, SteppedRequest

_COLUMNS = ("arrival", "max_output", "estimated_output", "priority")


def engine(
    rules: EngineRules,
    inputs: list[int],
    outputs: list[int],
    limits: Limits | int,
    *,
    start: tuple[int, ...] = (),
    clock: IterationClock | None = None,
    clients: int | None = None,
    **more: Any,
) -> Engine:
    """An engine on the theory's clock, where no other one is said.

    Args:
        rules, inputs, outputs: of the server and of its requests.
        limits: of the server; or its capacity, with the other limits in `more`.
        start: outputs of the first requests, which run.
        clock, clients: as in `Engine`.
        more: further columns of the requests, and limits.
    """
    columns = {name: more.pop(name) for name in _COLUMNS if name in more}
    limits = limits if isinstance(limits, Limits) else Limits(limits, **more)
    return Engine(
        Requests(inputs, outputs, **columns), Server(rules, limits, clock), clients, start=start
    )


def indices(requests: Iterable[SteppedRequest]) -> list[int]:
    return [request.index for request in requests]


def share(made: Engine) -> Fraction:
    """The new-token ratio that it is at."""
    return Fraction(made.ratio, NewTokenRatio.SCALE)
