"""Memory drifts by roundings between sums; less than what a start may be off the boundary."""

import numpy as np
import pytest

from fluidkv.fluid import cohort_model, simulate, uniform_starts
from fluidkv.runs.precision import random_key
from fluidkv.workload import System, Workload

ONE = [[(5, 1)], [(2, 3)], [(1, 12)], [(1, 25)], [(4, 50)]]
SEVERAL = [[(1, 7), (1, 9)], [(1, 2), (3, 11)], [(1, 30), (9, 41)]]


@pytest.mark.parametrize("lengths", ONE + SEVERAL, ids=str)
def test_where_a_trajectory_ends_another_can_begin(lengths):
    """A start is refused where memory exceeds capacity by more than a sum of masses rounds."""
    system = System(Workload.from_lengths(lengths), 2 * max(map(sum, lengths)))
    model = cohort_model(system)
    state = uniform_starts(random_key(0), system, count=200)
    for iterations in (37, 100, 263, 1000, 1531):
        state = simulate(model, state, iterations=iterations, record=()).final_state.values
        used = state[:, 0] @ model.weights[0]
        roundings = np.abs(used / float(system.capacity) - 1).max() / np.finfo(float).eps
        assert roundings <= model.weights.size + 2
