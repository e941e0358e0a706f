"""Congestion, Lemmas 20 and 21: requests in flight, requests evicted, and the perturbation e^n.

The bounds of the proofs are taken with their constants, for any number of classes, inputs that
differ, inputs of one token, and starts on, below and off the memory boundary:

    in flight  N <= M/(l0+1),   growth at a shift <= N,   evicted <= M/((l0+1)(l0+2)),
    ||e||_2 <= M/(l0+1)^2 sqrt(1 + 1/alpha_{d-1}^2),

with l0 the shortest input. No counterexample is known on the cohort manifold. Off it, the first
three hold and the last does not: see congestion.lemma-21.off-manifold.
"""

from fractions import Fraction
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, target
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate, memory_used
from fluidkv.exact.mixed.nearby.transition import cohort_iterates
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import cohort_model, simulate
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import cohort_profiles, feasible_states, seeds, systems

HALF = Fraction(1, 2)


def requests(masses):
    return sum((x for row in masses for x in row), Fraction(0))


class Perturbations(NamedTuple):
    """Along many trajectories at once; index order (batch, iteration), iteration n = 1, 2, ...

    Fields:
        evicted: requests evicted in iteration n.
        in_flight: requests running at the start of iteration n.
        norm: ||e^n||_2, units of admission.
    """

    evicted: np.ndarray
    in_flight: np.ndarray
    norm: np.ndarray


def perturbations(model, start, *, iterations):
    """The ideal iterate needs no matrix: it shifts the cohorts and fills memory exactly."""
    first = np.atleast_2d(np.asarray(start, dtype=np.float64))
    found = simulate(model, first[:, None, :], iterations=iterations, record=("evicted", "state"))
    after = found["state"].values[:, :, 0, :]
    before = np.concatenate([first[:, None, :], after], axis=1)[:, :-1]
    weights = model.weights[0]
    free = model.capacity - before[..., :-1] @ weights[1:]
    ideal = np.concatenate([(free / weights[0])[..., None], before[..., :-1]], axis=-1)
    return Perturbations(
        found["evicted"].values[:, :, 0],
        before @ model.survival[0],
        np.linalg.norm(after - ideal, axis=-1),
    )


def shortest(system):
    return min(c.input_length for c in system.workload.classes)


@given(systems(), st.data())
def test_lemma_20_from_any_feasible_state(system, data):
    state = data.draw(feasible_states(system))
    l0 = shortest(system)
    most = Fraction(0)
    for _ in range(4):
        running = requests(state)
        step = iterate(system, state)
        growth = memory_used(system, step.executed) - memory_used(system, state)
        evicted = requests(step.evicted)
        most = max(most, evicted)
        assert running * (l0 + 1) <= system.capacity
        assert growth <= running
        assert evicted * (l0 + 1) * (l0 + 2) <= system.capacity
        state = step.state
    target(float(most * (l0 + 1) * (l0 + 2) / system.capacity), label="evicted")


@given(systems(), st.data())
@example(System(Workload((RequestClass(1, 2, HALF), RequestClass(1, 3, HALF))), 100), None)
def test_lemma_21_on_the_cohort_manifold(system, data):
    d = system.workload.longest_decode
    l0 = shortest(system)
    if data is None:  # all memory in the youngest cohort
        start = [system.capacity / (l0 + 1)] + [Fraction(0)] * (d - 1)
    else:
        fill = data.draw(st.fractions(0, 1, max_denominator=4))
        start = [y * fill for y in data.draw(cohort_profiles(system))]
    weights = survival_weights(system.workload)
    oldest = Fraction(weights.requests[-1], weights.denominator)
    one, largest = system.capacity / (l0 + 1) ** 2, Fraction(0)
    for now in islice(cohort_iterates(system, start), 1, 6):
        square = sum((e * e for e in now.perturbation), Fraction(0))
        largest = max(largest, square)
        assert now.perturbation[0] <= one
        assert square <= one**2 * (1 + 1 / oldest**2)
    target(float(largest / one**2), label="perturbation")


@given(systems(), st.data())
def test_the_batch_measure_is_the_literal_one(system, data):
    start = data.draw(cohort_profiles(system))
    exact = list(islice(cohort_iterates(system, start), 5))
    found = perturbations(cohort_model(system), [float(y) for y in start], iterations=4)
    scale = float(max(system.capacity, 1))
    for n, now in enumerate(exact[1:]):
        norm = float(sum(e * e for e in now.perturbation)) ** 0.5
        # Rounding of memory sums, some eps M, over weights of at least 2 shares tokens.
        assert found.norm[0, n] == pytest.approx(norm, abs=1e-11 * scale)
        assert found.evicted[0, n] == pytest.approx(float(now.evicted), abs=1e-11 * scale)
        assert found.in_flight[0, n] == pytest.approx(float(exact[n].in_flight), rel=1e-11)


@given(
    st.sampled_from([(2, 3), (5, 9), (2, 3, 7), (20, 21), (2, 15)]),
    st.sampled_from([1, 2, 5, 20, 100, 1000]),
    seeds,
)
def test_hundreds_of_starts_keep_the_bounds_at_every_input_length(lengths, l0, seed):
    rng = np.random.default_rng(seed)
    share = Fraction(1, len(lengths))
    workload = Workload(tuple(RequestClass(l0, n, share) for n in lengths))
    system = System(workload, 50 * (l0 + max(lengths)))
    model = cohort_model(system)
    shape = (200, max(lengths))
    raw = rng.exponential(size=shape) * (rng.random(shape) < rng.random((200, 1)))
    raw[raw.sum(axis=1) == 0, 0] = 1
    starts = raw * (0.999999 * float(system.capacity) / (raw @ model.weights[0]))[:, None]
    found = perturbations(model, starts, iterations=200)
    M, eps = float(system.capacity), 1 + 1e-9  # room for rounding, far below any gap
    assert found.in_flight.max() <= eps * M / (l0 + 1)
    assert found.evicted.max() <= eps * M / ((l0 + 1) * (l0 + 2))
    oldest = model.survival[0, -1]
    assert found.norm.max() <= eps * M / (l0 + 1) ** 2 * (1 + 1 / oldest**2) ** 0.5
