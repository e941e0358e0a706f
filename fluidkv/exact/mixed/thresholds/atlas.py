"""The atlas: l0_min of every pair of decode lengths up to some length, at several shares.

Each value is certified (`threshold`); the work is shared out over processes, a pair at a time.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.mixed.thresholds.threshold import (
    InputThreshold,
    ThresholdStatus,
    input_threshold,
)
from fluidkv.labels import Column, dataset
from fluidkv.processes import cores, shared_out
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    import xarray as xr

TENTHS = tuple(Fraction(k, 10) for k in range(1, 10))
"""Shares from 1/10 to 9/10.

>>> from fluidkv.exact.mixed.thresholds.atlas import TENTHS
>>> [fk.input_threshold(fk.LengthMix((2, 3), [p])).least for p in TENTHS]
[18, 8, 4, 3, 2, 1, 1, 3, 8]
"""

NO_THRESHOLD, NO_PAIR = -1, -2
"""In place of a length or a count: there is none; `first` is not below `second`."""

_STATUS = list(ThresholdStatus)
_EVIDENCE = (Evidence.EXACT, Evidence.BALL)

# name -> units, long name; all but the floats are integers with NO_PAIR off the pairs
_INTEGERS = {
    "status": ("1", "what is known of the threshold"),
    "l0_min": ("token", "smallest input length at which the equilibrium is stable"),
    "evidence_at": ("1", "kind of the certificate at l0_min"),
    "evidence_below": ("1", "kind of the certificate one token below l0_min"),
    "growing_below": ("1", "growing modes one token below l0_min"),
    "growing_far": ("1", "growing modes at all long inputs, g - 1"),
    "stable_windows": ("1", "stretches of stable input lengths; more than one is an island"),
    "crossings": ("1", "input lengths above 0 at which modes cross the unit circle"),
    "crossings_out": ("1", "those of them at which longer inputs add growing modes"),
}
_FLOATS = {
    "last_period": ("iteration", "period of the mode that is the last to become stable"),
    "asymptotic": ("token", "threshold by equation (13)"),
    "asymptotic_error": ("1", "equation (13) over l0_min, less 1"),
    "first_order": ("token", "threshold by the first-order drift of the leading limiting root"),
    "first_order_error": ("1", "first-order threshold over l0_min, less 1"),
    "limit_radius": ("1", "spectral radius of the limiting polynomial A"),
}


def threshold_atlas(
    longest: int = 60,
    shares: Sequence[Fraction] = TENTHS,
    *,
    workers: int = 2,
    on_progress: Callable[[int, int], None] | None = None,
) -> "xr.Dataset":
    """Certified thresholds of all pairs first < second <= `longest` with common inputs.

    Args:
        longest: the longest decode length, at least 2.
        shares: of the shorter length, rationals in (0, 1), all different.
        workers: processes, no more than there are cores; 1 does the work in this one.
        on_progress: called with the number of pairs that are done, and of all.

    Returns:
        Dimensions `first`, `second` (decode lengths) and `share`. Integers are `NO_THRESHOLD` = -1
        where there is no such thing and `NO_PAIR` = -2 where `first` is not below `second`; floats
        are NaN in both cases. `status` and `evidence_*` have their codes in `flag_meanings`.

    Raises:
        InputError: what LengthMix refuses; shares that repeat, longest < 2, workers < 1; a process
            that was ended from outside.

    Examples:
        >>> atlas = fk.threshold_atlas(3, [Fraction(1, 2)], workers=1)
        >>> dict(atlas.sizes)
        {'first': 2, 'second': 2, 'share': 1}
        >>> int(atlas.l0_min.sel(first=2, second=3, share=0.5))
        2
    """
    for name, value, least in (("longest", longest, 2), ("workers", workers, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(name, value, f"an integer of at least {least}")
    if not shares or len(set(shares)) < len(shares):
        raise InputError("shares", [str(p) for p in shares], "at least one share, all different")
    for share in shares:
        two_lengths(1, 2, share)  # refuses what is no share before the work begins
    pairs = [(a, n) for n in range(2, longest + 1) for a in range(1, n)]
    shape = (longest - 1, longest - 1, len(shares))
    values: dict[str, np.ndarray] = {
        **{name: np.full(shape, NO_PAIR, dtype=np.int64) for name in _INTEGERS},
        **{name: np.full(shape, math.nan) for name in _FLOATS},
    }
    # the dear ones first, so that no worker is left with one of them at the end
    jobs = [(a, n, tuple(shares)) for a, n in reversed(pairs)]
    found = shared_out(_pair, jobs, min(workers, cores()), argument="workers")
    for done, (_, (first, second, rows)) in enumerate(found, start=1):
        for k, row in enumerate(rows):
            for name, value in row.items():
                values[name][first - 1, second - 2, k] = value
        if on_progress is not None:
            on_progress(done, len(pairs))
    return _dataset(values, longest, shares)


_Job = tuple[int, int, tuple[Fraction, ...]]
_Rows = tuple[int, int, list[dict[str, float]]]


def _pair(job: _Job) -> _Rows:
    first, second, shares = job
    return first, second, [_row(input_threshold(two_lengths(first, second, p))) for p in shares]


def _row(found: InputThreshold) -> dict[str, float]:
    formula, least = found.asymptotic, found.least
    above_zero = [c for c in found.crossings if c.length > 0]
    row: dict[str, float] = {
        "status": _STATUS.index(found.status),
        "l0_min": NO_THRESHOLD if least is None else least,
        "evidence_at": NO_THRESHOLD if found.at is None else _EVIDENCE.index(found.at.evidence),
        "evidence_below": NO_THRESHOLD,
        "growing_below": NO_THRESHOLD,
        "growing_far": found.windows[-1].growing_modes if found.windows else NO_THRESHOLD,
        "stable_windows": len(found.stable_windows) if found.windows else NO_THRESHOLD,
        "crossings": len(above_zero),
        "crossings_out": sum(c.outward > 0 for c in above_zero),
        "last_period": math.nan,
    }
    if found.below is not None and found.below.outside is not None:
        row["evidence_below"] = _EVIDENCE.index(found.below.evidence)
        row["growing_below"] = found.below.outside
    if least is not None:
        last = [c for c in found.crossings if c.outward < 0 and not c.length > least]
        if last:
            row["last_period"] = 2 / float(last[-1].turn.mid())
    if formula is not None:
        row["asymptotic"], row["first_order"] = formula.phases, formula.first_order
        row["limit_radius"] = sum(formula.limit_radius) / 2
        if least:
            row["asymptotic_error"] = formula.phases / least - 1
            row["first_order_error"] = formula.first_order / least - 1
    return row


def _dataset(
    values: dict[str, np.ndarray], longest: int, shares: Sequence[Fraction]
) -> "xr.Dataset":
    dims = ("first", "second", "share")
    lengths = np.arange(1, longest + 1)
    decimals = np.array([float(p) for p in shares])
    coordinates: dict[str, Column] = {
        "first": ("first", lengths[:-1], "token", "shorter decode length"),
        "second": ("second", lengths[1:], "token", "longer decode length"),
        "share": ("share", decimals, "1", "share of the shorter length"),
        "exact_share": ("share", [str(p) for p in shares], "1", "share, as a fraction"),
    }
    columns = {**_INTEGERS, **_FLOATS}
    found = dataset(
        {name: (dims, values[name], *titles) for name, titles in columns.items()},
        coordinates,
        title="Certified input thresholds of pairs of decode lengths with a common input length",
    )
    for name in _INTEGERS:
        attrs = found[name].attrs
        attrs["comment"] = f"{NO_THRESHOLD}: none; {NO_PAIR}: first is not below second"
        if name == "status":
            attrs |= _flags(s.name.lower() for s in _STATUS)
        if name.startswith("evidence"):
            attrs |= _flags(_EVIDENCE)
    return found


def _flags(meanings: Iterable[str]) -> dict[str, Any]:
    names = [str(m) for m in meanings]
    return {"flag_values": list(range(len(names))), "flag_meanings": " ".join(names)}
