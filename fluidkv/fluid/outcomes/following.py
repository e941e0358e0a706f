"""Many trajectories of cohorts to their end: some iterations, a look at where they were, again.

On the cohort manifold, which every trajectory enters within d iterations (Congestion, Lemma 9), a
state is one mass for each age. The mass engine takes all trajectories that go on through a few
windows of iterations, each in its own system; a look, in NumPy, says which of them go on. What a
trajectory does depends neither on those beside it nor on when they end.
"""

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.fluid.model import cohort_model
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:  # its kernels are loaded where one is called
    from fluidkv.fluid.labels.engine import Advanced
    from fluidkv.fluid.labels.tables import Tables

Look = Callable[[Int[np.ndarray, " row"], int, "Advanced"], Bool[np.ndarray, " row"]]
"""What is asked of a look: (rows, n, advanced) are the trajectories still there, how many
iterations they have made, and what the engine has to say of the last ones. It says which go on."""

_RETURN_WINDOWS = (4, 12, 16, 32)
"""Iterations at a time while a return is looked for: most orbits are short."""
_RECORDED = 2**24
"""Numbers of recorded states at a time, 128 MB."""


class Trajectories(NamedTuple):
    """Trajectories of systems, a row each; a batch for each system, one system after the other.

    Fields:
        tables: the systems, as the engine takes them.
        weights: V_s of each system, 0 at stages that it does not have.
        capacity: M of each system.
        system: of each trajectory, its place in these.
    """

    tables: "Tables"
    weights: Float[np.ndarray, "system stage"]
    capacity: Float[np.ndarray, " system"]
    system: Int[np.ndarray, " trajectory"]

    @property
    def best(self) -> Float[np.ndarray, " system"]:
        """x*, the mass of each cohort at the eviction-free equilibrium."""
        return self.capacity / self.weights.sum(axis=1)

    def of(self, rows: Int[np.ndarray, " row"]) -> "Trajectories":
        """Some of them."""
        return self._replace(system=self.system[rows])


class Returns(NamedTuple):
    """What a while of each trajectory has in it.

    Fields:
        period: iterations until the state is back; 0 where it is not within the while.
        completed, evicted: requests, in a period, or in all of the while.
    """

    period: Int[np.ndarray, " trajectory"]
    completed: Float[np.ndarray, " trajectory"]
    evicted: Float[np.ndarray, " trajectory"]


def cohorts_of(of: System | Systems, batch: int, stages: int) -> Trajectories:
    """`batch` trajectories of cohorts for each system, in states of so many stages."""
    from fluidkv.fluid.labels.tables import of_systems, pack

    if isinstance(of, Systems):
        lengths = np.stack([of.input_length, of.decode_length], axis=-1)
        tables = pack(lengths, of.share.floats, by_class=False)
    else:
        tables = of_systems([of], by_class=False)
    model = cohort_model(of)
    weights = model.weights.reshape(-1, model.weights.shape[-1])
    return Trajectories(
        tables,
        np.pad(weights, ((0, 0), (0, stages - weights.shape[1]))),
        np.atleast_1d(model.capacity),
        np.repeat(np.arange(len(weights)), batch),
    )


def advance(
    these: Trajectories,
    state: Float[np.ndarray, "trajectory stage"],
    iterations: int,
    *,
    record: Sequence[str] = (),
    every: int = 1,
) -> "Advanced":
    """So many iterations, by the mass engine; records are by window of `every` iterations."""
    from fluidkv.fluid.labels import engine

    return engine.advance(
        these.tables,
        these.system,
        state[:, None],
        these.capacity[these.system],
        iterations=iterations,
        record=record,
        every=every,
    )


def follow(
    these: Trajectories,
    start: Float[np.ndarray, "trajectory stage"],
    look: Look,
    *,
    every: int,
    windows: Sequence[int],
    most: int,
    record: Sequence[str],
) -> None:
    """From look to look, until no trajectory goes on or all have made `most` windows.

    Args:
        start: masses of cohorts by age.
        look: it keeps what it needs; `advanced` has the records of each window since the last look.
        every: iterations of a window.
        windows: how many there are before the first look, the second, ...; the last of these
            numbers holds for all later ones.
        record: what the engine records of a window.
    """
    together = max(1, _RECORDED // (max(windows) * start.shape[1]))
    for first in range(0, len(start), together):
        rows = np.arange(first, min(first + together, len(start)))
        state, made = start[rows], 0
        for size in chain(windows, repeat(windows[-1])):
            if not rows.size or made >= most:
                break
            size = min(size, most - made)
            advanced = advance(these.of(rows), state, size * every, record=record, every=every)
            made += size
            goes_on = look(rows, made * every, advanced)
            rows, state = rows[goes_on], advanced.state[goes_on, 0]


def first_return(
    these: Trajectories,
    start: Float[np.ndarray, "trajectory stage"],
    target: Float[np.ndarray, "trajectory stage"],
    within: Float[np.ndarray, "system stage"],
    *,
    most: int,
) -> Returns:
    """When each trajectory, from `start` on, first comes to its `target`, at most `most` iterations
    later.

    Args:
        within: largest difference of a mass from the target.
    """
    period = np.zeros(len(start), np.int64)
    completed, evicted = np.zeros(len(start)), np.zeros(len(start))

    def look(
        rows: Int[np.ndarray, " row"], n: int, advanced: "Advanced"
    ) -> Bool[np.ndarray, " row"]:
        states = advanced.records["state"][:, :, 0]
        goal, limit = target[rows], within[these.system[rows]]
        back = np.abs(states[:, :, 0] - goal[:, None, 0]) <= limit[:, None, 0]
        near, window = np.nonzero(back)  # the others need no look at their older cohorts
        off = np.abs(states[near, window] - goal[near])
        back[near, window] = np.all(off <= limit[near], axis=1)
        windows, returned = states.shape[1], np.any(back, axis=1)
        last = np.where(returned, back.argmax(axis=1), windows - 1)
        period[rows[returned]] = (n - windows + 1 + last)[returned]
        for name, total in (("completed", completed), ("evicted", evicted)):
            total[rows] += upto(last, advanced.records[name])
        return ~returned

    record = ("state", "completed", "evicted")
    follow(these, start, look, every=1, windows=_RETURN_WINDOWS, most=most, record=record)
    return Returns(period, completed, evicted)


def upto(
    last: Int[np.ndarray, " row"], flows: Float[np.ndarray, "row window one"]
) -> Float[np.ndarray, " row"]:
    """Sum of the flows of cohorts over the windows up to the last one of each trajectory."""
    return np.where(np.arange(flows.shape[1]) <= last[:, None], flows[:, :, 0], 0.0).sum(axis=1)
