"""The mass model as one would write it down: a loop in Python, and arrays in NumPy."""

import numpy as np
from jaxtyping import Float


def python_step(weights: list[float], capacity: float, state: list[float]) -> list[float]:
    """One trajectory, one stage after the other."""
    executed = [0.0, *state[:-1]]
    excess = sum(w * x for w, x in zip(weights, executed, strict=True)) - capacity
    if excess <= 0:
        executed[0] = -excess / weights[0]
        return executed
    for s, weight in enumerate(weights):
        memory = weight * executed[s]
        if memory >= excess:
            executed[s] -= excess / weight
            break
        executed[s] = 0.0
        excess -= memory
    return executed


def numpy_step(
    weights: Float[np.ndarray, " stage"],
    capacity: float,
    state: Float[np.ndarray, "stage batch"],
    after: Float[np.ndarray, "stage batch"],
    memory: Float[np.ndarray, "stage batch"],
) -> Float[np.ndarray, "stage batch"]:
    """All trajectories, no loop, no array made for each stage; two buffers.

    Stage first is the faster order for NumPy too: its cumulative sum then adds long rows.
    """
    after[0] = 0.0
    after[1:] = state[:-1]
    np.multiply(after, weights[:, None], out=memory)
    below = np.cumsum(memory, axis=0)
    excess = below[-1] - capacity
    # Tokens that each stage loses: what of the excess the stages below it leave, up to all it has.
    lost = np.subtract(memory, below, out=below)
    lost += np.maximum(excess, 0.0)
    np.clip(lost, 0.0, memory, out=lost)
    lost /= weights[:, None]
    after -= lost
    after[0] = np.maximum(-excess, 0.0) / weights[0]
    return after


def run_python(
    weights: Float[np.ndarray, " stage"],
    capacity: float,
    start: Float[np.ndarray, " stage"],
    iterations: int,
) -> list[float]:
    """One trajectory."""
    by_stage, state = weights.tolist(), start.tolist()
    for _ in range(iterations):
        state = python_step(by_stage, capacity, state)
    return state


def run_numpy(
    weights: Float[np.ndarray, " stage"],
    capacity: float,
    start: Float[np.ndarray, "stage batch"],
    iterations: int,
) -> Float[np.ndarray, "stage batch"]:
    """All trajectories."""
    state, after, memory = start.copy(), np.empty_like(start), np.empty_like(start)
    for _ in range(iterations):
        state, after = numpy_step(weights, capacity, state, after, memory), state
    return state
