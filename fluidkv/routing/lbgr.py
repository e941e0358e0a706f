"""LBGR: the worker with the least estimated latency, the estimate corrected as latencies come in.

Source: Routing, Algorithm 2, (4) to (6), section 4.2 and the parameters of appendix A.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.routing.affine import at_least_0
from fluidkv.routing.residual import STEPS, Residual, Step, no_residual, updated
from fluidkv.routing.router import Choice, Router, View
from fluidkv.runs.checks import above_0, real

THOUSAND = 1000.0
"""Tokens that costs are given for."""


class Known(NamedTuple):
    """What LBGR knows.

    Fields:
        load: P of each worker, seconds, as of the last tick.
        ticks: how often it decayed so far.
        residual: theta of each.
    """

    load: Float[np.ndarray, " worker"]
    ticks: int
    residual: Residual


class Ticket(NamedTuple):
    """What LBGR estimated of a request: Cost, Cost + P, theta phi, phi; and when (ticks)."""

    worker: int
    cost: float
    known: float
    correction: float
    features: Float[np.ndarray, " feature"]
    ticks: int


@dataclass(frozen=True)
class LBGR(Router):
    """Algorithm 2.

    A request goes to the worker i with the least Cost_i + P_i + theta_i . phi_i (of several the
    first): Cost_i = cached x hits_i + missed x (length - hits_i), phi_i = (hits_i, length - hits_i,
    P_i, 1), tokens in thousands and times in seconds. P_i grows by Cost_i with each request that i
    gets, and all of them are multiplied by `decay` at each multiple of `every` seconds.

    Args:
        cached, missed: alpha, seconds for each 1,000 prompt tokens that are, or are not, in the
            cache; at least 0.
        decay: rho, above 0 and at most 1 (1: no decay).
        every: Delta t, seconds, above 0.
        rate: of the regression, above 0 and at most 1.
        step: what one step of it is (`fluidkv.routing.residual`); "none": no correction.
        error: "now": of what the model as it is when a latency is observed would have said;
            "routed": of what was said when the request was routed.
        release: what RELEASELOAD takes off P_i when a request is done. "rest": what is left of its
            cost, decay^(ticks since) x Cost. "whole": its cost; P_i stays at least 0.

    Raises:
        InputError: a parameter outside of this.

    Our readings, where the paper leaves it open: the step of the regression; the error, which
    Algorithm 2 prints as "routed" and which with several requests in flight is then corrected
    several times (section 4.2 minimizes the squared error, which is "now"); and the release, which
    section 4.2 calls "any remaining load associated with" the request, hence "rest". Estimates that
    are no finite number (`sgd` may come to them) count as infinite.

    Examples:
        >>> from fluidkv.routing import LBGR, View
        >>> none, router = np.zeros(2, int), LBGR(step="none")
        >>> seen = View(0.0, 2000, np.array([0, 1500]), none, none, none, none, (0.0, 0.0))
        >>> choice = router.route(router.start(2), seen)
        >>> choice.worker, choice.state.load.tolist()  # 500 tokens are missed, a second for 1,000
        (1, [0.0, 0.5])
    """

    cached: float = 0.0
    missed: float = 1.0
    decay: float = 31 / 32
    every: float = 0.02
    rate: float = 0.992
    step: Step = "smooth"
    error: Literal["now", "routed"] = "now"
    release: Literal["rest", "whole"] = "rest"
    label: ClassVar[str] = "LBGR"

    def __post_init__(self) -> None:
        for name in ("cached", "missed"):
            at_least_0(name, getattr(self, name))
        for name in ("decay", "rate"):
            if not 0 < real(getattr(self, name)) <= 1:
                raise InputError(name, getattr(self, name), "a number above 0 and at most 1")
        above_0("every", self.every)
        for name, allowed in (
            ("step", STEPS),
            ("error", ("now", "routed")),
            ("release", ("rest", "whole")),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(name, getattr(self, name), f"one of {', '.join(allowed)}")

    def start(self, workers: int) -> Known:
        return Known(np.zeros(workers), 0, no_residual(workers))

    def route(self, state: Known, view: View) -> Choice:
        ticks = self.ticks(view.now)
        load = state.load * self.decay ** (ticks - state.ticks)
        hits = view.hits / THOUSAND
        misses = (view.length - view.hits) / THOUSAND
        cost = self.cached * hits + self.missed * misses
        features = np.stack([hits, misses, load, np.ones(load.size)], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            correction = (state.residual.weights * features).sum(axis=1)
            estimate = cost + load + correction
        worker = int(np.where(np.isfinite(estimate), estimate, math.inf).argmin())
        ticket = Ticket(
            worker=worker,
            cost=float(cost[worker]),
            known=float(cost[worker] + load[worker]),
            correction=float(correction[worker]),
            features=features[worker],
            ticks=ticks,
        )
        load = load.copy()
        load[worker] += ticket.cost
        return Choice(worker, Known(load, ticks, state.residual), ticket)

    def finished(self, state: Known, ticket: Ticket, *, now: float, latency: float) -> Known:
        with np.errstate(over="ignore", invalid="ignore"):
            correction = ticket.correction
            if self.error == "now":
                correction = state.residual.weights[ticket.worker] @ ticket.features
            error = float(latency - ticket.known - correction)
        residual = updated(
            state.residual, ticket.worker, ticket.features, error, step=self.step, rate=self.rate
        )
        ticks = self.ticks(now)
        load = state.load * self.decay ** (ticks - state.ticks)
        left = ticket.cost
        if self.release == "rest":
            left *= self.decay ** (ticks - ticket.ticks)
        load[ticket.worker] = max(0.0, load[ticket.worker] - left)
        return Known(load, ticks, residual)

    def ticks(self, now: float) -> int:
        """How many multiples of `every` have passed since 0."""
        return math.floor(now / self.every)
