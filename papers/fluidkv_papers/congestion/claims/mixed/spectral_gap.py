"""Congestion, Proposition 25, Corollary 26 and Lemma 23: the gap of the limit and its balance.

The constants are existential; here they are measured, with the size where they are attained.
"""

import math
from fractions import Fraction
from functools import cache
from typing import Any

from fluidkv import exact, symbolic
from fluidkv.ledger import Evidence, Finding, Origin, Seen, sympy
from fluidkv_papers.congestion.instances import coprime_pairs as coprime
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_GAP_UP_TO = 20


@cache
def phase_series(order: int = 4) -> "tuple[sympy.Expr, ...]":
    """mu_1 ... of mu(x, theta) = sum of mu_j x^j, in p and D = q + p theta, from H = 0.

    H is solved order by order: the new coefficient enters at order j with the factor -D.
    """
    p, D = sympy.symbols("p D", real=True)
    width = order + 1

    def product(u: list[Any], v: list[Any]) -> list[Any]:
        out: list[Any] = [sympy.Integer(0)] * width
        for i, x in enumerate(u):
            for j, y in enumerate(v[: width - i]):
                out[i + j] += x * y
        return [sympy.expand(x) for x in out]

    def exponential(u: list[Any]) -> list[Any]:
        term: list[Any] = [sympy.Integer(1)] + [sympy.Integer(0)] * order
        total = term
        for k in range(1, width):
            term = [sympy.expand(x / k) for x in product(term, u)]
            total = [x + y for x, y in zip(total, term, strict=True)]
        return total

    mu: list[Any] = [sympy.Integer(0)] * width
    for j in range(1, width):
        turned = [-(1 - D) / p * m for m in mu]  # 1 - theta = (1 - D) / p
        turned[1] += sympy.I
        first, second = exponential([-m for m in mu]), exponential(turned)
        mu[j] = sympy.factor((first[j] - p * second[j]) / D)
    return tuple(mu[1:])


@CLAIMS.claim("proposition-25.phase-derivatives", "B.7.1")
def _derivatives() -> Finding:
    """mu_x(0) = -ip/D and mu_xx(0) = pq/D^3, with D = q + p theta.

    Checked: all p and theta, in symbols
    Paper: -ip/D, pq/D^3"""
    # mu_x and mu_xx at x = 0, by differentiating H(mu(x), x, theta) = 0 twice, in symbols.
    x, p, theta = sympy.symbols("x p theta")
    q, mu = 1 - p, sympy.Function("mu")(x)
    h = sympy.exp(-mu) - p * sympy.exp(sympy.I * x) * sympy.exp(-(1 - theta) * mu) - q
    at = {}
    for order in (1, 2):
        derivative = sympy.Derivative(mu, (x, order))
        solved = sympy.solve(sympy.diff(h, x, order).doit(), derivative)[0]
        for lower, value in at.items():
            solved = solved.subs(sympy.Derivative(mu, (x, lower)), value)
        at[order] = sympy.simplify(solved.subs(mu, 0).subs(x, 0))
    D = q + p * theta
    good = (
        sympy.simplify(at[1] + sympy.I * p / D) == 0 and sympy.simplify(at[2] - p * q / D**3) == 0
    )
    ours = f"{sympy.factor(at[1])}, {sympy.factor(at[2])}"
    return Finding(None if good else ours, ours)


@CLAIMS.claim(
    "proposition-25.gap",
    "Proposition 25, equation (33)",
    over=coprime.SHARES,
    checked=f"all coprime a < n <= {_GAP_UP_TO}, and (1, n) to 401; {coprime.THREE_SHARES}",
    ours=lambda seen: (
        f"|1 - rho - c n^-3| n^4 at most, n <= {_GAP_UP_TO}, then for (1, n), "
        "n = 51, 101, 201, 401 (in brackets relative to c n^-3): " + "; ".join(seen)
    ),
    refuted=Evidence.BALL,
)
def _gap_constant(p: Fraction) -> Seen | str:
    """|1 - rho_inf - c(theta_n, p) n^-3| <= K_gap n^-4 along coprime families.

    Note: It falls in the end, as the error is of order n^-5. For p = 9/10 it first rises, to n of
    about a hundred."""
    # The largest over pairs; four longer pairs show what it does beyond.

    def scaled(a: int, n: int) -> float:
        return abs(coprime.middle(a, n, p) - coprime.c(a / n, p) / n**3) * n**4

    worst, a, n = max((scaled(a, n), a, n) for a, n in coprime.coprime_pairs(_GAP_UP_TO))
    # 2^-50 relative to a gap of c n^-3 is far below these numbers at n = 401
    far = {m: scaled(1, m) for m in (51, 101, 201, 401)}
    beyond = ", ".join(
        f"{value:.4g} ({value / m / coprime.c(1 / m, p):.1%})" for m, value in far.items()
    )
    shown = f"p = {p}: {worst:.4g} at ({a}, {n}); then {beyond}"
    return Seen(shown) if far[401] < far[201] else shown


@CLAIMS.claim(
    "proposition-25.order",
    "Proposition 25, sharpened",
    over=lambda: coprime.SHARES[:2],
    origin=Origin.READING,
    ours=lambda seen: (
        "error / ((2 pi)^4 mu_4 n^-5) for a = (n-1)/2, n = 51, 101, 201, 401: " + "; ".join(seen)
    ),
    note=lambda seen: (
        "H(conj mu, -x) is the conjugate of H(mu, x), so Re mu has even powers of x "
        f"only: mu_4 = {phase_series()[3]}."
    ),
    refuted=Evidence.BALL,
)
def _gap_order(share: Fraction) -> Seen | str:
    """The error of (33) is O(n^-5), one order better than stated.

    Checked: a = (n-1)/2, n = 51, 101, 201, 401, p = 1/10, 1/2; the series in symbols
    Paper: O(n^-4)"""
    # Re mu is even in x, and its next coefficient is known.
    series = phase_series()
    if any(sympy.expand(m).as_real_imag()[0] != 0 for m in (series[0], series[2])):
        return f"coefficients {series}"
    quartic = sympy.lambdify(sympy.symbols("p D", real=True), series[3])
    rest = []
    for n in (51, 101, 201, 401):
        a = (n - 1) // 2
        mean = 1 - share + share * Fraction(a, n)
        next_order = float(quartic(float(share), float(mean))) * (2 * math.pi) ** 4 / n**5
        rest.append((coprime.middle(a, n, share) - coprime.c(a / n, share) / n**3) / next_order)
    shown = f"p = {share}: " + ", ".join(f"{r:.4f}" for r in rest)
    nearer = abs(rest[-1] - 1) < abs(rest[-2] - 1) < abs(rest[-3] - 1)
    return Seen(shown) if nearer else shown


@CLAIMS.claim(
    "corollary-26.bound",
    "Corollary 26",
    over=coprime.SHARES,
    checked=coprime.SWEPT.words,
    ours=lambda seen: "((l0_min + n)(1 - rho) - 1) n^2: " + "; ".join(seen),
    refuted=Evidence.BALL,
)
def _corollary_26(p: Fraction) -> Seen | str:
    """|(l0_min + n)(1 - rho_inf) - 1| <= K_S n^-2 along coprime families.

    Note: The limit is c(theta, p) Re d / n, from 1 = |alpha| (1 + eps + Re d eps^2). It was not
    exceeded; the quantity is positive throughout."""
    found = [
        (((coprime.least(a, n, p) + n) * float(sum(coprime.gap(a, n, p))) / 2 - 1) * n**2, a, n)
        for a, n in coprime.coprime_pairs(coprime.UP_TO)
    ]
    limit = max(coprime.c(t / 100, p) * coprime.drift_ratio(t / 100, p) for t in range(101))
    least_found, (worst, a, n) = min(found)[0], max(found)
    shown = (
        f"p = {p}: from {least_found:.3g} to {worst:.4g} at ({a}, {n}), sup in the limit "
        f"{limit:.4g}"
    )
    return Seen(shown) if -limit <= least_found and worst <= limit else shown


@CLAIMS.claim("lemma-23.place", "Lemma 23, C.19", over=lambda: coprime.coprime_pairs(8))
def _multiple_root_identity(a: int, n: int) -> bool:
    """A multiple root zeta != 1 of P_n has zeta^a = p (1 - a/n).

    Checked: all p, coprime a < n <= 8, in symbols
    Ours: disc P_n = +-q^(n-a-1) ((-1)^a n^n q^a - a^a (n-a)^(n-a) p^n): no multiple root for odd a;
    for even a at exactly one p in (0, 1), where it is double and negative
    Note: n^n q^a falls and p^n rises with p, so they meet once. A triple root would need n - 1 = n
    - a - 1."""
    # The discriminant of P_n against the trinomial one, exact, and the root it belongs to.
    z, p = sympy.symbols("z p")
    q = 1 - p
    found = sympy.discriminant(z**n - p * z ** (n - a) - q, z)
    # sign, q^(n-a-1), and the factor that can vanish in (0, 1)
    factor = (-1) ** a * n**n * q**a - a**a * (n - a) ** (n - a) * p**n
    return 0 in {sympy.expand(found + sign * q ** (n - a - 1) * factor) for sign in (1, -1)}


def double_root(a: int, n: int) -> tuple[float, float]:
    """(p, s): the share at which -s is a double root; n s^a + a s^n = n - a, p = s^a n/(n-a)."""
    low, high = 0.0, 1.0
    for _ in range(200):
        half = (low + high) / 2
        low, high = (half, high) if n * half**a + a * half**n < n - a else (low, half)
    return low**a * n / (n - a), low


@CLAIMS.claim(
    "lemma-23.bound",
    "Lemma 23, C.19",
    over=lambda: ((a, n) for a, n in coprime.coprime_pairs(60) if a % 2 == 0),
    ours=lambda seen: (
        f"n (1 - |zeta|) >= {min(far for far, *_ in seen):.3f}, and at least "
        "{1:.3g} times -log(p)/2, at ({2}, {3})".format(*min(seen, key=lambda row: row[1:]))
    ),
    refuted=Evidence.FLOAT,
)
def _multiple_root_bound(a: int, n: int) -> Seen | str:
    """A multiple root has modulus at most 1 - c_p/n with c_p = -log(p)/2.

    Checked: the multiple root of each coprime pair n <= 60, a even, at the p that has it
    Note: N_p is where -log(p)/n <= 1.59, as exp(-x) <= 1 - x/2 up to there; no size was too small.
    """
    p, s = double_root(a, n)
    ratio = n * (1 - s) / (-math.log(p) / 2)
    return Seen((n * (1 - s), ratio, a, n)) if ratio >= 1 else f"({a}, {n}), p = {p}"


@CLAIMS.fails("lemma-23.dominant", "B.7.2, by Lemma 23, read for every n", origin=Origin.READING)
def _double_root_dominates() -> Finding:
    """Multiple roots are non-dominant, at every size.

    Checked: decode lengths (2, 3), p = 3/4
    Paper: multiple roots are non-dominant
    Note: Lemma 23 speaks of n >= N_p at a fixed p. At the p of its own, near 1, each (2, n) with
    odd n <= 39 has a dominant double root (floats); no other pair with n <= 39 has.
    Witness: decode lengths (2, 3), p = 3/4
    Holds: lemma-23.bound"""
    # (2, 3) at p = 3/4: A = (z + 1/2)^2, so the double root is the spectral radius.
    limit = symbolic.limit_polynomial(exact.two_lengths(2, 3, Fraction(3, 4)))
    double = sympy.expand(limit - (symbolic.Z + sympy.Rational(1, 2)) ** 2) == 0
    return Finding(not double, f"A = {sympy.factor(limit)}")
