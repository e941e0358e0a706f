"""Findings in words: what titles and captions say of a certified result."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluidkv.exact.linear_stability import StabilityResult


def swing(found: "StabilityResult") -> str:
    """One line: the verdict, and what the leading mode makes of a deviation in one turn."""
    from fluidkv.verdict import Stability

    if found.verdict is Stability.UNDECIDED:
        return f"Undecided: {found.reason}"
    verdict = str(found.verdict).capitalize()
    if found.certificate.degree == 0:
        return f"{verdict}: {found.reason}"
    if found.leading_period is None:
        fate = "fade" if found.verdict is Stability.STABLE else "grow"
        return f"{verdict}: deviations {fate}; their period was not resolved"
    turn = f"each swing ({iterations(found.leading_period)})"
    return f"{verdict}: {turn} {_change(growth_a_turn(found))}"


def growth_a_turn(found: "StabilityResult") -> float:
    """Factor by which the leading mode changes in one period; 1 where there is no such mode."""
    if found.leading_period is None:
        return 1.0
    low, high = found.spectral_radius
    return ((low + high) / 2) ** found.leading_period


def iterations(count: float) -> str:
    """ "657.8" is "658 iterations", "2.666" is "2.67 iterations": three digits or all."""
    return f"{number(count)} iterations"


def number(value: float) -> str:
    """Three significant digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _change(factor: float) -> str:
    if factor >= 2:
        return f"is {number(factor)} times as large as the last"
    if factor > 1:
        return f"is {100 * (factor - 1):.2g} % larger than the last"
    if factor > 0.5:
        return f"is {100 * (1 - factor):.2g} % smaller than the last"
    return f"shrinks to {100 * factor:.2g} % of the last"
