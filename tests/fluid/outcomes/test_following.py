"""Looks and returns: against the literal reference, and against each trajectory alone.

Tolerance of one step. Memory shares V_s y_s / M are at most 1. The engine keeps a sum over at most
d labels, each product rounded once, and hands what is free to one label; a cohort at most doubles
its memory when it ages, as w_{s+1} / w_s = 1 + 1 / (l0 + 1 + s) <= 3/2. So 8 d roundings bound it
with room.
"""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.fluid import uniform_starts
from fluidkv.fluid.labels.lane import BACK, GOES_ON
from fluidkv.fluid.outcomes.following import advance, cohorts_of, periods
from fluidkv.systems import Systems
from fluidkv.workload import System
from tests.fluid.outcomes.cases import memory_shares, states_of
from tests.strategies import cohort_profiles, systems

EPS = np.finfo(np.float64).eps
HALF = Fraction(1, 2)
PULSING = System(two_lengths(2, 4, HALF).workload(50), 626)
MANY = Systems.of(
    [
        System(two_lengths(2, 3, HALF).workload(50), 518),
        PULSING,
        System(two_lengths(5, 9, HALF).workload(65), 1000),
    ]
)


def starts_of_many(count):
    starts = np.zeros((len(MANY), count, 9))
    for i, system in enumerate(MANY):
        own = uniform_starts(jax.random.key(i), system, count=count)
        starts[i, :, : own.shape[1]] = own
    return starts


@given(systems(), st.data())
def test_an_iteration_is_the_literal_one(system, data):
    cohorts = data.draw(cohort_profiles(system))
    these = cohorts_of(system, 1)
    for _ in range(3):
        step = mass.iterate(system, states_of(system, cohorts))
        after = [
            sum(row[s] for row in step.state if s < len(row))
            / sum(c.share for c in system.workload.classes if c.decode_length > s)
            for s in range(system.workload.longest_decode)
        ]
        start = np.array([[float(y) for y in cohorts]])
        advanced = advance(these, start, 1)
        got = memory_shares(system, [Fraction(float(y)) for y in advanced.state[0, 0]])
        off = [abs(m - n) for m, n in zip(got, memory_shares(system, after), strict=True)]
        assert max(off) <= 8 * len(cohorts) * EPS
        for name, flow in (("completed", step.completed), ("evicted", step.evicted)):
            requests = sum((sum(row) if isinstance(row, tuple | list) else row) for row in flow)
            limit = 8 * len(cohorts) * EPS * float(system.capacity)
            assert abs(getattr(advanced, name)[0] - float(requests)) <= limit
        cohorts = after


@pytest.mark.daily(1)
@pytest.mark.parametrize("moves", [0, 1, 3])
def test_each_trajectory_ends_where_it_is_back_at_its_mark_and_as_it_does_alone(moves):
    """Looks against the same, made of the states of all iterations; and a horizon of each."""
    starts, most = starts_of_many(20), 420
    these, flat = cohorts_of(MANY, 20), starts.reshape(60, 9)
    until = np.random.default_rng(1).integers(1, most + 1, 60)
    own = {"every": np.array([7, 2, 5]), "moves": np.array([moves])}
    within = np.where(these.weights > 0, 1e-3 * these.best[:, None], 0.0)
    run = advance(these, flat, until, **own, within=within, mark=np.array(flat))
    for i in range(60):
        system, often = MANY[i // 20], own["every"][i // 20]
        ages, mark, ended = system.workload.longest_decode, flat[i], GOES_ON
        alone, state, n, marked = cohorts_of(system, 1), flat[i : i + 1, :ages], 0, 0
        while n < until[i] and ended == GOES_ON:
            step = min(often, int(until[i]) - n)
            state, n = advance(alone, state, step).state[:, 0], n + step
            if n % often == 0:
                near = np.abs(state[0] - mark[:ages]) <= within[i // 20, :ages]
                ended, looks = BACK if near.all() else GOES_ON, n // often
                if ended == GOES_ON and (looks % moves if moves else looks & (looks - 1)) == 0:
                    mark, marked = state[0], n
        assert (run.iterations[i], run.ended[i], run.marked[i]) == (n, ended, marked)
        # Sums are made anew at other iterations, and roundings grow by the unstable modes.
        np.testing.assert_allclose(run.state[i, 0, :ages], state[0], rtol=0, atol=1e-9)
        assert not run.state[i, 0, ages:].any()
    assert 10 < np.count_nonzero(run.ended == BACK) < 55


def test_a_return_takes_a_period_and_a_meeting_takes_the_phase_between():
    cycle = pulse_cycle(PULSING)
    states = np.array([[float(y) for y in state] for state in cycle.states])
    these, within = cohorts_of(PULSING, 2), np.full((1, 4), 1e-12)
    assert periods(these, states, states, within, most=50).tolist() == [2, 2]
    # 313/1343 requests are evicted in a period, and the throughput is 313/79 (section B.10).
    flows = advance(these, states, 2)
    np.testing.assert_allclose(flows.completed, 2 * 313 / 79, rtol=1e-14)
    np.testing.assert_allclose(flows.evicted, 313 / 1343, rtol=1e-12)
    assert periods(these, states, states[::-1], within, most=50).tolist() == [1, 1]


def test_a_return_is_of_all_cohorts_and_not_of_the_youngest_alone():
    starts = starts_of_many(5)[1:2, :, :4].reshape(5, 4)
    these, within = cohorts_of(PULSING, 5), np.full((1, 4), 1e-9)
    settled = advance(these, starts, 4000).state[:, 0]
    target = np.array(settled)
    target[:, 1] += 1.0  # met by the youngest every second iteration, by all never
    assert not periods(these, settled, target, within, most=20).any()
    within[0, 1] = 1.5
    assert periods(these, settled, target, within, most=20).tolist() == [2] * 5
