"""Where swapping becomes faster than computing again: all crossings of two fits, with their error.

L_r - L_s = alpha S^beta + (kappa - gamma) S + (epsilon - delta) turns at most once, so that it has
at most two zeros, and those lie on either side of where it turns.

Source: CacheOPT, section 3.5.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.restoring.latency import LatencyFit
from fluidkv.record import Record
from fluidkv.serving.swap import UNLIMITED, Swap


@dataclass(frozen=True)
class SweetSpot(Record):
    """A length at which both take the same time.

    Fields:
        tokens: the length.
        standard_error: of it, by the delta method, as if the two profiles were independent.
        swap_above: longer caches are swapped faster; False: shorter ones.
        measured: both profiles reach it; False: it is extrapolated.

    Examples:
        >>> from fluidkv.preempt import copies_of, recompute_of, spots_on_a_bus
        >>> from fluidkv.preempt.restoring.roofline import OPT_13B
        >>> spot = spots_on_a_bus(recompute_of(OPT_13B), copies_of(OPT_13B, per_copy=0.02))[-1]
        >>> round(spot.tokens), spot.swap_above, spot.measured
        (399, True, True)
    """

    tokens: float
    standard_error: float
    swap_above: bool
    measured: bool


def sweet_spots(recompute: LatencyFit, swap: LatencyFit) -> tuple[SweetSpot, ...]:
    """All crossings at lengths above 0 and below 2^30, the shortest first; none to two.

    Examples:
        >>> from fluidkv.preempt import fit_recompute, fit_swap, sweet_spots
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> s = np.array([1000, 2000, 4000, 8000])
        >>> recompute = fit_recompute(LatencyProfile(s, 1e-8 * s**2 + 6e-5 * s), exponent=2)
        >>> swap = fit_swap(LatencyProfile(s, 8e-5 * s + 0.015))
        >>> [round(spot.tokens) for spot in sweet_spots(recompute, swap)]
        [2581]
    """
    from scipy.optimize import root_scalar

    def ahead(tokens: float) -> float:
        return float(recompute(tokens) - swap(tokens))

    turn = _turn(recompute, swap)
    ends = [1e-9, *([turn] if turn is not None and 1e-9 < turn < UNLIMITED else []), UNLIMITED]
    found = []
    for low, high in pairwise(ends):
        if ahead(low) * ahead(high) < 0:
            at = float(root_scalar(ahead, bracket=(low, high), method="brentq").root)
            found.append(_spot(recompute, swap, at, ahead(high) > ahead(low)))
    return tuple(found)


def _turn(recompute: LatencyFit, swap: LatencyFit) -> float | None:
    """Where the difference stops to rise or to fall; None: nowhere."""
    alpha, beta, kappa, _ = recompute.parameters
    slope = swap.parameters[2] - kappa
    if alpha == 0 or beta == 1 or slope / (alpha * beta) <= 0:
        return None
    with np.errstate(over="ignore"):
        found = float(np.float64(slope / (alpha * beta)) ** (1 / (beta - 1)))
    return found if np.isfinite(found) else None


def _spot(recompute: LatencyFit, swap: LatencyFit, at: float, above: bool) -> SweetSpot:
    steep = recompute.slope(at) - swap.slope(at)
    spread = np.hypot(recompute.standard_error(at), swap.standard_error(at))
    error = float(spread / abs(steep)) if steep else float("inf")
    return SweetSpot(at, error, above, at <= min(recompute.longest, swap.longest))


def swap_of(
    recompute: LatencyFit,
    swap: LatencyFit,
    *,
    pool: int | None = None,
    shared: bool = True,
) -> Swap:
    """What `Restore.SWAP` and `Restore.CHEAPER` take, from two fits.

    A profile of swaps is of copies out and in; each way takes half. Where swapping is never
    faster, the sweet spot is above all lengths, and where it always is, it is 0. With two crossings
    swapping is faster below the first and above the second, and the second counts.

    Raises:
        InputError: copies that take less than no time, or swapping that is faster only below a
            length, which one sweet spot cannot say.

    Examples:
        >>> from fluidkv.preempt import fit_recompute, fit_swap
        >>> from fluidkv.preempt.restoring.profile import LatencyProfile
        >>> from fluidkv.preempt.restoring.spots import swap_of
        >>> s = np.array([1000, 2000, 4000, 8000])
        >>> recompute = fit_recompute(LatencyProfile(s, 1e-8 * s**2 + 6e-5 * s), exponent=2)
        >>> swap = swap_of(recompute, fit_swap(LatencyProfile(s, 8e-5 * s + 0.015)))
        >>> swap.sweet_spot, round(1e6 * swap.per_token)
        (2581, 40)
    """
    _, _, gamma, delta = swap.parameters
    spots = sweet_spots(recompute, swap)
    if spots and not spots[-1].swap_above:
        found = f"swapping faster below {spots[-1].tokens:.0f} tokens only"
        raise InputError("swap", found, "fits with swapping faster for the longest")
    if gamma < 0 or delta < 0:
        found = f"gamma {gamma:.3g}, delta {delta:.3g}"
        raise InputError("swap", found, "a fit with both of at least 0")
    everywhere = 0 if _faster(recompute, swap) else UNLIMITED
    spot = int(spots[-1].tokens) if spots else everywhere
    return Swap(gamma / 2, delta / 2, pool=pool, sweet_spot=spot, shared=shared)


def _faster(recompute: LatencyFit, swap: LatencyFit) -> bool:
    return float(swap(1.0)) < float(recompute(1.0))
