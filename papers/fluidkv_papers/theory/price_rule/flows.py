"""Flows that gain most, exactly: a linear programme proposes one, integers prove or mend it.

So many units go from the first node to the last, over arcs that have a capacity and a gain. The
vertices of this programme are integral, as incidence matrices of networks are totally unimodular.
HiGHS solves it in floats. Its flow is rounded; that it is one is checked in integers. It gains most
if and only if no cycle of the residual network gains: gains are brought to one denominator, and
Bellman and Ford's search over Python's integers finds such a cycle, or potentials that no residual
arc beats, which are the proof. A cycle that gains is taken, and the search goes on.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array


@dataclass(frozen=True)
class Arc:
    """From one node to another, so many units at most, each of which gains so much."""

    tail: int
    head: int
    capacity: int
    gain: Any


def most_gaining(arcs: list[Arc], nodes: int, units: int) -> list[int]:
    """Units over each arc, of a flow from node 0 to node `nodes - 1` that gains most.

    Args:
        arcs: without a cycle that gains; gains are floats, ints or Fractions, all taken as the
            rationals that they are.
        units: how many go; the arcs can take them.
    """
    if not arcs:
        return []
    exact = [Fraction(arc.gain) for arc in arcs]
    scale = lcm(*(gain.denominator for gain in exact))
    gains = [int(gain * scale) for gain in exact]
    flow, potential = _proposed(arcs, nodes, units)
    _check(arcs, flow, nodes, units)
    start = [round(Fraction(float(each)) * scale) for each in potential]
    while cycle := _gaining_cycle(arcs, gains, flow, start):
        for at, sign in cycle:
            flow[at] += sign
    return flow


def _proposed(arcs: list[Arc], nodes: int, units: int) -> tuple[list[int], list[float]]:
    """A flow by HiGHS, rounded, and its potentials: what a unit at each node may still gain."""
    ones, columns = np.ones(len(arcs)), np.arange(len(arcs))
    rows = np.concatenate([[arc.tail for arc in arcs], [arc.head for arc in arcs]])
    signs, twice = np.concatenate([ones, -ones]), np.concatenate([columns, columns])
    balance = coo_array((signs, (rows, twice)), shape=(nodes, len(arcs))).tocsr()
    supply = np.zeros(nodes)
    supply[0], supply[-1] = units, -units
    solved = linprog(
        [-float(arc.gain) for arc in arcs],
        A_eq=balance,
        b_eq=supply,
        bounds=[(0, arc.capacity) for arc in arcs],
        method="highs",
    )
    if not solved.success:
        raise RuntimeError(f"no flow: {solved.message}")
    return [round(each) for each in solved.x], [-each for each in solved.eqlin.marginals]


def _check(arcs: list[Arc], flow: list[int], nodes: int, units: int) -> None:
    """That what was rounded is a flow."""
    net = [0] * nodes
    for arc, each in zip(arcs, flow, strict=True):
        net[arc.tail] += each
        net[arc.head] -= each
        if not 0 <= each <= arc.capacity:
            raise RuntimeError(f"{each} units over an arc of capacity {arc.capacity}")
    if net != [units] + [0] * (nodes - 2) + [-units]:
        raise RuntimeError("the vertex that was found is not integral")


def _gaining_cycle(
    arcs: list[Arc], gains: list[int], flow: list[int], start: list[int]
) -> list[tuple[int, int]]:
    """A cycle of the residual network that gains: arcs and directions; empty where there is none.

    The search may begin from any potentials: it ends with some that no residual arc beats unless
    a cycle gains.
    """
    value, via = list(start), [(-1, 0)] * len(start)
    residual = [
        (arc.tail, arc.head, gain, (at, 1))
        for at, (arc, gain) in enumerate(zip(arcs, gains, strict=True))
        if flow[at] < arc.capacity
    ] + [
        (arc.head, arc.tail, -gain, (at, -1))
        for at, (arc, gain) in enumerate(zip(arcs, gains, strict=True))
        if flow[at] > 0
    ]
    raised = -1
    for _ in range(len(start) + 1):
        raised = -1
        for tail, head, gain, step in residual:
            # A potential is what a unit still gains, so that of the tail counts over the arc.
            if gain + value[head] > value[tail]:
                value[tail], via[tail], raised = gain + value[head], step, tail
        if raised < 0:
            return []
    return _along(arcs, via, raised)


def _along(arcs: list[Arc], via: list[tuple[int, int]], node: int) -> list[tuple[int, int]]:
    """The cycle that steps lead into; after as many steps as nodes one is on it."""

    def after(at: int) -> int:
        index, sign = via[at]
        return arcs[index].head if sign > 0 else arcs[index].tail

    for _ in via:
        node = after(node)
    cycle, at = [via[node]], after(node)
    while at != node:
        cycle.append(via[at])
        at = after(at)
    return cycle
