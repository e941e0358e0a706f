"""Analysis of recorded trajectories: exact records, float records, what is refused."""

import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given

import fluidkv
from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.cascade import cascade
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import homogeneous_systems, systems_with_states

SMALL = System(Workload((RequestClass(2, 3),)), Fraction(24))
EXAMPLE_3 = (Fraction(5, 2), Fraction(2), Fraction(17, 10))
EXAMPLE_6 = System(Workload((RequestClass(2, 4),)), Fraction(63))
FULL = System(Workload((RequestClass(1, 2),)), Fraction(9))
LONGER = System(Workload((RequestClass(10, 8),)), Fraction(1000))
one_class = systems_with_states(systems=homogeneous_systems)


def one_request_more(system: System) -> tuple[Fraction, ...]:
    """The fixed point, a request more at stage 0; the last stage gives back the memory."""
    only = system.workload.classes[0]
    l0, l1 = only.input_length, only.decode_length
    x = system.capacity / sum(l0 + 1 + j for j in range(l1))
    return (x + 1, *[x] * (l1 - 2), x - Fraction(l0 + 1, l0 + l1))


@pytest.fixture(scope="module")
def spiral():
    return cascade(trajectory(SMALL, EXAMPLE_3, iterations=30), SMALL)


@pytest.fixture(scope="module")
def longer():
    states = trajectory(LONGER, one_request_more(LONGER), iterations=500, after_settling=8)
    return cascade(states, LONGER)


def test_example_3(spiral):
    assert [e.iteration for e in spiral.evictions][:4] == [7, 10, 13, 16]
    assert spiral.evictions[0].requests == Fraction(1369, 1458)
    assert spiral.evictions[0].tokens == Fraction(4 * 1369, 1458)
    assert spiral.evictions[0].stages == (1,)
    assert spiral.first_eviction == 7
    assert [(s.iteration, s.empty_stages) for s in spiral.support_losses] == [(7, 1), (16, 2)]
    assert spiral.settled is not None
    assert (spiral.settled.attractor, spiral.settled.iteration) == ("maximal-eviction cycle", 16)
    assert spiral.throughput == Fraction(8, 5)
    assert spiral.window == (16, 19)
    assert spiral.level == 2
    assert spiral.spreads[6] == Fraction(2636, 729)
    assert spiral.tolerance == 0


def test_one_request_more_than_the_fixed_point(longer):
    # l0 = 10, l1 = 8, M = 1000; origin: the requirements of the project.
    assert longer.first_eviction == 33
    losses = [(s.iteration, s.empty_stages) for s in longer.support_losses]
    assert losses == list(zip((33, 72, 79, 81, 87, 93, 102), range(1, 8), strict=True))
    assert longer.settled is not None
    assert longer.settled.iteration == 102
    assert longer.throughput == Fraction(1000, 8 * 18)


def test_live_positions_only_shrink_and_losses_name_who_died(longer):
    losses = {s.iteration: s for s in longer.support_losses}
    for n, (before, after) in enumerate(pairwise(longer.live), start=1):
        died = set(before) - set(after)
        assert set(after) <= set(before)
        assert died == set(losses[n].positions if n in losses else ())


def test_blocks_of_example_6():
    states = trajectory(EXAMPLE_6, (17, 3, 0, 0), iterations=8)
    found = cascade(states, EXAMPLE_6)
    assert found.eviction_blocks == ((1, 2), (5, 6))  # transitions 0 -> 1 -> 2 and a round later
    assert found.block_ends == (2, 3, 6, 7)
    assert set(found.block_spreads.values()) == {0}
    assert found.settled is not None
    assert (found.settled.attractor, found.settled.iteration) == ("balanced cycle (3,1)", 0)
    assert found.throughput == 3


def test_a_support_can_be_lost_without_an_eviction():
    found = cascade(trajectory(FULL, (3, 1), iterations=3), FULL)
    (loss,) = found.support_losses
    assert (loss.iteration, loss.empty_stages, loss.evicted) == (1, 1, False)
    assert found.first_eviction == 3


@given(one_class)
@example((FULL, [[Fraction(3), Fraction(1)]]))
def test_events_are_those_of_the_literal_model(system_and_state):
    system, state = system_and_state
    states, evicted = [state[0]], {}
    for n in range(1, 21):
        step = iterate(system, [states[-1]])
        states.append(step.state[0])
        if any(step.evicted[0]):
            evicted[n] = tuple(step.evicted[0])
    found = cascade(states, system)
    assert {e.iteration: e.requests for e in found.evictions} == {
        n: sum(removed) for n, removed in evicted.items()
    }
    weights = [system.workload.classes[0].input_length + 1 + j for j in range(len(state[0]))]
    for event in found.evictions:
        removed = evicted[event.iteration]
        assert event.tokens == sum(w * e for w, e in zip(weights, removed, strict=True))
        assert event.stages == tuple(j for j, e in enumerate(removed) if e)
    zeros = [x.count(Fraction(0)) for x in states]
    jumps = [(n, b) for n, (a, b) in enumerate(pairwise(zeros), start=1) if b > a]
    assert [(s.iteration, s.empty_stages) for s in found.support_losses] == jumps
    assert found.levels == tuple(zeros)


@given(one_class)
def test_settled_means_that_the_record_repeats_from_there_on(system_and_state):
    system, state = system_and_state
    l1 = len(state[0])
    states = trajectory(system, state[0], iterations=30 + l1)
    found = cascade(states, system)
    repeats = [n for n in range(31) if states[n] == states[n + l1]]
    if found.settled is not None and found.settled.iteration <= 30:
        assert repeats == list(range(found.settled.iteration, 31))
        assert found.throughput == sum(x[-1] for x in states[30 : 30 + l1]) / l1
    else:
        assert repeats == []


def test_float_record_of_a_simulation_has_the_same_events(longer):
    start = [float(x) for x in longer.states[0]]
    data = fluidkv.simulate(LONGER, [start], iterations=110, record="state")
    found = fluidkv.cascade(data, LONGER, start=start)
    assert [e.iteration for e in found.evictions] == [e.iteration for e in longer.evictions]
    assert found.first == 0
    assert found.support_losses == longer.support_losses
    assert found.settled == longer.settled
    # The last cycle is fixed by memory alone, so that no rounding is left of the way to it; its
    # masses take one product and one quotient a stage.
    assert float(found.throughput) == pytest.approx(float(longer.throughput), rel=1e-14)
    assert found.tolerance == 1e-9
    without = fluidkv.cascade(data["state"], LONGER, batch=0)
    assert without.iterations == range(1, 111)
    assert without.first_eviction == 33


def test_the_fixed_point_is_kept_by_fractions_and_left_by_floats():
    x = Fraction(250, 29)
    exact = cascade(trajectory(LONGER, [x] * 8, iterations=50), LONGER)
    assert exact.settled is not None
    assert (exact.settled.attractor, exact.settled.iteration) == ("fixed point", 0)
    assert exact.evictions == ()
    start = [float(x)] * 8
    start[0] *= 1 - 1e-15  # off by a few roundings, which grow; a single one is rounded away
    data = fluidkv.simulate(LONGER, [start], iterations=1000, record="state")
    rounded = cascade(data, LONGER, start=start)
    assert rounded.settled is not None
    assert rounded.settled.attractor == "maximal-eviction cycle"


def test_an_exact_capture_is_captured():
    start = (Fraction(48, 13), Fraction(24, 13), Fraction(72, 65))  # Congestion, below Lemma A.10
    found = cascade(trajectory(SMALL, start, iterations=200), SMALL)
    assert found.settled is not None
    assert (found.settled.attractor, found.settled.iteration) == ("balanced cycle (2,1)", 1)
    assert found.throughput == Fraction(24, 13)
    # It executes to exactly M at n = 1. In floats that is 4e-16 requests too many, which is no
    # eviction.
    first = [float(x) for x in start]
    data = fluidkv.simulate(SMALL, [first], iterations=10, record="state")
    rounded = cascade(data, SMALL, start=first)
    assert found.first_eviction == rounded.first_eviction == 4


def test_a_short_record_is_not_settled_and_says_over_what_it_averaged():
    found = cascade(trajectory(SMALL, EXAMPLE_3, iterations=5), SMALL)
    assert found.settled is None
    assert found.first_eviction is None
    assert found.window == (0, 5)
    assert found.to_dict()["settled"] is None


def test_as_dict_has_the_stable_keys(spiral):
    shown = spiral.to_dict()
    assert shown["first_eviction"] == 7
    assert shown["support_losses"] == [[7, 1], [16, 2]]
    assert shown["settled"] == {
        "attractor": "maximal-eviction cycle",
        "iteration": 16,
        "gaps": [3],
    }
    assert shown["throughput"] == 1.6
    assert shown["throughput_exact"] == "8/5"
    evictions = shown["evictions"]
    assert isinstance(evictions, list)
    # up to one whole round of the last cycle, n = 16 to 19
    assert [e["iteration"] for e in evictions] == [7, 10, 13, 16, 18, 19]


def test_xarray_view_follows_positions(spiral):
    data = spiral.to_xarray()
    assert dict(data.sizes) == {"iteration": 31, "position": 3}
    for n in (0, 5, 16):
        for r in range(3):
            stage = int(data["stage"].sel(iteration=n, position=r))
            assert stage == (r + n) % 3
            assert data["mass"].sel(iteration=n, position=r) == float(spiral.states[n][stage])
    assert np.isnan(data["normalized"].values).sum() == sum(spiral.levels)
    assert data["evicted_requests"].sel(iteration=7) == float(Fraction(1369, 1458))
    assert data["completed"].sel(iteration=1) == 1.7
    u = data["normalized"].sel(iteration=16)
    assert float(u.max()) == pytest.approx(4.8 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([(2, 2, 2)], "1 states"),
        ([(2, 2), (2, 2)], "2 masses"),
        ([(2, 2, 2), (2, 2, 3)], "29 tokens at n=1"),
        ([(-2, 5, 2), (2, 2, 2)], "state 0"),
        ([(2, 2, 2), ("two", 2, 2)], "state 1"),
        ([(8, 0, 0), (0, 0, Fraction(24, 5))], "grew"),
    ],
)
def test_what_is_no_trajectory_is_refused(states, said):
    with pytest.raises(InputError, match=re.escape(said)):
        cascade(states, SMALL)


def test_a_simulation_must_have_recorded_states_of_one_trajectory():
    start = [[2.5, 2.0, 1.7]]
    with pytest.raises(InputError, match="record of `state`"):
        cascade(fluidkv.simulate(SMALL, start, iterations=4), SMALL)
    many = fluidkv.simulate(SMALL, [start, start], iterations=4, record="state")
    with pytest.raises(InputError, match="batch"):
        cascade(many, SMALL)
    assert cascade(many, SMALL, batch=1).iterations == range(1, 5)
    sparse = fluidkv.simulate(SMALL, start, iterations=4, record="state", every=2)
    with pytest.raises(InputError, match="every iteration"):
        cascade(sparse, SMALL)
