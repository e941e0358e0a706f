"""Congestion, B.8.7: how the gap of the limit closes for three and more classes.

With D = sum p_k beta_k and xbar = (sum p_k x_k) / D the quadratic form in the phases is
Q(x) = sum p_k (x_k - beta_k xbar)^2, beta_K = 1, x_K = 0; to second order Re mu = Q / (2 D).

For lengths with gcd 1 the phases x(u) / 2 pi, u = 0 ... n-1, and the integer vectors form a lattice
in K-1 dimensions of covolume 1/n. The gap is, to leading order, 1/n times the minimum over it of a
positive definite form, which by Hermite's constant is at most of the order n^{-2/(K-1)}. So

    1 - rho_inf <= (2 pi^2 / D) gamma_{K-1} (prod p_k / D^2)^{1/(K-1)} n^{-1-2/(K-1)}

with D = sum of p_k l1_k / n, to leading order, for all lengths: a bound that the paper does not
give. Resonances lie far below it. For K = 2, gamma_1 = 1, it is the gap of (33) itself.
"""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact
from fluidkv.ledger import Evidence, Finding, Origin, Seen, flint, np, sympy
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
B_8_7 = CLAIMS.section("b-8-7", "B.8.7", kind="equation")
_POINTS = 20
_SEED = 7


@B_8_7.claim("quadratic-form", over=lambda: (2, 3))
def _second_order(classes: int) -> bool:
    """Re mu(x) is (1/2D) sum of p_k (x_k - beta_k xbar)^2 to second order.

    Checked: K = 2, 3, in symbols
    Ours: equal; mu(-x) is the conjugate of mu(x), so the next term of Re mu is of order 4"""
    # The branch equation along a ray x = t v with mu = -i xbar t + Q t^2 / (2D): zero to t^2.
    p = [*sympy.symbols(f"p1:{classes}")]
    p.append(1 - sum(p))
    beta = [*sympy.symbols(f"beta1:{classes}"), sympy.Integer(1)]
    v = [*sympy.symbols(f"v1:{classes}"), sympy.Integer(0)]
    mean = sum(x * b for x, b in zip(p, beta, strict=True))
    centre = sum(x * y for x, y in zip(p, v, strict=True)) / mean
    form = sum(x * (y - b * centre) ** 2 for x, b, y in zip(p, beta, v, strict=True))
    # e^{i t v + beta mu} = 1 + first t + (second + first^2 / 2) t^2 + ...
    first = [sympy.I * (y - b * centre) for b, y in zip(beta, v, strict=True)]
    second = [b * form / (2 * mean) for b in beta]
    orders = (
        sum(x * f for x, f in zip(p, first, strict=True)),
        sum(x * (s + f**2 / 2) for x, f, s in zip(p, first, second, strict=True)),
    )
    return all(sympy.expand(sympy.fraction(sympy.together(x))[0]) == 0 for x in orders)


@B_8_7.claim("two-classes")
def _two_classes() -> Finding:
    """For K = 2 the form is that of B.7.1, and c_fix is 2 pi^2 p / q^2.

    Checked: in symbols
    Ours: pq x^2 / (2 D^3) and 2 pi^2 p / q^2
    Paper: the same"""
    p, b, x, a = sympy.symbols("p beta x a")
    q = 1 - p
    mean = p * b + q
    centre = p * x / mean
    form = (p * (x - b * centre) ** 2 + q * centre**2) / (2 * mean)
    same_form = sympy.cancel(form - p * q / (2 * mean**3) * x**2) == 0
    pi = sympy.pi
    fixed = 2 * pi**2 / q * p * a**2 + 2 * pi**2 / q**2 * (p * a) ** 2
    same_fixed = sympy.cancel(fixed.subs(a, 1) - 2 * pi**2 * p / q**2) == 0
    return Finding(None if same_form and same_fixed else "K = 2")


def _gram(p: list[Fraction], beta: list[Fraction]) -> list[list[Fraction]]:
    """Matrix of Q in x_1 ... x_{K-1}; `p` and `beta` have K entries, the last beta is 1."""
    mean = sum((x * b for x, b in zip(p, beta, strict=True)), Fraction(0))
    spread = sum((x * b * b for x, b in zip(p, beta, strict=True)), Fraction(0)) / mean**2
    return [
        [
            (p[i] if i == j else 0)
            - p[i] * p[j] * (beta[i] + beta[j]) / mean
            + p[i] * p[j] * spread
            for j in range(len(p) - 1)
        ]
        for i in range(len(p) - 1)
    ]


def _points() -> Iterator[tuple[list[Fraction], list[Fraction]]]:
    rng = random.Random(_SEED)
    for classes in (2, 3, 4, 5, 6):
        for _ in range(_POINTS):
            parts = [rng.randint(1, 50) for _ in range(classes)]
            p = [Fraction(k, sum(parts)) for k in parts]
            yield p, [*sorted(Fraction(rng.randint(0, 100), 100) for _ in p[1:]), Fraction(1)]


@B_8_7.claim(
    "positive-definite",
    over=_points,
    checked=f"K = 2 ... 6 at {_POINTS} rational points each, seed {_SEED}",
)
def _positive_definite(p: list[Fraction], beta: list[Fraction]) -> bool:
    """The quadratic form is positive definite.

    Ours: all leading minors positive, the determinant is prod p_k / D^2 exactly
    Note: Q = 0 needs x_k = beta_k xbar for each k: xbar = 0 from k = K, and so all x_k = 0. That
    the k = K term is p_K xbar^2 is not enough by itself: for K >= 3 xbar may vanish."""
    rows, minors = _gram(p, beta), []
    for size in range(1, len(p)):
        block = [flint.fmpq(x.numerator, x.denominator) for row in rows[:size] for x in row[:size]]
        det = flint.fmpq_mat(size, size, block).det()
        minors.append(Fraction(int(det.p), int(det.q)))
    mean = sum((x * b for x, b in zip(p, beta, strict=True)), Fraction(0))
    return min(minors) > 0 and minors[-1] == math.prod(p) / mean**2


# --- how the gap closes ---------------------------------------------------------------------------

_HERMITE = {1: 1.0, 2: 2 / math.sqrt(3), 3: 2 ** (1 / 3)}  # gamma_1, gamma_2, gamma_3
_SIZES = (32, 64, 128, 256, 512)
_DRAWS = 40
SEED = 20
_UNEQUAL = (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))


def exponent(classes: int) -> float:
    """1 + 2/(K-1)."""
    return 1 + 2 / (classes - 1)


def gap(lengths: tuple[int, ...], shares: tuple[Fraction, ...]) -> float:
    """1 - rho_inf, from a certified bracket a few 1e-16 wide."""
    low, high = exact.certify_spectrum(exact.LengthMix(lengths, shares).limit).radius
    return 1 - (low + high) / 2


def upper_bound(lengths: tuple[int, ...], shares: tuple[Fraction, ...]) -> float:
    """The leading-order bound above."""
    classes, n = len(lengths), lengths[-1]
    mean = sum(float(p) * length / n for p, length in zip(shares, lengths, strict=True))
    form = (math.prod(map(float, shares)) / mean**2) ** (1 / (classes - 1))
    return 2 * math.pi**2 / mean * _HERMITE[classes - 1] * form * n ** -exponent(classes)


@cache
def drawn_gaps(classes: int, longest: int, draws: int) -> tuple[tuple[float, float], ...]:
    """(gap, gap / upper bound) of mixes with equal shares and coprime lengths, longest n.

    The shorter lengths are drawn uniformly without repetition, seed `SEED`.
    """
    rng = random.Random(f"{SEED} {classes} {longest}")
    shares = (Fraction(1, classes),) * classes
    found: list[tuple[float, float]] = []
    while len(found) < draws:
        lengths = (*sorted(rng.sample(range(1, longest), classes - 1)), longest)
        if math.gcd(*lengths) == 1:
            value = gap(lengths, shares)
            found.append((value, value / upper_bound(lengths, shares)))
    return tuple(found)


def fitted_exponent(sizes: tuple[int, ...], gaps: list[float]) -> float:
    """Minus the slope of log gap over log n, least squares."""
    return -float(np.polyfit(np.log(sizes), np.log(gaps), 1)[0])


# --- resonances ----------------------------------------------------------------------------------


def _fixed_constant(shorter: tuple[int, ...], shares: tuple[Fraction, ...]) -> float:
    """c_fix."""
    common, last = math.gcd(*shorter), float(shares[-1])
    rows = [(float(p), length // common) for p, length in zip(shares, shorter, strict=False)]
    squares, mean = sum(p * a * a for p, a in rows), sum(p * a for p, a in rows)
    return 2 * math.pi**2 * (squares / last + mean**2 / last**2)


def _resonant_constant(
    steps: tuple[int, ...], lengths: tuple[int, ...], shares: tuple[Fraction, ...]
) -> float:
    """c_res for the c_k of the shorter lengths."""
    n = lengths[-1]
    rows = [
        (float(p), length / n, step)
        for p, length, step in zip(shares, lengths, (*steps, 0), strict=True)
    ]
    mean = sum(p * b for p, b, _ in rows)
    centre = sum(p * step for p, _, step in rows) / mean
    return 2 * math.pi**2 / mean * sum(p * (step - b * centre) ** 2 for p, b, step in rows)


def _errors(errors: list[float]) -> str:
    return ", ".join(f"{e:+.2%}" for e in errors)


@B_8_7.claim(
    "fixed-shorter-lengths",
    over=lambda: [((2, 3),), ((2, 4),), ((4, 6),)],
    ours=lambda seen: "(1 - rho) n^3 / c_fix - 1 for n = 101, 201, 401: " + "; ".join(seen),
    refuted=Evidence.BALL,
)
def _fixed_shorter(shorter: tuple[int, int]) -> Seen | str:
    """With shorter lengths fixed, 1 - rho_inf = c_fix n^-3 + O(n^-4).

    Checked: (2, 3, n), (2, 4, n), (4, 6, n), n = 101, 201, 401, shares 1/5, 3/10, 1/2"""
    # The error is O(1/n) relative: halving with n, up to the next order.
    constant = _fixed_constant(shorter, _UNEQUAL)
    errors = [gap((*shorter, n), _UNEQUAL) * n**3 / constant - 1 for n in (101, 201, 401)]
    shown = f"{shorter}: {_errors(errors)}"
    return Seen(shown) if all(0.4 < abs(v / u) < 0.6 for u, v in pairwise(errors)) else shown


@B_8_7.claim(
    "consecutive-lengths",
    over=lambda: [(_UNEQUAL,), ((Fraction(1, 4),) * 4,)],
    ours=lambda seen: "(1 - rho) N^3 / c_res - 1 for n = 25, 50, 100: " + "; ".join(seen),
    refuted=Evidence.BALL,
)
def _consecutive(shares: tuple[Fraction, ...]) -> Seen | str:
    """Consecutive lengths have a gap of c_res n^-3 + O(n^-4).

    Checked: K = 3 and 4, n = 25, 50, 100
    Paper: cubic, with c_res
    Note: N = n + K - 1, the longest length, is the n of the formula; the n of the family is its
    shortest length, which changes terms of order n^-4 only."""
    classes, errors = len(shares), []
    for first in (25, 50, 100):
        lengths = tuple(range(first, first + classes))
        steps = tuple(range(1 - classes, 0))  # u = 1: n + k - 1 = k - K modulo the longest
        constant = _resonant_constant(steps, lengths, shares)
        errors.append(gap(lengths, shares) * lengths[-1] ** 3 / constant - 1)
    shown = f"K = {classes}: {_errors(errors)}"
    return Seen(shown) if all(abs(v) < 0.6 * abs(u) for u, v in pairwise(errors)) else shown


@B_8_7.fails("bounded-resonance", ", as printed", evidence=Evidence.BALL)
def _resonance_literal() -> Finding:
    """If u l_k = c_k modulo n with u fixed and c_k bounded, then 1 - rho_inf = c_res n^-3 + ...

    Checked: decode lengths (399, 400, 401), equal shares
    Paper: c_res, for any fixed u with bounded c_k
    Note: The hypothesis holds for each multiple of a resonance, with another c_res; the least c_res
    over all of them is meant."""
    # (n-2, n-1, n): c = u (-2, -1) for u = 1 and 2; both are resonances, one gives the gap.
    lengths, shares = (399, 400, 401), (Fraction(1, 3),) * 3
    value = gap(lengths, shares) * 401**3
    one, two = (_resonant_constant((-2 * u, -u), lengths, shares) for u in (1, 2))
    return Finding(
        abs(value / two - 1) < 0.1 or f"decode lengths {lengths}, u = 2",
        f"(1 - rho) n^3 = {value:.4f}; c_res = {one:.4f} for u = 1, c = (-2, -1), and "
        f"{two:.4f} for u = 2, c = (-4, -2)",
    )


# --- generic lengths -----------------------------------------------------------------------------

_DRAWN = f"{_DRAWS} draws for each n = {', '.join(map(str, _SIZES))}"


def _generic(classes: int) -> Finding:
    drawn = {n: [value for value, _ in drawn_gaps(classes, n, _DRAWS)] for n in _SIZES}
    medians = [float(np.median(values)) for values in drawn.values()]
    found, claimed = fitted_exponent(_SIZES, medians), exponent(classes)
    error = _error_of_slope(drawn)
    least = min(min(values) * n**claimed for n, values in drawn.items())
    middle = [m * n**claimed for m, n in zip(medians, _SIZES, strict=True)]
    return Finding(
        abs(found - claimed) < 3 * error or f"fitted {found:.3f} +- {error:.3f}",
        f"median gap ~ n^-({found:.3f} +- {error:.3f}); median gap n^{claimed:.3f} is "
        + ", ".join(f"{m:.2f}" for m in middle)
        + f" for n = {', '.join(map(str, _SIZES))}; least of all draws {least:.3f}",
        paper=f"{claimed:.3f}",
        note=f"'Generic' read as: shorter lengths uniform, {_DRAWS} draws a size, equal shares. "
        "There is no limit of gap n^alpha: it is distributed over (0, bound]; small values are "
        "chance resonances, so no positive lower bound is claimed.",
    )


def _error_of_slope(drawn: dict[int, list[float]]) -> float:
    """Standard error of the fitted exponent, from the scatter of log gap at each size.

    sqrt(pi / 2) takes that of a mean to that of a median, for a normal distribution.
    """
    x = np.log(list(drawn)) - np.mean(np.log(list(drawn)))
    scatter = np.array([np.std(np.log(values)) for values in drawn.values()])
    errors = math.sqrt(math.pi / 2) * scatter / math.sqrt(_DRAWS)
    return float(np.sqrt(np.sum((x * errors) ** 2)) / np.sum(x**2))


for classes, word, shown in ((3, "three", "2"), (4, "four", "(5/3)")):
    CLAIMS.claim(
        f"b-8-7.generic-exponent.{word}-classes",
        "B.8.7, reported as numerical evidence",
        f"For generic lengths the gap closes like n^-{shown}, K = {classes}.",
        evidence=Evidence.SAMPLED,
        origin=Origin.REPRODUCTION,
        kind="equation",
        checked=f"{_DRAWN}, seed {SEED}",
    )(lambda classes=classes: _generic(classes))


@B_8_7.claim(
    "rational-ratios",
    ", the two last paragraphs together",
    origin=Origin.READING,
    evidence=Evidence.SAMPLED,
)
def _fixed_ratios() -> Finding:
    """Lengths near fixed rational ratios are a bounded resonance: the gap closes like n^-3.

    Checked: ratios near 1/2, 3/4 at n = 101, 201, 401, equal shares
    Paper: cubic under a bounded resonance
    Note: Rational ratios are bounded resonances. At irrational ones the rounding to whole lengths
    decides: u l_k / n changes by up to u / (2n), so neighbouring n differ."""
    # Ratios 1/2 and 3/4: u = 4 is a bounded resonance for every n.
    shares = (Fraction(1, 3),) * 3
    sizes = (101, 201, 401)
    gaps = [gap(((n - 1) // 2, (3 * n + 1) // 4, n), shares) for n in sizes]
    rational = fitted_exponent(sizes, gaps)
    root = 2 ** (-1 / 3)
    near = [
        gap(lengths, shares) * n**2
        for n in range(120, 160)
        for lengths in ((round(root**2 * n), round(root * n), n),)
        if math.gcd(*lengths) == 1
    ]
    # From n to 2n an error O(1/n) moves the fit by about 1/n.
    return Finding(
        abs(rational - 3) < 0.05 or f"exponent {rational:.3f}",
        f"ratios near 1/2, 3/4: exponent {rational:.3f}; ratios near 2^(-2/3), 2^(-1/3): gap n^2 "
        f"between {min(near):.2f} and {max(near):.2f} for n = 120 ... 159",
    )


@B_8_7.claim(
    "upper-bound",
    ", half of what it leaves open",
    over=lambda: (3, 4),
    checked=f"{_DRAWN}, K = 3 and 4",
    origin=Origin.READING,
    ours=lambda seen: f"largest gap / bound: {', '.join(seen)}",
    refuted=Evidence.BALL,
)
def _bound(classes: int) -> Seen | str:
    """To leading order the gap is at most a constant times n^(-1-2/(K-1)), for any lengths.

    Paper: open
    Note: By Minkowski's argument with Hermite's constant, to leading order: so no exponent below 1
    + 2/(K-1) is possible for any lengths."""
    worst = max(part for n in _SIZES for _, part in drawn_gaps(classes, n, _DRAWS))
    shown = f"K = {classes}: {worst:.3f}"
    return Seen(shown) if worst <= 1 else shown
