"""Congestion, Theorem 22, which is Theorem 3 (2): who returns, from which input length on.

Sampled, except for the counterexample to "locally stable is globally stable", which is exact.
docs/global_convergence.md has the table of a larger run.
"""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.exact import LengthMix, count_unstable, neighbourhood, survival_weights, two_lengths
from fluidkv.exact.mixed.cycles.orbits import CohortMap
from fluidkv.verdict import Evidence
from fluidkv.workload import System
from fluidkv_papers.congestion.claims.mixed.section_4_3 import closes, coexisting_cycle
from fluidkv_papers.congestion.instances.return_survey import (
    SHARES,
    named,
    survey,
    surveys,
    system_of,
    threshold,
)
from tests.strategies import cohort_profiles, coprime_pairs, length_mixes, seeds

HALF = Fraction(1, 2)


def all_return(mix, more, seed):
    """About 16 starts and all bursts, followed for a thousand times the input length.

    Ways back are long where one class has nearly all requests and a mode is nearly neutral: 104
    times the input length is the longest that was met, in the examples.
    """
    least = threshold(mix)
    length = max(least, 1) + more
    horizon = max(20_000, 1000 * (length + mix.ages))
    return survey(mix, length, least=least, count=16, seed=seed, horizon=horizon).all_return


@given(length_mixes(divisors=st.just(1), classes=3, one=False), st.integers(0, 2), seeds)
@example(LengthMix((2, 9, 10), [Fraction(1, 28), Fraction(1, 28)]), 0, 0)  # 31,260 at l0 = 301
@example(two_lengths(10, 11, Fraction(75, 76)), 0, 0)  # l0 = 4,031, and |z| = 1 - 5e-9
def test_without_a_class_of_one_token_all_starts_return_from_the_threshold_on(mix, more, seed):
    assert all_return(mix, more, seed)


@given(length_mixes(divisors=st.just(1), classes=3), st.integers(1, 3), seeds)
@example(two_lengths(1, 12, Fraction(1, 63)), 1, 0)  # l0 = 5,492
def test_all_starts_return_one_token_later(mix, more, seed):
    assert all_return(mix, more, seed)


@given(length_mixes(divisors=st.just(1), longest=6, classes=3), st.integers(0, 10**4), st.data())
def test_in_the_neighbourhood_of_the_proof_nothing_is_evicted_and_the_energy_falls(mix, more, data):
    # B.6.4 and B.6.5, exact: in N = {yPy < delta^2} each iteration takes |y|^2 off yPy.
    workload = mix.workload(max(threshold(mix), 1) + more)
    system = System(workload, workload.largest_footprint + 1)
    near, dynamics = neighbourhood(system), CohortMap(system)
    before = [y - near.rate for y in data.draw(cohort_profiles(system))]
    while not near.contains(before):
        before = [y / 2 for y in before]
    for _ in range(2 * mix.ages):
        front, state = dynamics.step([y + near.rate for y in before])
        after = [y - near.rate for y in state]
        assert front == 0
        level, following = near.energy(before), near.energy(after)
        assert isinstance(level, Fraction)
        assert level - sum(y * y for y in before) == following
        before = after


@pytest.mark.parametrize(
    ("first", "second", "share", "least"),
    [(5, 9, HALF, 65), (3, 8, Fraction(3, 10), 67), (2, 7, HALF, 18)],
)
def test_named_pairs_return_from_the_certified_threshold_on(first, second, share, least):
    mix = two_lengths(first, second, share)
    assert threshold(mix) == least
    for length in (least, 2 * least):
        found = survey(mix, length, least=least, count=200)
        assert found.all_return, named(found)


def test_locally_stable_is_not_globally_stable():
    # Everything about the witness is exact; floats only found it.
    orbit = coexisting_cycle()
    classes = orbit.system.workload.classes
    count = count_unstable(survival_weights(orbit.system.workload))
    assert [c.decode_length for c in classes] == [1, 6]
    assert (count.outside, count.on_circle, count.evidence) == (0, 0, Evidence.EXACT)
    assert closes(orbit)
    assert orbit.strict
    assert orbit.attracts is True
    assert len(set(orbit.states)) == orbit.period == 7
    assert max(orbit.fronts) > 0


def test_the_witness_is_gone_one_token_later():
    orbit = coexisting_cycle()
    short, long = orbit.system.workload.classes
    mix = two_lengths(short.decode_length, long.decode_length, short.share)
    least = threshold(mix)
    assert least == short.input_length == 2
    assert not survey(mix, least, least=least, count=200).all_return
    assert survey(mix, least + 1, least=least, count=200).all_return


def test_between_whole_tokens_the_weights_are_those_of_the_mix():
    mix = two_lengths(2, 5, Fraction(1, 3))
    length = Fraction(17, 4)
    ours = survival_weights(system_of(mix, length).workload)
    theirs = mix.weights(length)
    for mine, its in zip(ours.memory, theirs.memory, strict=True):
        assert Fraction(mine, ours.denominator) == Fraction(its, theirs.denominator)


# --- every pair -------------------------------------------------------------------------


@pytest.mark.parametrize("pair", coprime_pairs(12, shortest=2))
def test_pairs_return_from_the_threshold_on(pair):
    for found in surveys([pair], SHARES, count=40):
        assert found.all_return, named(found)


@pytest.mark.parametrize("pair", [(1, n) for n in range(2, 13)])
def test_with_a_class_of_one_token_all_return_one_token_later(pair):
    for found in surveys([pair], SHARES, beyond=(1,), count=40):
        assert found.all_return, named(found)


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [
        ((2, 3, 5), (HALF, Fraction(1, 4), Fraction(1, 4))),
        ((2, 3, 7), (Fraction(1, 20), Fraction(1, 20), Fraction(9, 10))),
        ((4, 6, 9), (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))),
    ],
)
def test_three_classes_return_from_the_threshold_on(lengths, shares):
    mix = LengthMix(lengths, shares)
    least = threshold(mix)
    for length in (max(least, 1), least + 1, 2 * max(least, 1)):
        found = survey(mix, length, least=least, count=40)
        assert found.all_return, (lengths, length)
