"""One class of requests: small systems, and all their balanced cycles.

Throughput and stability do not depend on the capacity but for scale, so one capacity for each pair
of lengths stands for all.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise

from fluidkv.exact.one_class.cycles import Cycle, balanced_cycle
from fluidkv.exact.one_class.cycles_verified import verify_cycle
from fluidkv.exact.one_class.gaps import canonical_gaps, gap_vectors
from fluidkv.ledger import Range
from fluidkv.workload import RequestClass, System, Workload

INPUTS = (1, 2, 5, 20)
DECODES = range(1, 10)  # 144 gap vectors up to rotation, for each input length


def system_of(l0: int, l1: int, capacity: Fraction | int | None = None) -> System:
    """One class, with a capacity of 7 (l0 + l1) / 3 unless it is given."""
    return System(
        Workload((RequestClass(l0, l1),)), Fraction(capacity or Fraction(7 * (l0 + l1), 3))
    )


def weight(l0: int, j: int) -> int:
    """w_j, memory of one request in stage j."""
    return l0 + 1 + j


def grid(inputs: Sequence[int], decodes: Sequence[int], more: str = "") -> Range:
    """All pairs (l0, l1), shortest decode lengths first."""
    return Range(
        f"l0 = {_listed(inputs)}, l1 = {_listed(decodes)}{more}",
        lambda: ((l0, l1) for l1 in decodes for l0 in inputs),
        name=lambda l0, l1: f"l0={l0}, l1={l1}",
    )


def lengths(least: int = 1) -> Range:
    """The pairs whose cycles are all known here, from a least l1 on."""
    return grid(INPUTS, range(least, DECODES[-1] + 1))


def _listed(values: Sequence[int]) -> str:
    if isinstance(values, range):
        return f"{values[0]} ... {values[-1]:,}"
    return ", ".join(map(str, values))


@cache
def cycles_of(l0: int, l1: int) -> tuple[tuple[Cycle, bool], ...]:
    """Each balanced cycle, and whether the map, run once round, does what the record says."""
    system = system_of(l0, l1)
    cycles = (balanced_cycle(system, gaps) for gaps in gap_vectors(l1))
    return tuple((cycle, verify_cycle(system, cycle)) for cycle in cycles)


def named(cycle: Cycle) -> str:
    """For witnesses: "l0=2, gaps (2, 1)"."""
    return f"l0={cycle.system.workload.classes[0].input_length}, gaps {cycle.gaps}"


def _all_cycles() -> Iterator[tuple[Cycle, bool]]:
    return (found for l1 in DECODES for l0 in INPUTS for found in cycles_of(l0, l1))


CYCLES = Range(
    f"all gap vectors, {lengths().words}",
    _all_cycles,
    name=lambda cycle, verified: named(cycle),
)
"""Every balanced cycle, and whether the map confirms it."""


def compositions(total: int) -> Iterator[tuple[int, ...]]:
    """All gap vectors with this sum, rotations apart, fewest gaps first."""
    for live in range(1, total + 1):
        for cuts in combinations(range(1, total), live - 1):
            yield tuple(b - a for a, b in pairwise((0, *cuts, total)))


def intermediate_gaps(l1: int) -> Iterator[tuple[int, ...]]:
    """Gap vectors, up to rotation, of the eviction levels 1 ... l1 - 2."""
    for gaps in compositions(l1):
        if 1 < len(gaps) < l1 and gaps == canonical_gaps(gaps):
            yield gaps
