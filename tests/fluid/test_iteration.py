"""The engine against the literal reference, one iteration at a time from the same exact state.

Tolerance. Differences are measured in tokens, w_ks |x - x_exact|, against capacity M. One engine
step rounds the input masses, weights and capacity once, sums K products for each of S stages,
subtracts S times from the free memory, and divides and multiplies a few times. Every intermediate
is at most a few M (execution at most doubles a footprint), and the step is a continuous function
of its input, so that a rounding never decides a branch that matters. That bounds the difference by
(S + K + 8) roundings of 2 M, each of relative size eps / 2; we allow twice that.
"""

from fractions import Fraction

import equinox as eqx
import jax
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import class_model, cohort_model, equilibrium_state, simulate
from fluidkv.fluid.iteration import iterate
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import (
    boundary_states,
    cohort_profiles,
    feasible_states,
    homogeneous_systems,
    systems,
    systems_with_states,
)

EPS = np.finfo(np.float64).eps
SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))


def tolerance(model):
    classes, stages = model.weights.shape
    return 2 * (stages + classes + 8) * EPS * float(np.max(model.capacity))


def rectangle(system, rows):
    """Ragged exact rows as a float array of shape (class, stage), zero beyond a class's stages."""
    array = np.zeros((len(rows), system.workload.longest_decode))
    for k, row in enumerate(rows):
        array[k, : len(row)] = [float(x) for x in row]
    return array


def assert_same_masses(model, got, exact):
    assert got.dtype == np.float64
    assert np.all(got[model.weights == 0] == 0.0)  # no mass beyond a class's last stage
    assert np.max(np.abs(got - exact) * model.weights) <= tolerance(model)


@eqx.filter_jit
def _step(model, state):
    step = iterate(model, state[:, :, None])
    return jax.tree.map(lambda x: x[..., 0], step)


def engine_step(model, state):
    """One iteration of one trajectory; arrays (class, stage) in and out."""
    with jax.enable_x64(True):
        step = _step(model, state.T)
        return jax.tree.map(lambda x: np.asarray(x.T), step)


@given(systems(), st.data())
def test_class_engine_equals_the_reference_step_by_step(system, data):
    model = class_model(system)
    state = data.draw(feasible_states(system))
    for _ in range(4):
        exact = mass.iterate(system, state)
        got = engine_step(model, rectangle(system, state))
        assert_same_masses(model, got.executed, rectangle(system, exact.executed))
        assert_same_masses(model, got.kept, rectangle(system, exact.kept))
        assert_same_masses(model, got.state, rectangle(system, exact.state))
        cost = model.weights[:, 0]
        admitted = np.array([float(a) for a in exact.admitted])
        assert np.max(np.abs(got.admitted - admitted) * cost) <= tolerance(model)
        state = exact.state


@given(systems(), st.data())
def test_cohort_engine_equals_the_reference_step_by_step_on_the_manifold(system, data):
    model, classes = cohort_model(system), system.workload.classes
    profile = data.draw(cohort_profiles(system))
    state = [[c.share * y for y in profile[: c.decode_length]] for c in classes]
    longest = max(range(len(classes)), key=lambda k: classes[k].decode_length)
    for _ in range(4):
        exact = mass.iterate(system, state)
        got = engine_step(model, np.array([[float(y) for y in profile]]))
        # The longest class has every age, so it shows the whole cohort vector.
        profile = [x / classes[longest].share for x in exact.state[longest]]
        state = exact.state
        assert_same_masses(model, got.state, np.array([[float(y) for y in profile]]))


@given(systems(), st.data())
def test_recorded_requests_equal_the_reference_for_classes_and_cohorts(system, data):
    classes, profile = system.workload.classes, data.draw(cohort_profiles(system))
    state = [[c.share * y for y in profile[: c.decode_length]] for c in classes]
    exact = mass.iterate(system, state)
    names = ("admitted", "completed", "evicted", "in_flight")
    wanted = {
        "admitted": [float(x) for x in exact.admitted],
        "completed": [float(x) for x in exact.completed],
        "evicted": [float(sum(row)) for row in exact.evicted],
        "in_flight": [float(sum(row)) for row in exact.state],
    }
    by_class = simulate(class_model(system), rectangle(system, state), iterations=1, record=names)
    start = np.array([[float(y) for y in profile]])
    by_cohort = simulate(cohort_model(system), start, iterations=1, record=names)
    # Every request holds at least 2 tokens, so S sums of errors in tokens bound those in requests.
    stages = system.workload.longest_decode
    for name in names:
        got = by_class[name].values[0, 0]
        allowed = (stages + 1) * tolerance(class_model(system))
        assert np.max(np.abs(got - wanted[name])) <= allowed
        # Cohorts sum over the K classes too.
        total = by_cohort[name].values[0, 0, 0]
        assert abs(total - sum(wanted[name])) <= (len(classes) + 1) * allowed


@given(systems())
def test_cohort_weights_equal_the_exact_survival_weights(system):
    model, exact = cohort_model(system), survival_weights(system.workload)
    # One rounding for each share, product and addition: at most 3 K + d of them, all positive.
    relative = (3 * len(system.workload.classes) + exact.ages) * EPS
    for got, numerators in ((model.weights, exact.memory), (model.survival, exact.requests)):
        values = [float(Fraction(n, exact.denominator)) for n in numerators]
        np.testing.assert_allclose(got[0], values, rtol=relative, atol=0)


@given(systems(), st.data())
def test_a_stage_that_the_reference_empties_is_exactly_zero(system, data):
    model, state = class_model(system), data.draw(boundary_states(system))
    exact = mass.iterate(system, state)
    got = engine_step(model, rectangle(system, state))
    excess = mass.memory_used(system, exact.executed) - system.capacity
    below = Fraction(0)
    for j in range(system.workload.longest_decode):
        rows = [(k, c) for k, c in enumerate(system.workload.classes) if j < c.decode_length]
        below += sum((c.input_length + 1 + j) * exact.executed[k][j] for k, c in rows)
        # At an exact tie a rounding may leave a mass of its own size; see the fixed ties below.
        if excess - below > tolerance(model):
            assert np.all(got.kept[:, j] == 0.0)
    if excess > tolerance(model):
        assert np.all(got.admitted == 0.0)


def test_memory_exactly_full_evicts_and_admits_nothing():
    model = class_model(System(Workload((RequestClass(1, 3),)), Fraction(14)))
    got = engine_step(model, np.array([[2.0, 2.0, 1.0]]))
    assert got.kept.tolist() == got.state.tolist() == [[0.0, 2.0, 2.0]]
    assert got.admitted.tolist() == [0.0]


def test_a_stage_exactly_emptied_leaves_the_next_one_whole():
    model = class_model(System(Workload((RequestClass(1, 3),)), Fraction(8)))
    got = engine_step(model, np.array([[1.0, 2.0, 0.0]]))
    assert got.kept.tolist() == got.state.tolist() == [[0.0, 0.0, 2.0]]
    assert got.admitted.tolist() == [0.0]


@given(systems(), st.sampled_from([class_model, cohort_model]))
@example(SMALL, class_model)
def test_equilibrium_is_a_fixed_point(system, build):
    model = build(system)
    state = equilibrium_state(model)
    assert_same_masses(model, engine_step(model, state).state, state)


@given(systems_with_states(systems=homogeneous_systems))
def test_one_class_is_the_same_model_by_class_and_by_cohort(system_and_state):
    system, state = system_and_state
    start = rectangle(system, state)
    got, same = (engine_step(build(system), start).state for build in (class_model, cohort_model))
    assert np.array_equal(got, same)


@given(systems_with_states(systems=homogeneous_systems), st.integers(2, 4))
def test_identical_classes_act_as_one(system_and_state, copies):
    system, state = system_and_state
    c = system.workload.classes[0]
    part = RequestClass(c.input_length, c.decode_length, Fraction(1, copies))
    split = System(Workload((part,) * copies), system.capacity)
    one = engine_step(class_model(system), rectangle(system, state)).state
    many = engine_step(class_model(split), rectangle(split, state * copies) / copies).state
    # A copy holds its part of each stage; put back to full size, it is the one class.
    assert_same_masses(class_model(split), many * copies, np.repeat(one, copies, axis=0))


@given(systems(), st.data())
def test_classes_on_the_manifold_follow_the_cohorts(system, data):
    profile = np.array([float(y) for y in data.draw(cohort_profiles(system))])
    classes, cohorts = class_model(system), cohort_model(system)
    lift = classes.survival * classes.shares[:, None]
    by_class = engine_step(classes, lift * profile).state
    by_cohort = engine_step(cohorts, profile[None, :]).state
    assert_same_masses(classes, by_class, lift * by_cohort)
