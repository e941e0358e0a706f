"""Congestion, Lemma 30, Proposition 31 and section 4.2: the pulse cycle, who settles on it."""

import math
from fractions import Fraction
from itertools import product

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import equals, holds_for, sampled, verdict
from fluidkv.papers.congestion.instances.pulse_cases import (
    INPUTS,
    RANGE,
    cases,
    named,
    pair_system,
    pairs,
    printed_orbit,
    printed_throughput,
    pulse_claim,
    weights,
)
from fluidkv.verdict import Evidence, Verdict

# --- Lemma 30 ------------------------------------------------------------------------------------


def _cohorts_stay() -> Outcome:
    """Twenty iterations of the literal model from uneven cohorts that fill memory."""
    from fluidkv.exact.mass import iterate, memory_used

    bad, count = None, 0
    for a, b, l0, q, m in cases():
        if bad or b > 6:
            break
        system = pair_system(a, b, l0, q, m)
        state = [
            [share * Fraction((5 * j * j + 3) % 7) for j in range(n)]
            for share, n in ((1 - q, a), (q, b))
        ]
        used = memory_used(system, state)
        state = [[x * m / used for x in row] for row in state]
        for _ in range(20):
            state = iterate(system, state).state
            y = [x / q for x in state[1]]
            proportional = [(1 - q) * x for x in y[:a]] == state[0]
            held = sum((v * x for v, x in zip(weights(a, b, l0, q), y, strict=True)), Fraction(0))
            if not proportional or held != m:
                bad = named(a, b, l0, q, m)
        count += 1
    return sampled(bad, f"{count} systems, 20 iterations each", "x_1j = p y_j, x_2j = q y_j")


def _cohorts_from_any_start() -> Outcome:
    from fluidkv.exact.mass import iterate

    half = Fraction(1, 2)
    system = pair_system(4, 6, 50, half, 626)
    state = [[Fraction(0)] * 4, [Fraction(1)] * 6]
    off = []
    for n in range(1, 13):
        state = iterate(system, state).state
        if state[0] != state[1][:4]:
            off.append(n)
    return Outcome(
        verdict(not off),
        Evidence.EXACT,
        ours=f"not proportional at n = {off[0]} ... {off[-1]}, proportional from {off[-1] + 1} on",
        paper="the class-stage process admits the representation",
        note="The induction of C.23 needs a proportional start. Lemma 9 has the delay of up to b "
        "iterations that other starts need.",
        witness="(4, 6), l0 = 50, q = 1/2, M = 626: one request of the longer class at each "
        "stage, none of the shorter",
    )


# --- Proposition 31 ------------------------------------------------------------------------------


def _closes() -> Outcome:
    """The printed states, run class by class in the literal model; the record agrees with them."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle

    bad, count = None, 0
    for a, b, l0, q, m in cases():
        system = pair_system(a, b, l0, q, m)
        beta, alphas, states = printed_orbit(a, b, l0, q, m)
        for state, following in zip(states, [*states[1:], states[0]], strict=True):
            step = iterate(system, [[(1 - q) * y for y in state[:a]], [q * y for y in state]])
            if step.state != [[(1 - q) * y for y in following[:a]], [q * y for y in following]]:
                bad = bad or named(a, b, l0, q, m)
        cycle = pulse_cycle(system)
        if (tuple(states), beta) != (tuple(cycle.states()), cycle.settled_mass):
            raise ArithmeticError("the printed states are not those of pulse_cycle")
        if len(set(states)) != math.gcd(a, b) or alphas != sorted(set(alphas), reverse=True):
            bad = bad or named(a, b, l0, q, m)
        count += 1
    return sampled(bad, f"{count} orbits of period g, alpha_r falling strictly", "exact orbit")


def _throughput_formula() -> Outcome:
    """Completions counted in the literal model against the printed closed form."""
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle, verify_pulse_cycle

    bad, count = None, 0
    for a, b, l0, q, m in cases():
        if l0 not in (1, 50):
            continue
        cycle = pulse_cycle(pair_system(a, b, l0, q, m))
        right = verify_pulse_cycle(cycle) and cycle.throughput == printed_throughput(a, b, l0, q, m)
        bad = bad or (None if right else named(a, b, l0, q, m))
        count += 1
    return sampled(bad, f"{count} systems, completions counted", "2M / (a(2 l0+a+g) + ...)")


def _sum_identity() -> Outcome:
    """Both sides are polynomials of degree one in l0 and in q: four points of each prove them."""
    bad = None
    points = list(product((0, 1), (Fraction(0), Fraction(1))))
    for (a, b), (l0, q) in product(pairs(60), points):
        g = math.gcd(a, b)
        right = a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g)
        if sum(weights(a, b, l0, q)[g - 1 :: g]) != Fraction(right) / (2 * g):
            bad = bad or f"(a, b) = ({a}, {b})"
    return holds_for(
        bad,
        ours=f"equal for all {sum(1 for _ in pairs(60))} pairs up to 60, all l0 and q",
        paper="sum of V_{g-1+mg} = (a(2 l0+a+g) + q(b-a)(2 l0+a+b+g)) / 2g",
        evidence=Evidence.SAMPLED,
    )


def _difference_identity() -> Outcome:
    """alpha_r - alpha_{r+1} and S_r = S_0 + c r as in the proof."""
    bad = None
    for a, b, l0, q, m in cases():
        g, u, v = math.gcd(a, b), l0 + 1, weights(a, b, l0, q)
        beta, alphas, _ = printed_orbit(a, b, l0, q, m)
        c = Fraction(a, g) - 1 + q * (Fraction(b, g) - Fraction(a, g))
        older = [sum(v[r + g :: g]) for r in range(g)]
        for r in range(g - 1):
            fall = (m - beta * older[0] + beta * c * u) / ((u + r) * (u + r + 1))
            if older[r] != older[0] + c * r or alphas[r] - alphas[r + 1] != fall or fall <= 0:
                bad = bad or named(a, b, l0, q, m)
    return sampled(bad, "equal and positive in all cases", "(M - beta S_0 + beta c u) / ...")


def _papers_pair() -> Outcome:
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle, verify_pulse_cycle

    cycle = pulse_cycle(pair_system(2, 4, 50, Fraction(1, 2), 626))
    if not verify_pulse_cycle(cycle):
        raise ArithmeticError("the pulse cycle does not close")
    return equals(
        cycle.throughput, str(printed_throughput(2, 4, 50, Fraction(1, 2), Fraction(626)))
    )


# --- section 4.2 ---------------------------------------------------------------------------------


def _settles() -> Outcome:
    """From small deviations of x*, exact: onto the ages of one pulse, then by -27/52 a period."""
    from fluidkv.exact.mixed.cycles.orbits import CohortMap
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle

    system = pair_system(2, 4, 50, Fraction(1, 2), 626)
    cycle, dynamics = pulse_cycle(system), CohortMap(system)
    v, (target, *_) = dynamics.weights, cycle.states()
    bad, latest = None, 0
    for push in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 2, 1), (1, 1, 1)):
        start = [4 + Fraction(k, 50) for k in push]
        held = sum((w * y for w, y in zip(v, start, strict=False)), Fraction(0))
        state, n = (*start, (626 - held) / v[3]), 0
        while not (state[1] == state[3] == 0 and state[2]) and n < 2000:
            state, n = dynamics.step(state)[1], n + 1
        latest = max(latest, n)
        # On the pulse's ages with the pulse's fronts the map is affine; the rest is its multiplier.
        for _ in range(3):
            deviation = state[2] - target[2]
            fronts, states = dynamics.run(state, 2)
            state = states[-1]
            if fronts != [1, 0] or state[2] - target[2] != Fraction(-27, 52) * deviation:
                bad = bad or f"start {', '.join(map(str, start))}"
    return sampled(
        bad,
        f"on the ages of one pulse after at most {latest} iterations, then the distance shrinks "
        "by 27/52 every 2",
        "the post-exit dynamics settle into a period-g limit cycle with recurrent evictions",
        note="Proposition 32 proves attraction from near by only. The five starts are small "
        "deviations from x*, in exact arithmetic, for the pair of Example 5. With other shares it "
        "need not be so: for q above (l0 + 2)/(l0 + 4) nothing settles on the pulse cycle.",
    )


def _always_settles() -> Outcome:
    """Read as a statement about non-coprime pairs: an orbit of period 2g that attracts instead."""
    from fluidkv.exact.mixed.cycles.orbits import periodic_orbit
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability

    system = pair_system(2, 4, 1, Fraction(4, 5), 18)
    cycle = pulse_cycle(system)
    orbit = periodic_orbit(system, [0.0, 0.0, 3.6, 0.0], period=4)
    if orbit is None or not orbit.attracts:
        raise ArithmeticError("the orbit of period 4 was not confirmed")
    stable = pulse_stability(cycle).verdict
    return Outcome(
        verdict(stable == "stable"),
        Evidence.EXACT,
        ours=f"pulse cycle {stable}; an orbit of period {orbit.period} attracts, throughput "
        f"{float(orbit.share_of_best):.4f} x* (pulse {float(cycle.share_of_best):.4f} x*)",
        paper="period-g limit cycle",
        witness="(2, 4), l0 = 1, q = 4/5",
    )


CLAIMS = (
    pulse_claim(
        "lemma-30.representation",
        "From a proportional start one vector y carries both classes, with weights V.",
        "Lemma 30",
        _cohorts_stay,
        "lemma",
        "all such systems with b <= 6 among those of Proposition 31",
    ),
    pulse_claim(
        "lemma-30.any-start",
        "The class-stage process admits the representation, whatever the start.",
        "Lemma 30, read without its induction's start",
        _cohorts_from_any_start,
        "lemma",
        "one start",
        Verdict.FAILS,
    ),
    pulse_claim(
        "proposition-31.orbit",
        "The states Z^(r) are an orbit of period g, each with a smaller youngest cohort.",
        "Proposition 31",
        _closes,
        "proposition",
    ),
    pulse_claim(
        "proposition-31.throughput",
        "Its throughput is 2M / (a(2 l0+a+g) + q(b-a)(2 l0+a+b+g)).",
        "Proposition 31",
        _throughput_formula,
        "proposition",
        RANGE.replace(str(INPUTS), "(1, 50)"),
    ),
    pulse_claim(
        "proposition-31.sum",
        "The memory of the settled cohorts at the end of a period has the printed closed form.",
        "Proposition 31, proof",
        _sum_identity,
        "proposition",
        "all a < b <= 60 with gcd > 1; both sides are bilinear in l0 and q",
    ),
    pulse_claim(
        "proposition-31.drop",
        "The youngest cohort's loss at each phase has the printed closed form and is positive.",
        "Proposition 31, proof",
        _difference_identity,
        "proposition",
    ),
    pulse_claim(
        "proposition-31.pair-2-4",
        "For (2, 4), l0 = 50, q = 1/2 and M = 626 the formula gives the model's throughput.",
        "Proposition 31 at the pair of Example 5",
        _papers_pair,
        "proposition",
        "that system",
    ),
    pulse_claim(
        "section-4-2.pulse.settles",
        "After the exit, the dynamics of a non-coprime pair settle into a cycle of period g.",
        "section 4.2 with section B.10, for the pair (2, 4) of Example 5",
        _settles,
        "remark",
        "five starts near x*",
    ),
    pulse_claim(
        "section-4-2.pulse.every-pair",
        "After the exit, non-coprime pairs settle into a cycle of period g.",
        "section 4.2 with section B.10, read as a statement about every pair, l0 and q",
        _always_settles,
        "remark",
        "one pair",
        Verdict.FAILS,
    ),
)
