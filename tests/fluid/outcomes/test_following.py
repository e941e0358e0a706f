"""Chunks, looks and returns: against the literal reference, and against each trajectory alone.

Tolerance of one step. Memory shares V_s y_s / M are at most 1. The engine keeps a sum over at most
d labels, each product rounded once, and hands what is free to one label; a cohort at most doubles
its memory when it ages, as w_{s+1} / w_s = 1 + 1 / (l0 + 1 + s) <= 3/2. So 8 d roundings bound it
with room.
"""

from fractions import Fraction

import jax
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact import mass
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.fluid import uniform_starts
from fluidkv.fluid.outcomes import following
from fluidkv.fluid.outcomes.following import advance, cohorts_of, first_return, follow
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
    these = cohorts_of(system, 1, len(cohorts))
    for _ in range(3):
        step = mass.iterate(system, states_of(system, cohorts))
        after = [
            sum(row[s] for row in step.state if s < len(row))
            / sum(c.share for c in system.workload.classes if c.decode_length > s)
            for s in range(system.workload.longest_decode)
        ]
        start = np.array([[float(y) for y in cohorts]])
        advanced = advance(these, start, 1, record=("completed", "evicted"))
        got = memory_shares(system, [Fraction(float(y)) for y in advanced.state[0, 0]])
        off = [abs(m - n) for m, n in zip(got, memory_shares(system, after), strict=True)]
        assert max(off) <= 8 * len(cohorts) * EPS
        for name, flow in (("completed", step.completed), ("evicted", step.evicted)):
            requests = sum((sum(row) if isinstance(row, tuple | list) else row) for row in flow)
            limit = 8 * len(cohorts) * EPS * float(system.capacity)
            assert abs(advanced.records[name].sum() - float(requests)) <= limit
        cohorts = after


def test_each_trajectory_goes_on_as_long_as_its_looks_say_and_as_it_does_alone(monkeypatch):
    starts = starts_of_many(20)
    these, flat = cohorts_of(MANY, 20, 9), starts.reshape(60, 9)
    lasts = np.random.default_rng(1).integers(1, 6, 60)  # looks, after 1, 3, 5, 6 and 6 windows
    final, made = np.zeros((60, 9)), np.zeros(60, int)

    def look(rows, n, advanced):
        assert advanced.records["state"].shape[1] == {7: 1, 21: 2, 35: 2, 42: 1}[n]
        final[rows], made[rows] = advanced.state[:, 0], n
        return n < np.array([7, 21, 35, 42, 42])[lasts[rows] - 1]

    monkeypatch.setattr(following, "_RECORDED", 2 * 9 * 13)  # 13 trajectories at a time
    follow(these, flat, look, every=7, windows=(1, 2), most=6, record=("state",))
    assert np.array_equal(made, np.array([7, 21, 35, 42, 42])[lasts - 1])
    for i in (0, 25, 47, 59):
        ages = MANY[i // 20].workload.longest_decode
        alone, state = cohorts_of(MANY[i // 20], 1, ages), flat[i : i + 1, :ages]
        for n in np.diff([0, 7, 21, 35, 42][: 1 + [7, 21, 35, 42].index(made[i]) + 1]):
            state = advance(alone, state, int(n)).state[:, 0]
        assert np.array_equal(final[i, :ages], state[0])
        assert not final[i, ages:].any()


def test_a_return_takes_a_period_and_a_meeting_takes_the_phase_between():
    cycle = pulse_cycle(PULSING)
    states = np.array([[float(y) for y in state] for state in cycle.states])
    these, within = cohorts_of(PULSING, 2, 4), np.full((1, 4), 1e-12)
    returns = first_return(these, states, states, within, most=50)
    assert returns.period.tolist() == [2, 2]
    # 313/1343 requests are evicted in a period, and the throughput is 313/79 (section B.10).
    np.testing.assert_allclose(returns.completed, 2 * 313 / 79, rtol=1e-14)
    np.testing.assert_allclose(returns.evicted, 313 / 1343, rtol=1e-12)
    meets = first_return(these, states, states[::-1], within, most=50)
    assert meets.period.tolist() == [1, 1]


def test_what_does_not_return_is_counted_for_all_of_the_while():
    starts, most = starts_of_many(5).reshape(15, 9), 77
    these, never = cohorts_of(MANY, 5, 9), np.full((3, 9), -1.0)
    returns = first_return(these, starts, starts, never, most=most)
    whole = advance(these, starts, most, record=("completed", "evicted"), every=most).records
    assert not returns.period.any()
    # Sums over the same iterations in chunks: 77 roundings of numbers below 100.
    for name in ("completed", "evicted"):
        np.testing.assert_allclose(getattr(returns, name), whole[name][:, 0, 0], rtol=1e-12)


def test_a_return_is_of_all_cohorts_and_not_of_the_youngest_alone():
    starts = starts_of_many(5)[1:2, :, :4].reshape(5, 4)
    these, within = cohorts_of(PULSING, 5, 4), np.full((1, 4), 1e-9)
    settled = advance(these, starts, 4000).state[:, 0]
    target = np.array(settled)
    target[:, 1] += 1.0  # met by the youngest every second iteration, by all never
    assert not first_return(these, settled, target, within, most=20).period.any()
    within[0, 1] = 1.5
    assert first_return(these, settled, target, within, most=20).period.tolist() == [2] * 5
