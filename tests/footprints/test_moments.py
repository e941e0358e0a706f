"""Moments of footprints against every path, one by one; the plain case against `survival`."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.footprints import FullAttention, Hybrid, RecordedFootprint, SlidingWindow, StateSpace
from fluidkv.footprints.attention import Attention
from fluidkv.footprints.circle import circle_moments, walks_of
from fluidkv.footprints.densities import moments_on_circle
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.second_moments import mean_weights, moments
from fluidkv.runs.precision import in_float64
from tests import strategies

chances = st.fractions(0, 1, max_denominator=6)
attentions: st.SearchStrategy[Attention] = st.one_of(
    st.just(FullAttention()),
    st.builds(SlidingWindow, st.integers(1, 9)),
    st.builds(
        StateSpace, st.fractions(1, 9, max_denominator=3), st.fractions(0, 2, max_denominator=3)
    ),
    st.builds(
        lambda window, share: Hybrid(((share, FullAttention()), (1 - share, window))),
        st.builds(SlidingWindow, st.integers(1, 9)),
        st.fractions(Fraction(1, 9), Fraction(8, 9), max_denominator=9),
    ),
)
requests = st.builds(
    fk.RequestFootprint,
    st.integers(1, 6),
    st.integers(1, 5),
    attention=attentions,
    speculation=st.one_of(st.none(), st.builds(fk.Speculation, st.integers(1, 2), chances)),
    prefill_chunk=st.one_of(st.none(), st.integers(1, 5)),
    block=st.integers(1, 4),
)
footprints: st.SearchStrategy[Footprint] = st.one_of(
    requests,
    st.builds(
        RecordedFootprint, st.lists(st.fractions(1, 9, max_denominator=4), min_size=1, max_size=5)
    ),
    st.builds(
        lambda one, other, share: fk.FootprintMix([(share, one), (1 - share, other)]),
        requests,
        requests,
        st.fractions(Fraction(1, 9), Fraction(8, 9), max_denominator=9),
    ),
)


def every_path(footprint: Footprint) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """(probability, what is held iteration by iteration) of each way a request may go."""
    for share, growth in footprint.growths:
        held = [Fraction(int(n), growth.unit) for n in growth.held]
        ways = [(share, 0, [Fraction(int(n), growth.unit) for n in growth.start])]
        while ways:
            chance, place, path = ways.pop()
            if place >= len(held):
                yield chance, path
                continue
            for n, step in enumerate(growth.steps, start=1):
                if step:
                    ways.append((chance * step, place + n, [*path, held[place]]))


@given(footprints)
def test_moments_are_sums_over_every_path(footprint: Footprint) -> None:
    found, paths = moments(footprint), list(every_path(footprint))
    ages = max(len(path) for _, path in paths)
    assert found.weights == mean_weights(footprint)
    assert len(found.weights.memory) == ages

    def mean(values: list[tuple[Fraction, Fraction | int]]) -> Fraction:
        return sum((chance * value for chance, value in values), Fraction(0))

    for age in range(ages):
        there = [(chance, path) for chance, path in paths if len(path) > age]
        assert mean([(c, p[age]) for c, p in there]) == Fraction(
            found.weights.memory[age], found.weights.denominator
        )
        assert mean([(c, 1) for c, _ in there]) == Fraction(
            found.weights.requests[age], found.weights.denominator
        )
    for lag in range(ages):
        both = [
            (c, [(path[j], path[j + lag]) for j in range(len(path) - lag)]) for c, path in paths
        ]
        one = found.denominator
        memory = mean([(c, sum((a * b for a, b in row), Fraction(0))) for c, row in both])
        assert memory == Fraction(found.memory_memory[lag], one)
        alive = mean([(c, len(row)) for c, row in both])
        assert alive == Fraction(found.running_running[lag], one)
        ahead = mean([(c, sum((a for a, _ in row), Fraction(0))) for c, row in both])
        assert ahead == Fraction(found.running_memory[ages - 1 + lag], one)
        behind = mean([(c, sum((b for _, b in row), Fraction(0))) for c, row in both])
        assert behind == Fraction(found.running_memory[ages - 1 - lag], one)


@given(strategies.systems())
def test_plain_footprints_are_todays_theory(system: fk.System) -> None:
    """The same integers, so the same certificates: `stability` is the plain case."""
    footprint = fk.footprint_of(system.workload)
    assert mean_weights(footprint) == moments(footprint).weights
    found = fk.footprint_stability(fk.FullServer(footprint, system.capacity))
    today = fk.stability(system)
    assert found.weights == fk.survival_weights(system.workload)
    assert (found.certificate, found.equilibrium) == (today.certificate, today.equilibrium)
    assert (found.verdict, found.reason) == (today.verdict, today.reason)


def test_a_plain_trace_is_todays_theory() -> None:
    rng = np.random.default_rng(0)
    lengths = [(int(i), int(o)) for i, o in rng.integers(1, 300, (400, 2))]
    workload = fk.Workload.from_lengths(lengths)
    assert mean_weights(fk.footprint_of(workload)) == fk.survival_weights(workload)


def test_drafts_cure_equal_lengths_and_windows_nearly_do() -> None:
    def leading(footprint: fk.RequestFootprint) -> float:
        return fk.footprint_stability(fk.FullServer(footprint, 10**6)).spectral_radius[1]

    def drafts(percent: int, reserved: int = 0) -> fk.Speculation:
        return fk.Speculation(3, Fraction(percent, 100), reserved)

    assert round(leading(fk.RequestFootprint(100, 24)), 4) == 1.0090
    cured = [leading(fk.RequestFootprint(100, 24, speculation=drafts(p))) for p in (30, 60)]
    assert max(cured) < 1
    # what is reserved moves the modes by little beside what the drafts do
    reserving = [leading(fk.RequestFootprint(100, 24, speculation=drafts(p, 3))) for p in (30, 60)]
    assert np.allclose(cured, reserving, atol=1e-3)
    assert leading(fk.RequestFootprint(20, 60, speculation=drafts(50))) > 1.03
    window = SlidingWindow(40)
    both = fk.RequestFootprint(20, 60, attention=window, speculation=drafts(50))
    assert 1 < leading(both) < 1.004


def test_a_window_alone_leaves_modes_that_neither_grow_nor_decay() -> None:
    """A = W (1 + z + ... + z^(d-1)): every zero is a root of unity."""
    flat = fk.RequestFootprint(20, 60, attention=SlidingWindow(10), prefill_chunk=1)
    held = flat.growths[0][1].start[20:]
    assert set(held.tolist()) == {10}
    alone = fk.footprints.RecordedFootprint([int(n) for n in held])
    found = fk.footprint_stability(fk.FullServer(alone, 1000))
    assert found.verdict is fk.Stability.UNDECIDED
    assert (found.unstable_modes, found.certificate.on_circle) == (0, len(held) - 1)


def windowed(window: int) -> fk.RequestFootprint:
    return fk.RequestFootprint(20, 60, attention=SlidingWindow(window))


def drafted(acceptance: Fraction) -> fk.RequestFootprint:
    return fk.RequestFootprint(100, 24, speculation=fk.Speculation(3, acceptance))


def test_a_boundary_is_certified_on_both_sides() -> None:
    """One token more than the input is neutral, so that the bisection ends beside it."""
    found = fk.footprint_boundary(windowed, 1, 200)
    assert (found.stable, found.undecided, found.unstable) == (20, 21, 22)
    ends = fk.footprint_boundary(drafted, Fraction(0), Fraction(1, 2), width=Fraction(1, 10))
    verdicts = [
        str(fk.footprint_stability(fk.FullServer(drafted(at), 10**6)).verdict)
        for at in (ends.unstable, ends.stable)
    ]
    assert verdicts == ["unstable", "stable"]
    assert 0 < ends.stable - ends.unstable <= Fraction(1, 10)
    assert ends.undecided is None


@pytest.mark.parametrize(
    ("low", "high", "width", "line"),
    [
        (Fraction(1, 2), Fraction(3, 5), 1, "high: .* another verdict than at 1/2, stable"),
        (Fraction(0), Fraction(1, 2), 0, "width: got 0; allowed: a number above 0"),
    ],
)
def test_a_boundary_needs_two_verdicts_and_a_width(low, high, width, line) -> None:
    with pytest.raises(fk.InputError, match=line):
        fk.footprint_boundary(drafted, low, high, width=width)


def test_a_boundary_does_not_begin_where_nothing_is_decided() -> None:
    with pytest.raises(fk.InputError, match=r"high: got 21; allowed: .* not undecided"):
        fk.footprint_boundary(windowed, 20, 21)


@pytest.mark.daily(1)
@pytest.mark.parametrize("tokens", [False, True])
def test_many_points_of_the_circle_come_from_few(tokens: bool) -> None:
    """Against the moments at those points themselves, up to rounding of transforms."""
    drafts = fk.Speculation(2, Fraction(1, 3))
    footprint = fk.FootprintMix(
        [
            (Fraction(1, 4), fk.RequestFootprint(30, 9, speculation=drafts)),
            (Fraction(3, 4), fk.RequestFootprint(7, 13, prefill_chunk=2)),
        ]
    )
    with in_float64():
        many = moments_on_circle(footprint, 1000, tokens=tokens)
        parts = [circle_moments(walks, 1000, tokens=tokens) for walks in walks_of(footprint)]
        for at_once, each in zip(many, zip(*parts, strict=True), strict=True):
            exact = np.sum([np.asarray(part) for part in each], axis=0)
            np.testing.assert_allclose(at_once, exact, rtol=0, atol=1e-12 * abs(exact).max())
