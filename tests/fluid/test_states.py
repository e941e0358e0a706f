"""What an array of masses is: by its labels, or by its axes; nothing is guessed from masses."""

from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.fluid import class_model, cohort_model, simulate
from fluidkv.fluid.states import class_states, cohort_states, read_states, spread
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class
from tests.strategies import systems

THIRD = Fraction(1, 3)
MIXED = System(Workload((RequestClass(3, 2, THIRD), RequestClass(1, 5, 2 * THIRD))), Fraction(60))
LONGER = one_class(2, 6, 50)
PAIR = Systems.of([MIXED, LONGER])


def _cohorts(system: System, count: int, seed: int = 0, fill: float = 1.0) -> np.ndarray:
    """Cohort masses that hold `fill` of the capacity, at random."""
    model = cohort_model(system)
    memory = np.random.default_rng(seed).exponential(size=(count, model.weights.shape[1]))
    memory *= fill * model.capacity / memory.sum(axis=1, keepdims=True)
    return memory / model.weights[0]


def _of_classes(system: System, cohorts: np.ndarray) -> np.ndarray:
    """x_ks = p_k y_s, written out."""
    states = np.zeros((len(cohorts), len(system.workload.classes), cohorts.shape[1]))
    for k, each in enumerate(system.workload.classes):
        for s in range(each.decode_length):
            states[:, k, s] = float(each.share) * cohorts[:, s]
    return states


@pytest.mark.parametrize("count", [1, 2, 3])  # 2 is the number of classes
def test_cohort_masses_stand_for_all_classes_in_proportion(count: int) -> None:
    cohorts = _cohorts(MIXED, count)
    states = _of_classes(MIXED, cohorts)
    labelled = xr.DataArray(cohorts, dims=("batch", "stage"))
    for start in (cohorts[:, None], states, labelled, labelled.T, *[cohorts] * (count != 2)):
        np.testing.assert_array_equal(class_states(MIXED, start), states)
        np.testing.assert_allclose(cohort_states(MIXED, start, full=True), cohorts, rtol=1e-15)
    np.testing.assert_array_equal(class_states(MIXED, cohorts[0]), states[:1])
    np.testing.assert_array_equal(cohort_states(MIXED, states[0]), cohort_states(MIXED, states[:1]))


def test_a_model_says_the_same_as_its_system() -> None:
    cohorts = _cohorts(MIXED, 3)
    for start in (cohorts, cohorts[0], _of_classes(MIXED, cohorts)):
        states = class_states(class_model(MIXED), start)
        np.testing.assert_array_equal(states, class_states(MIXED, start))
    np.testing.assert_array_equal(class_states(cohort_model(MIXED), cohorts), cohorts[:, None])


@given(systems(), st.integers(0, 99))
def test_a_table_of_full_cohorts_is_never_one_state(system: System, seed: int) -> None:
    """As many of them as classes have the shape of one state, and are refused: they do not fit."""
    count = len(system.workload.classes)
    cohorts = _cohorts(system, count, seed)
    assert read_states(system, cohorts[:, None]).shape == (1, count, 1, cohorts.shape[1])
    if count > 1:
        with pytest.raises(InputError, match=r"one state, starts of cohorts are \(batch, 1, stage"):
            read_states(system, cohorts)


def test_a_table_of_all_classes_is_one_state_full_or_not() -> None:
    for fill in (0.5, 1.0):
        table = _of_classes(MIXED, _cohorts(MIXED, 1, fill=fill))[0]
        np.testing.assert_array_equal(class_states(MIXED, table), table[None])
    spare = _cohorts(MIXED, 2, fill=0.25)
    with pytest.raises(InputError, match=r"one state, starts of cohorts are \(batch, 1, stage\)"):
        cohort_states(MIXED, spare)
    np.testing.assert_array_equal(cohort_states(MIXED, spare[:, None]), spare)


def test_labels_say_what_an_array_is() -> None:
    final = simulate(MIXED, _cohorts(MIXED, 3), iterations=2).final_state
    alone = final.isel(batch=1)  # (class, stage)
    np.testing.assert_array_equal(class_states(MIXED, alone), final.values[1:2])
    np.testing.assert_array_equal(class_states(MIXED, final.transpose()), final.values)
    spare = xr.DataArray(_cohorts(MIXED, 2, fill=0.25), dims=("batch", "stage"))
    np.testing.assert_array_equal(cohort_states(MIXED, spare), spare.values)
    both = simulate(PAIR, np.zeros((1, 6)), iterations=2).final_state.isel(batch=0)
    masses = read_states(PAIR, both)  # (system, class, stage)
    np.testing.assert_array_equal(masses, both.values[:, None])
    for start, of in ((spare.rename(batch="run"), MIXED), (both, MIXED), (alone[:, 0], MIXED)):
        with pytest.raises(InputError, match=r"got 'dimensions .*; allowed: stage, and at"):
            read_states(of, start)


def test_classes_out_of_proportion_are_no_cohorts() -> None:
    states = _of_classes(MIXED, _cohorts(MIXED, 3))
    states[1, 0, 1] *= 1 - 1e-9
    with pytest.raises(InputError, match=r"starts: got 'classes out of proportion .*trajectory 1"):
        cohort_states(MIXED, states)
    assert class_states(MIXED, states).shape == states.shape  # which is no fault of the state


def test_starts_of_many_systems_are_those_of_each() -> None:
    cohorts = np.zeros((2, 4, 6))
    cohorts[0, :, :5], cohorts[1] = _cohorts(MIXED, 4), _cohorts(LONGER, 4)
    classes = np.zeros((2, 4, 2, 6))
    for i, system in enumerate(PAIR):
        own = class_states(system, cohorts[i, :, : system.workload.longest_decode])
        classes[i, :, : own.shape[1], : own.shape[2]] = own
    model = class_model(PAIR)
    np.testing.assert_array_equal(spread(model, read_states(PAIR, cohorts)), classes)
    np.testing.assert_array_equal(spread(model, read_states(PAIR, classes)), classes)
    np.testing.assert_allclose(cohort_states(PAIR, classes, full=True), cohorts, rtol=1e-15)
    # A part takes its part, zeros of longer systems and all.
    np.testing.assert_array_equal(cohort_states(PAIR[:1], cohorts[:1]), cohorts[:1, :, :5])


def test_one_batch_serves_many_systems_of_one_shape() -> None:
    several = Systems.vary(MIXED, capacity=[60, 70, 80])
    cohorts = _cohorts(MIXED, 4)
    found = cohort_states(several, cohorts)
    assert found.shape == (3, 4, 5)
    np.testing.assert_array_equal(found, np.broadcast_to(cohorts, found.shape))
    with pytest.raises(InputError, match=r"off the boundary \(system 1, start"):
        cohort_states(several, cohorts, full=True)
    with pytest.raises(InputError, match=r"mass beyond a decode length \(system 0, start 0\)"):
        cohort_states(PAIR, _cohorts(LONGER, 3))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones(4), "shape"),
        (np.ones((2, 2, 2, 5)), "shape"),
        (np.ones((2, 3, 5)), "shape"),
        (np.zeros((0, 5)), "shape"),
        ("masses", "masses of shape"),
        ([[0.0] * 5, [np.nan] * 5, [0.0] * 5], r"non-finite mass \(trajectory 1\)"),
        ([[0.0] * 5, [0.0] * 5, [-1.0] * 5], r"negative or non-finite mass \(trajectory 2\)"),
        ([[0.0] * 5, [9.0] * 5, [7.0] * 5], r"memory 147 tokens \(trajectory 1\)"),
    ],
)
def test_bad_starts_are_one_line(start: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        cohort_states(MIXED, start)  # pyright: ignore[reportArgumentType]  # text too
    assert caught.value.argument == "starts"


@pytest.mark.parametrize("shape", [(3, 4, 6), (2, 4, 3, 6), (2, 4, 5), (1, 2, 4, 2, 6)])
def test_starts_of_many_systems_have_their_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"masses of shape \(system, batch, 6\).* of 2 systems"):
        read_states(PAIR, np.zeros(shape))


def test_the_worst_start_of_the_first_bad_system_is_named() -> None:
    cohorts = np.zeros((2, 4, 6))
    cohorts[0, :, :5], cohorts[1] = _cohorts(MIXED, 4), _cohorts(LONGER, 4)
    cohorts[1, 1:] *= np.array([[1.01], [1.0], [1.02]])
    with pytest.raises(InputError, match=r"memory 51 tokens \(system 1, start 3\)"):
        cohort_states(PAIR, cohorts)


def test_a_start_and_capacities_along_the_batch() -> None:
    model = class_model(MIXED).with_capacity([60, 50, 70])
    state = _of_classes(MIXED, _cohorts(MIXED, 1))
    with pytest.raises(InputError, match=r"\(trajectory 1\)'; allowed: at most 50 tokens"):
        class_states(model, state)
    with pytest.raises(InputError, match=r"got '2 trajectories'; allowed: 3, as capacities"):
        class_states(model, 0.5 * np.concatenate([state, state]))
    table = 0.5 * state[0]  # a row a class, though there are more capacities than classes
    np.testing.assert_array_equal(class_states(model, table), table[None])
