"""The pure map: equal to the exact reference step by step, and one that JAX can transform.

Tolerance. Differences are measured in tokens, w_ks |x - x_exact|, against capacity M. One step
rounds the input masses, weights and capacity once, sums K products for each of S stages, adds the
stages up in a tree, and divides and multiplies a few times. Every intermediate is at most a few M
(execution at most doubles a footprint), and the step is a continuous function of its input, so that
a rounding never decides a branch that matters. That bounds the difference by (S + K + 8) roundings
of 2 M, each of relative size eps / 2; we allow twice that.
"""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.exact import mass
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import (
    MassModel,
    class_model,
    cohort_model,
    mass_map,
    perturbed_starts,
    simulate,
    spectral_radius,
    step,
)
from fluidkv.fluid.mass_map import NO_FRONT
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.fluid.padded import CLASSES, STAGES, padded, rectangle
from tests.small_systems import SMALL, one_class
from tests.strategies import (
    boundary_states,
    cohort_profiles,
    feasible_states,
    homogeneous_systems,
    systems,
    systems_with_states,
)

EPS = np.finfo(np.float64).eps
MIXED = System(Workload.from_lengths([(3, 5), (4, 7), (4, 7)]), Fraction(200))
jitted = jax.jit(step)


pytestmark = pytest.mark.usefixtures("in_64_bits")


def tolerance(model):
    classes, stages = model.weights.shape
    return 2 * (stages + classes + 8) * EPS * float(np.max(model.capacity))


def requests(counts, size=CLASSES):
    values = [float(count) for count in counts]
    return np.pad(values, (0, size - len(values)))


@given(systems(), st.data())
@example(SMALL, None)
def test_a_step_equals_the_exact_reference(system, data):
    model = padded(class_model(system))
    state = [[4, 3, 0]] if data is None else data.draw(feasible_states(system))
    within = tolerance(model)
    for _ in range(4):
        exact = mass.iterate(system, state)
        after, flows = jitted(model, rectangle(state))
        off = np.abs(after - rectangle(exact.state)) * model.weights
        assert off.max() <= within
        assert np.all(np.asarray(after)[model.weights == 0] == 0.0)
        # A request holds at least 2 tokens: sums of errors in tokens bound those in requests.
        few = within * (model.weights.size + 1)
        assert np.abs(flows.admitted - requests(exact.admitted)).max() <= few
        assert np.abs(flows.completed - requests(exact.completed)).max() <= few
        assert np.abs(flows.evicted - requests(map(sum, exact.evicted))).max() <= few
        tokens = sum(
            (c.input_length + 1 + j) * x
            for c, row in zip(system.workload.classes, exact.evicted, strict=True)
            for j, x in enumerate(row)
        )
        assert abs(flows.evicted_tokens - float(tokens)) <= few
        state = exact.state


@given(systems(), st.data())
def test_the_front_is_the_last_stage_that_loses_mass(system, data):
    """And nothing is left below it: emptied stages and the admission are exactly 0."""
    state = data.draw(feasible_states(system))
    exact = mass.iterate(system, state)
    after, flows = jitted(padded(class_model(system)), rectangle(state))
    stages = range(system.workload.longest_decode)
    losing = [j for j in stages if any(len(row) > j and row[j] > 0 for row in exact.evicted)]
    if losing and flows.front != NO_FRONT:  # a tie of rounding may differ from an exact one
        assert flows.front == max(losing)
        assert np.all(np.asarray(after)[:, : max(losing)] == 0.0)


@given(systems(), st.data())
def test_a_cpu_and_an_accelerator_evict_alike(system, data):
    """The loop over stages and the tree of sums; where a rounding ties, both leave no more."""
    model = padded(class_model(system))
    masses = jnp.asarray(rectangle(data.draw(feasible_states(system))))
    executed = mass_map.execute(model, masses)
    numbers = executed, model.weights, model.survival, model.capacity
    one, other = by_stage(*numbers), at_once(*numbers)
    within = tolerance(model)
    assert np.max(np.abs(np.asarray(one[0]) - np.asarray(other[0])) * model.weights) <= within
    assert abs(one[1] - other[1]) <= within
    tie = abs(float(mass_map.memory_used(model, executed)) - float(model.capacity)) <= within
    assert tie or (one[2].front == NO_FRONT) == (other[2].front == NO_FRONT)
    assert np.max(np.abs(np.asarray(one[2].requests) - np.asarray(other[2].requests))) <= within
    assert abs(one[2].tokens - other[2].tokens) <= within


by_stage, at_once = jax.jit(mass_map._stage_by_stage), jax.jit(mass_map._all_stages_at_once)


def test_memory_that_is_exactly_full_evicts_and_admits_exactly_nothing():
    """8 requests at stage 1 of weight 3 fill 24 tokens after execution at weight 4: 6 of them."""
    after, flows = step(cohort_model(SMALL), np.array([6.0, 0.0, 0.0]))
    assert after.tolist() == [0.0, 6.0, 0.0]
    assert (flows.admitted.item(), flows.evicted.item(), flows.front.item()) == (0.0, 0.0, NO_FRONT)


@given(systems(), st.data())
def test_on_the_manifold_cohorts_move_as_their_classes_do(system, data):
    profile = requests(data.draw(cohort_profiles(system)), STAGES)
    by_class, by_age = padded(class_model(system)), padded(cohort_model(system), classes=1)
    exists = by_class.weights > 0
    spread = by_class.shares[:, None] * np.where(exists, profile, 0.0)
    after, flows = jitted(by_age, profile)
    classes, moved = jitted(by_class, spread)
    wanted = by_class.shares[:, None] * np.where(exists, np.asarray(after), 0.0)
    assert np.max(np.abs(classes - wanted) * by_class.weights) <= 2 * tolerance(by_class)
    assert flows.admitted.shape == ()
    assert abs(flows.completed - moved.completed.sum()) <= 2 * tolerance(by_class)


def test_a_batch_is_vmap_over_starts_capacities_and_systems():
    starts = perturbed_starts(jax.random.key(0), MIXED, count=6, size=0.8)
    model = class_model(MIXED)
    same = partial(np.testing.assert_allclose, rtol=1e-14, atol=1e-13)  # sums in another order
    one_by_one = [jitted(model, start)[0] for start in starts]
    same(jax.vmap(partial(step, model))(starts)[0], one_by_one)
    capacities = np.linspace(200, 300, 6)

    def at(capacity, start):
        return jitted(model.with_capacity(float(capacity)), start)[0]

    axes = MassModel(None, None, None, 0)  # pyright: ignore[reportArgumentType]
    both = jax.vmap(step, in_axes=(axes, 0))(model.with_capacity(capacities), starts)[0]
    same(both, [at(*each) for each in zip(capacities, starts, strict=True)])
    several = class_model(Systems.of([MIXED, System(MIXED.workload, 300), SMALL]))
    equilibria = several.equilibrium()
    same(jax.vmap(step)(several, equilibria)[0], equilibria)  # each stays in its own system


@given(systems_with_states())
def test_derivatives_are_differences_where_no_front_changes(drawn):
    """In a direction in which the front stays: a central difference at 1e-6 leaves about 1e-9."""
    system, state = drawn
    model, masses = padded(class_model(system)), rectangle(state)
    direction = np.where(masses > 0, np.cos(np.arange(masses.size)).reshape(masses.shape), 0.0)
    direction *= masses
    h = 1e-6
    ahead, front = _after(model, masses + h * direction)
    behind, other = _after(model, masses - h * direction)
    _, here = _after(model, masses)
    slope = _slope(model, masses, direction)
    gap = mass.iterate(system, state)
    tie = abs(float(sum(gap.admitted))) < 1e-4 or here != front or here != other
    if not tie:
        scale = float(np.max(model.capacity))
        assert np.abs(slope - (ahead - behind) / (2 * h)).max() <= 1e-7 * scale


@jax.jit
def _slope(model, masses, direction):
    return jax.jvp(lambda x: step(model, x)[0], (masses,), (direction,))[1]


def _after(model, masses):
    after, flows = jitted(model, masses)
    return np.asarray(after), flows.front.item()


def test_gradients_reach_lengths_shares_and_capacity():
    def flow(inputs, shares, capacity):
        model = MassModel.from_lengths(inputs, [2, 3], shares, capacity, stages=3)
        return step(model, 0.8 * model.equilibrium())[1].admitted.sum()

    at = (np.array([10.0, 20.0]), np.array([0.5, 0.5]), 1000.0)
    slopes = jax.jit(jax.grad(flow, argnums=(0, 1, 2)))(*at)
    admitted = jax.jit(flow)
    for place, slope in enumerate(slopes):
        for k in range(np.size(at[place])):
            moved = [list(at), list(at)]
            for side, sign in zip(moved, (1, -1), strict=True):
                value = np.array(side[place], float)
                value.reshape(-1)[k] += sign * 1e-4
                side[place] = value
            difference = (admitted(*moved[0]) - admitted(*moved[1])) / 2e-4
            assert np.reshape(slope, -1)[k] == pytest.approx(float(difference), rel=1e-6)


@pytest.mark.parametrize("platforms", [["cuda"], ["cpu"]])
def test_the_map_lowers_for_a_gpu_without_one_and_calls_nobody_on_the_host(platforms):
    from jax import export

    starts = np.zeros((16, 2, 7))
    mapped = jax.jit(jax.vmap(partial(step, class_model(MIXED))))
    text = export.export(mapped, platforms=platforms)(starts).mlir_module()
    assert "custom_call" not in text
    assert "callback" not in text


def test_shapes_and_types_are_refused_by_name_while_tracing():
    model = class_model(MIXED)
    with pytest.raises(InputError, match=r"state: got 'shape \(3, 2, 7\)'; allowed: \(2, 7\)"):
        jax.jit(step)(model, np.zeros((3, 2, 7)))
    with pytest.raises(InputError, match=r"model: got 'weights .*jax.vmap maps over several"):
        jax.jit(step)(model.with_capacity([200, 300]), np.zeros((2, 7)))
    with pytest.raises(InputError, match="state: got 'numbers of float32'; allowed: float64, as"):
        jax.jit(step)(model, jnp.zeros((2, 7), jnp.float32))
    with jax.enable_x64(False), pytest.raises(InputError, match="jax_enable_x64"):
        jax.jit(step)(model, np.zeros((2, 7)))


def test_float32_is_a_choice_and_its_error_is_small():
    model = class_model(MIXED)
    start = np.asarray(model.equilibrium()) * 0.9
    exact, _ = jitted(model, start)
    with jax.enable_x64(False):
        single, _ = jitted(model.in_float32(), start.astype(np.float32))
    assert single.dtype == np.float32
    assert 0 < np.abs(np.asarray(single) - np.asarray(exact)).max() < 1e-5 * 200


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
    by_class = simulate(
        class_model(system), plain_rectangle(system, state), iterations=1, record=names
    )
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
    model, state = padded(class_model(system)), data.draw(boundary_states(system))
    exact = mass.iterate(system, state)
    after, flows = jitted(model, rectangle(state))
    excess = mass.memory_used(system, exact.executed) - system.capacity
    below = Fraction(0)
    for j in range(system.workload.longest_decode):
        rows = [(k, c) for k, c in enumerate(system.workload.classes) if j < c.decode_length]
        below += sum((c.input_length + 1 + j) * exact.executed[k][j] for k, c in rows)
        # At an exact tie a rounding may leave a mass of its own size; see the fixed ties below.
        if excess - below > tolerance(model):
            assert j == 0 or np.all(np.asarray(after)[:, j] == 0.0)  # stage 0 is filled again
    if excess > tolerance(model):
        assert np.all(np.asarray(flows.admitted) == 0.0)


def test_a_stage_exactly_emptied_leaves_the_next_one_whole():
    model = class_model(one_class(1, 3, 8))
    after, flows = step(model, np.array([[1.0, 2.0, 0.0]]))
    assert after.tolist() == [[0.0, 0.0, 2.0]]
    assert flows.admitted.tolist() == [0.0]


@given(systems(), st.sampled_from([class_model, cohort_model]))
@example(SMALL, class_model)
def test_equilibrium_is_a_fixed_point(system, build):
    model = padded(build(system))
    state = np.asarray(model.equilibrium())
    assert_same_masses(model, jitted(model, state)[0], state)


@given(systems_with_states(systems=homogeneous_systems), st.integers(2, 4))
def test_identical_classes_act_as_one(system_and_state, copies):
    system, state = system_and_state
    c = system.workload.classes[0]
    part = RequestClass(c.input_length, c.decode_length, Fraction(1, copies))
    split = System(Workload((part,) * copies), system.capacity)
    one = np.asarray(jitted(padded(class_model(system)), rectangle(state))[0])[:1]
    model = padded(class_model(split))
    many = np.asarray(jitted(model, rectangle(state * copies) / copies)[0])[:copies]
    # A copy holds its part of each stage; put back to full size, it is the one class.
    off = np.abs(many * copies - one) * model.weights[:copies]
    assert np.max(off) <= tolerance(model)


def assert_same_masses(model, got, exact):
    assert np.all(np.asarray(got)[model.weights == 0] == 0.0)  # no mass beyond a last stage
    assert np.max(np.abs(np.asarray(got) - exact) * model.weights) <= tolerance(model)


def plain_rectangle(system, rows):
    """As `rectangle`, of just the system's classes and stages."""
    return rectangle(rows, len(rows), system.workload.longest_decode)


@pytest.mark.thorough
def test_float32_goes_through_every_door():
    """As a choice: batches, capacities, cohorts, slopes."""
    model = class_model(MIXED).in_float32()
    start = np.asarray(model.equilibrium())[None] * np.float32(0.9)
    single = simulate(model, start, iterations=5)
    exact = simulate(class_model(MIXED), start, iterations=5)
    assert single.final_state.dtype == np.float32
    assert 0 < float(abs(single.final_state - exact.final_state).max()) < 1e-3
    with pytest.raises(InputError, match="engine: got 'labels'"):
        simulate(model, start, iterations=5, engine="labels")
    narrow = model.with_capacity(190).cohorts()
    kinds = {np.asarray(leaf).dtype for leaf in jax.tree.leaves(narrow)}
    assert kinds == {np.dtype(np.float32)}
    after, _ = step(narrow, np.asarray(narrow.equilibrium()))
    assert after.dtype == np.float32

    def radius(input_length):
        lengths = [input_length] * 2, [4, 7]
        return spectral_radius(
            MassModel.from_lengths(*lengths, [0.5, 0.5], 1e4, stages=7, precision="float32")
        )

    with jax.enable_x64(False):
        assert jax.grad(radius)(jnp.float32(10)).dtype == np.float32


def test_numbers_that_nobody_chose_are_refused():
    lengths = [2.0], [3], [1.0], 24.0
    with jax.enable_x64(False), pytest.raises(InputError, match=r"input_length: got .*float32"):
        MassModel.from_lengths(*lengths, stages=3)
    with jax.enable_x64(False), pytest.raises(InputError, match=r"model: got .*float32"):
        spectral_radius(cohort_model(MIXED))
    with pytest.raises(InputError, match="stages: got 2; allowed: an integer of at least 3"):
        MassModel.from_lengths(*lengths, stages=2)
    with pytest.raises(InputError, match="stages: got 2; allowed: an integer of at least 3"):
        class_model(SMALL, stages=2)
    with pytest.raises(InputError, match=r"model: got .*jax.vmap maps over several"):
        spectral_radius(class_model(Systems.of([SMALL, MIXED])))
    assert spectral_radius(cohort_model(System(Workload.from_lengths([(2, 1)]), 24))) == 0
