"""Congestion, B.8.7: the quadratic form in the phases, for any number of classes.

With D = sum p_k beta_k and xbar = (sum p_k x_k) / D it is Q(x) = sum p_k (x_k - beta_k xbar)^2,
where beta_K = 1 and x_K = 0; to second order Re mu = Q / (2 D).
"""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.ledger.ranges import Range
from fluidkv.papers.congestion.paper import statements

CLAIMS = statements()
_POINTS = 20
_SEED = 7


@CLAIMS.over(
    Range("K = 2, 3, in symbols", lambda: (2, 3), name="K = {}".format),
    "b-8-7.quadratic-form",
    "B.8.7",
    "Re mu(x) is (1/2D) sum of p_k (x_k - beta_k xbar)^2 to second order.",
    ours="equal; mu(-x) is the conjugate of mu(x), so the next term of Re mu is of order 4",
    paper="(1/2D) sum p_k (x_k - beta_k xbar)^2 + O(|x|^3)",
    kind="equation",
)
def _second_order(classes: int) -> bool:
    """The branch equation along a ray x = t v with mu = -i xbar t + Q t^2 / (2D): zero to t^2."""
    import sympy

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


@CLAIMS.claim(
    "b-8-7.two-classes",
    "B.8.7",
    "For K = 2 the form is that of B.7.1, and c_fix is 2 pi^2 p / q^2.",
    kind="equation",
    checked="in symbols",
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


@CLAIMS.over(
    Range(f"K = 2 ... 6 at {_POINTS} rational points each, seed {_SEED}", _points),
    "b-8-7.positive-definite",
    "B.8.7",
    "The quadratic form is positive definite.",
    ours="all leading minors positive, the determinant is prod p_k / D^2 exactly",
    paper="positive definite",
    note="Q = 0 needs x_k = beta_k xbar for each k: xbar = 0 from k = K, and so all x_k = 0. "
    "That the k = K term is p_K xbar^2 is not enough by itself: for K >= 3 xbar may vanish.",
    kind="equation",
)
def _positive_definite(p: list[Fraction], beta: list[Fraction]) -> bool:
    from flint import fmpq, fmpq_mat

    rows, minors = _gram(p, beta), []
    for size in range(1, len(p)):
        block = [fmpq(x.numerator, x.denominator) for row in rows[:size] for x in row[:size]]
        det = fmpq_mat(size, size, block).det()
        minors.append(Fraction(int(det.p), int(det.q)))
    mean = sum((x * b for x, b in zip(p, beta, strict=True)), Fraction(0))
    return min(minors) > 0 and minors[-1] == math.prod(p) / mean**2
