"""Congestion, Theorem 3: stable for long inputs if and only if the decode lengths are coprime.

Both directions, for two to four classes, by certificate and by simulation from drawn starts. With
it Lemmas 10 to 15 (which roots lie where) and Theorems 14, 17 and 22, of which it is made.

(1) holds with more than it says: in no mix that was drawn, common inputs or not, do fewer than
g - 1 modes grow at any input length. For even g one grows for certain, see the second test.
(2) holds, locally from the threshold on, and for all starts that were followed where the inputs are
a quarter longer; `test_theorem_22` has what is at the threshold itself.
"""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.exact import (
    LengthMix,
    characteristic_polynomial,
    count_unstable,
    input_threshold,
    iterate,
    lyapunov,
    two_lengths,
)
from fluidkv.exact.mass import memory_used
from fluidkv.exact.mixed.cycles.orbits import CohortMap
from fluidkv.exact.mixed.motion.drift import outward_rate
from fluidkv.fluid import RETURNED, start_families
from fluidkv.verdict import Evidence, Stability
from tests.strategies import input_lengths, length_mixes, positive_rationals, seeds

HALF = Fraction(1, 2)
EPS = float(np.finfo(float).eps)

common_divisors = st.integers(2, 6)
ratios = st.builds(Fraction, st.integers(1, 9), st.integers(1, 4))


# --- what is followed -----------------------------------------------------------------------------


def system_at(mix, input_length, capacity):
    """The mix with inputs of `input_length`, and `capacity` times its largest request."""
    workload = mix.workload(input_length)
    return fk.System(workload, workload.largest_footprint * (1 + capacity))


def deviations(system, starts, iterations):
    """y^n / x* - 1 for n = 0, 1, ..., (batch, iteration, age), and whether eviction came by n."""
    model = fk.cohort_model(system)
    rate = model.equilibrium()[0, 0]
    run = fk.simulate(model, starts, iterations=iterations, record=("state", "evicted"))
    states = np.concatenate([starts[:, None, 0], run.state.values[:, :, 0]], axis=1)
    evicted = np.cumsum(run.evicted.values[:, :, 0] > 0, axis=1) > 0
    return states / rate - 1, np.pad(evicted, [(0, 0), (1, 0)])


def left_vector(weights, root):
    """l with l . y^(n+1) = z (l . y^n) for every y^n from which nothing is evicted."""
    memory = np.array(weights.memory, float) / weights.memory[0]
    entries = [1 + 0j]
    for ratio in memory[1:]:
        entries.append(root * entries[-1] + ratio)
    return np.array(entries[:-1])  # the entry of the oldest cohort is F(z) / V_0, which is 0


def assert_moves_by(weights, root, path, evicted):
    """The part of the path along one mode is multiplied by z, an iteration, until eviction comes.

    One admission is a sum of memory over V_0: 2 (d + 9) roundings (`test_iteration`) of
    M / (V_0 x*), and each is multiplied by z from then on. The projection itself and z^n take as
    many once more.
    """
    along = left_vector(weights, root)
    ages, n = weights.ages, np.arange(path.shape[1])
    projection = path[..., :-1] @ along
    scale = np.abs(along).sum() * sum(weights.memory) / weights.memory[0]
    tolerance = 4 * (n + 1) * (ages + 9) * EPS * scale * np.maximum(abs(root), 1.0) ** n
    free = ~evicted
    assert free[:, 1].all()
    off = np.abs(projection - projection[:, :1] * root**n)
    assert (off <= tolerance)[free].all()
    # and that is a statement: the parts that are followed are far above the roundings
    assert (np.abs(projection[:, 0]) > 1e3 * tolerance[1]).any()


def long_enough(mix):
    """The first whole input length beyond all crossings of the circle."""
    return input_threshold(mix).windows[-1].first


# --- the limit of long inputs ---------------------------------------------------------------------


@given(length_mixes(divisors=st.integers(1, 6), longest=24, ratios=ratios))
def test_the_limit_has_its_roots_inside_but_for_the_roots_of_unity(mix):
    # Lemmas 10 to 13, for any ratios of the inputs (Remark 2).
    count = count_unstable(mix.limit)
    assert (count.outside, count.on_circle) == (0, mix.decode_gcd - 1)
    assert count.evidence is Evidence.EXACT
    # those on the circle are the g-th roots of unity: 1 + z + ... + z^(g-1) divides A
    whole = characteristic_polynomial(mix.limit)
    assert whole % type(whole)([1] * mix.decode_gcd) == 0
    assert whole(1) > 0


# --- part 1: a common divisor ---------------------------------------------------------------------


@given(length_mixes(divisors=common_divisors, longest=18, ratios=ratios), input_lengths)
def test_a_common_divisor_is_unstable_at_every_input_length(mix, length):
    # All lengths at once, by the crossings; one of them by a count that knows nothing of those.
    least = mix.decode_gcd - 1
    found = input_threshold(mix)
    assert found.stable_windows == ()
    assert min(window.growing_modes for window in found.windows) >= least
    count = count_unstable(mix.weights(length))
    assert count.evidence is Evidence.EXACT
    assert count.outside >= least


@given(
    length_mixes(divisors=st.sampled_from((2, 4, 6)), longest=24, ratios=ratios),
    st.fractions(0, 10**5, max_denominator=9),
)
def test_an_even_divisor_has_a_mode_of_period_two_that_grows(mix, length):
    """So (1) holds at every input length for even g, as alpha is constant on blocks of g ages:

    with x = -1/z, (1 + x) F(z) / z^(d-1) is the sum over the ages s = 0, g, 2g, ... of

        x^s [V_s (1 - x^g) - alpha_s (x (1 + x^(g-1)) / (1 + x) + (g - 1) x^g)],

    V_0 > 0 at x = 0 and negative at x = 1 for any shares, ratios and inputs.
    """
    polynomial = characteristic_polynomial(mix.weights(length))
    sign = (-1) ** (mix.ages - 1)  # of F towards minus infinity
    assert sign * polynomial(-1) < 0


@given(length_mixes(divisors=common_divisors, longest=18), st.integers(0, 10**4))
def test_for_long_inputs_g_minus_1_modes_grow_and_the_others_decay(mix, more):
    # Lemma 15; "sufficiently large" is from the last crossing on.
    count = count_unstable(mix.weights(long_enough(mix) + more))
    assert (count.outside, count.on_circle) == (mix.decode_gcd - 1, 0)


@given(length_mixes(divisors=common_divisors, longest=18, ratios=ratios), st.integers(0, 10**5))
@example(LengthMix((2, 8), [Fraction(1, 33)], [Fraction(1, 4), 1]), 0)  # from 1,021
def test_growing_modes_are_roots_of_unity_pushed_out_by_one_over_the_input(mix, more):
    # |z| = 1 + Theta(1 / l0), with constants that serve all longer inputs (Theorem 14).
    length = max(long_enough(mix), 1000) + more
    rate = outward_rate(mix, length)
    assert rate.low is not None
    assert rate.high is not None
    assert rate.limit is not None
    assert 0 < rate.low <= rate.limit <= rate.high
    found = fk.growing_modes(mix.weights(length))
    assert found.complete
    scale, g = length + mix.ages, mix.decode_gcd
    turns = []
    for mode in found.modes:
        low, high = mode.modulus
        assert (low - 1) * scale <= rate.high
        assert (high - 1) * scale >= rate.low
        turns += [g / mode.period, -g / mode.period][: mode.multiplicity]
    # one at each root of unity: turns in g iterations, a hundredth of one from a whole number
    assert sorted(round(turn) % g for turn in turns) == list(range(1, g))
    assert all(abs(turn - round(turn)) < 0.01 for turn in turns)


@given(length_mixes(divisors=common_divisors), st.integers(1, 5000), positive_rationals, seeds)
def test_a_common_divisor_grows_at_the_certified_rates_and_periods(mix, length, capacity, seed):
    system = system_at(mix, length, capacity)
    weights = mix.weights(length)
    starts = fk.perturbed_starts(jax.random.key(seed), fk.cohort_model(system), count=3, size=1e-3)
    path, evicted = deviations(system, starts, 240)
    modes = fk.growing_modes(weights).modes
    assert modes
    for mode in modes:
        root = complex(mode.root.ball.mid())
        assert_moves_by(weights, root, path, evicted)
        assert abs(root) > 1
        assert mode.modulus[0] <= abs(root) <= mode.modulus[1]
        assert mode.period == pytest.approx(2 * math.pi / abs(np.angle(root)))


@given(length_mixes(divisors=common_divisors), st.integers(1, 2000), positive_rationals, seeds)
def test_a_common_divisor_leads_to_eviction_within_the_certified_time(mix, length, capacity, seed):
    # "Consequently ...": a cohort holds at most all memory, which bounds every projection; it
    # grows by |z| until something is evicted.
    system = system_at(mix, length, capacity)
    weights = mix.weights(length)
    starts = fk.perturbed_starts(jax.random.key(seed), fk.cohort_model(system), count=3, size=1e-3)
    mode = fk.growing_modes(weights).modes[0]
    along = left_vector(weights, complex(mode.root.ball.mid()))
    memory = np.array(weights.memory, float)
    most = np.abs(along) @ np.maximum(memory.sum() / memory - 1, 1)[:-1]
    rate = fk.cohort_model(system).equilibrium()[0, 0]
    first = np.abs((starts[:, 0] / rate - 1)[:, :-1] @ along)
    within = np.log(most / first) / math.log(mode.modulus[0])
    run = fk.convergence(system, starts, iterations=int(within.max()) + 1)
    assert (run.last_eviction > 0).all()
    assert not (run.outcome == RETURNED).any()


# --- part 2: coprime ------------------------------------------------------------------------------

coprime_mixes = length_mixes(divisors=st.just(1))


@given(length_mixes(divisors=st.just(1), longest=16, ratios=ratios), st.integers(0, 10**4))
def test_coprime_lengths_are_stable_for_long_inputs(mix, more):
    # Theorem 17, for any ratios of the inputs: there is a last crossing, and beyond it none grows.
    window = input_threshold(mix).windows[-1]
    assert window.stable
    assert window.last is None
    count = count_unstable(mix.weights(window.first + more))
    assert (count.outside, count.on_circle) == (0, 0)


@given(length_mixes(divisors=st.just(1), longest=16, classes=2), st.data())
def test_two_coprime_lengths_are_stable_exactly_from_the_threshold_on(mix, data):
    # The definition of l0_min, on both sides; `fk.stability` at any capacity says the same.
    least = input_threshold(mix).least
    assert least is not None
    length = data.draw(st.integers(1, 2 * least + 2))
    found = fk.stability(system_at(mix, length, data.draw(positive_rationals)))
    assert (found.verdict is Stability.STABLE) == (length >= least)
    assert found.decode_gcd == 1


def comfortable(mix, more):
    """An input length beyond the threshold by a quarter at least, so that modes decay visibly."""
    least = long_enough(mix)
    return least + (least + mix.ages) // 4 + 1 + more


@given(coprime_mixes, st.integers(0, 5000), positive_rationals, seeds)
def test_small_perturbations_of_coprime_lengths_decay_as_certified(mix, more, capacity, seed):
    """yPy falls by |y|^2 an iteration, so by 1 - 1 / C_P at least, and |y|^2 <= yPy <= C_P |y|^2.

    That says after how many iterations a thousandth is left.
    """
    length = comfortable(mix, more)
    system, weights = system_at(mix, length, capacity), mix.weights(length)
    found = lyapunov(weights)
    most = float(found.norm.upper())
    size = 0.01 * weights.memory[0] / sum(weights.memory) / math.sqrt(most)
    starts = fk.perturbed_starts(jax.random.key(seed), fk.cohort_model(system), count=3, size=size)
    path, evicted = deviations(system, starts, 240)
    assert not evicted.any()
    energy = np.einsum("bns,st,bnt->bn", path, np.array(found.matrix, float), path)
    square = np.einsum("bns,bns->bn", path, path)
    # roundings of an admission (`assert_moves_by`) and of both forms, d^2 terms each
    admission = 2 * (mix.ages + 9) * EPS * sum(weights.memory) / weights.memory[0]
    rounding = most * (
        4 * np.sqrt(square) * admission + admission**2 + 4 * mix.ages**2 * EPS * square
    )
    off = energy[:, 1:] - (energy - square)[:, :-1]
    assert (np.abs(off) <= rounding[:, 1:] + rounding[:, :-1]).all()
    assert (square[:, 0] > 100 * rounding[:, 0]).any()
    for mode in leading(weights):
        assert_moves_by(weights, mode, path, evicted)
    enough = math.ceil(most * math.log(1e6 * most * mix.ages))
    run = fk.convergence(system, starts, iterations=enough, radius=size / 1000)
    assert (run.outcome == RETURNED).all()
    assert (run.last_eviction == 0).all()


def leading(weights):
    """The certified leading root, if it is one alone."""
    return [complex(r.ball.mid()) for r in fk.exact.certify_spectrum(weights).leading]


@given(coprime_mixes, st.integers(0, 5000), positive_rationals, seeds)
def test_all_starts_of_coprime_lengths_return(mix, more, capacity, seed):
    # Part 2 itself: bursts, sparse starts, near-pulses, uniform ones, memory to spare.
    system = system_at(mix, comfortable(mix, more), capacity)
    families = start_families(jax.random.key(seed), system, count=8)
    run = fk.convergence(system, np.concatenate(list(families.values())), iterations=200_000)
    assert (run.outcome == RETURNED).all()


# --- between the two: exact rows ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "share", "length", "growing", "neutral", "beyond"),
    [  # of a few pairs, where a root is on the circle at a whole input length
        ((1, 2), Fraction(1, 2), 0, 0, 1, 0),
        ((1, 2), Fraction(1, 10), 8, 0, 1, 0),
        ((1, 3), Fraction(2, 5), 2, 0, 2, 0),
        ((2, 3), Fraction(1, 2), 1, 0, 2, 0),
        ((2, 3), Fraction(1, 10), 17, 0, 2, 0),
        ((2, 3), Fraction(9, 10), 7, 0, 1, 0),
        ((3, 4), Fraction(1, 2), 0, 2, 1, 2),
        ((2, 5), Fraction(4, 5), 1, 1, 1, 0),
        ((2, 5), Fraction(9, 10), 6, 0, 1, 0),
        ((2, 7), Fraction(4, 5), 0, 1, 1, 2),  # -1 goes out as inputs grow
        ((4, 5), Fraction(3, 5), 0, 2, 2, 2),
        ((8, 9), Fraction(9, 10), 31, 6, 1, 6),
        ((3, 6), Fraction(1, 2), 1, 2, 1, 2),  # a divisor: g - 1 grow, and -1 is on the circle
        ((6, 9), Fraction(9, 10), 22, 2, 1, 2),
    ],
)
def test_on_the_circle_nothing_is_claimed_and_a_token_away_all_is(
    pair, share, length, growing, neutral, beyond
):
    mix = LengthMix(pair, [share])
    count = count_unstable(mix.weights(length))
    assert (count.outside, count.on_circle, count.evidence) == (growing, neutral, Evidence.EXACT)
    longer = count_unstable(mix.weights(length + 1))
    assert (longer.outside, longer.on_circle) == (beyond, 0)
    if length:
        assert count_unstable(mix.weights(length - 1)).on_circle == 0
        verdict = fk.stability(system_at(mix, length, 1)).verdict
        assert verdict is (Stability.UNSTABLE if growing else Stability.UNDECIDED)


@pytest.mark.parametrize(
    ("pair", "share", "least", "growing"),
    [
        ((1, 2), Fraction(1, 2), 1, 0),
        ((2, 3), Fraction(1, 2), 2, 0),
        ((2, 3), Fraction(9, 10), 8, 0),
        ((1, 6), Fraction(1, 2), 10, 2),
        ((2, 7), HALF, 18, 2),
        ((5, 9), HALF, 65, 2),
        ((11, 12), HALF, 299, 2),
    ],
)
def test_threshold_inputs_of_pairs(pair, share, least, growing):
    # One token below some grow, or stand on the circle.
    mix = LengthMix(pair, [share])
    assert input_threshold(mix).least == least
    at, below = count_unstable(mix.weights(least)), count_unstable(mix.weights(least - 1))
    assert (at.outside, at.on_circle) == (0, 0)
    assert below.outside == growing
    assert growing or below.on_circle


@pytest.mark.parametrize("push", [Fraction(1, 100), Fraction(-1, 7)])
def test_two_modes_on_the_circle_neither_grow_nor_decay(push):
    # (2, 3), p = 1/2, l0 = 1: F = 2 z^2 + 3 z + 2, and this form of two admissions is kept.
    system = fk.System(two_lengths(2, 3, HALF).workload(1), Fraction(7))
    dynamics = CohortMap(system)
    first, second = 1 + push, Fraction(1)
    state = (first, second, (7 - 2 * first - 3 * second) / 2)
    a, b = push, Fraction(0)
    form = a * a + Fraction(3, 2) * a * b + b * b
    for _ in range(100):
        front, state = dynamics.step(state)
        a, b = state[0] - 1, state[1] - 1
        assert front == 0
        assert a * a + Fraction(3, 2) * a * b + b * b == form


def test_a_mode_at_minus_one_repeats_after_two_iterations():
    # (1, 2), p = 1/10, l0 = 8: V = 9, 9, so that admissions swap places for ever.
    system = fk.System(two_lengths(1, 2, Fraction(1, 10)).workload(8), Fraction(18))
    _, states = CohortMap(system).run((Fraction(3, 2), Fraction(1, 2)), 4)
    assert states[2] == states[0] == (Fraction(3, 2), Fraction(1, 2))
    assert states[1] == (Fraction(1, 2), Fraction(3, 2))


def test_a_tie_admits_nothing_evicts_nothing_and_returns():
    # (2, 3), p = 1/2, l0 = 20: execution leaves memory exactly full.
    system = fk.System(two_lengths(2, 3, HALF).workload(20), Fraction(253))
    dynamics = CohortMap(system)
    start = (Fraction(23, 2), Fraction(0), Fraction(1))
    step = iterate(system, dynamics.masses(start))
    assert memory_used(system, step.executed) == 253
    assert not any(x for row in step.evicted for x in row)
    assert not any(step.admitted)
    assert dynamics.step(start) == (0, (0, Fraction(23, 2), 0))
    found = fk.convergence(system, [[float(y) for y in start]], iterations=600)
    assert found.outcome.item() == RETURNED
