"""From which input length on is a mix stable, and are there other windows of stability.

The crossings of the unit circle (`pencil`) cut the axis of input lengths into stretches on which
the number of growing modes is constant. So the answer covers every input length there is. The two
verdicts at the threshold are then certified once more on their own, by root counts that know
nothing of the crossings; for outputs of several hundred tokens a mode may be too near the circle
for that, and the crossings stand alone.
"""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from flint import arb

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.asymptotic import AsymptoticThreshold, asymptotic_threshold
from fluidkv.exact.mixed.thresholds.pencil import TITLES, Crossing, InputPencil
from fluidkv.exact.mixed.thresholds.threshold_keys import THRESHOLD_KEYS
from fluidkv.exact.precision import working
from fluidkv.exact.roots.spectrum import UnitCircleCount, certify_spectrum, count_unstable
from fluidkv.keys import Key, Keyed
from fluidkv.labels import dataset, rows

if TYPE_CHECKING:
    import xarray as xr

# Above this degree the crossings take minutes; counts at two neighbours take less than a second.
_MOST_AGES = 4096
_MOST_DOUBLINGS = 40


class ThresholdStatus(StrEnum):
    """What is known of the threshold; the values are words for a report.

    Examples:
        >>> from fluidkv.exact.mixed.thresholds.threshold import ThresholdStatus
        >>> found = fk.input_threshold(fk.LengthMix((2, 4), [Fraction(1, 2)]))
        >>> found.status is ThresholdStatus.NONE, str(found.status)
        (True, 'stable at no input length')
    """

    FOUND = "found"
    NONE = "stable at no input length"
    BEYOND_BOUND = "no stable input length up to the bound; there are some beyond"
    BRACKETED = "at most the length given: stable there, not one token below, others not looked at"
    UNDECIDED = "not decided"


_OF_WINDOWS = {
    "first": ("token", "shortest input length of the window"),
    "last": ("token", "longest input length of the window; NaN: none"),
    "growing_modes": ("1", "roots outside the unit circle"),
    "neutral_modes": ("1", "roots on the unit circle"),
}


@dataclass(frozen=True)
class InputWindow(Keyed):
    """Whole input lengths over which the number of growing modes does not change.

    Fields:
        first: the smallest.
        last: the largest; None if there is none.
        growing_modes: roots of F outside the unit circle, with multiplicity.
        neutral_modes: roots on the circle, with multiplicity.

    Examples:
        >>> windows = fk.input_threshold(fk.LengthMix((5, 9), [Fraction(1, 2)])).windows
        >>> [(w.first, w.last, w.growing_modes) for w in windows]
        [(0, 1, 8), (2, 3, 6), (4, 12, 4), (13, 64, 2), (65, None, 0)]
    """

    first: int
    last: int | None
    growing_modes: int
    neutral_modes: int

    KEYS = (
        Key("first", "tokens"),
        Key("last", "tokens"),
        Key("growing_modes", "count"),
        Key("neutral_modes", "count"),
    )

    @property
    def stable(self) -> bool:
        """Whether F is Schur stable there: all roots strictly inside."""
        return self.growing_modes == 0 and self.neutral_modes == 0


@dataclass(frozen=True)
class InputThreshold(Keyed):
    """The answer for one mix.

    Fields:
        mix: what was asked about.
        status: what is known.
        least: l0_min, the smallest integer L >= 0 at which F is Schur stable; None if there is none
            up to `bound`, or if it is not certain that no shorter one is stable.
        at_most: a length at which F is Schur stable and is not one token below; `least` where that
            is known. l0_min is not larger.
        windows: every input length from 0 on, in ascending order, neighbours with equal counts
            joined; cut at `bound`. Empty where not all lengths were looked at.
        bound: the largest input length that was asked about; None is all of them.
        at: the count at `at_most` by itself, None if there is no such length.
        below: the count at `at_most` - 1 by itself; None if that is not an input length.
        crossings: of the unit circle at L >= 0, in ascending order, also beyond `bound`.
        asymptotic: what the expansions for long requests say; None where the lengths have a common
            divisor.

    Examples:
        >>> found = fk.input_threshold(fk.LengthMix((5, 9), [Fraction(1, 2)]))
        >>> found.least, found.at.outside, found.below.outside, len(found.crossings)
        (65, 0, 2, 4)
    """

    mix: LengthMix
    status: ThresholdStatus
    least: int | None
    at_most: int | None
    windows: tuple[InputWindow, ...] = field(repr=False)
    bound: int | None
    at: UnitCircleCount | None = field(repr=False)
    below: UnitCircleCount | None = field(repr=False)
    crossings: tuple[Crossing, ...] = field(repr=False)
    asymptotic: AsymptoticThreshold | None

    KEYS = THRESHOLD_KEYS

    @property
    def last_unstable(self) -> int | None:
        """The input length of `below`."""
        return None if self.at_most is None else self.at_most - 1

    @property
    def stable_windows(self) -> tuple[InputWindow, ...]:
        """Where F is Schur stable; more than one is an island of stability."""
        return tuple(w for w in self.windows if w.stable)

    @property
    def last_crossings(self) -> tuple[Crossing, ...]:
        """Those between `least` - 1 and `least`: what takes the last growing modes in."""
        if self.least is None:
            return ()
        low, high = self.least - 1, self.least
        return tuple(
            c for c in self.crossings if not (c.length < low or c.length > high) and c.outward < 0
        )

    def to_xarray(self) -> "xr.Dataset":
        """Windows of input lengths (`window`), and crossings of the unit circle (`crossing`)."""
        return dataset(
            rows("window", self.windows, _OF_WINDOWS) | rows("crossing", self.crossings, TITLES),
            status=self.status.name.lower(),
            decode_lengths=self.mix.decode_lengths,
            shares=self.mix.shares,
            input_ratios=self.mix.input_ratios,
            l0_min=self.least,
        )


def input_threshold(mix: LengthMix, *, bound: int | None = None) -> InputThreshold:
    """l0_min of a mix, every window of stability, and the certificates.

    Args:
        mix: two or more decode lengths. L counts tokens where the inputs are common, l0 = L.
        bound: look no further than this input length; None is no bound.

    Raises:
        InputError: no mix, or a bound that is not an integer of at least 0.

    Source: Congestion, section 4.3 for the definition of l0_min.

    Examples:
        >>> found = fk.input_threshold(fk.LengthMix((5, 9), [Fraction(1, 2)]))
        >>> found.least, [w.first for w in found.stable_windows]
        (65, [65])
    """
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 0):
        raise InputError("bound", bound, "an integer of at least 0")
    asymptotic = asymptotic_threshold(mix)
    try:
        crossings, windows = input_windows(mix)
    except ArithmeticError:
        return _bracketed(mix, bound, asymptotic)
    anywhere = any(w.stable for w in windows)
    windows = tuple(_cut(windows, bound))
    stable = [w for w in windows if w.stable]
    least = stable[0].first if stable else None
    at = below = None
    if least is not None:
        at, below = _confirmed(mix, least, windows)
        status = ThresholdStatus.FOUND
    else:
        status = ThresholdStatus.BEYOND_BOUND if anywhere else ThresholdStatus.NONE
    return InputThreshold(
        mix, status, least, least, windows, bound, at, below, crossings, asymptotic
    )


def input_windows(mix: LengthMix) -> tuple[tuple[Crossing, ...], list[InputWindow]]:
    """Crossings at L >= 0, and the windows between them from 0 on, as `InputThreshold` has both.

    Raises:
        ArithmeticError: crossings that are too many, or that could not be told apart.
    """
    if mix.ages > _MOST_AGES:
        raise ArithmeticError("too many crossings to place them all")
    crossings = tuple(InputPencil(mix).crossings())
    return crossings, _windows(mix, crossings)


def _windows(mix: LengthMix, crossings: tuple[Crossing, ...]) -> list[InputWindow]:
    """All lengths from 0 on. The count beyond the last crossing is certified; the others follow."""
    with working(1024):
        # whole lengths that a crossing's ball touches are counted by themselves
        touched = sorted({n for c in crossings for n in _whole_within(c.length) if n >= 0})
        ceilings = [_ceiling(c.length) for c in crossings]
    top = max([0, *ceilings])
    # nothing crosses beyond: the count is the same far out, where it is easy to make
    modes, neutral = _count(mix, 2 * top + 1)
    if (modes, neutral) != (mix.decode_gcd - 1, 0):  # as in the limit; else a crossing was missed
        raise RuntimeError(f"{modes} modes outside, {neutral} on the circle at L = {2 * top + 1}")
    pieces = [InputWindow(top, None, modes, 0)]
    # going down: every crossing passed takes its modes back
    edges = sorted(range(len(crossings)), key=ceilings.__getitem__, reverse=True)
    last = top - 1
    for k in edges:
        first = max(0, ceilings[k])
        if first <= last:
            pieces.append(InputWindow(first, last, modes, 0))
            last = first - 1
        modes -= crossings[k].outward
    if last >= 0:
        pieces.append(InputWindow(0, last, modes, 0))
    return _joined(_with_single(mix, pieces[::-1], touched))


def _with_single(
    mix: LengthMix, pieces: list[InputWindow], touched: list[int]
) -> list[InputWindow]:
    """The pieces with each touched length cut out and counted by itself."""
    for n in touched:
        cut: list[InputWindow] = []
        for w in pieces:
            if n < w.first or (w.last is not None and n > w.last):
                cut.append(w)
                continue
            if w.first < n:
                cut.append(InputWindow(w.first, n - 1, w.growing_modes, w.neutral_modes))
            cut.append(InputWindow(n, n, *_count(mix, n)))
            if w.last is None or n < w.last:
                cut.append(InputWindow(n + 1, w.last, w.growing_modes, w.neutral_modes))
        pieces = cut
    return pieces


def _joined(pieces: list[InputWindow]) -> list[InputWindow]:
    joined = pieces[:1]
    for w in pieces[1:]:
        before = joined[-1]
        if (before.growing_modes, before.neutral_modes) == (w.growing_modes, w.neutral_modes):
            joined[-1] = InputWindow(before.first, w.last, w.growing_modes, w.neutral_modes)
        else:
            joined.append(w)
    return joined


def _cut(windows: list[InputWindow], bound: int | None) -> list[InputWindow]:
    if bound is None:
        return windows
    return [
        w
        if w.last is not None and w.last <= bound
        else InputWindow(w.first, bound, w.growing_modes, w.neutral_modes)
        for w in windows
        if w.first <= bound
    ]


def _confirmed(
    mix: LengthMix, least: int, windows: tuple[InputWindow, ...]
) -> tuple[UnitCircleCount, UnitCircleCount | None]:
    """The counts on both sides of the threshold, each by itself and as the crossings have it.

    Raises:
        RuntimeError: the two ways disagree, which would be an error in this package.
    """
    at = _count_near(mix, least)
    below = None if least == 0 else _count_near(mix, least - 1)
    before = next((w for w in windows if w.last == least - 1), None)
    for count, window in ((at, None), (below, before)):
        if count is None or count.outside is None:
            continue
        expected = (0, 0) if window is None else (window.growing_modes, window.neutral_modes)
        if (count.outside, count.on_circle) != expected:
            raise RuntimeError(f"counts differ next to L = {least}: {count} and {expected}")
    return at, below


def _bracketed(
    mix: LengthMix, bound: int | None, asymptotic: AsymptoticThreshold | None
) -> InputThreshold:
    """Where the crossings are out of reach: a stable length whose predecessor is not stable.

    Counts are made at single lengths only. So nothing is known of the lengths between them, and
    what is found is l0_min for certain only if it is 0.
    """
    unknown = InputThreshold(
        mix, ThresholdStatus.UNDECIDED, None, None, (), bound, None, None, (), asymptotic
    )
    at = _count_near(mix, 0)
    if _stable(at):
        return replace(unknown, status=ThresholdStatus.FOUND, least=0, at_most=0, at=at)
    if asymptotic is None or not math.isfinite(asymptotic.phases):
        return unknown
    around = _doubled(mix, max(1, math.ceil(asymptotic.phases)), bound)
    if around is None:
        return unknown
    low, high = around
    while high - low > 1:
        middle = (low + high) // 2
        stable = _stable(count_unstable(mix.weights(middle)))
        low, high = (low, middle) if stable else (middle, high)
    at, below = _count_near(mix, high), _count_near(mix, low)
    if not _stable(at) or below.outside is None or _stable(below):
        return unknown
    return replace(unknown, status=ThresholdStatus.BRACKETED, at_most=high, at=at, below=below)


def _doubled(mix: LengthMix, first: int, bound: int | None) -> tuple[int, int] | None:
    """The first stable length met from `first` on, doubling, and the one tried before it, or 0."""
    low, high = 0, first
    for _ in range(_MOST_DOUBLINGS):
        high = high if bound is None else min(high, bound)
        if high == low:
            return None
        if _stable(count_unstable(mix.weights(high))):
            return low, high
        low, high = high, 2 * high
    return None


def _stable(count: UnitCircleCount) -> bool:
    """Certainly so."""
    return count.outside == 0 and count.on_circle == 0


def _count_near(mix: LengthMix, length: int) -> UnitCircleCount:
    """Roots outside and on the circle, where one may be as near to it as 1e-14.

    A winding number in doubles leaves that open. Then the leading roots are enclosed in balls of
    many bits, with a proof that there are no others.
    """
    count = count_unstable(mix.weights(length))
    if count.outside is not None:
        return count
    spectrum = certify_spectrum(mix.weights(length))
    return UnitCircleCount(
        spectrum.outside, spectrum.on_circle, spectrum.evidence, spectrum.gap_circle
    )


def _count(mix: LengthMix, length: int) -> tuple[int, int]:
    """Growing and neutral modes at one length.

    Raises:
        ArithmeticError: undecided.
    """
    count = _count_near(mix, length)
    if count.outside is None or count.on_circle is None:
        raise ArithmeticError(f"modes at input length {length} were not placed")
    return count.outside, count.on_circle


def _ceiling(ball: arb) -> int:
    """The smallest integer that no point of the ball exceeds."""
    return _whole(ball.upper().ceil())


def _whole_within(ball: arb) -> range:
    return range(_whole(ball.lower().ceil()), _whole(ball.upper().floor()) + 1)


def _whole(value: arb) -> int:
    whole = value.unique_fmpz()
    if whole is None:
        raise ArithmeticError("an input length beyond a thousand bits")
    return int(whole)
