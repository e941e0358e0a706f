"""Congestion, Lemmas 27, 28 and 29: roots of the limit in logarithmic coordinates, and no islands.

Near the n-th root of unity omega, with omega^{-a} = e^{ix}, write z = omega e^{-mu/n}. Then P_n = 0
becomes H(mu, x, theta) = 0 with H = e^{-mu} - p e^{ix} e^{-(1-theta) mu} - q.
"""

import cmath
import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact
from fluidkv.ledger import Evidence, Range, Seen, np, sympy
from fluidkv_papers.congestion.instances import coprime_pairs as coprime
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
LEMMA_27 = CLAIMS.section("lemma-27", "Lemma 27", refuted=Evidence.BALL)
_DELTA = 0.5  # of Lemma 27; the constants below are measured for it
_REMAINDER_UP_TO = 40
_EVERY_INPUT = Range(
    f"every input length; {coprime.SWEPT.words}", coprime.SWEPT.cases, name=coprime.named
)
_ALL_ROOTS = Range(f"all roots; {coprime.SWEPT.words}", lambda: coprime.SHARES)


@CLAIMS.claim("lemma-27.chart", "Lemma 27 and B.7.1")
def _chart() -> bool | str:
    """With z = omega e^{-mu/n} the equation P_n(z) = 0 is H(mu, x, theta_n) = 0.

    Checked: all n, a, p, in symbols
    Ours: H
    Paper: H(mu, x, theta) = 0"""
    # P_n(omega e^{-mu/n}) with omega^n = 1 and omega^{-a} = e^{ix}, in symbols.
    mu, x, p = sympy.symbols("mu x p")
    a, n = sympy.symbols("a n", integer=True, positive=True)
    u = sympy.exp(-mu / n)
    forward, back = 1, sympy.exp(sympy.I * x)  # omega^n and omega^-a
    p_n = forward * u**n - p * forward * back * u ** (n - a) - (1 - p)
    h = sympy.exp(-mu) - p * sympy.exp(sympy.I * x) * sympy.exp(-(1 - a / n) * mu) - (1 - p)
    rest = sympy.simplify(sympy.expand(p_n - h))
    return rest == 0 or str(rest)


@CLAIMS.claim("lemma-28.equation", "Lemma 28, C.21")
def _finite_equation() -> bool | str:
    """A - eps z A' = 0 is H + eta H_nu - (eta/n) z/(1-z) H = 0 with eta = n eps.

    Checked: in symbols
    Ours: equal
    Paper: J = 0"""
    # -(1-z)(A - eps z A') = H + eta H_nu - (eta/n) z/(1-z) H for any H, A = -H/(1-z).
    nu, eta, n, omega = sympy.symbols("nu eta n omega")
    z = omega * sympy.exp(-nu / n)
    h = sympy.Function("H")(nu)
    a = -h / (1 - z)
    z_a_prime = -n * sympy.diff(a, nu)  # z d/dz = -n d/dnu
    left = -(1 - z) * (a - eta / n * z_a_prime)
    right = h + eta * sympy.diff(h, nu) - eta / n * z / (1 - z) * h
    rest = sympy.simplify(left - right)
    return rest == 0 or str(rest)


@cache
def charted(p: Fraction) -> tuple[tuple[int, int, int, float, complex], ...]:
    """(a, n, u, x, mu) of each non-zero root of A, for all coprime pairs up to UP_TO.

    The roots are enclosed in balls of 128 bits; their midpoints are what is looked at.
    """
    rows = []
    for a, n in coprime.coprime_pairs(coprime.UP_TO):
        for root in exact.limit_roots(exact.two_lengths(a, n, p)):
            z = complex(root.ball)
            both = {z, z.conjugate()}
            for value in both:
                u = round(cmath.phase(value) * n / (2 * math.pi)) % n
                rest = -a * u % n
                x = 2 * math.pi * (rest if 2 * rest <= n else rest - n) / n
                mu = -n * cmath.log(value / cmath.rect(1, 2 * math.pi * u / n))
                rows.extend([(a, n, u, x, mu)] * root.multiplicity)
    return tuple(rows)


def _slowest_away(p: Fraction) -> tuple[float, int, int]:
    """The smallest Re mu at phases beyond delta, and its pair."""
    return min((mu.real, a, n) for a, n, _, x, mu in charted(p) if abs(x) >= _DELTA)


@LEMMA_27.claim("away", over=_ALL_ROOTS, ours=lambda seen: f"delta = {_DELTA}: " + "; ".join(seen))
def _away(p: Fraction) -> Seen | str:
    """For |x| >= delta near-unit roots have Re mu >= c, with c independent of the pair.

    Note: The c that is held against all pairs is p q delta^2 / 4, half of what the quadratic form
    of Proposition 25 gives at delta where D = 1, its largest value."""
    low, a, n = _slowest_away(p)
    shown = f"p = {p}: c = {low:.4f} at ({a}, {n})"
    return Seen(shown) if low >= p * (1 - p) * _DELTA**2 / 4 else shown


@LEMMA_27.claim(
    "unique",
    over=_ALL_ROOTS,
    ours=f"at most one root a phase with delta = {_DELTA}, eta twice the c measured for it; none "
    "but z = 1 for x = 0",
)
def _unique(p: Fraction) -> bool | str:
    """For |x| <= delta and Re mu <= eta there is one root, the branch near mu = 0."""
    # One root of P_n for each small phase, within eta = 2c: for x = 0 that is z = 1 itself.
    eta = 2 * _slowest_away(p)[0]
    seen: set[tuple[int, int, int]] = set()
    for a, n, u, x, mu in charted(p):
        if abs(x) <= _DELTA and mu.real <= eta:
            if (a, n, u) in seen or u == 0:
                return f"({a}, {n}), p = {p}, x = {x:.3f}: two roots"
            seen.add((a, n, u))
    return True


def branch_remainder(
    p: float, pairs: list[tuple[int, int]], etas: "np.ndarray"
) -> "tuple[np.ndarray, np.ndarray]":
    """|R| / eta^2 of Lemma 28, shape (eta, branch), and n of each branch, by Newton's method.

    Branches are all phases 0 < |x_m| <= _DELTA of the pairs, followed from eta = 0 upward.
    """
    rows = [
        (n, a / n, u, sign * m)
        for a, n in pairs
        for m in range(1, int(_DELTA * n / (2 * math.pi)) + 1)
        for sign in (1, -1)
        for u in (-sign * m * pow(a, -1, n) % n,)
    ]
    n, theta, u, m = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    x, omega, q = 2 * np.pi * m / n, np.exp(2j * np.pi * u / n), 1 - p
    d = q + p * theta

    def newton(nu: "np.ndarray", eta: float, part: float = 1.0) -> "np.ndarray":
        step = nu
        for _ in range(30):
            e1 = np.exp(-nu)
            e2 = p * np.exp(1j * part * x - (1 - theta) * nu)
            h, h1, h2 = e1 - e2 - q, -e1 + (1 - theta) * e2, e1 - (1 - theta) ** 2 * e2
            z = omega * np.exp(-nu / n)
            f = z / (1 - z)
            value = h + eta * h1 - eta / n * f * h
            slope = h1 + eta * h2 - eta / n * (f * h1 - z / (n * (1 - z) ** 2) * h)
            step = value / slope
            nu = nu - step
        if np.max(np.abs(step)) > 1e-12:
            raise ArithmeticError("Newton's method did not settle")
        return nu

    start = 0j * x
    for k in range(1, 17):  # mu(x) from mu(0) = 0, the phase in sixteenths
        start = newton(start - 1j * p * x / d / 16, 0.0, k / 16)
    nu, before, out = start, 0.0, []
    for eta in etas:
        nu = newton(nu - (eta - before), float(eta))
        before = float(eta)
        out.append(np.abs(nu - start + eta) / eta**2)
    return np.array(out), n


@CLAIMS.claim(
    "lemma-28.remainder",
    "Lemma 28",
    over=coprime.SHARES,
    checked=f"all coprime pairs 13 <= n <= {_REMAINDER_UP_TO}, {coprime.THREE_SHARES}, all phases "
    f"up to {_DELTA}, 16 values of eta up to q/4; in floats",
    ours=lambda seen: (
        f"eta_0 = q/4, delta = {_DELTA}; largest |R| / eta^2 for n = 13 ... 19, "
        "20 ... 26, 27 ... 33, 34 ... 40: " + "; ".join(seen)
    ),
    refuted=Evidence.FLOAT,
)
def _remainder(p: Fraction) -> Seen | str:
    """nu(eta) = mu - eta + R with |R| <= C eta^2, C independent of the pair and the phase.

    Note: Rising by less and less; no proof of a bound. As eta tends to 0, R / eta^2 tends to (1/2 -
    d_alpha) / n."""
    pairs = [pair for pair in coprime.coprime_pairs(_REMAINDER_UP_TO) if pair[1] >= 13]
    etas = (1 - float(p)) / 4 * np.arange(1, 17) / 16
    ratios, n = branch_remainder(float(p), pairs, etas)
    worst = [float(ratios[:, (low <= n) & (n < low + 7)].max()) for low in (13, 20, 27, 34)]
    # A maximum that is bounded may rise with n, but by less and less.
    rises = [later - now for now, later in pairwise(worst)]
    shown = f"p = {p}: {', '.join(f'{x:.4f}' for x in worst)}"
    return Seen(shown) if math.isfinite(sum(worst)) and rises[0] > rises[1] > rises[2] else shown


@CLAIMS.claim("lemma-29.no-islands", "Lemma 29", over=_EVERY_INPUT, refuted=Evidence.BALL)
def _no_islands(a: int, n: int, p: Fraction) -> bool | str:
    """No window of stability lies below the threshold."""
    stable = coprime.threshold(a, n, p).stable_windows
    return [w.last for w in stable] == [None] or f"{coprime.named(a, n, p)}: {stable}"


def range_violation(a: int, n: int, p: Fraction) -> coprime.Case | None:
    """The case if some l0 >= 0 with eps >= Delta_n is stable: the lemma with C = 0."""
    reached = coprime.first_order(a, n, p)
    if reached is None:
        raise ArithmeticError(f"{coprime.named(a, n, p)}: {coprime.gap(a, n, p)} is too wide")
    # eps >= Delta is (l0 + n) Delta <= 1, so l0 < reached, or l0 = reached with equality
    return (a, n, p) if coprime.least(a, n, p) < reached else None


@CLAIMS.claim("lemma-29.range", "Lemma 29", over=_EVERY_INPUT, refuted=Evidence.BALL)
def _range(a: int, n: int, p: Fraction) -> bool:
    """F is unstable at every input length with Delta_n + C n Delta_n^2 <= eps <= 1/n.

    Ours: unstable at every l0 with eps > Delta: C = 0 serves, from n = 2 on
    Note: Not one stable length lies on the wrong side: Re d > 0 moves the crossing to eps < Delta.
    """
    return range_violation(a, n, p) is None


@CLAIMS.claim(
    "lemma-29.product",
    "Lemma 29, C.22",
    over=lambda: ((*case, l0) for case in coprime.swept(12).cases() for l0 in (0, 1, 7, 100)),
    checked=f"{coprime.swept(12).words}, l0 = 0, 1, 7, 100",
)
def _product(a: int, n: int, p: Fraction, l0: int) -> bool:
    """A - eps z A' has leading coefficient 1 - eps (n-1) and constant coefficient q."""
    # V_s / (l0 + n) are the coefficients of A - eps z A', by (30).
    eps = Fraction(1, l0 + n)
    weights = exact.two_lengths(a, n, p).weights(l0)
    lead, constant = (Fraction(weights.memory[k], weights.denominator) * eps for k in (0, -1))
    return lead == 1 - eps * (n - 1) and constant == 1 - p
