"""What the common divisor of a few decode lengths means for their mix, in one line.

Service tiers give a workload a few fixed output lengths. Their greatest common divisor g decides
what very long inputs do (Congestion, section 4.2): the limit polynomial A has the g - 1 nontrivial
g-th roots of unity on the unit circle and all others inside. For long inputs F has a root near each
of these, at 1 + E[l1] / E[l0 l1] times it to first order, so g - 1 modes go on growing; with g = 1
all decay. The derivation holds for any number of classes and for inputs that differ:
(1 - z) A'(z) = -E[r l1] / z and (1 - z) B(z) = E[l1] at those roots, where F = L A + B.

How long "long" is, is another matter: that is what `input_scale_bracket` certifies.
"""

from fractions import Fraction

from fluidkv.exact.stability import InputScale, StabilityResult
from fluidkv.verdict import Stability
from fluidkv.workload import Workload

MOST_TIERS = 8
"""Distinct decode lengths up to which a workload is spoken of as tiers."""


def tier_lengths(workload: Workload) -> tuple[int, ...]:
    """Distinct decode lengths, ascending, where there are 2 to `MOST_TIERS`; else empty."""
    lengths = sorted({c.decode_length for c in workload.classes})
    return tuple(lengths) if 2 <= len(lengths) <= MOST_TIERS else ()


def tier_sentence(found: StabilityResult, scale: InputScale) -> str:
    """One line: what the divisor does, and where stability sets in as far as that is certified.

    Args:
        found: verdict at the workload's own inputs.
        scale: certified factors on its inputs, from `input_scale_bracket`.

    Returns:
        The sentence; empty unless the workload has 2 to `MOST_TIERS` decode lengths.

    Source: Congestion, Theorem 3 and section 4.3.
    """
    lengths = tier_lengths(found.system.workload)
    if not lengths:
        return ""
    named = f"output lengths {', '.join(f'{n:,}' for n in lengths[:-1])} and {lengths[-1]:,}"
    common = found.decode_gcd
    if common > 1:
        modes = "1 mode goes" if common == 2 else f"{common - 1:,} modes go"
        return f"{named} share the divisor {common}: {modes} on growing however long the inputs"
    return f"{named} are coprime{_coprime(found, scale)}"


def _coprime(found: StabilityResult, scale: InputScale) -> str:
    workload = found.system.workload
    unstable = found.verdict is Stability.UNSTABLE
    if scale.stable is not None and scale.unstable is not None:
        first, last = (_inputs(workload, factor) for factor in (scale.unstable, scale.stable))
        turn = ", but the equilibrium turns stable only" if unstable else "; stability sets in"
        end = "" if _common_input(workload) else " times these inputs"
        name = "l0 = " if _common_input(workload) else ""
        return f"{turn} between {name}{first} and {last}{end}"
    if scale.unstable is not None:
        return (
            ", so long enough inputs stabilise the equilibrium, but "
            f"{float(scale.unstable):,g} times these do not"
        )
    if scale.stable is not None:
        return f", and stable still with inputs shrunk to {float(scale.stable):.2g} of these"
    return ", so long enough inputs stabilise the equilibrium"


def _inputs(workload: Workload, factor: Fraction) -> str:
    """The common input length at a factor, or the factor: four digits, or all before the point."""
    value = float(factor * (workload.classes[0].input_length if _common_input(workload) else 1))
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _common_input(workload: Workload) -> bool:
    return len({c.input_length for c in workload.classes}) == 1
