"""What eviction adds to the eviction-free dynamics, measured along many trajectories at once.

y = Y - x* 1 moves by y' = Phi y + e with e = 0 while nothing is evicted. The ideal iterate needs no
matrix: it shifts the cohorts and fills memory exactly, with a negative admission if need be.

Source: Congestion, B.6.3 (Lemmas 20 and 21) and B.8.6.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.simulation import simulate


class Perturbations(NamedTuple):
    """Index order (batch, iteration), the last also by cohort age; iteration n = 1, 2, ...

    Fields:
        evicted: requests evicted in iteration n.
        in_flight: requests running at the start of iteration n.
        norm: ||e^n||_2, units of admission.
        states: Y^0, Y^1, ..., units of admission: one more than there are iterations.
    """

    evicted: Float[np.ndarray, "batch iteration"]
    in_flight: Float[np.ndarray, "batch iteration"]
    norm: Float[np.ndarray, "batch iteration"]
    states: Float[np.ndarray, "batch states stage"]


def perturbations(model: MassModel, start: ArrayLike, *, iterations: int) -> Perturbations:
    """Simulate and measure evicted requests and e^n.

    Args:
        model: from `cohort_model`, with one capacity.
        start: Y^0, shape (stage,) or (batch, stage), memory at or below capacity.
        iterations: how many, at least 1. All states are kept.

    Raises:
        InputError: a model of several rows or capacities, a start that is not feasible.
    """
    if model.weights.shape[0] != 1 or model.capacity.shape != ():
        raise InputError("model", model.weights.shape, "a cohort model with one capacity")
    first = np.atleast_2d(np.asarray(start, dtype=np.float64))
    found = simulate(model, first[:, None, :], iterations=iterations, record=("evicted", "state"))
    after = found["state"].values[:, :, 0, :]
    states = np.concatenate([first[:, None, :], after], axis=1)
    weights, survival = model.weights[0], model.survival[0]
    before = states[:, :-1]
    free = model.capacity - before[..., :-1] @ weights[1:]
    ideal = np.concatenate([(free / weights[0])[..., None], before[..., :-1]], axis=-1)
    return Perturbations(
        evicted=found["evicted"].values[:, :, 0],
        in_flight=before @ survival,
        norm=np.linalg.norm(after - ideal, axis=-1),
        states=states,
    )
