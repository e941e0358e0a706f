"""Whether each of many systems is stable, at the cost of a few: a map over lengths and shares.

Systems that differ in the length of their inputs alone share their crossings of the unit circle
(`pencil`), which settle every input length at once. So a map of a hundred thousand systems over
shares and input lengths costs one search a share. What has few neighbours is counted by itself.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds.threshold import InputWindow, input_windows
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.exact.survival import survival_weights
from fluidkv.labels import dataset
from fluidkv.record import Record
from fluidkv.systems import Systems
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr

UNPLACED = -1
"""In place of a number of modes that is not decided.

>>> from fluidkv.exact.mixed.thresholds.many import UNPLACED
>>> found = fk.stability_map([fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)])
>>> UNPLACED, bool((found.growing_modes == UNPLACED).any())
(-1, False)
"""

# A search for crossings costs some tens of counts; it is kept for later calls.
_FEW = 4  # systems of one mix that are counted one by one
_KEPT = 4096  # mixes


@dataclass(frozen=True)
class StabilityMap(Record):
    """What is certain of each system, index order (system,).

    Fields:
        verdict: of its eviction-free equilibrium, as `stability` has it.
        growing_modes: roots of F outside the unit circle, with multiplicity; `UNPLACED` = -1 where
            that is undecided.
        neutral_modes: roots on the circle, with multiplicity; `UNPLACED` likewise.
        evidence: exact, or balls where the crossings of a mix or a winding number say it.
        systems: what was asked about, where it was `Systems`; None for other sequences.

    Examples:
        >>> inputs, half = [1, 8, 64, 65], Fraction(1, 2)
        >>> systems = fk.Systems.grid(
        ...     input_length=inputs, decode_length=(5, 9), share=half, capacity=1000
        ... )
        >>> found = fk.stability_map(systems)
        >>> found.growing_modes, str(found.evidence[0])
        (array([8, 4, 2, 0]), 'exact')
    """

    verdict: tuple[Stability, ...]
    growing_modes: Int[np.ndarray, " system"]
    neutral_modes: Int[np.ndarray, " system"]
    evidence: tuple[Evidence, ...]
    systems: Systems | None = None

    def to_xarray(self) -> "xr.Dataset":
        """Along `system`, with the coordinates of `systems`."""
        undecided = f"; {UNPLACED}: undecided"
        outside, on = (f"roots {place} the unit circle{undecided}" for place in ("outside", "on"))
        found = {
            "verdict": ("system", [str(each) for each in self.verdict], "1", "of x*"),
            "growing_modes": ("system", self.growing_modes, "1", outside),
            "neutral_modes": ("system", self.neutral_modes, "1", on),
            "evidence": ("system", [str(each) for each in self.evidence], "1", "how we know"),
        }
        return dataset(found, None if self.systems is None else self.systems.described(found))


_Found = tuple[Stability, int, int, Evidence]
_Mix = tuple[tuple[int, ...], tuple[Fraction, ...], tuple[int, ...]]


def stability_map(systems: Iterable[System]) -> StabilityMap:
    """The verdict of `stability` and its numbers of modes, for many systems.

    The numbers are certified and do not depend on what else is asked about; which of two ways
    certifies them, and so `evidence`, does.

    Args:
        systems: at least one, of any lengths, shares and capacities.

    Raises:
        InputError: no system, or something that is none.

    Source: Congestion, equations (8) to (10); `InputPencil` for all input lengths of a mix.

    Examples:
        >>> mixes = [fk.Workload.from_lengths([(inputs, 5), (inputs, 9)]) for inputs in (64, 65)]
        >>> found = fk.stability_map([fk.System(mix, capacity=1000) for mix in mixes])
        >>> [str(verdict) for verdict in found.verdict]
        ['unstable', 'stable']
    """
    given = list(systems)
    if not given:
        raise InputError("systems", given, "at least one System")
    families: dict[_Mix, list[tuple[int, int]]] = {}
    found: dict[int, _Found] = {}
    for place, system in enumerate(given):
        if not isinstance(system, System):
            raise InputError("systems", system, "Systems alone, as in System(workload, capacity)")
        mix, length = _mix_and_length(system)
        families.setdefault(mix, []).append((place, length))
    for mix, members in families.items():
        windows = _windows(mix) if len(members) > _FEW and len(mix[0]) > 1 else None
        if windows is None:
            found |= {place: _alone(given[place]) for place, _ in members}
        else:
            found |= {place: _within(windows, length) for place, length in members}
    rows = (found[place] for place in range(len(given)))
    verdict, growing, neutral, evidence = zip(*rows, strict=True)
    asked = systems if isinstance(systems, Systems) else None
    return StabilityMap(verdict, np.array(growing), np.array(neutral), evidence, asked)


def _mix_and_length(system: System) -> tuple[_Mix, int]:
    """Decode lengths, shares and input ratios in lowest terms; L, the divisor of the inputs.

    Without lengths where two classes have the same one.
    """
    classes = sorted(system.workload.classes, key=lambda c: c.decode_length)
    lengths = tuple(c.decode_length for c in classes)
    if len(set(lengths)) < len(lengths):
        return ((), (), ()), 0
    unit = math.gcd(*(c.input_length for c in classes))
    ratios = tuple(c.input_length // unit for c in classes)
    return (lengths, tuple(c.share for c in classes), ratios), unit


@lru_cache(_KEPT)
def _windows(mix: _Mix) -> tuple[InputWindow, ...] | None:
    """All windows of a mix, in ascending order; None where its crossings are out of reach."""
    try:
        return tuple(input_windows(LengthMix(*mix))[1])
    except ArithmeticError:
        return None


def _within(windows: tuple[InputWindow, ...], length: int) -> _Found:
    window = windows[bisect_right(windows, length, key=lambda w: w.first) - 1]
    growing, neutral = window.growing_modes, window.neutral_modes
    return _verdict(growing, neutral), growing, neutral, Evidence.BALL


def _alone(system: System) -> _Found:
    count = count_unstable(survival_weights(system.workload))
    if count.outside is not None and count.on_circle is not None:
        verdict = _verdict(count.outside, count.on_circle)
        return verdict, count.outside, count.on_circle, count.evidence
    found = stability(system)  # a mode is so near the circle that the leading ones are enclosed
    growing, neutral = found.unstable_modes, found.neutral_modes
    placed = UNPLACED if growing is None else growing, UNPLACED if neutral is None else neutral
    return found.verdict, *placed, found.evidence


def _verdict(growing: int, neutral: int) -> Stability:
    if growing:
        return Stability.UNSTABLE
    return Stability.UNDECIDED if neutral else Stability.STABLE
