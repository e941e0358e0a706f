"""Congestion, Proposition 32, Corollary 33 and Example 12: whether the pulse cycle attracts."""

import math
from fractions import Fraction
from itertools import product

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled, verdict
from fluidkv.papers.congestion.instances.pulse_cases import (
    INPUTS,
    RANGE,
    SHARES,
    cases,
    named,
    pair_system,
    pairs,
    printed_orbit,
    pulse_claim,
    weights,
)
from fluidkv.verdict import Evidence

# --- Proposition 32 ------------------------------------------------------------------------------


def _phase_maps() -> Outcome:
    """The literal model, from each phase with its masses moved by up to a millionth."""
    from fluidkv.exact.mass import iterate

    bad, count = None, 0
    for a, b, l0, q, m in cases():
        if l0 not in (1, 50) or b > 8:
            continue
        system, g, v = pair_system(a, b, l0, q, m), math.gcd(a, b), weights(a, b, l0, q)
        for r, state in enumerate(printed_orbit(a, b, l0, q, m)[2]):
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
                bad = bad or f"{named(a, b, l0, q, m)}, phase {r}"
            count += 1
    return sampled(bad, f"{count} phases, masses lower by about 1e-6", "the two displayed maps")


def _return_spectrum() -> Outcome:
    """z times (35) against the characteristic polynomial of the map once round, on the support."""
    from flint import fmpq, fmpq_poly

    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import printed_compressed_polynomial, return_map

    bad, count = None, 0
    for a, b, l0, q, m in cases():
        matrix, _ = return_map(pulse_cycle(pair_system(a, b, l0, q, m)))
        printed = printed_compressed_polynomial((a, b), l0, q)
        ascending = [fmpq(c.numerator, c.denominator) for c in reversed(printed)]
        expected = fmpq_poly([fmpq(0), *ascending]) / ascending[-1]
        if matrix.charpoly() != expected:
            bad = bad or named(a, b, l0, q, m)
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
    from fluidkv.exact.mixed.cycles.orbits import periodic_orbit
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability

    bad, found = None, {"stable": 0, "unstable": 0, "neutral": 0}
    boundary = [(2, 4, l0, Fraction(l0 + 2, l0 + 4), Fraction(100)) for l0 in (1, 7)]
    for a, b, l0, q, m in [*cases(), *boundary]:
        cycle = pulse_cycle(pair_system(a, b, l0, q, m))
        stable = pulse_stability(cycle)
        orbit = periodic_orbit(cycle.system, next(cycle.states()), period=cycle.period)
        if orbit is None or orbit.attracts is None:
            raise ArithmeticError("the map is not affine around the pulse cycle")
        if orbit.attracts != (stable.verdict == "stable"):
            bad = bad or named(a, b, l0, q, m)
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
    from fluidkv.exact.mixed.cycles.pulse import compressed_weights
    from fluidkv.exact.roots.spectrum import count_unstable
    from fluidkv.workload import System

    bad, most, where = None, -1, ""
    shares = [Fraction(n, 10) for n in (1, 3, 5, 7, 9)]
    for (a, b), q in product(pairs(8), shares):
        last = 0
        for l0 in (*range(1, 60), *range(60, _SEARCHED + 1, 20)):
            system = pair_system(a, b, l0, q, l0 + b + 1)
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
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import return_map

    bad = None
    for l0, q in product(range(1, 31), SHARES):
        v = weights(2, 4, l0, q)
        matrix, _ = return_map(pulse_cycle(pair_system(2, 4, l0, q, l0 + 5)))
        ours = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
        if ours != [0, v[2] * v[3] / (v[0] * v[1]), 0, -v[3] / v[1]]:
            bad = bad or f"l0 = {l0}, q = {q}"
        if -v[3] / v[1] != -q * (l0 + 4) / (l0 + 2):
            bad = bad or f"l0 = {l0}, q = {q}"
    return sampled(bad, "equal for l0 = 1 ... 30", "0, V2 V3/(V0 V1); 0, -V3/V1 = -q(l0+4)/(l0+2)")


def _example_condition() -> Outcome:
    """Certified verdicts just below, at and just above q = (l0 + 2)/(l0 + 4)."""
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability

    bad, tiny = None, Fraction(1, 10**9)
    for l0 in (1, 2, 3, 10, 50, 1000):
        edge = Fraction(l0 + 2, l0 + 4)
        for q, expected in ((edge - tiny, "stable"), (edge, "neutral"), (edge + tiny, "unstable")):
            found = pulse_stability(pulse_cycle(pair_system(2, 4, l0, q, l0 + 5)))
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


CLAIMS = (
    pulse_claim(
        "proposition-32.phase-maps",
        "Near the cycle each iteration is the displayed affine map.",
        "Proposition 32",
        _phase_maps,
        "proposition",
        RANGE.replace(str(INPUTS), "(1, 50)").replace("<= 10", "<= 8"),
    ),
    pulse_claim(
        "proposition-32.spectrum",
        "The map once round has one eigenvalue 0, and the roots of (35).",
        "Proposition 32 and equation (35)",
        _return_spectrum,
        "proposition",
    ),
    pulse_claim(
        "corollary-33.criterion",
        "The pulse cycle is asymptotically stable if and only if (35) is Schur stable.",
        "Corollary 33",
        _criterion,
        "corollary",
        f"{RANGE}, and (2, 4) on the boundary of Example 12",
    ),
    pulse_claim(
        "corollary-33.large-input",
        "For generic q and sufficiently large l0 the pulse cycle is stable.",
        "Corollary 33",
        _large_inputs,
        "corollary",
        f"all a < b <= 8 with gcd > 1, q = 1/10 ... 9/10, l0 = 1 ... 59, then 60, 80 ... "
        f"{_SEARCHED}",
    ),
    pulse_claim(
        "example-12.return-matrix",
        "D(Phi_1 Phi_0) and its eigenvalues 0 and -q(l0+4)/(l0+2).",
        "Example 12",
        _example_return_matrix,
        "example",
        "l0 = 1 ... 30, five q",
    ),
    pulse_claim(
        "example-12.condition",
        "The pulse cycle of (2, 4) is stable exactly for q < (l0+2)/(l0+4).",
        "Example 12",
        _example_condition,
        "example",
        "l0 = 1, 2, 3, 10, 50, 1000; q on and 1e-9 beside the boundary",
    ),
    pulse_claim(
        "example-12.every-input",
        "For p = q = 1/2 the condition holds for every l0 >= 1.",
        "Example 12",
        _example_every_input,
        "example",
        "all l0",
    ),
)
