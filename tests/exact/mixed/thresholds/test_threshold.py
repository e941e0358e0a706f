"""l0_min and the windows of stability, against a count at every input length."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from fluidkv import exact
from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.mixed.thresholds import threshold as module
from fluidkv.exact.mixed.thresholds.asymptotic import asymptotic_threshold, least_phase_decay
from fluidkv.exact.mixed.thresholds.pencil import Crossing, InputPencil
from fluidkv.exact.mixed.thresholds.threshold import (
    InputThreshold,
    ThresholdStatus,
    input_threshold,
)
from fluidkv.exact.roots.spectrum import UnitCircleCount, count_unstable
from fluidkv.verdict import Evidence
from tests.exact.mixed.mixes import NEVER, TOUCHING, TRIPLE, random_mixes

HALF = Fraction(1, 2)
FIVE_NINE = two_lengths(5, 9, HALF)


def counted(mix: LengthMix, length: int) -> tuple[int | None, int | None]:
    count = count_unstable(mix.weights(length))
    return count.outside, count.on_circle


def assert_windows_are_the_counts(found: InputThreshold, lengths: range) -> None:
    windows = iter(found.windows)
    window = next(windows)
    for n in lengths:
        while window.last is not None and n > window.last:
            window = next(windows)
        assert (window.growing_modes, window.neutral_modes) == counted(found.mix, n), n


def assert_covers_every_length(found: InputThreshold) -> None:
    assert found.windows[0].first == 0
    assert found.windows[-1].last == found.bound
    for a, b in zip(found.windows, found.windows[1:], strict=False):
        assert a.last is not None
        assert a.last + 1 == b.first
        assert (a.growing_modes, a.neutral_modes) != (b.growing_modes, b.neutral_modes)


@pytest.mark.parametrize("mix", random_mixes(100, seed=11, longest=12), ids=str)
def test_windows_are_the_counts_at_every_length(mix: LengthMix) -> None:
    found = input_threshold(mix)
    assert_covers_every_length(found)
    assert_windows_are_the_counts(found, range(40))
    stable = [n for n in range(40) if counted(mix, n) == (0, 0)]
    if found.least is None or found.least >= 40:
        assert not stable
    else:
        assert found.least == stable[0]


@pytest.mark.parametrize("mix", random_mixes(40, seed=12, longest=20), ids=str)
def test_edges_of_windows_are_where_counts_change(mix: LengthMix) -> None:
    found = input_threshold(mix)
    for w in found.windows:
        for n in {w.first, w.last if w.last is not None else 10 * w.first + 7}:
            assert (w.growing_modes, w.neutral_modes) == counted(mix, n)


@pytest.mark.parametrize(
    ("mix", "least"),
    [
        (FIVE_NINE, 65),
        (two_lengths(3, 8, Fraction(3, 10)), 67),
        (two_lengths(2, 7, HALF), 18),
        (two_lengths(1, 2, HALF), 1),
        (two_lengths(1, 2, Fraction(9, 10)), 0),
    ],
    ids=str,
)
def test_recorded_thresholds_are_the_first_stable_length(mix: LengthMix, least: int) -> None:
    found = input_threshold(mix)
    assert (found.status, found.least, found.at_most) == (ThresholdStatus.FOUND, least, least)
    assert [n for n in range(least + 1) if counted(mix, n) == (0, 0)] == [least]
    assert found.at == count_unstable(mix.weights(least))
    assert found.below == (count_unstable(mix.weights(least - 1)) if least else None)
    assert found.stable_windows[0].first == least


def test_three_tiers_need_millions_of_tokens() -> None:
    found = input_threshold(LengthMix((127, 255, 509), [Fraction(1, 3)] * 3))
    assert found.least == 2_559_457  # recorded; both sides are winding numbers of their own
    assert found.at is not None
    assert found.below is not None
    assert (found.at.outside, found.below.outside) == (0, 2)
    assert found.at.evidence is found.below.evidence is Evidence.BALL


def test_coprime_lengths_can_grow_at_usual_inputs() -> None:
    mix = two_lengths(20, 21, HALF)
    assert mix.decode_gcd == 1
    found = input_threshold(mix)
    [window] = [w for w in found.windows if w.first <= 512 and (w.last is None or w.last >= 512)]
    assert (window.growing_modes, window.neutral_modes) == (2, 0) == counted(mix, 512)


@pytest.mark.parametrize(
    ("mix", "length", "growing", "neutral", "least"),
    [
        (two_lengths(1, 2, Fraction(1, 10)), 8, 0, 1, 9),
        (LengthMix((2, 3), (HALF, HALF), (1, 50)), 1, 0, 2, 2),
        (TRIPLE, 1, None, 2, None),
        (TOUCHING, 1, None, 2, None),
    ],
    ids=["at -1", "a pair", "three zeros meet", "touching"],
)
def test_a_crossing_at_a_whole_length_is_a_window_of_its_own(
    mix: LengthMix, length: int, growing: int | None, neutral: int, least: int | None
) -> None:
    found = input_threshold(mix)
    assert_covers_every_length(found)
    assert_windows_are_the_counts(found, range(60))
    [window] = [w for w in found.windows if w.first == length]
    assert (window.last, window.neutral_modes) == (length, neutral)
    assert not window.stable
    if growing is not None:
        assert window.growing_modes == growing
    if least is not None:
        assert found.least == least
        assert found.below is not None
        assert (found.below.outside, found.below.on_circle) == (growing, neutral)


def test_unequal_inputs_can_have_an_island_of_stability() -> None:
    """Found by search; with a common input length no pair up to 60 has one (the atlas)."""
    mix = LengthMix((2, 5), (Fraction(99, 100),), (Fraction(1, 10), 100))
    found = input_threshold(mix)
    assert [(w.first, w.last, w.growing_modes) for w in found.windows] == [
        (0, 0, 1),
        (1, 1, 0),
        (2, 3, 2),
        (4, None, 0),
    ]
    assert_windows_are_the_counts(found, range(40))
    assert (found.status, found.least) == (ThresholdStatus.FOUND, 1)
    other = input_threshold(LengthMix((1, 6), (Fraction(9, 10),), (Fraction(1, 100), 1)))
    assert [(w.first, w.last) for w in other.stable_windows] == [(0, 1), (17, None)]
    assert_windows_are_the_counts(other, range(40))


def test_longer_inputs_can_add_growing_modes() -> None:
    found = input_threshold(two_lengths(4, 7, Fraction(7, 10)))
    assert [(w.first, w.growing_modes) for w in found.windows] == [(0, 3), (1, 4), (2, 2), (24, 0)]
    assert_windows_are_the_counts(found, range(40))


def test_lengths_with_a_common_divisor_have_no_threshold() -> None:
    found = input_threshold(two_lengths(4, 8, HALF))
    assert (found.status, found.least, found.at) == (ThresholdStatus.NONE, None, None)
    assert found.windows[-1].growing_modes == 3
    assert found.asymptotic is None
    assert input_threshold(two_lengths(4, 8, HALF), bound=50).status is ThresholdStatus.NONE


def test_roots_that_do_not_move_give_one_window() -> None:
    found = input_threshold(NEVER)
    assert (found.least, len(found.windows), found.crossings) == (0, 1, ())


@pytest.mark.parametrize(("short", "long"), [(2, 7), (5, 9), (3, 20), (11, 13)])
@pytest.mark.parametrize("share", [Fraction(1, 10), HALF, Fraction(9, 10)])
def test_phases_of_two_lengths_are_the_closed_form(short: int, long: int, share: Fraction) -> None:
    """(13): the least phase is 2 pi / n, one step from a multiple of it, of either sign."""
    found = asymptotic_threshold(two_lengths(short, long, share))
    assert found is not None
    p, theta = float(share), short / long
    printed = (1 - p + p * theta) ** 3 / (2 * math.pi**2 * p * (1 - p)) * long**3
    assert found.phases == pytest.approx(printed, rel=1e-12)


def test_phases_of_three_lengths_may_have_either_sign() -> None:
    """At u = 3, 20 u is 61 - 1 and 41 u is 2 x 61 + 1: phases that are opposite, and small."""
    mix = LengthMix((20, 41, 61), (Fraction(1, 3), Fraction(1, 3)))
    decay = least_phase_decay(mix)
    found = asymptotic_threshold(mix)
    assert found is not None
    gap = 1 - sum(found.limit_radius) / 2
    assert decay / 61 == pytest.approx(gap, rel=0.02)  # the next order, (2 pi / 61)^2, and 1/n


def test_the_first_order_threshold_counts_the_longest_output() -> None:
    """A = z^2 + z + 1/2 of lengths 2 and 3 has modulus 1/sqrt(2): l0 + 3 is 1 / (1 - 1/sqrt(2))."""
    found = asymptotic_threshold(two_lengths(2, 3, HALF))
    assert found is not None
    assert found.first_order == pytest.approx(1 / (1 - 0.5**0.5) - 3, rel=1e-12)


def test_asymptotics_with_input_ratios_drift_at_another_rate() -> None:
    """A_r depends on p_k r_k alone; the rate is sum(p l1) / sum(p r l1)."""
    plain = asymptotic_threshold(two_lengths(2, 3, HALF))
    # p r = 1/2, 1/2 again
    mix = LengthMix((2, 3), (Fraction(1, 4), Fraction(3, 4)), (2, Fraction(2, 3)))
    found = asymptotic_threshold(mix)
    assert plain is not None
    assert found is not None
    rate = (Fraction(1, 4) * 2 + Fraction(3, 4) * 3) / (HALF * 2 + HALF * 3)
    assert found.limit_radius == plain.limit_radius
    assert found.phases == pytest.approx(float(rate) * plain.phases, rel=1e-12)
    assert found.first_order == pytest.approx(float(rate) * (plain.first_order + 3), rel=1e-12)


def test_a_bound_below_the_threshold_is_a_status() -> None:
    found = input_threshold(FIVE_NINE, bound=64)
    assert (found.status, found.least) == (ThresholdStatus.BEYOND_BOUND, None)
    assert (found.at_most, found.at, found.below) == (None, None, None)
    assert found.windows[-1].last == found.bound == 64
    assert_covers_every_length(found)
    at = input_threshold(FIVE_NINE, bound=65)
    assert (at.status, at.least, at.windows[-1].last) == (ThresholdStatus.FOUND, 65, 65)
    assert input_threshold(FIVE_NINE, bound=0).windows[-1].last == 0


@pytest.mark.parametrize("bound", [-1, 1.5, True, "9"])
def test_a_bad_bound_gets_one_line(bound) -> None:
    with pytest.raises(InputError, match=r"bound: got .*; allowed: an integer of at least 0"):
        input_threshold(FIVE_NINE, bound=bound)


def test_what_is_no_mix_gets_one_line() -> None:
    with pytest.raises(InputError, match=r"^mix: got \(5, 9\); allowed: a LengthMix"):
        exact.input_threshold((5, 9))  # pyright: ignore[reportArgumentType]


def test_counts_that_contradict_the_crossings_are_an_error(monkeypatch) -> None:
    """A crossing left out, or one that goes the wrong way, does not pass for an answer."""
    all_of_them = InputPencil.crossings
    monkeypatch.setattr(InputPencil, "crossings", lambda self: all_of_them(self)[:-1])
    with pytest.raises(RuntimeError, match="2 modes outside"):
        input_threshold(FIVE_NINE)

    def reversed_last(self: InputPencil) -> list[Crossing]:
        *others, last = all_of_them(self)
        return [*others, replace(last, outward=-last.outward)]

    monkeypatch.setattr(InputPencil, "crossings", reversed_last)
    with pytest.raises(RuntimeError, match="counts differ next to L = 4"):
        input_threshold(FIVE_NINE)

    def shifted(self: InputPencil) -> list[Crossing]:
        *others, last = all_of_them(self)
        return [*others, replace(last, length=last.length + 1)]

    monkeypatch.setattr(InputPencil, "crossings", shifted)
    with pytest.raises(RuntimeError, match="counts differ next to L = 66"):
        input_threshold(FIVE_NINE)


# --- where crossings are out of reach ------------------------------------------------------------


@pytest.fixture
def no_crossings(monkeypatch) -> None:
    monkeypatch.setattr(module, "_MOST_AGES", 1)


@pytest.mark.usefixtures("no_crossings")
@pytest.mark.parametrize(
    "mix", [FIVE_NINE, two_lengths(3, 8, Fraction(3, 10)), two_lengths(2, 7, HALF)], ids=str
)
def test_bracket_is_a_stable_length_and_an_unstable_one_below(mix: LengthMix) -> None:
    found = input_threshold(mix)
    assert (found.status, found.least, found.windows) == (ThresholdStatus.BRACKETED, None, ())
    assert found.at_most is not None
    assert counted(mix, found.at_most) == (0, 0)
    assert counted(mix, found.at_most - 1) == (2, 0)
    assert found.at is not None
    assert found.below is not None
    assert (found.at.outside, found.below.outside) == (0, 2)


@pytest.mark.usefixtures("no_crossings")
def test_a_bracket_of_a_neutral_length_is_not_stable_there() -> None:
    found = input_threshold(two_lengths(1, 2, Fraction(1, 10)))
    assert found.at_most == 9
    assert found.below is not None
    assert (found.below.outside, found.below.on_circle) == (0, 1)


@pytest.mark.usefixtures("no_crossings")
def test_a_bracket_at_zero_is_the_threshold() -> None:
    found = input_threshold(two_lengths(1, 2, Fraction(9, 10)))
    assert (found.status, found.least, found.below) == (ThresholdStatus.FOUND, 0, None)


@pytest.mark.usefixtures("no_crossings")
def test_no_bracket_where_none_is_met() -> None:
    assert input_threshold(two_lengths(4, 8, HALF)).status is ThresholdStatus.UNDECIDED
    below = input_threshold(FIVE_NINE, bound=64)
    assert (below.status, below.at_most) == (ThresholdStatus.UNDECIDED, None)
    assert input_threshold(FIVE_NINE, bound=65).at_most == 65


@pytest.mark.usefixtures("no_crossings")
def test_a_bracket_that_counts_leave_open_is_undecided(monkeypatch) -> None:
    exact = module.count_unstable

    def open_below(weights):
        at_64 = weights == FIVE_NINE.weights(64)
        return UnitCircleCount(None, None, Evidence.BALL, None) if at_64 else exact(weights)

    monkeypatch.setattr(module, "count_unstable", open_below)
    closed = input_threshold(FIVE_NINE)  # the enclosed roots decide it
    assert (closed.status, closed.at_most) == (ThresholdStatus.BRACKETED, 65)
    monkeypatch.setattr(module, "_count_near", lambda mix, n: open_below(mix.weights(n)))
    assert input_threshold(FIVE_NINE).status is ThresholdStatus.UNDECIDED


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(13, 25))
def test_windows_are_the_counts_at_every_length_many(seed: int) -> None:
    for mix in random_mixes(50, seed=seed, longest=20):
        found = input_threshold(mix)
        assert_covers_every_length(found)
        assert_windows_are_the_counts(found, range(120))
