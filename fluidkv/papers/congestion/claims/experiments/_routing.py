"""Four request classes on two nodes: two classes on each, or all four on both.

Every class brings the same number of requests, so each node gets half of all requests under either
routing, and "rate" is that of one node. What differs is which lengths meet on a node, and with it
the node's capacity in requests: x* of a node of short requests is larger.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluidkv.exact.linear_stability import StabilityResult
    from fluidkv.workload import System

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


def node(routing: Routing, lengths: Lengths) -> "System":
    """One node that serves these classes, in equal shares."""
    from fluidkv.workload import RequestClass, System, Workload

    share = Fraction(1, len(lengths))
    classes = tuple(RequestClass(routing.input_length, l1, share) for l1 in lengths)
    return System(Workload(classes), routing.capacity)


@cache
def certified(routing: Routing, lengths: Lengths) -> "StabilityResult":
    """Exact stability of the node's eviction-free equilibrium."""
    from fluidkv.exact.linear_stability import stability

    return stability(node(routing, lengths))


@cache
def saturated(routing: Routing, lengths: Lengths, *, iterations: int = 5400) -> tuple[float, float]:
    """Requests completed and evicted an iteration, from an empty server with an endless queue.

    Means over the last two thirds; the first third is longer than any of the transients here. A
    third of 1800 iterations is a multiple of the periods that the nodes of Tables 4 and 5 settle
    into, 1 to 25; lengths 9 and 15 show none, and their mean moves by 0.1 % with the window.
    """
    from fluidkv.fluid import class_model, empty_state, simulate

    model = class_model(node(routing, lengths))
    third = iterations // 3
    found = simulate(
        model,
        empty_state(model),
        iterations=3 * third,
        every=third,
        record=("completed", "evicted"),
    )
    late = found.isel(batch=0, iteration=slice(1, None)).sum(("class", "iteration"))
    return float(late.completed) / (2 * third), float(late.evicted) / (2 * third)
