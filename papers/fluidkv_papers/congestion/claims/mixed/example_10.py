"""Congestion, Example 10: the transition matrix and its Lyapunov bounds, every printed number."""

from fractions import Fraction

from fluidkv import exact
from fluidkv.exact.mixed import nearby
from fluidkv.exact.survival import SurvivalWeights
from fluidkv.ledger import (
    Evidence,
    Finding,
    Origin,
    Outcome,
    ball_rounds_to,
    conjugate_modulus_squared,
    equals,
    root_rounds_to,
    rounds_to,
)
from fluidkv_papers.congestion.instances.near_equilibrium import example
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
EXAMPLE_10 = CLAIMS.section("example-10", "Examples 10 and 11")


def _weights() -> SurvivalWeights:
    return example().lyapunov.weights


def effective_weights() -> list[Fraction]:
    """V_0, V_1, V_2."""
    return [Fraction(v, _weights().denominator) for v in _weights().memory]


CLAIMS.claim("example-10.weights", "Example 10", "V = (11, 12, 13/2).")(
    lambda: equals(effective_weights(), "11, 12, 13/2")
)
CLAIMS.claim("example-10.total-weight", "Example 10", "The weights sum to 59/2.")(
    lambda: equals(example().system.capacity / example().rate, "59/2")
)
CLAIMS.claim("example-10.equilibrium", "Example 10", "x* = 4.")(lambda: equals(example().rate, "4"))


@CLAIMS.claim("example-10.transition-matrix", "Example 10")
def _matrix() -> Outcome:
    """The entries of Phi, row by row."""
    entries = exact.transition_matrix(_weights()).entries()
    return equals([Fraction(str(x)) for x in entries], "-12/11, -13/22, 0, 1, 0, 0, 0, 1, 0")


@CLAIMS.claim("example-10.polynomial", "Example 10")
def _polynomial() -> Outcome | Finding:
    """The nonzero eigenvalues satisfy z^2 + 12/11 z + 13/22 = 0, which is F/(l0 + 1)."""
    # det(z - Phi) = z (z^2 + 12/11 z + 13/22), and the bracket is F / (l0 + 1).
    whole = [Fraction(str(c)) for c in exact.transition_matrix(_weights()).charpoly().coeffs()]
    f = exact.characteristic_polynomial(_weights()).coeffs()
    if whole != [0, *(Fraction(int(c), 11 * _weights().denominator) for c in f)]:
        return Finding(False, "det(z - Phi) is not z F(z) / (l0 + 1)")
    return equals(whole[:0:-1], "1, 12/11, 13/22")


@CLAIMS.claim("example-10.roots", "Example 10")
def _roots() -> Finding:
    """They are (-12 ± i sqrt 142)/22."""
    # Sum and product of what is printed against those of the roots of F.
    total, product = Fraction(2 * -12, 22), Fraction(12**2 + 142, 22**2)
    lead, middle, last = effective_weights()
    return Finding(
        (total, product) == (-middle / lead, last / lead),
        f"roots with sum {-middle / lead} and product {last / lead}",
        paper=f"sum {total}, product {product}",
    )


def modulus_squared() -> Fraction:
    """rho^2, of the conjugate pair."""
    return conjugate_modulus_squared(effective_weights())


EXAMPLE_10.claim("modulus", "", "Their modulus is sqrt(13/22), about 0.769.")(
    lambda: root_rounds_to(modulus_squared(), "0.769")
)
EXAMPLE_10.claim("norm", "", "C_P = ||P||_2 is about 10.8.", evidence=Evidence.BALL)(
    lambda: ball_rounds_to(example().lyapunov.norm, "10.8")
)


@CLAIMS.claim("example-10.smallest-eigenvalue", "Example 10")
def _smallest() -> bool:
    """lambda_min(P) = 1.

    Ours: 1, exactly: P e = e for e = (0, 0, 1), and P >= I
    Paper: 1
    Note: The reason given, that the term k = 0 of the series is I, shows P >= I only; that it is
    met comes from Phi e = 0."""
    found = example().lyapunov
    last = found.flint.tolist()[-1]
    least = min(float(x.lower()) for x in nearby.lyapunov.enclosed_eigenvalues(found.flint))
    return last == [0, 0, 1] and least > 1 - 1e-12  # the radius of the balls


@EXAMPLE_10.fails(
    "rate", ", with C_P before rounding", origin=Origin.READING, evidence=Evidence.BALL
)
def _rate() -> Outcome:
    """1 - 1/C_P is 0.907 to three digits, for C_P itself and not the printed 10.8."""
    return ball_rounds_to(
        1 - 1 / example().lyapunov.norm,
        "0.907",
        note="From the printed C_P, about 10.8, it is 0.9074, as printed; with C_P = 10.842 it "
        "rounds to 0.908.",
    )


EXAMPLE_10.claim("spectral-rate", ", Figure 15", "rho^2 is about 0.59.")(
    lambda: rounds_to(modulus_squared(), "0.59")
)
