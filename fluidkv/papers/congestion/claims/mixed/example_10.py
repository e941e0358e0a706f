"""Congestion, Example 10: the transition matrix and its Lyapunov bounds, every printed number."""

from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import (
    ball_rounds_to,
    conjugate_modulus_squared,
    equals,
    root_rounds_to,
    rounds_to,
    verdict,
)
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import example
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict


def _weights() -> Outcome:
    weights = example().lyapunov.weights
    return equals([Fraction(v, weights.denominator) for v in weights.memory], "11, 12, 13/2")


def _first_row() -> Outcome:
    from fluidkv.exact.mixed.nearby.transition import transition_matrix

    matrix = transition_matrix(example().lyapunov.weights).tolist()
    entries = [Fraction(int(x.p), int(x.q)) for row in matrix for x in row]
    return equals(entries, "-12/11, -13/22, 0, 1, 0, 0, 0, 1, 0")


def _polynomial() -> Outcome:
    """det(z - Phi) = z (z^2 + 12/11 z + 13/22), and the bracket is F / (l0 + 1)."""
    from fluidkv.exact.mixed.nearby.transition import transition_matrix
    from fluidkv.exact.roots.polynomial import characteristic_polynomial

    weights = example().lyapunov.weights
    whole = transition_matrix(weights).charpoly().coeffs()
    ours = [Fraction(int(c.p), int(c.q)) for c in whole]
    lead = 11 * weights.denominator
    of_f = [Fraction(int(c), lead) for c in characteristic_polynomial(weights).coeffs()]
    if ours != [Fraction(0), *of_f]:
        raise ArithmeticError("det(z - Phi) is not z F(z) / (l0 + 1)")
    return equals(list(reversed(of_f)), "1, 12/11, 13/22")


def _roots() -> Outcome:
    """Sum and product of (-12 ± i sqrt 142)/22 against those of the roots of F."""
    total, product = Fraction(2 * -12, 22), Fraction(12**2 + 142, 22**2)
    lead, middle, last = example().lyapunov.weights.memory
    found = -Fraction(middle, lead), Fraction(last, lead)
    same = (total, product) == found
    return Outcome(
        verdict(same),
        Evidence.EXACT,
        ours=f"roots with sum {found[0]} and product {found[1]}",
        paper=f"sum {total}, product {product}",
    )


def modulus_squared() -> Fraction:
    """rho^2, of the conjugate pair."""
    return conjugate_modulus_squared(example().lyapunov.weights.memory)


def _norm() -> Outcome:
    return ball_rounds_to(example().lyapunov.norm, "10.8")


def _smallest() -> Outcome:
    from fluidkv.exact.mixed.nearby.lyapunov import enclosed_eigenvalues

    found = example().lyapunov
    last = found.flint.tolist()[-1]
    least = min(float(x.lower()) for x in enclosed_eigenvalues(found.flint))
    holds = last == [0, 0, 1] and least > 1 - 1e-12  # the radius of the balls
    return Outcome(
        verdict(holds),
        Evidence.EXACT,
        ours="1, exactly: P e = e for e = (0, 0, 1), and P >= I",
        paper="1",
        note="The reason given, that the term k = 0 of the series is I, shows P >= I only; that it "
        "is met comes from Phi e = 0.",
    )


def _rate() -> Outcome:
    return ball_rounds_to(
        1 - 1 / example().lyapunov.norm,
        "0.907",
        note="1 - 1/10.8 = 0.9074 with the rounded C_P; with C_P = 10.842 it rounds to 0.908.",
    )


CLAIMS = (
    congestion("example-10.weights", "V = (11, 12, 13/2).", "Example 10", _weights),
    congestion(
        "example-10.total-weight",
        "The weights sum to 59/2.",
        "Example 10",
        lambda: equals(example().system.capacity / example().rate, "59/2"),
    ),
    congestion(
        "example-10.equilibrium", "x* = 4.", "Example 10", lambda: equals(example().rate, "4")
    ),
    congestion(
        "example-10.transition-matrix",
        "The entries of Phi, row by row.",
        "Example 10",
        _first_row,
    ),
    congestion(
        "example-10.polynomial",
        "The nonzero eigenvalues satisfy z^2 + 12/11 z + 13/22 = 0, which is F/(l0 + 1).",
        "Example 10",
        _polynomial,
    ),
    congestion("example-10.roots", "They are (-12 ± i sqrt 142)/22.", "Example 10", _roots),
    congestion(
        "example-10.modulus",
        "Their modulus is sqrt(13/22), about 0.769.",
        "Examples 10 and 11",
        lambda: root_rounds_to(modulus_squared(), "0.769"),
    ),
    congestion("example-10.norm", "C_P = ||P||_2 is about 10.8.", "Examples 10 and 11", _norm),
    congestion("example-10.smallest-eigenvalue", "lambda_min(P) = 1.", "Example 10", _smallest),
    congestion(
        "example-10.rate",
        "1 - 1/C_P is about 0.907.",
        "Examples 10 and 11",
        _rate,
        expected=Verdict.FAILS,
    ),
    congestion(
        "example-10.spectral-rate",
        "rho^2 is about 0.59.",
        "Examples 10 and 11, Figure 15",
        lambda: rounds_to(modulus_squared(), "0.59"),
    ),
)
