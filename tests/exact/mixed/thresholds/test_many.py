"""Many systems at once: what `stability` says of each, whichever way it was found."""

import random
from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds import many
from fluidkv.exact.mixed.thresholds.many import stability_map
from fluidkv.exact.mixed.thresholds.threshold import input_windows
from fluidkv.systems import Systems
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import RequestClass, System, Workload
from tests.exact.mixed.mixes import random_mixes
from tests.small_systems import one_class


def systems_at_the_edges(mix: LengthMix) -> list[System]:
    """Both ends of every window, and a few lengths far apart."""
    unit = 1
    for ratio in mix.input_ratios:
        unit *= ratio.denominator
    whole = LengthMix(mix.decode_lengths, mix.shares, [r * unit for r in mix.input_ratios])
    _, windows = input_windows(whole)
    ends = {n for w in windows for n in (w.first, w.last) if n}
    workloads = [whole.workload(n) for n in sorted(ends | {1, 2, 7, 50, 3000})]
    return [System(w, w.largest_footprint + 1) for w in workloads]


def assert_as_one_by_one(systems: list[System]) -> None:
    found = stability_map(systems)
    for place, system in enumerate(systems):
        alone = stability(system)
        assert found.verdict[place] is alone.verdict
        assert found.growing_modes[place] == alone.unstable_modes
        assert found.neutral_modes[place] == alone.neutral_modes


@pytest.mark.parametrize("seed", range(3))
def test_a_map_is_what_each_system_is_alone(seed: int) -> None:
    mixes = random_mixes(5, seed=seed, longest=12)
    systems = [s for mix in mixes for s in systems_at_the_edges(mix)]
    random.Random(seed).shuffle(systems)
    assert_as_one_by_one(systems)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10, 40))
def test_a_map_is_what_each_system_is_alone_in_many_cases(seed: int) -> None:
    mixes = random_mixes(20, seed=seed, longest=40)
    assert_as_one_by_one([s for mix in mixes for s in systems_at_the_edges(mix)])


def test_a_mode_exactly_on_the_circle_is_undecided() -> None:
    """Outputs of 1 and 2, a fifth of them short: at l0 = 3 the one mode is z = -1."""
    systems = [two(n, 1, 2, Fraction(1, 5)) for n in range(1, 20)]
    assert_as_one_by_one(systems)
    found = stability_map(systems)
    assert [n for n, k in enumerate(found.neutral_modes, 1) if k] == [3]
    assert found.verdict[1:4] == (Stability.UNSTABLE, Stability.UNDECIDED, Stability.STABLE)


def test_few_of_a_mix_are_counted_and_many_share_their_crossings() -> None:
    alone = stability_map([two(n, 5, 8, Fraction(1, 3)) for n in (4, 9)])
    assert set(alone.evidence) == {Evidence.EXACT}
    shared = stability_map([two(n, 5, 8, Fraction(1, 3)) for n in range(1, 40)])
    assert set(shared.evidence) == {Evidence.BALL}


def test_crossings_out_of_reach_leave_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_windows", lambda mix: None)
    found = stability_map([two(n, 5, 8, Fraction(1, 3)) for n in range(1, 40)])
    assert set(found.evidence) == {Evidence.EXACT}


def test_classes_in_any_order_alike_or_alone() -> None:
    third = Fraction(1, 3)
    rows = [
        [RequestClass(9, 8, third), RequestClass(6, 5, 2 * third)],
        [RequestClass(6, 5, 2 * third), RequestClass(9, 8, third)],
        [RequestClass(4, 5, third), RequestClass(8, 5, third), RequestClass(9, 7, third)],
        [RequestClass(9, 8)],
        [RequestClass(9, 1)],
    ]
    assert_as_one_by_one([System(Workload(tuple(row)), 100) for row in rows for _ in range(6)])


@pytest.mark.parametrize("systems", [[], [Workload((RequestClass(3, 4),))], [3]])
def test_what_is_no_system_is_refused(systems: list) -> None:
    with pytest.raises(InputError, match="systems"):
        stability_map(systems)


def two(input_length: int, first: int, second: int, share: Fraction) -> System:
    classes = (
        RequestClass(input_length, first, share),
        RequestClass(input_length, second, 1 - share),
    )
    return System(Workload(classes), input_length + second + 1)


def test_a_map_of_systems_keeps_their_coordinates():
    one = one_class(20, 4, 1000)
    asked = Systems.vary(one, capacity=[500, 600, 700])
    found = stability_map(asked).to_xarray()
    assert found.capacity.values.tolist() == [500, 600, 700]
    assert found.decode_lengths.values.tolist() == [[4]] * 3
    assert "capacity" not in stability_map(list(asked)).to_xarray().coords
