"""Four request classes on two nodes: two classes on each, or all four on both.

Every class brings the same number of requests, so each node gets half of all requests under either
routing, and "rate" is that of one node. What differs is which lengths meet on a node, and with it
the node's capacity in requests: x* of a node of short requests is larger.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv import exact, fluid
from fluidkv.workload import RequestClass, System, Workload

if TYPE_CHECKING:
    import numpy as np

    from fluidkv.exact.linear_stability import StabilityResult

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Routing:
    """Decode lengths of the two segregated nodes and of the pool, one input length, one M."""

    segregated: tuple[Lengths, Lengths]
    mixed: Lengths
    input_length: int
    capacity: int

    @property
    def pools(self) -> tuple[Lengths, Lengths, Lengths]:
        """The two segregated nodes, then the mixed one."""
        return (*self.segregated, self.mixed)


COPRIME = Routing(((6, 10), (9, 15)), (6, 9, 10, 15), 30, 600)
"""Congestion, Figure 18 and Table 4."""

PARTIAL = Routing(((20, 40), (25, 50)), (20, 25, 40, 50), 30, 1000)
"""Congestion, Figure 21 and Table 5."""


def node(routing: Routing, lengths: Lengths) -> System:
    """One node that serves these classes, in equal shares."""
    share = Fraction(1, len(lengths))
    classes = tuple(RequestClass(routing.input_length, l1, share) for l1 in lengths)
    return System(Workload(classes), routing.capacity)


@cache
def certified(routing: Routing, lengths: Lengths) -> "StabilityResult":
    """Exact stability of the node's eviction-free equilibrium."""
    return exact.stability(node(routing, lengths))


@cache
def saturated(routing: Routing, lengths: Lengths, *, iterations: int = 5400) -> tuple[float, float]:
    """Requests completed and evicted per iteration, from an empty server with an endless queue.

    Means over the last two thirds; the first third is longer than any of the transients here. A
    third of 1800 iterations is a multiple of the periods that the nodes of Tables 4 and 5 settle
    into, 1 to 25; lengths 9 and 15 show none, and their mean moves by 0.1 % with the window.
    """
    model = fluid.class_model(node(routing, lengths))
    third = iterations // 3
    found = fluid.simulate(
        model,
        fluid.empty_state(model),
        iterations=3 * third,
        every=third,
        record=("completed", "evicted"),
    )
    late = found.isel(batch=0, iteration=slice(1, None)).sum(("class", "iteration"))
    return float(late.completed) / (2 * third), float(late.evicted) / (2 * third)


def unit_system(lengths: Lengths, input_length: int) -> System:
    """Equal shares, and as much memory as makes x* = 1.

    Scaling the capacity scales every mass alike: no curve depends on it.
    """
    share = Fraction(1, len(lengths))
    workload = Workload(tuple(RequestClass(input_length, n, share) for n in lengths))
    return System(workload, exact.survival_weights(workload).lifetime_memory)


@cache
def flows(lengths: Lengths, input_length: int, iterations: int) -> "tuple[np.ndarray, np.ndarray]":
    """Admitted and evicted by iteration, in units of x*, from an empty server, endless queue."""
    model = fluid.cohort_model(unit_system(lengths, input_length))
    found = fluid.simulate(model, fluid.empty_state(model), iterations=iterations)
    admitted, evicted = (found[name].values[0, :, 0] for name in ("admitted", "evicted"))
    return admitted, evicted


def period(values: "np.ndarray", longest: int) -> int:
    """The shortest after which values repeat, to the rounding of sums; 0: none up to `longest`."""
    scale = abs(values).max()
    for p in range(1, longest + 1):
        if abs(values[p:] - values[:-p]).max() <= 1e-9 * scale:
            return p
    return 0
