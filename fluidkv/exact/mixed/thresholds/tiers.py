"""What the common divisor of a few decode lengths means for their mix, in one line.

Service tiers give a workload a few fixed output lengths. Their greatest common divisor g decides
what very long inputs do (Congestion, section 4.2): the limit polynomial A has the g - 1 nontrivial
g-th roots of unity on the unit circle and all others inside. For long inputs F has a root near each
of these, at 1 + E[l1] / E[l0 l1] times it to first order, so g - 1 modes go on growing; with g = 1
all decay. The derivation holds for any number of classes and for inputs that differ:
(1 - z) A'(z) = -E[r l1] / z and (1 - z) B(z) = E[l1] at those roots, where F = L A + B.

How long "long" is, is another matter. With a common input, `input_threshold` answers for every
input length there is. Where inputs differ, or it would take long, what is said comes from
`input_scale`: the one factor from which on the mix is stable, or two certified factors.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fluidkv.exact.linear_stability import (
    InputScale,
    StabilityResult,
    exact_factor,
    rounded_outward,
)
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.threshold import (
    InputThreshold,
    ThresholdStatus,
    input_threshold,
)
from fluidkv.record import Record
from fluidkv.verdict import Stability
from fluidkv.workload import Workload

MOST_TIERS = 8
"""Distinct decode lengths up to which a workload is spoken of as tiers."""
LONGEST_EXACT = 640
"""Decode length up to which every input length is looked at: one or two seconds there."""


class TierStatus(StrEnum):
    """Whether every common input length was looked at; the values are words for a report."""

    SEARCHED = "every common input length was looked at"
    NO_TIERS = f"not looked at: the decode lengths are not 2 to {MOST_TIERS}"
    INPUTS_DIFFER = "not looked at: the input lengths differ"
    TOO_LONG = f"not looked at: a decode length is above {LONGEST_EXACT}"


@dataclass(frozen=True)
class TierThreshold(Record):
    """What `tier_threshold` found.

    Fields:
        status: whether every input length was looked at, or why not.
        threshold: the answer where they were; else None.
    """

    status: TierStatus
    threshold: InputThreshold | None = None


def tier_lengths(workload: Workload) -> tuple[int, ...]:
    """Distinct decode lengths, ascending, where there are 2 to `MOST_TIERS`; else empty.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.tiers import tier_lengths
        >>> tier_lengths(fk.Workload.from_lengths([(100, 256), (400, 128), (900, 128)]))
        (128, 256)
    """
    lengths = sorted({c.decode_length for c in workload.classes})
    return tuple(lengths) if 2 <= len(lengths) <= MOST_TIERS else ()


def tier_threshold(workload: Workload) -> TierThreshold:
    """Growing modes of tiers at every common input length; not of all workloads, see `TierStatus`.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.tiers import tier_threshold
        >>> tier_threshold(fk.Workload.from_lengths([(8, 5), (8, 9)])).threshold.least
        65
    """
    lengths = tier_lengths(workload)
    if not lengths:
        return TierThreshold(TierStatus.NO_TIERS)
    if not _common_input(workload):
        return TierThreshold(TierStatus.INPUTS_DIFFER)
    if lengths[-1] > LONGEST_EXACT:
        return TierThreshold(TierStatus.TOO_LONG)
    mix = LengthMix.of_workload(workload)
    common = LengthMix(mix.decode_lengths, mix.shares)  # L is l0, not a factor
    return TierThreshold(TierStatus.SEARCHED, input_threshold(common))


def tier_sentence(
    found: StabilityResult, scale: InputScale, threshold: InputThreshold | None = None
) -> str:
    """One line: what the divisor does, and where stability sets in as far as that is certified.

    Args:
        found: verdict at the workload's own inputs.
        scale: certified factors on its inputs, from `input_scale`.
        threshold: of the same workload, from `tier_threshold`; if there is none, `scale` is used.

    Returns:
        The sentence; empty unless the workload has 2 to `MOST_TIERS` decode lengths.

    Source: Congestion, Theorem 3 and section 4.3.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.scale import input_scale
        >>> from fluidkv.exact.mixed.thresholds.tiers import tier_sentence
        >>> workload = fk.Workload.from_lengths([(8, 5), (8, 9)])
        >>> found = fk.stability(fk.System(workload, capacity=1000))
        >>> print(tier_sentence(found, input_scale(workload)))
        output lengths 5 and 9 are coprime, but the equilibrium is stable only from l0 = 65 on
    """
    lengths = tier_lengths(found.system.workload)
    if not lengths:
        return ""
    named = f"output lengths {', '.join(f'{n:,}' for n in lengths[:-1])} and {lengths[-1]:,}"
    common = found.decode_gcd
    everywhere = _everywhere(threshold)
    if common > 1 and everywhere:
        modes = "1 mode grows" if everywhere == 1 else f"{everywhere:,} modes grow"
        return f"{named} share the divisor {common}: at least {modes} at any input length"
    if common > 1:
        modes = "1 mode goes" if common == 2 else f"{common - 1:,} modes go"
        return f"{named} share the divisor {common}: {modes} on growing however long the inputs"
    return f"{named} are coprime{_from_on(threshold) or _coprime(found, scale)}"


def _everywhere(threshold: InputThreshold | None) -> int:
    """Modes that grow at every input length: the fewest of any. 0 also if that is not known."""
    if threshold is None or threshold.status is not ThresholdStatus.NONE:
        return 0
    return min(window.growing_modes for window in threshold.windows)


def _from_on(threshold: InputThreshold | None) -> str:
    """Empty unless every input length was looked at."""
    if threshold is None or threshold.status is not ThresholdStatus.FOUND:
        return ""
    *islands, last = threshold.stable_windows
    if last.last is not None:  # long inputs stabilise coprime lengths: a proof failed somewhere
        raise ArithmeticError(f"coprime lengths not stable beyond l0 = {last.last}")
    if last.first <= 1:
        return ", and the equilibrium is stable at every input length"
    also = "".join(f", and from {w.first:,} to {w.last:,}" for w in islands)
    return f", but the equilibrium is stable only from l0 = {last.first:,} on{also}"


def _coprime(found: StabilityResult, scale: InputScale) -> str:
    workload = found.system.workload
    unstable = found.verdict is Stability.UNSTABLE
    shortest = min(c.input_length for c in workload.classes)
    if scale.complete and scale.stable is not None and scale.stable * shortest <= 1:
        return ", and the equilibrium is stable at every input length"
    if scale.complete and scale.stable is not None:
        only = ", but the equilibrium is stable only" if unstable else ": stable"
        if _common_input(workload):
            return f"{only} from l0 = {_inputs(workload, scale.stable, up=True)} on"
        return f"{only} from {_inputs(workload, scale.stable, up=True)} times these inputs on"
    if scale.stable is not None and scale.unstable is not None:
        first = _inputs(workload, scale.unstable, up=False)
        last = _inputs(workload, scale.stable, up=True)
        turn = ", but the equilibrium turns stable only" if unstable else "; stability sets in"
        end = "" if _common_input(workload) else " times these inputs"
        name = "l0 = " if _common_input(workload) else ""
        return f"{turn} between {name}{first} and {last}{end}"
    if scale.unstable is not None:
        return (
            ", so long enough inputs stabilise the equilibrium, but "
            f"{exact_factor(scale.unstable)} times these do not"
        )
    if scale.stable is not None:
        return f", and stable still with inputs shrunk to {exact_factor(scale.stable)} of these"
    return ", so long enough inputs stabilise the equilibrium"


def _inputs(workload: Workload, factor: Fraction, *, up: bool) -> str:
    """The common input length at a factor, whole, or the factor in four digits.

    Rounded up at a stable end and down at an unstable one, so that what is said holds.
    """
    if _common_input(workload):
        length = factor * workload.classes[0].input_length
        return f"{math.ceil(length) if up else math.floor(length):,}"
    return rounded_outward(factor, 4, up=up)


def _common_input(workload: Workload) -> bool:
    return len({c.input_length for c in workload.classes}) == 1
