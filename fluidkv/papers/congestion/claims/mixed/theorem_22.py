"""Congestion, the proof of Theorem 22 (B.6.4) and B.8.6: no eviction inside N, entry, rate.

Global convergence itself is another claim; here and in `energy_descent` are the statements that it
is put together from.
"""

from fractions import Fraction
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import (
    HALF,
    RANGE,
    SAMPLE,
    cases,
    cohort_starts,
    coprime_mixes,
    energies,
    neighbourhood_of,
    rational,
    square,
    trajectories,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.mixed.nearby.neighbourhood import Neighbourhood


# --- step 1: no eviction inside N -----------------------------------------------------------------


def _no_eviction_inside() -> Outcome:
    """delta^2 against the level from which on a state could evict, in rationals."""
    bad, factors = None, []
    for mix, L, found in cases():
        level = rational(found.eviction_level)
        factors.append(level / found.delta_squared)
        if not level > found.delta_squared:
            bad = bad or f"{mix.decode_lengths}, L = {L}"
    return holds_for(
        bad,
        evidence=Evidence.SAMPLED,
        ours=f"the sharp level is {float(min(factors)):.0f} to {float(max(factors)):.0f} times "
        "delta^2",
        paper="no eviction where L(y) < delta^2",
        note="max v^T y over L(y) <= c is sqrt(c v^T P^-1 v), so eviction is excluded up to "
        "c = (V_0 x*)^2 / (v^T P^-1 v) and, off the memory boundary, no further.",
    )


def _size_of_step_1() -> Outcome:
    """From which l0 on the printed estimates hold: V_0 x* against M/(2 kappa) and M/(4 kappa).

    With W = sum of p_k l1_k (l1_k + 1)/2, V_0 x* = (l0+1) M / (kappa l0 + W).
    """
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.nearby.neighbourhood import neighbourhood
    from fluidkv.workload import System

    mixes = [mix for mix, _ in coprime_mixes() if mix.common_input]
    mixes.append(two_lengths(1, 30, Fraction(9, 10)))
    bad, shown = None, []
    for mix in mixes:
        pairs = list(zip(mix.shares, mix.decode_lengths, strict=True))
        kappa = sum((p * n for p, n in pairs), Fraction(0))
        W = sum((p * n * (n + 1) / 2 for p, n in pairs), Fraction(0))
        first = {}
        for l0 in range(1, 16):
            found = neighbourhood(System(mix.workload(l0), 1000 * l0))
            M = found.system.capacity
            printed = found.margin >= M / (2 * kappa), found.margin >= M / (4 * kappa)
            ours = kappa * l0 >= W - 2 * kappa, 3 * kappa * l0 >= W - 4 * kappa
            if printed != ours:
                bad = bad or f"{mix.decode_lengths}, l0 = {l0}"
            sharp = rational(found.ball_squared) >= found.delta_squared
            for name, true in zip(("printed", "enough", "sharp"), (*printed, sharp), strict=True):
                if true:
                    first.setdefault(name, l0)
        shown.append(
            f"{mix.decode_lengths}: {first['printed']}, {first['enough']}, {first['sharp']}"
        )
    return holds_for(
        bad,
        evidence=Evidence.SAMPLED,
        ours="smallest l0 for the printed estimate, for V_0 x* >= C_2 l0 delta, and for no "
        f"eviction where ||y|| <= delta: {'; '.join(shown)}",
        paper="for sufficiently large l0",
        note="Exactly from kappa l0 >= W - 2 kappa and 3 kappa l0 >= W - 4 kappa on, with "
        "W = sum of p_k l1_k (l1_k + 1)/2.",
    )


# --- steps 3 to 5: entry, invariance, rate --------------------------------------------------------


def _entry_bound() -> Outcome:
    """The first n with L < delta^2 against 2 C_P^2 M_y^2 / delta^2, M_y from the trajectory."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.nearby.neighbourhood import entry_time
    from fluidkv.exact.mixed.nearby.transition import cohort_iterates

    bad, latest, least = None, 0, float("inf")
    for l0 in (2, 10, 100, 1000):
        found = neighbourhood_of(two_lengths(2, 3, HALF), l0)
        for start in cohort_starts(found.system, 10):
            path = list(islice(cohort_iterates(found.system, start), 61))
            time = entry_time([found.energy(now.deviation) for now in path], found.delta_squared)
            largest = float(max(square(now.deviation) for now in path))
            norm = float(found.lyapunov.norm.mid())
            bound = 2 * norm**2 * largest / float(found.delta_squared)
            if time is None or time > bound:
                bad = bad or f"l0 = {l0}, start {start}: {time}"
            else:
                latest, least = max(latest, time), min(least, bound)
    return sampled(
        bad,
        f"entry at n = {latest} at the latest; the bound is {least:.0f} or more",
        "entry within 2 C_P^2 M_y^2 / delta^2 iterations",
    )


def _invariance() -> Outcome:
    """Every visit to N, and to the sharp level: no eviction, L falls by ||y||^2, never left."""
    bad, visits = None, 0
    for mix, L, found in cases():
        level = rational(found.eviction_level)
        for path, levels in zip(trajectories(mix, L), energies(mix, L), strict=True):
            inside = False
            for n, (before, now) in enumerate(pairwise(path)):
                inside = inside or levels[n] < level
                if not inside:
                    continue
                visits += 1
                falls = levels[n] - levels[n + 1] == square(before.deviation)
                if any(now.perturbation) or not falls or levels[n + 1] >= level:
                    bad = bad or f"{mix.decode_lengths}, L = {L}, n = {n + 1}"
    return sampled(
        bad,
        f"{visits} iterations inside the sharp level, which holds N",
        "once inside, the system remains in N",
        note="Proved by the identity of step 2 wherever delta^2 is below the sharp level "
        "(theorem-22.no-eviction-inside); this is the literal model.",
    )


def _rate() -> Outcome:
    """L(y^n) <= (1 - 1/C_P) L(y^{n-1}) where nothing is evicted, with C_P rounded down."""
    bad, worst = None, 0.0
    for mix, L, found in cases():
        low = Fraction(int(float(found.lyapunov.norm.lower()) * 2**20), 2**20)
        for path, levels in zip(trajectories(mix, L), energies(mix, L), strict=True):
            for n, now in enumerate(path[1:]):
                if now.evicted or not levels[n]:
                    continue
                ratio = levels[n + 1] / levels[n]
                worst = max(worst, float(ratio) / float(1 - 1 / low))
                if ratio > 1 - 1 / low:
                    bad = bad or f"{mix.decode_lengths}, L = {L}, n = {n + 1}"
    return sampled(
        bad,
        f"at most {worst:.4f} of 1 - 1/C_P without eviction",
        "L(y^n) <= (1 - 1/C_P) L(y^{n-1})",
    )


# --- B.8.6 ----------------------------------------------------------------------------------------


def _ball() -> Outcome:
    """The largest ball that excludes eviction at once: does eviction stay away ever after?

    From a state of the ball on the memory boundary the memory after the shift deviates, k
    iterations on, by v^T Phi^k y. Its largest value over the ball is r times the norm of
    (Phi^T)^k v, less its part along V; r ||v|| is the margin. Once the energy of all of the ball
    is below the sharp level, k needs to go no further.
    """
    from flint import arb, fmpq, fmpq_mat

    from fluidkv.exact.mixed.nearby.lyapunov import largest_eigenvalue
    from fluidkv.exact.mixed.nearby.transition import transition_matrix

    bad, steps, growth = None, [], 0.0
    for mix, L in _away_from_threshold():
        found = neighbourhood_of(mix, L)
        weights = found.lyapunov.weights
        phi, P = transition_matrix(weights), found.lyapunov.flint
        memory = [Fraction(v, weights.denominator) for v in weights.memory]
        shifted = [*memory[1:], Fraction(0)]
        row = fmpq_mat(1, mix.ages, [fmpq(v.numerator, v.denominator) for v in shifted])
        radius = rational(found.ball_squared)
        level = rational(found.eviction_level) / radius
        power, k, closed = fmpq_mat(phi), 1, False
        while not closed and k <= _MOST_STEPS:
            u = [Fraction(int(x.p), int(x.q)) for x in (row * power).entries()]
            part = sum((a * b for a, b in zip(u, memory, strict=True)), Fraction(0))
            if square(u) - part**2 / square(memory) > square(shifted):
                bad = bad or f"{mix.decode_lengths}, L = {L}, k = {k}"
            energy = largest_eigenvalue(power.transpose() * P * power)
            closed = bool(energy < arb(fmpq(level.numerator, level.denominator)))
            power, k = power * phi, k + 1
        if not closed:
            bad = bad or f"{mix.decode_lengths}, L = {L}: not closed in {_MOST_STEPS} iterations"
        steps.append(k - 1)
        growth = max(growth, _growth(found))
    return holds_for(
        bad,
        ours=f"no state of the ball evicts later; decided in {min(steps)} to {max(steps)} "
        "iterations",
        paper="thereafter e^n = 0",
        evidence=Evidence.SAMPLED,
        note=f"B.8.6 passes over that the ball can be left again: ||y|| grows by {growth:.3f} from "
        "some state on the memory boundary within 4 iterations. Eviction stays away all the same. "
        "The sublevel set of B.6.4 cannot be left.",
    )


_MOST_STEPS = 100


def _away_from_threshold() -> list[tuple["LengthMix", int]]:
    """Twice and eight times the smallest l0: nearer to the threshold decay takes long to show."""
    return [(mix, least * scale) for mix, least in coprime_mixes() for scale in (2, 8)]


def _growth(found: "Neighbourhood") -> float:
    """A lower bound on max ||Phi^k y|| / ||y||, k <= 4, on the boundary: two cohorts off."""
    from fluidkv.exact.mixed.nearby.transition import transition

    weights, best = found.lyapunov.weights, Fraction(0)
    for s in range(weights.ages - 1):
        y = [Fraction(0)] * weights.ages
        y[s], y[s + 1] = Fraction(1), -Fraction(weights.memory[s], weights.memory[s + 1])
        size = square(y)
        for _ in range(4):
            y = list(transition(weights, y))
            best = max(best, square(y) / size)
    return float(best) ** 0.5


_THREE = f"{RANGE}; three L each"

CLAIMS = (
    congestion(
        "theorem-22.no-eviction-inside",
        "No request is evicted from a state with L(y) < delta^2.",
        "Theorem 22, proof, first step, and B.8.6",
        _no_eviction_inside,
        kind="theorem",
        checked=f"{SAMPLE}; three L each",
    ),
    congestion(
        "theorem-22.first-step-size",
        "The estimates of the first step hold for sufficiently large l0.",
        "Theorem 22, proof, first step",
        _size_of_step_1,
        kind="theorem",
        checked="four mixes with a common input, l0 = 1 ... 15",
    ),
    congestion(
        "theorem-22.entry",
        "The energy is below delta^2 within 2 C_P^2 M_y^2 / delta^2 iterations.",
        "Theorem 22, proof, third step",
        _entry_bound,
        kind="theorem",
        checked="decode lengths 2 and 3, equal shares, four l0, 10 starts each",
    ),
    congestion(
        "theorem-22.invariance",
        "Once inside N, no request is evicted, L falls by ||y||^2 and the system remains in N.",
        "Theorem 22, proof, fourth step",
        _invariance,
        kind="theorem",
        checked=_THREE,
    ),
    congestion(
        "theorem-22.rate",
        "Inside N the energy is multiplied by at most 1 - 1/C_P an iteration.",
        "Theorem 22, proof, fifth step",
        _rate,
        kind="theorem",
        checked=_THREE,
    ),
    congestion(
        "b-8-6.ball",
        "Once ||y|| is below a delta that rules out eviction, no request is evicted ever after.",
        "B.8.6",
        _ball,
        kind="theorem",
        checked=f"{SAMPLE}; at 2 and 8 times the smallest l0 of each",
    ),
)
