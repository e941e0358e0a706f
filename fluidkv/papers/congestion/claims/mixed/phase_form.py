"""Congestion, B.8.7: the quadratic form in the phases, for any number of classes.

With D = sum p_k beta_k and xbar = (sum p_k x_k) / D it is Q(x) = sum p_k (x_k - beta_k xbar)^2,
where beta_K = 1 and x_K = 0; to second order Re mu = Q / (2 D).
"""

import random
from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence

_POINTS = 20
_SEED = 7


def _second_order() -> Outcome:
    """The branch equation along a ray x = t v with mu = -i xbar t + Q t^2 / (2D): zero to t^2."""
    import sympy

    t = sympy.Symbol("t")
    for classes in (2, 3):
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
        if any(sympy.expand(sympy.fraction(sympy.together(x))[0]) != 0 for x in orders):
            return holds_for(f"K = {classes}", ours=str(orders), paper=f"0 at {t} and {t}^2")
    return holds_for(
        None,
        ours="equal; mu(-x) is the conjugate of mu(x), so the next term of Re mu is of order 4",
        paper="(1/2D) sum p_k (x_k - beta_k xbar)^2 + O(|x|^3)",
        evidence=Evidence.SAMPLED,
    )


def _two_classes() -> Outcome:
    import sympy

    p, b, x, a = sympy.symbols("p beta x a")
    q = 1 - p
    mean = p * b + q
    centre = p * x / mean
    form = (p * (x - b * centre) ** 2 + q * centre**2) / (2 * mean)
    same_form = sympy.cancel(form - p * q / (2 * mean**3) * x**2) == 0
    pi = sympy.pi
    fixed = 2 * pi**2 / q * p * a**2 + 2 * pi**2 / q**2 * (p * a) ** 2
    same_fixed = sympy.cancel(fixed.subs(a, 1) - 2 * pi**2 * p / q**2) == 0
    return holds_for(
        None if same_form and same_fixed else "K = 2",
        ours="pq x^2 / (2 D^3) and 2 pi^2 p / q^2",
        paper="the same",
    )


def gram(p: list[Fraction], beta: list[Fraction]) -> list[list[Fraction]]:
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


def _positive_definite() -> Outcome:
    """All leading minors positive, and det = prod p_k / D^2, at random rational points."""
    import math

    from flint import fmpq, fmpq_mat

    rng = random.Random(_SEED)
    for classes in (2, 3, 4, 5, 6):
        for _ in range(_POINTS):
            parts = [rng.randint(1, 50) for _ in range(classes)]
            p = [Fraction(k, sum(parts)) for k in parts]
            beta = [*sorted(Fraction(rng.randint(0, 100), 100) for _ in p[1:]), Fraction(1)]
            rows = gram(p, beta)
            minors = []
            for size in range(1, classes):
                block = [
                    fmpq(x.numerator, x.denominator) for row in rows[:size] for x in row[:size]
                ]
                det = fmpq_mat(size, size, block).det()
                minors.append(Fraction(int(det.p), int(det.q)))
            mean = sum((x * b for x, b in zip(p, beta, strict=True)), Fraction(0))
            if min(minors) <= 0 or minors[-1] != math.prod(p) / mean**2:
                return holds_for(f"p = {p}, beta = {beta}", ours=str(minors), paper="> 0")
    return holds_for(
        None,
        ours="all leading minors positive, the determinant is prod p_k / D^2 exactly",
        paper="positive definite",
        evidence=Evidence.SAMPLED,
        note="Q = 0 needs x_k = beta_k xbar for each k: xbar = 0 from k = K, and so all x_k = 0. "
        "That the k = K term is p_K xbar^2 is not enough by itself: for K >= 3 xbar may vanish.",
    )


CLAIMS = (
    congestion(
        "b-8-7.quadratic-form",
        "Re mu(x) is (1/2D) sum of p_k (x_k - beta_k xbar)^2 to second order.",
        "B.8.7",
        _second_order,
        kind="equation",
        checked="K = 2, 3, in symbols",
    ),
    congestion(
        "b-8-7.two-classes",
        "For K = 2 the form is that of B.7.1, and c_fix is 2 pi^2 p / q^2.",
        "B.8.7",
        _two_classes,
        kind="equation",
        checked="in symbols",
    ),
    congestion(
        "b-8-7.positive-definite",
        "The quadratic form is positive definite.",
        "B.8.7",
        _positive_definite,
        kind="equation",
        checked=f"K = 2 ... 6 at {_POINTS} rational points each, seed {_SEED}",
    ),
)
