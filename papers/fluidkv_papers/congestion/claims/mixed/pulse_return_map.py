"""Congestion, Proposition 32, Corollary 33 and Example 12: whether the pulse cycle attracts."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv import exact
from fluidkv.exact.mixed import cycles
from fluidkv.ledger import Finding, Range, Seen, flint, sympy
from fluidkv_papers.congestion.instances import pulse_cases as pulses
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

# --- Proposition 32 -------------------------------------------------------------------------------

_SHORT = pulses.systems(8, (1, 50))


def _phases() -> Iterator[tuple[int, int, int, Fraction, Fraction, int]]:
    for a, b, *rest in _SHORT.cases():
        for r in range(math.gcd(a, b)):
            yield a, b, *rest, r


@CLAIMS.claim("proposition-32.phase-maps", "Proposition 32", over=_phases, checked=_SHORT.words)
def _phase_map(a: int, b: int, l0: int, q: Fraction, m: Fraction, r: int) -> bool:
    """Near the cycle each iteration is the displayed affine map.

    Ours: {count} phases, masses lower by about 1e-6"""
    # The literal model, from a phase with its masses moved by up to a millionth.
    system, g, v = pulses.pair_system(a, b, l0, q, m), math.gcd(a, b), pulses.weights(a, b, l0, q)
    state = pulses.printed_orbit(a, b, l0, q, m)[2][r]
    # Small against every mass and every drop alpha_r - alpha_{r+1}, which is about 1/l0^2.
    z = [y * (1 - Fraction(i + 1, 10**6)) for i, y in enumerate(state[r::g])]
    moved = [Fraction(0)] * b
    moved[r::g] = z
    step = exact.iterate(system, pulses.class_masses(a, q, moved))
    stage, kept = (r + 1, z[1:]) if r < g - 1 else (0, z[:-1])
    held = sum(w * y for w, y in zip(v[stage + g :: g], kept, strict=True))
    expected = [Fraction(0)] * b
    expected[stage::g] = [(m - held) / v[stage], *kept]
    return [y / q for y in step.state[1]] == expected


@CLAIMS.claim("proposition-32.spectrum", "Proposition 32 and equation (35)", over=pulses.systems())
def _return_spectrum(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> bool:
    """The map once round has one eigenvalue 0, and the roots of (35).

    Ours: characteristic polynomial z F^(z), {count} systems
    Note: On the ages that carry mass. In the whole state there are b - b/g zeros more."""
    # z times (35) against the characteristic polynomial of the map once round, on the support.
    matrix, _ = cycles.pulse_stability.return_map(
        exact.pulse_cycle(pulses.pair_system(a, b, l0, q, m))
    )
    printed = cycles.pulse_stability.printed_compressed_polynomial((a, b), l0, q)
    ascending = [flint.fmpq(c.numerator, c.denominator) for c in reversed(printed)]
    return matrix.charpoly() == flint.fmpq_poly([flint.fmpq(0), *ascending]) / ascending[-1]


# --- Corollary 33 ---------------------------------------------------------------------------------

_ON_THE_BOUNDARY = [(2, 4, l0, Fraction(l0 + 2, l0 + 4), Fraction(100)) for l0 in (1, 7)]
_WITH_BOUNDARY = Range(
    f"{pulses.systems().words}, and (2, 4) on the boundary of Example 12",
    lambda: [*pulses.systems().cases(), *_ON_THE_BOUNDARY],
    name=pulses.named,
)


def _verdict(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> str:
    """By the roots of (35)."""
    return cycles.pulse_stability.pulse_stability(
        exact.pulse_cycle(pulses.pair_system(a, b, l0, q, m))
    ).verdict


@CLAIMS.claim(
    "corollary-33.criterion",
    "Corollary 33",
    over=_WITH_BOUNDARY,
    ours=lambda seen: (
        "agree in all directions: " + ", ".join(f"{n} {name}" for name, n in Counter(seen).items())
    ),
)
def _criterion(a: int, b: int, l0: int, q: Fraction, m: Fraction) -> bool | Seen:
    """The pulse cycle is asymptotically stable if and only if (35) is Schur stable.

    Note: Neutral ones, with a root on the circle, are not asymptotically stable: for (2, 4) all
    states near by on the same ages return after 4 iterations."""
    # Multipliers in the whole state space, where the map is affine, against counts for (35).
    cycle = exact.pulse_cycle(pulses.pair_system(a, b, l0, q, m))
    orbit = exact.periodic_orbit(cycle.system, cycle.states[0], period=cycle.period).orbit
    if orbit is None or orbit.attracts is None:
        raise ArithmeticError("the map is not affine around the pulse cycle")
    found = _verdict(a, b, l0, q, m)
    return orbit.attracts == (found == "stable") and Seen(found)


_SEARCHED = 400
_TENTHS = [Fraction(n, 10) for n in (1, 3, 5, 7, 9)]


@CLAIMS.claim(
    "corollary-33.large-input",
    "Corollary 33",
    over=lambda: ((*pair, q) for pair, q in product(pulses.pairs(8), _TENTHS)),
    checked="all a < b <= 8 with gcd > 1, q = 1/10 ... 9/10, l0 = 1 ... 59, then 60, 80 ... "
    f"{_SEARCHED}",
    ours=lambda seen: "stable from l0 = {} on at the latest ({})".format(
        *max(seen, key=lambda found: found[0])
    ),
)
def _large_inputs(a: int, b: int, q: Fraction) -> Seen | str:
    """For generic q and sufficiently large l0 the pulse cycle is stable.

    Note: No exceptional q was met: 'generic' is not needed, as Theorem 17 has every p. How large is
    not uniform in q: for (2, 4) it is l0 > (4q - 2)/(1 - q)."""
    last = 0
    for l0 in (*range(1, 60), *range(60, _SEARCHED + 1, 20)):
        count = exact.count_unstable(
            cycles.pulse.compressed_weights(pulses.pair_system(a, b, l0, q, l0 + b + 1))
        )
        if count.outside or count.on_circle:
            last = l0
    mix = f"({a}, {b}), q = {q}"
    return Seen((last + 1, mix)) if last < _SEARCHED else f"{mix}: not stable at l0 = {last}"


# --- Example 12 -----------------------------------------------------------------------------------


@CLAIMS.claim(
    "example-12.return-matrix", "Example 12", over=lambda: product(range(1, 31), pulses.SHARES)
)
def _return_matrix(l0: int, q: Fraction) -> bool:
    """D(Phi_1 Phi_0) and its eigenvalues 0 and -q(l0+4)/(l0+2).

    Checked: l0 = 1 ... 30, five q
    Paper: 0, V2 V3/(V0 V1); 0, -V3/V1 = -q(l0+4)/(l0+2)"""
    # Entries from the composed map.
    v = pulses.weights(2, 4, l0, q)
    matrix, _ = cycles.pulse_stability.return_map(
        exact.pulse_cycle(pulses.pair_system(2, 4, l0, q, l0 + 5))
    )
    ours = [Fraction(int(x.p), int(x.q)) for x in matrix.entries()]
    printed = [Fraction(0), v[2] * v[3] / (v[0] * v[1]), Fraction(0), -v[3] / v[1]]
    return ours == printed and ours[3] == -q * (l0 + 4) / (l0 + 2)


_EDGE = ((Fraction(-1), "stable"), (Fraction(0), "neutral"), (Fraction(1), "unstable"))


@CLAIMS.claim(
    "example-12.condition",
    "Example 12",
    over=lambda: ((l0, *beside) for l0 in (1, 2, 3, 10, 50, 1000) for beside in _EDGE),
)
def _condition(l0: int, side: Fraction, expected: str) -> bool:
    """The pulse cycle of (2, 4) is stable exactly for q < (l0+2)/(l0+4).

    Checked: l0 = 1, 2, 3, 10, 50, 1000; q on and 1e-9 beside the boundary
    Ours: turns there, to 1e-9 on both sides"""
    # Certified verdicts.
    q = Fraction(l0 + 2, l0 + 4) + side / 10**9
    return _verdict(2, 4, l0, q, Fraction(l0 + 5)) == expected


@CLAIMS.claim("example-12.every-input", "Example 12")
def _every_input() -> Finding:
    """For p = q = 1/2 the condition holds for every l0 >= 1.

    Checked: all l0
    Paper: for every l0 >= 1
    Note: At l0 = 0, which the model does not have, the cycle would be neutral."""
    # 1/2 < (l0+2)/(l0+4) is 2(l0+2) - (l0+4) > 0, a polynomial in l0: by sympy, l0 itself.
    l0 = sympy.Symbol("l0", positive=True)
    gap = sympy.expand(2 * (l0 + 2) - (l0 + 4))
    return Finding(gap.is_positive is True, f"2(l0 + 2) - (l0 + 4) = {gap} > 0")
