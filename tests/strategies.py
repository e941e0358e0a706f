"""Hypothesis strategies for the whole test suite. They build valid values and filter nothing.

All numbers are exact, so that the rational reference can take them; float tests convert.
"""

from fractions import Fraction
from itertools import pairwise
from math import gcd

from hypothesis import strategies as st

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.workload import RequestClass, System, Workload

lengths = st.integers(1, 6)
"""Small lengths: every branch of the dynamics shows within six stages."""

positive_rationals = st.builds(Fraction, st.integers(1, 60), st.integers(1, 12))


@st.composite
def workloads(
    draw: st.DrawFn,
    *,
    min_classes: int = 1,
    max_classes: int = 4,
    decode_lengths: st.SearchStrategy[int] = lengths,
    inputs: st.SearchStrategy[int] = lengths,
) -> Workload:
    """Classes with small lengths and rational shares; two classes may agree in both lengths."""
    parts = draw(st.lists(st.integers(1, 9), min_size=min_classes, max_size=max_classes))
    return Workload(
        tuple(
            RequestClass(draw(inputs), draw(decode_lengths), Fraction(part, sum(parts)))
            for part in parts
        )
    )


@st.composite
def systems(draw: st.DrawFn, *, workloads: st.SearchStrategy[Workload] | None = None) -> System:
    """A workload and a rational capacity above its largest request."""
    workload = draw(workloads if workloads is not None else _any_workload)
    return System(workload, workload.largest_footprint + draw(positive_rationals))


_any_workload = workloads()

homogeneous_systems = systems(workloads=workloads(max_classes=1))
"""One class."""

shares = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
"""Of the shorter of two lengths."""

seeds = st.integers(0, 2**32 - 1)
"""Of random keys, where thousands of numbers are drawn at once."""


@st.composite
def boundary_states(draw: st.DrawFn, system: System) -> list[list[Fraction]]:
    """A state `x[k][j]` with memory exactly at capacity; many stages may be empty."""
    classes = system.workload.classes
    raw = draw(_masses(sum(c.decode_length for c in classes)))
    rows = [[raw.pop() for _ in range(c.decode_length)] for c in classes]
    used = sum(
        (c.input_length + 1 + j) * x
        for c, row in zip(classes, rows, strict=True)
        for j, x in enumerate(row)
    )
    return [[x * system.capacity / used for x in row] for row in rows]


@st.composite
def feasible_states(draw: st.DrawFn, system: System) -> list[list[Fraction]]:
    """A state `x[k][j]` with memory at or below capacity."""
    fill = draw(st.fractions(0, 1, max_denominator=8))
    return [[x * fill for x in row] for row in draw(boundary_states(system))]


@st.composite
def cohort_profiles(draw: st.DrawFn, system: System) -> list[Fraction]:
    """Cohort masses `y[s]` whose manifold state x_kj = p_k y_j has memory exactly at capacity."""
    classes = system.workload.classes
    raw = draw(_masses(system.workload.longest_decode))
    used = sum(
        c.share * (c.input_length + 1 + s) * raw[s] for c in classes for s in range(c.decode_length)
    )
    return [y * system.capacity / used for y in raw]


@st.composite
def systems_with_states(
    draw: st.DrawFn, *, systems: st.SearchStrategy[System] | None = None
) -> tuple[System, list[list[Fraction]]]:
    """A system and one of its memory-boundary states."""
    system = draw(systems if systems is not None else _any_system)
    return system, draw(boundary_states(system))


_any_system = systems()


@st.composite
def _masses(draw: st.DrawFn, count: int) -> list[Fraction]:
    """`count` masses of at least 0, one of them positive; a third or so exactly 0."""
    mass = st.one_of(st.just(Fraction(0)), positive_rationals, positive_rationals)
    masses = draw(st.lists(mass, min_size=count, max_size=count))
    masses[draw(st.integers(0, count - 1))] = draw(positive_rationals)
    return masses


@st.composite
def gap_compositions(draw: st.DrawFn, decode_length: int) -> tuple[int, ...]:
    """Predecessor gaps with sum l1, in any rotation."""
    places = st.lists(st.booleans(), min_size=decode_length - 1, max_size=decode_length - 1)
    ends = [0, *(j for j, cut in enumerate(draw(places), start=1) if cut), decode_length]
    return tuple(b - a for a, b in pairwise(ends))


_amounts = st.one_of(st.just(Fraction(0)), st.fractions(0, 20, max_denominator=6))


@st.composite
def open_states(
    draw: st.DrawFn,
) -> tuple[System, list[list[Fraction]], list[Fraction], list[Fraction], Fraction | None]:
    """A system, masses at or below its capacity, a queue, arrivals, and a cap or none."""
    system = draw(_any_system)
    count = len(system.workload.classes)
    lists = st.lists(_amounts, min_size=count, max_size=count)
    cap = draw(st.one_of(st.none(), st.fractions(Fraction(1, 4), 10, max_denominator=8)))
    return system, draw(feasible_states(system)), draw(lists), draw(lists), cap


@st.composite
def systems_with_gaps(
    draw: st.DrawFn, *, decode_lengths: st.SearchStrategy[int] | None = None
) -> tuple[System, tuple[int, ...]]:
    """One class with l1 up to 10 unless told otherwise, and gaps of one of its balanced cycles."""
    decodes = st.integers(1, 10) if decode_lengths is None else decode_lengths
    system = draw(systems(workloads=workloads(max_classes=1, decode_lengths=decodes)))
    return system, draw(gap_compositions(system.workload.classes[0].decode_length))


@st.composite
def whole_states(
    draw: st.DrawFn, *, systems: st.SearchStrategy[System] | None = None
) -> tuple[System, tuple[int, ...]]:
    """A system of one class and whole requests by stage, memory at or below capacity."""
    system = draw(systems if systems is not None else homogeneous_systems)
    (only,) = system.workload.classes
    free, state = system.capacity, [0] * only.decode_length
    for stage in draw(st.permutations(range(only.decode_length))):
        weight = only.input_length + 1 + stage
        state[stage] = draw(st.integers(0, int(free // weight)))
        free -= weight * state[stage]
    return system, tuple(state)


input_lengths = st.one_of(st.integers(0, 40), st.integers(100, 10**5))
"""Of a mix, which may have no input at all; a request class has at least one token."""


@st.composite
def length_mixes(
    draw: st.DrawFn,
    *,
    divisors: st.SearchStrategy[int] | None = None,
    longest: int = 12,
    classes: int = 4,
    one: bool = True,
    ratios: st.SearchStrategy[Fraction] | None = None,
) -> LengthMix:
    """Two to `classes` decode lengths up to `longest` whose greatest common divisor is the drawn.

    Divisors are 1 to 4 at most unless told otherwise; inputs are common to the classes without
    `ratios`.
    Without `one` no length is the divisor itself.
    """
    divisor = draw(st.integers(1, min(4, longest // 2)) if divisors is None else divisors)
    first, most = 1 if one else 2, longest // divisor
    pair = draw(st.sampled_from(coprime_pairs(most, shortest=first)))
    more = draw(st.sets(st.integers(first, most), max_size=classes - 2))
    lengths = sorted({*pair, *more})
    parts = [draw(st.integers(1, 99)) for _ in lengths]
    return LengthMix(
        [divisor * n for n in lengths],
        [Fraction(part, sum(parts)) for part in parts],
        None if ratios is None else [draw(ratios) for _ in lengths],
    )


def coprime_pairs(longest: int, *, shortest: int = 1) -> list[tuple[int, int]]:
    """All a < n <= longest without a common divisor, a at least `shortest`, in order of n."""
    return [(a, n) for n in range(2, longest + 1) for a in range(shortest, n) if gcd(a, n) == 1]
