"""Congestion, equation (7): what the scaling of inputs and memory keeps, and what it levels."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fluidkv import exact
from fluidkv.ledger.ranges import Range
from fluidkv.papers.congestion.paper import statements
from fluidkv.workload import RequestClass, System, Workload

CLAIMS = statements()

Scaled = tuple[Workload, tuple[Fraction, ...], int]
"""The classes at scale L, their ratios r_k, and L."""

_C = 40  # M = c L
_RATIOS = (Fraction(1), Fraction(1, 2), Fraction(3))
_SHARES = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
_LENGTHS = ((2, 3, 7), (4, 6, 10), (1, 20, 30))


def _scaled() -> Iterator[Scaled]:
    for lengths, power in product(_LENGTHS, range(1, 7)):
        scale = 10**power
        classes = zip(_RATIOS, lengths, _SHARES, strict=True)
        workload = Workload(tuple(RequestClass(int(r * scale), n, p) for r, n, p in classes))
        yield workload, _RATIOS, scale


_SCALED = Range(
    "three classes with r = 1, 1/2, 3 and three sets of decode lengths up to 30, L = 10 ... 10^6",
    _scaled,
    name=lambda workload, ratios, scale: f"L = {scale}, l1 = {workload.classes[-1].decode_length}",
)


@CLAIMS.over(
    _SCALED,
    "equation-7.stage-costs",
    "equation (7) and below",
    "Under the scaling the memory of a request in any stage is r_k L (1 + O(1/L)).",
    ours="at most l1 / (r_k L) more, relative, {count} systems",
    paper="w_{k,j} = r_k L (1 + O(1/L))",
)
def _stage_costs(workload: Workload, ratios: tuple[Fraction, ...], scale: int) -> bool:
    system = System(workload, _C * scale)
    for k, (c, r) in enumerate(zip(workload.classes, ratios, strict=True)):
        for j in range(c.decode_length):
            one = [[0] * other.decode_length for other in workload.classes]
            one[k][j] = 1
            more = exact.memory_used(system, one) / (r * scale) - 1
            if not 0 <= more <= c.decode_length / (r * scale):
                return False
    return True


@CLAIMS.over(
    _SCALED,
    "equation-7.concurrency",
    "equation (7) and below",
    "The scaling keeps concurrency: x* tends to c / sum of p_k r_k l1_k, as 1/L.",
    ours="below it by less than (d + 1) / (2 L min r_k), relative, {count} systems",
    paper="preserves non-degenerate concurrency",
)
def _concurrency(workload: Workload, ratios: tuple[Fraction, ...], scale: int) -> bool:
    rate = exact.eviction_free_equilibrium(System(workload, _C * scale)).rate
    held = sum(c.share * r * c.decode_length for c, r in zip(workload.classes, ratios, strict=True))
    behind = 1 - rate * held / _C
    return 0 < behind < Fraction(workload.longest_decode + 1, 2 * scale) / min(ratios)
