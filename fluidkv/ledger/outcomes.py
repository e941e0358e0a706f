"""Outcomes that most checks end in: equal to a printed value, or rounding to it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from flint import arb

Number = Fraction | int


def _verdict(holds: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS


def equals(
    ours: Number | Sequence[Number], printed: str, *, evidence: Evidence = Evidence.EXACT
) -> Outcome:
    """Exact equality with what is printed: "24/5", or "72/13, 24/13, 0" for a vector."""
    values = _values(ours)
    same = values == tuple(Fraction(p) for p in printed.split(","))
    return Outcome(_verdict(same), evidence, _shown(values), printed)


def rounds_to(ours: Number | Sequence[Number], printed: str, *, note: str = "") -> Outcome:
    """Whether our exact value lies within half a unit of the last printed digit."""
    values = _values(ours)
    digits = [p.strip() for p in printed.split(",")]
    near = len(values) == len(digits) and all(
        abs(v - Fraction(d)) <= _half_unit(d) for v, d in zip(values, digits, strict=True)
    )
    return Outcome(_verdict(near), Evidence.EXACT, _shown(values), printed, note=note)


def root_rounds_to(squared: Fraction, printed: str, *, note: str = "") -> Outcome:
    """Whether the square root of an exact value rounds to what is printed, decided on squares."""
    low, high = Fraction(printed) - _half_unit(printed), Fraction(printed) + _half_unit(printed)
    return Outcome(
        _verdict(low**2 <= squared <= high**2),
        Evidence.EXACT,
        ours=f"sqrt({squared}) = {float(squared) ** 0.5:.5f}",
        paper=printed,
        note=note,
    )


def conjugate_modulus_squared(coefficients: Sequence[Number]) -> Fraction:
    """|z|^2 of the two conjugate roots of a z^2 + b z + c, which is c / a.

    Raises:
        ArithmeticError: the roots are real, or the polynomial is not a quadratic.
    """
    if len(coefficients) != 3 or coefficients[1] ** 2 >= 4 * coefficients[0] * coefficients[2]:
        raise ArithmeticError(f"no conjugate pair for coefficients {tuple(coefficients)}")
    return Fraction(coefficients[2]) / Fraction(coefficients[0])


def span(printed: str) -> tuple[Fraction, Fraction]:
    """All numbers that are printed so, half a unit of the last digit on both sides."""
    half = _half_unit(printed)
    return Fraction(printed) - half, Fraction(printed) + half


def decimal(value: Number, digits: int = 4) -> str:
    """A rational as a rounded decimal, for display only."""
    return f"{float(value):.{digits}f}"


def ball_rounds_to(ball: "arb", printed: str, *, note: str = "") -> Outcome:
    """Whether all of a ball lies within half a unit of the last printed digit, or none of it.

    Decided on the ball's ends as rationals, so that no working precision has a part in it.
    """
    low, high = Fraction(printed) - _half_unit(printed), Fraction(printed) + _half_unit(printed)
    found = Verdict.UNDECIDED
    if ball.is_finite():
        middle, radius = (_exactly(part) for part in (ball.mid(), ball.rad()))
        if low < middle - radius and middle + radius < high:
            found = Verdict.HOLDS
        elif middle + radius < low or middle - radius > high:
            found = Verdict.FAILS
    return Outcome(found, Evidence.BALL, ball.str(8, radius=False), printed, note=note)


def _exactly(number: "arb") -> Fraction:
    mantissa, exponent = number.man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


def _values(ours: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    return tuple(Fraction(v) for v in (ours if isinstance(ours, Sequence) else [ours]))


def _shown(values: tuple[Fraction, ...]) -> str:
    return ", ".join(str(v) for v in values)


def _half_unit(printed: str) -> Fraction:
    places = len(printed.partition(".")[2])
    return Fraction(1, 2 * 10**places)
