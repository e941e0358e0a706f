"""CacheOPT, sections 2.5 and 3.5, Observation 4, Figure 8: to swap or to compute again."""

from fractions import Fraction
from itertools import product

import numpy as np

from fluidkv.ledger import Finding, Origin, Range
from fluidkv.preempt.restoring.latency import fit_recompute
from fluidkv.preempt.restoring.profile import LatencyProfile
from fluidkv.preempt.restoring.roofline import OPT_13B
from fluidkv.serving.rules import Restore
from fluidkv.serving.swap import Swap
from fluidkv_papers.cacheopt.instances import machines
from fluidkv_papers.cacheopt.paper import statements
from fluidkv_papers.cacheopt.scheduler.requests import Copies, Request

CLAIMS = statements(origin=Origin.READING)

_MACHINE = "OPT-13B, operations of an A100's data sheet, 25 GB/s over PCIe 4.0 x16"
_LENGTHS = Range(
    "s = 1 ... 60, operations counted token by token", lambda: ((s,) for s in range(1, 61))
)


@CLAIMS.claim("restoring.orders", "section 2.5", over=_LENGTHS, origin=Origin.PRINTED)
def _orders(s: int) -> bool | str:
    """Recomputing s tokens is O(s^2), and of no lower order.

    Ours: 2 h L s^2 operations at least, and s^2 times the first token's at most
    Paper: O(s^2), where swapping is O(s)
    Note: 2 P s + 2 h L s (s + 1) operations in all, P weights, L layers of width h; a copy moves
    the same bytes for each token."""
    counted = machines.operations(s)
    within = machines.PAIR // 2 * s**2 <= counted <= machines.operations(1) * s**2
    exact = counted == 2 * machines.WEIGHTS * s + machines.PAIR * s * (s + 1) // 2
    return (exact and within) or f"s = {s}: {counted} operations"


@CLAIMS.fails("restoring.quadratic", "section 2.5, Figure 8")
def _quadratic() -> Finding:
    """Up to the sweet spot of 4,000 tokens a recomputation of OPT-13B grows as s^2 rather than s:
    twice the length costs more than 3 times as much.

    Checked: operations of 2,000 and of 4,000 tokens
    Paper: recomputation follows a quadratic growth
    Holds: restoring.orders"""
    twice = Fraction(machines.operations(machines.SPOT), machines.operations(machines.SPOT // 2))
    squares = Fraction(
        machines.PAIR * machines.SPOT * (machines.SPOT + 1) // 2, machines.operations(machines.SPOT)
    )
    return Finding(
        twice > 3 or f"{float(twice):.3f} times as much",
        f"{float(twice):.2f} times; the squares are {float(squares):.0%} of it",
        note=f"They are half at {OPT_13B.even:,.0f} tokens, P / (h L). A profile that bends more "
        "has other causes, such as attention that writes its scores to memory.",
    )


@CLAIMS.fails("restoring.observation-4.crossing", "Observation 4, Figure 8", checked=_MACHINE)
def _crossing() -> Finding:
    """Below 4,000 tokens OPT-13B is recomputed faster than swapped, at what the machine can do.

    Paper: swapping is faster when the sequence length exceeds 4000 tokens"""
    swap = machines.out_and_in(machines.BUS)
    fastest, half = machines.recomputation(Fraction(1)), machines.recomputation(Fraction(1, 2))
    wanted = machines.bandwidth_for(machines.SPOT, Fraction(1, 2))
    fixed = half(machines.SPOT) - swap * machines.SPOT
    return Finding(
        fastest(1) < swap or "a token",
        f"swapping is faster from the first token on: {1e6 * float(swap):.1f} us each, "
        f"against {1e6 * float(fastest(1)):.1f} at all the GPU's operations",
        note=f"A crossing at 4,000 comes out, at half of the operations, with "
        f"{float(wanted) / 1e9:.2f} GB/s each way, or with {float(fixed):.2f} s that a swap takes "
        "besides; copies block by block may well be as slow as the first. Neither is printed. "
        f"OPT-13B has {OPT_13B.longest:,} positions, where a profile of prompts that it can take "
        "ends: 4,000 is extrapolated, or timed beyond them.",
    )


@CLAIMS.claim(
    "restoring.observation-4.sharp",
    "Observation 4, section 3.5",
    checked=f"{_MACHINE}, but with the bandwidth that gives 4,000 at half of the operations",
)
def _sharp() -> Finding:
    """Swaps that are 10 % slower move a sweet spot of 4,000 tokens beyond 8,000, and with swaps
    that are 10 % faster there is none.

    Paper: a threshold (e.g., 4k in our setting)
    Note: Both times are nearly lines, so that they cross at a small angle: 1 % moves the spot by 1
    % of (even + spot) / spot, where even is the length at which squares are half."""
    recompute = machines.recomputation(Fraction(1, 2))
    swap = machines.out_and_in(machines.bandwidth_for(machines.SPOT, Fraction(1, 2)))
    faster, slower = (recompute.crossing(swap * scale / 10) for scale in (9, 11))
    percent = (recompute.crossing(swap * 101 / 100) - machines.SPOT) / machines.SPOT
    return Finding(
        (faster <= 0 and slower > 8000) or f"{float(slower):,.0f} tokens",
        f"none, or {float(slower):,.0f}: 1 % of a time is {float(percent):.0%} of the spot",
    )


@CLAIMS.fails("restoring.one-crossing", "section 3.5")
def _one_crossing() -> bool | str:
    """L_r and L_s with rising terms (alpha, kappa, gamma > 0, beta > 1) cross at one length.

    Checked: alpha = kappa = 1, beta = 2, gamma = 4, delta = 0; epsilon = 2 and 3
    Ours: two lengths, 1 and 2, or none
    Paper: the sequence length satisfying L_r(S) = L_s(S)
    Note: At most two for any beta: the difference turns once. With two, swapping is faster below
    the first, too, where recomputing has a fixed cost."""

    def lengths(epsilon: int) -> list[int]:
        return [s for s in range(1, 100) if s**2 + s + epsilon == 4 * s]

    def zeros(epsilon: int) -> int:  # of s^2 - 3 s + epsilon
        discriminant = 9 - 4 * epsilon
        return (discriminant >= 0) + (discriminant > 0)

    found = {epsilon: zeros(epsilon) for epsilon in (2, 3)}
    return set(found.values()) == {1} or f"epsilon = 2: at {lengths(2)}; epsilon = 3: none"


@CLAIMS.fails("restoring.identified", "section 3.5")
def _identified() -> bool | str:
    """A profile without noise tells alpha, beta, kappa and epsilon.

    Checked: two sets of parameters, lengths 1 to 99
    Ours: a straight profile has infinitely many
    Paper: parameters determined during training
    Note: Near a straight line a fit cannot tell either: fit_recompute says which beta fit.
    Holds: restoring.identified.four-lengths"""

    def recompute(s: int, alpha: int, beta: int, kappa: int) -> int:
        return alpha * s**beta + kappa * s

    same = all(recompute(s, 1, 1, 0) == recompute(s, 0, 2, 1) for s in range(1, 100))
    return not same or "L_r = S is (1, 1, 0, 0) and (0, 2, 1, 0)"


@CLAIMS.claim(
    "restoring.identified.four-lengths",
    "section 3.5",
    over=lambda: product((1.0, 3.0), (0.5, 1.5, 2.0, 3.0), (-0.5, 0.0, 1.0)),
)
def _four_lengths(alpha: float, beta: float, kappa: float) -> bool | str:
    """Where alpha is not 0 and beta not 1, four lengths without noise tell all four parameters.

    Checked: alpha = 1, 3, beta = 1/2, 3/2, 2, 3, kappa = -1/2, 0, 1, lengths 1, 2, 5, 9
    Ours: the fit gives beta back in all {count} cases
    Note: Proof: the difference of two such models has at most four powers of S, so at most three
    zeros above 0 (Descartes, for real exponents), unless it is 0 everywhere."""
    lengths = np.array([1.0, 2.0, 5.0, 9.0])
    times = alpha * lengths**beta + kappa * lengths + 5
    # noise = 1: a profile may fall here.
    fit = fit_recompute(LatencyProfile(lengths, times, noise=1))
    return abs(fit.parameters[1] - beta) < 1e-3 or f"beta = {beta}: {fit.parameters}"


@CLAIMS.fails("restoring.alone", "section 3.5")
def _alone() -> Finding:
    """If swapping is faster than recomputing for each victim alone, it is for two that share the
    bus and the GPU.

    Checked: two victims of one length, copies and computations one after the other
    Paper: L_s and L_r of a sequence length
    Note: Of n, (3 n + 1) / 2 copies against (n + 1) / 2 prefills: all go out before anybody goes
    on, and queue again on the way in."""
    copy, prefill, victims = 9, 20, 2
    bus = Copies(Restore.SWAP, Swap(per_token=copy))
    crowd = [Request(k, 1, 1, 1, 0.0, computed=1) for k in range(victims)]
    for victim in crowd:
        bus.leave(victim)
    began, _ = bus.go(0.0, [])
    bus.go(began, crowd)
    swapped = sum(victim.ready_at for victim in crowd) / victims
    again = sum(prefill * k for k in range(1, victims + 1)) / victims
    faster_alone = 2 * copy < prefill
    return Finding(
        not (faster_alone and swapped > again) or f"{swapped:g} against {again:g}",
        f"alone {2 * copy} against {prefill}, of two on average {swapped:g} and {again:g}",
    )
