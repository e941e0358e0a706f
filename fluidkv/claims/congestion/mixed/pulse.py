"""Congestion, section B.10: Lemma 30, Propositions 31 and 32, Corollary 33, Example 12."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import equals, holds_for, sampled, verdict
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.workload import System

_LONGEST = 10
_INPUTS = (1, 2, 7, 50)
_SHARES = tuple(Fraction(q) for q in ("1/100", "1/3", "1/2", "4/5", "99/100"))
_RANGE = f"all a < b <= {_LONGEST} with gcd > 1, l0 in {_INPUTS}, q in 1/100 ... 99/100, M of two"


def _pairs(longest: int = _LONGEST) -> Iterator[tuple[int, int]]:
    """a < b with a common divisor, shortest b first."""
    return (
        (a, b) for b in range(2, longest + 1) for a in range(1, b) if math.gcd(a, b) > 1
    )  # fmt: skip


def _system(a: int, b: int, input_length: int, q: Fraction, capacity: Fraction | int) -> "System":
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.workload import System

    return System(two_lengths(a, b, 1 - q).workload(input_length), capacity)


def _cases() -> Iterator[tuple[int, int, int, Fraction, Fraction]]:
    """(a, b, l0, q, M), M once just above the largest request and once large."""
    for (a, b), l0, q in product(_pairs(), _INPUTS, _SHARES):
        yield a, b, l0, q, l0 + b + Fraction(1, 3)
    for a, b in _pairs():
        yield a, b, 50, Fraction(1, 2), Fraction(10**6)


def _named(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> str:
    return f"(a, b) = ({a}, {b}), l0 = {l0}, q = {q}, M = {m}"


# --- the printed formulas, written out -----------------------------------------------------------


def _weights(a: int, b: int, l0: int, q: Fraction) -> list[Fraction]:
    """V of Lemma 30."""
    return [(l0 + 1 + j) * (Fraction(1) if j < a else q) for j in range(b)]


def _orbit(
    a: int, b: int, l0: int, q: Fraction, m: Fraction
) -> tuple[Fraction, list[Fraction], list[tuple[Fraction, ...]]]:
    """beta, alpha_r and Z^(r) of Proposition 31."""
    g = math.gcd(a, b)
    v = _weights(a, b, l0, q)
    beta = m / sum(v[g - 1 :: g])
    alphas = [(m - beta * sum(v[r + g :: g])) / v[r] for r in range(g)]
    states = []
    for r, alpha in enumerate(alphas):
        state = [beta if j % g == r else Fraction(0) for j in range(b)]
        state[r] = alpha
        states.append(tuple(state))
    return beta, alphas, states


def _throughput(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> Fraction:
    g = math.gcd(a, b)
    return 2 * m / (a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g))


# --- Lemma 30 ------------------------------------------------------------------------------------


def _cohorts_stay() -> Outcome:
    """Twenty iterations of the literal model from uneven cohorts that fill memory."""
    from fluidkv.exact.mass import iterate, memory_used

    bad, count = None, 0
    for a, b, l0, q, m in _cases():
        if bad or b > 6:
            break
        system = _system(a, b, l0, q, m)
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
            held = sum((v * x for v, x in zip(_weights(a, b, l0, q), y, strict=True)), Fraction(0))
            if not proportional or held != m:
                bad = _named(a, b, l0, q, m)
        count += 1
    return sampled(bad, f"{count} systems, 20 iterations each", "x_1j = p y_j, x_2j = q y_j")


def _cohorts_from_any_start() -> Outcome:
    from fluidkv.exact.mass import iterate

    half = Fraction(1, 2)
    system = _system(4, 6, 50, half, 626)
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
    from fluidkv.exact.mixed.pulse import pulse_cycle

    bad, count = None, 0
    for a, b, l0, q, m in _cases():
        system = _system(a, b, l0, q, m)
        beta, alphas, states = _orbit(a, b, l0, q, m)
        for state, following in zip(states, [*states[1:], states[0]], strict=True):
            step = iterate(system, [[(1 - q) * y for y in state[:a]], [q * y for y in state]])
            if step.state != [[(1 - q) * y for y in following[:a]], [q * y for y in following]]:
                bad = bad or _named(a, b, l0, q, m)
        cycle = pulse_cycle(system)
        if (tuple(states), beta) != (tuple(cycle.states()), cycle.settled_mass):
            raise ArithmeticError("the printed states are not those of pulse_cycle")
        if len(set(states)) != math.gcd(a, b) or alphas != sorted(set(alphas), reverse=True):
            bad = bad or _named(a, b, l0, q, m)
        count += 1
    return sampled(bad, f"{count} orbits of period g, alpha_r falling strictly", "exact orbit")


def _throughput_formula() -> Outcome:
    """Completions counted in the literal model against the printed closed form."""
    from fluidkv.exact.mixed.pulse import pulse_cycle, verify_pulse_cycle

    bad, count = None, 0
    for a, b, l0, q, m in _cases():
        if l0 not in (1, 50):
            continue
        cycle = pulse_cycle(_system(a, b, l0, q, m))
        right = verify_pulse_cycle(cycle) and cycle.throughput == _throughput(a, b, l0, q, m)
        bad = bad or (None if right else _named(a, b, l0, q, m))
        count += 1
    return sampled(bad, f"{count} systems, completions counted", "2M / (a(2 l0+a+g) + ...)")


def _sum_identity() -> Outcome:
    """Both sides are polynomials of degree one in l0 and in q: four points of each prove them."""
    bad = None
    points = list(product((0, 1), (Fraction(0), Fraction(1))))
    for (a, b), (l0, q) in product(_pairs(60), points):
        g = math.gcd(a, b)
        right = a * (2 * l0 + a + g) + q * (b - a) * (2 * l0 + a + b + g)
        if sum(_weights(a, b, l0, q)[g - 1 :: g]) != Fraction(right) / (2 * g):
            bad = bad or f"(a, b) = ({a}, {b})"
    return holds_for(
        bad,
        ours=f"equal for all {sum(1 for _ in _pairs(60))} pairs up to 60, all l0 and q",
        paper="sum of V_{g-1+mg} = (a(2 l0+a+g) + q(b-a)(2 l0+a+b+g)) / 2g",
        evidence=Evidence.SAMPLED,
    )


def _difference_identity() -> Outcome:
    """alpha_r - alpha_{r+1} and S_r = S_0 + c r as in the proof."""
    bad = None
    for a, b, l0, q, m in _cases():
        g, u, v = math.gcd(a, b), l0 + 1, _weights(a, b, l0, q)
        beta, alphas, _ = _orbit(a, b, l0, q, m)
        c = Fraction(a, g) - 1 + q * (Fraction(b, g) - Fraction(a, g))
        older = [sum(v[r + g :: g]) for r in range(g)]
        for r in range(g - 1):
            fall = (m - beta * older[0] + beta * c * u) / ((u + r) * (u + r + 1))
            if older[r] != older[0] + c * r or alphas[r] - alphas[r + 1] != fall or fall <= 0:
                bad = bad or _named(a, b, l0, q, m)
    return sampled(bad, "equal and positive in all cases", "(M - beta S_0 + beta c u) / ...")


def _papers_pair() -> Outcome:
    from fluidkv.exact.mixed.pulse import pulse_cycle, verify_pulse_cycle

    cycle = pulse_cycle(_system(2, 4, 50, Fraction(1, 2), 626))
    if not verify_pulse_cycle(cycle):
        raise ArithmeticError("the pulse cycle does not close")
    return equals(cycle.throughput, str(_throughput(2, 4, 50, Fraction(1, 2), Fraction(626))))


# --- Proposition 32 ------------------------------------------------------------------------------


def _phase_maps() -> Outcome:
    """The literal model, from each phase with its masses moved by up to a millionth."""
    from fluidkv.exact.mass import iterate

    bad, count = None, 0
    for a, b, l0, q, m in _cases():
        if l0 not in (1, 50) or b > 8:
            continue
        system, g, v = _system(a, b, l0, q, m), math.gcd(a, b), _weights(a, b, l0, q)
        for r, state in enumerate(_orbit(a, b, l0, q, m)[2]):
            # Small against every mass and every drop alpha_r - alpha_{r+1}, which is about 1/l0^2.
            z = [y * (1 - Fraction(i + 1, 10**6)) for i, y in enumerate(state[r::g])]
            moved = [Fraction(0)] * b
            moved[r::g] = z
            step = iterate(system, [[(1 - q) * y for y in moved[:a]], [q * y for y in moved]])
            expected = [Fraction(0)] * b
            if r < g - 1:
                first = (m - sum(w * y for w, y in zip(v[r + 1 + g :: g], z[1:], strict=True))) / v[
                    r + 1
                ]
                expected[r + 1 :: g] = [first, *z[1:]]
            else:
                first = (m - sum(w * y for w, y in zip(v[g::g], z[:-1], strict=True))) / v[0]
                expected[::g] = [first, *z[:-1]]
            if [y / q for y in step.state[1]] != expected:
                bad = bad or f"{_named(a, b, l0, q, m)}, phase {r}"
            count += 1
    return sampled(bad, f"{count} phases, masses lower by about 1e-6", "the two displayed maps")


def _return_spectrum() -> Outcome:
    """z times (35) against the characteristic polynomial of the map once round, on the support."""
    from flint import fmpq, fmpq_poly

    from fluidkv.exact.mixed.pulse import pulse_cycle
    from fluidkv.exact.mixed.pulse_stability import printed_compressed_polynomial, return_map

    bad, count = None, 0
    for a, b, l0, q, m in _cases():
        matrix, _ = return_map(pulse_cycle(_system(a, b, l0, q, m)))
        printed = printed_compressed_polynomial((a, b), l0, q)
        ascending = [fmpq(c.numerator, c.denominator) for c in reversed(printed)]
        expected = fmpq_poly([fmpq(0), *ascending]) / ascending[-1]
        if matrix.charpoly() != expected:
            bad = bad or _named(a, b, l0, q, m)
        count += 1
    return sampled(
        bad,
        f"characteristic polynomial z F^(z), {count} systems",
        "one zero eigenvalue, the others roots of (35)",
        note="On the ages that carry mass. In the whole state there are b - b/g zeros more.",
    )


# --- Corollary 33 --------------------------------------------------------------------------------


def _criterion() -> Outcome:
    """Multipliers in the whole state space, where the map is affine, against counts for (35)."""
    from fluidkv.exact.mixed.orbits import periodic_orbit
    from fluidkv.exact.mixed.pulse import pulse_cycle
    from fluidkv.exact.mixed.pulse_stability import pulse_stability

    bad, found = None, {"stable": 0, "unstable": 0, "neutral": 0}
    boundary = [(2, 4, l0, Fraction(l0 + 2, l0 + 4), Fraction(100)) for l0 in (1, 7)]
    for a, b, l0, q, m in [*_cases(), *boundary]:
        cycle = pulse_cycle(_system(a, b, l0, q, m))
        stable = pulse_stability(cycle)
        orbit = periodic_orbit(cycle.system, next(cycle.states()), period=cycle.period)
        if orbit is None or orbit.attracts is None:
            raise ArithmeticError("the map is not affine around the pulse cycle")
        if orbit.attracts != (stable.verdict == "stable"):
            bad = bad or _named(a, b, l0, q, m)
        found[stable.verdict] += 1
    counts = ", ".join(f"{n} {name}" for name, n in found.items())
    return sampled(
        bad,
        f"agree in all directions: {counts}",
        "asymptotically stable if and only if (35) is Schur stable",
        note="Neutral ones, with a root on the circle, are not asymptotically stable: for (2, 4) "
        "all states near by on the same ages return after 4 iterations.",
    )


_SEARCHED = 400


def _large_inputs() -> Outcome:
    """The largest l0 at which (35) is not Schur stable, for each pair and q."""
    from fluidkv.exact.mixed.pulse import compressed_weights
    from fluidkv.exact.roots.spectrum import count_unstable
    from fluidkv.workload import System

    bad, most, where = None, -1, ""
    shares = [Fraction(n, 10) for n in (1, 3, 5, 7, 9)]
    for (a, b), q in product(_pairs(8), shares):
        last = 0
        for l0 in (*range(1, 60), *range(60, _SEARCHED + 1, 20)):
            system = _system(a, b, l0, q, l0 + b + 1)
            count = count_unstable(compressed_weights(System(system.workload, l0 + b + 1)))
            if count.outside or count.on_circle:
                last = l0
        if last >= _SEARCHED:
            bad = bad or f"({a}, {b}), q = {q}: not stable at l0 = {last}"
        if last > most:
            most, where = last, f"({a}, {b}), q = {q}"
    return sampled(
        bad,
        f"stable from l0 = {most + 1} on at the latest ({where})",
        "Schur stable for generic q and sufficiently large l0",
        note="No exceptional q was met: 'generic' is not needed, as Theorem 17 has every p. How "
        "large is not uniform in q: for (2, 4) it is l0 > (4q - 2)/(1 - q).",
    )


# --- Example 12 ----------------------------------------------------------------------------------


def _example_return_matrix() -> Outcome:
    """Entries of D(Phi_1 Phi_0) for many l0 and q, from the composed map."""
    from fluidkv.exact.mixed.pulse import pulse_cycle
    from fluidkv.exact.mixed.pulse_stability import return_map

    bad = None
    for l0, q in product(range(1, 31), _SHARES):
        v = _weights(2, 4, l0, q)
        matrix, _ = return_map(pulse_cycle(_system(2, 4, l0, q, l0 + 5)))
        ours = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
        if ours != [0, v[2] * v[3] / (v[0] * v[1]), 0, -v[3] / v[1]]:
            bad = bad or f"l0 = {l0}, q = {q}"
        if -v[3] / v[1] != -q * (l0 + 4) / (l0 + 2):
            bad = bad or f"l0 = {l0}, q = {q}"
    return sampled(bad, "equal for l0 = 1 ... 30", "0, V2 V3/(V0 V1); 0, -V3/V1 = -q(l0+4)/(l0+2)")


def _example_condition() -> Outcome:
    """Certified verdicts just below, at and just above q = (l0 + 2)/(l0 + 4)."""
    from fluidkv.exact.mixed.pulse import pulse_cycle
    from fluidkv.exact.mixed.pulse_stability import pulse_stability

    bad, tiny = None, Fraction(1, 10**9)
    for l0 in (1, 2, 3, 10, 50, 1000):
        edge = Fraction(l0 + 2, l0 + 4)
        for q, expected in ((edge - tiny, "stable"), (edge, "neutral"), (edge + tiny, "unstable")):
            found = pulse_stability(pulse_cycle(_system(2, 4, l0, q, l0 + 5)))
            if found.verdict != expected:
                bad = bad or f"l0 = {l0}, q = {q}: {found.verdict}"
    return sampled(bad, "turns there, to 1e-9 on both sides", "q < (l0 + 2)/(l0 + 4)")


def _example_every_input() -> Outcome:
    """1/2 < (l0+2)/(l0+4) is 2(l0+2) - (l0+4) > 0, a polynomial in l0: by sympy, l0 itself."""
    import sympy

    l0 = sympy.Symbol("l0", positive=True)
    gap = sympy.expand(2 * (l0 + 2) - (l0 + 4))
    return Outcome(
        verdict(gap == l0),
        Evidence.EXACT,
        ours=f"2(l0 + 2) - (l0 + 4) = {gap} > 0",
        paper="for every l0 >= 1",
        note="At l0 = 0, which the model does not have, the cycle would be neutral.",
    )


# --- section 4.2 ---------------------------------------------------------------------------------


def _settles() -> Outcome:
    """From small deviations of x*, exact: onto the ages of one pulse, then by -27/52 a period."""
    from fluidkv.exact.mixed.orbits import CohortMap
    from fluidkv.exact.mixed.pulse import pulse_cycle

    system = _system(2, 4, 50, Fraction(1, 2), 626)
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
    from fluidkv.exact.mixed.orbits import periodic_orbit
    from fluidkv.exact.mixed.pulse import pulse_cycle
    from fluidkv.exact.mixed.pulse_stability import pulse_stability

    system = _system(2, 4, 1, Fraction(4, 5), 18)
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


def _claim(id, statement, place, check, kind, checked=_RANGE, expected=Verdict.HOLDS):
    return congestion(
        id, statement, place, check, kind=kind, checked=checked, expected=expected
    )  # fmt: skip


CLAIMS = (
    _claim(
        "lemma-30.representation",
        "From a proportional start one vector y carries both classes, with weights V.",
        "Lemma 30",
        _cohorts_stay,
        "lemma",
        "all such systems with b <= 6 among those of Proposition 31",
    ),
    _claim(
        "lemma-30.any-start",
        "The class-stage process admits the representation, whatever the start.",
        "Lemma 30, read without its induction's start",
        _cohorts_from_any_start,
        "lemma",
        "one start",
        Verdict.FAILS,
    ),
    _claim(
        "proposition-31.orbit",
        "The states Z^(r) are an orbit of period g, each with a smaller youngest cohort.",
        "Proposition 31",
        _closes,
        "proposition",
    ),
    _claim(
        "proposition-31.throughput",
        "Its throughput is 2M / (a(2 l0+a+g) + q(b-a)(2 l0+a+b+g)).",
        "Proposition 31",
        _throughput_formula,
        "proposition",
        _RANGE.replace(str(_INPUTS), "(1, 50)"),
    ),
    _claim(
        "proposition-31.sum",
        "The memory of the settled cohorts at the end of a period has the printed closed form.",
        "Proposition 31, proof",
        _sum_identity,
        "proposition",
        "all a < b <= 60 with gcd > 1; both sides are bilinear in l0 and q",
    ),
    _claim(
        "proposition-31.drop",
        "The youngest cohort's loss at each phase has the printed closed form and is positive.",
        "Proposition 31, proof",
        _difference_identity,
        "proposition",
    ),
    _claim(
        "proposition-31.pair-2-4",
        "For (2, 4), l0 = 50, q = 1/2 and M = 626 the formula gives the model's throughput.",
        "Proposition 31 at the pair of Example 5",
        _papers_pair,
        "proposition",
        "that system",
    ),
    _claim(
        "proposition-32.phase-maps",
        "Near the cycle each iteration is the displayed affine map.",
        "Proposition 32",
        _phase_maps,
        "proposition",
        _RANGE.replace(str(_INPUTS), "(1, 50)").replace("<= 10", "<= 8"),
    ),
    _claim(
        "proposition-32.spectrum",
        "The map once round has one eigenvalue 0, and the roots of (35).",
        "Proposition 32 and equation (35)",
        _return_spectrum,
        "proposition",
    ),
    _claim(
        "corollary-33.criterion",
        "The pulse cycle is asymptotically stable if and only if (35) is Schur stable.",
        "Corollary 33",
        _criterion,
        "corollary",
        f"{_RANGE}, and (2, 4) on the boundary of Example 12",
    ),
    _claim(
        "corollary-33.large-input",
        "For generic q and sufficiently large l0 the pulse cycle is stable.",
        "Corollary 33",
        _large_inputs,
        "corollary",
        f"all a < b <= 8 with gcd > 1, q = 1/10 ... 9/10, l0 = 1 ... 59, then 60, 80 ... "
        f"{_SEARCHED}",
    ),
    _claim(
        "example-12.return-matrix",
        "D(Phi_1 Phi_0) and its eigenvalues 0 and -q(l0+4)/(l0+2).",
        "Example 12",
        _example_return_matrix,
        "example",
        "l0 = 1 ... 30, five q",
    ),
    _claim(
        "example-12.condition",
        "The pulse cycle of (2, 4) is stable exactly for q < (l0+2)/(l0+4).",
        "Example 12",
        _example_condition,
        "example",
        "l0 = 1, 2, 3, 10, 50, 1000; q on and 1e-9 beside the boundary",
    ),
    _claim(
        "example-12.every-input",
        "For p = q = 1/2 the condition holds for every l0 >= 1.",
        "Example 12",
        _example_every_input,
        "example",
        "all l0",
    ),
    _claim(
        "section-4-2.pulse.settles",
        "After the exit, the dynamics of a non-coprime pair settle into a cycle of period g.",
        "section 4.2 with section B.10, for the pair (2, 4) of Example 5",
        _settles,
        "remark",
        "five starts near x*",
    ),
    _claim(
        "section-4-2.pulse.every-pair",
        "After the exit, non-coprime pairs settle into a cycle of period g.",
        "section 4.2 with section B.10, read as a statement about every pair, l0 and q",
        _always_settles,
        "remark",
        "one pair",
        Verdict.FAILS,
    ),
)
