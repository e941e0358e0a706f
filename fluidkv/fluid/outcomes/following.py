"""Many trajectories of cohorts, each in its own system: to a horizon, or to what ends them.

On the cohort manifold, which every trajectory enters within d iterations (Congestion, Lemma 9), a
state is one mass for each age. What ends a trajectory is said as values (`labels.lane.Looks`), and
what it does depends neither on those beside it nor on when they end.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.fluid.labels.lane import BACK
from fluidkv.fluid.labels.tables import STAGES, Tables, of_model
from fluidkv.fluid.model import cohort_model
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:  # its kernels are loaded where one is called
    from fluidkv.fluid.labels.engine import Advanced


class Trajectories(NamedTuple):
    """Trajectories of systems, a row each; a batch for each system, one system after the other.

    Fields:
        tables: the systems, as the engine takes them.
        weights: V_s of each system, 0 at stages that it does not have.
        capacity: M of each system.
        system: of each trajectory, its place in these.
    """

    tables: Tables
    weights: Float[np.ndarray, "system stage"]
    capacity: Float[np.ndarray, " system"]
    system: Int[np.ndarray, " trajectory"]

    @property
    def stages(self) -> Int[np.ndarray, " system"]:
        """d of each system."""
        return self.tables.sizes[:, STAGES]

    @property
    def best(self) -> Float[np.ndarray, " system"]:
        """x*, the mass of each cohort at the eviction-free equilibrium."""
        return self.capacity / self.weights.sum(axis=1)

    def of(self, rows: Int[np.ndarray, " row"]) -> "Trajectories":
        """Some of them."""
        return self._replace(system=self.system[rows])


def cohorts_of(of: System | Systems, batch: int) -> Trajectories:
    """`batch` trajectories of cohorts for each system."""
    model = cohort_model(of)
    tables = of_model(model)
    assert tables is not None, "the tables are those of a cohort model"
    weights = model.weights.reshape(-1, model.weights.shape[-1])
    system = np.repeat(np.arange(len(weights)), batch)
    return Trajectories(tables, weights, np.atleast_1d(model.capacity), system)


def advance(
    these: Trajectories,
    state: Float[np.ndarray, "trajectory stage"],
    iterations: int | Int[np.ndarray, " trajectory"],
    **looks: np.ndarray,
) -> "Advanced":
    """So many iterations at most, of all or of each; `looks` are fields of `Looks`."""
    from fluidkv.fluid.labels import engine

    watched = engine.looks_of(these.tables, len(state), **looks) if looks else None
    own = these.system, state[:, None], these.capacity[these.system]
    return engine.advance(these.tables, *own, iterations=iterations, looks=watched)


def periods(
    these: Trajectories,
    start: Float[np.ndarray, "trajectory stage"],
    target: Float[np.ndarray, "trajectory stage"],
    within: Float[np.ndarray, "system stage"],
    *,
    most: int,
) -> Int[np.ndarray, " trajectory"]:
    """Iterations after which each trajectory, from `start` on, first comes to its `target`; 0 where
    these are more than `most`.

    Args:
        within: largest difference of a mass from the target.
    """
    each = np.ones(len(these.weights), np.int64)
    never = np.array([most + 1])  # the target stays where it is
    run = advance(these, start, most, every=each, moves=never, within=within, mark=target)
    return np.where(run.ended == BACK, run.iterations, 0)
