"""Tiers: what their divisor leaves growing, and what the line says of it."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.linear_stability import InputScale, input_scale_bracket, stability
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.mixed.thresholds.threshold import InputWindow
from fluidkv.exact.mixed.thresholds.tiers import (
    LONGEST_EXACT,
    MOST_TIERS,
    TierStatus,
    TierThreshold,
    tier_lengths,
    tier_sentence,
    tier_threshold,
)
from fluidkv.exact.modes import growing_modes
from fluidkv.exact.survival import survival_weights
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import equal_shares
from tests.strategies import workloads

DOCS = Path(__file__).parents[4] / "docs" / "study.md"


def bracketed(workload: Workload, *, reach: int = 36) -> str:
    """The line where not every input length was looked at."""
    system = System(workload, workload.largest_footprint + 1)
    return tier_sentence(stability(system), input_scale_bracket(workload, reach=reach))


def sentence(workload: Workload) -> str:
    """The line where it was."""
    found = stability(System(workload, workload.largest_footprint + 1))
    return tier_sentence(found, InputScale(None, None), tier_threshold(workload).threshold)


@given(st.integers(1, 4), workloads(decode_lengths=st.integers(1, 8)))
def test_long_inputs_leave_one_mode_less_than_the_divisor(common, workload):
    """Inputs differ between classes. Root j is near the j-th g-th root of unity, further out.

    At 10^9 times the inputs: the thresholds of lengths up to 32 are of the order of 32^3.
    """
    classes = tuple(
        RequestClass(c.input_length, common * c.decode_length, c.share) for c in workload.classes
    )
    workload = Workload(classes)
    scale = 10**9
    weights = survival_weights(workload, input_scale=Fraction(scale))
    found = growing_modes(weights)
    assert found.complete
    assert found.count == workload.decode_gcd - 1
    product = sum(c.share * c.input_length * c.decode_length for c in classes)
    growth = float(workload.mean_decode_length / (scale * product))
    for mode in found.modes:
        # of the first order; the second is smaller by d^2 / (l0 scale), at most 1e-6
        assert 1 / mode.folding_time == pytest.approx(growth, rel=1e-5)
        turns = workload.decode_gcd / mode.period
        assert turns == pytest.approx(round(turns), abs=1e-5)


def test_a_common_divisor_is_named_with_what_it_leaves_growing():
    long = equal_shares(512, 128, 256, 512)
    assert bracketed(long, reach=2) == (
        "output lengths 128, 256 and 512 share the divisor 128: 127 modes go on growing however "
        "long the inputs"
    )
    assert "1 mode goes on growing" in bracketed(equal_shares(50, 2, 4), reach=2)
    assert sentence(equal_shares(50, 2, 4)) == (
        "output lengths 2 and 4 share the divisor 2: at least 1 mode grows at any input length"
    )


@given(st.integers(2, 4), st.lists(st.integers(1, 5), min_size=2, max_size=3, unique=True))
def test_what_grows_at_any_input_length_grows_at_each(common, parts):
    """Against the counts at single lengths, none of which the windows were made from."""
    lengths = [common * n for n in parts]
    said = sentence(equal_shares(7, *lengths))
    match = re.search(r"at least (\d+) modes? grows? at any input length$", said)
    assert match
    for l0 in (1, 2, 3, 5, 10, 30, 100, 1000, 10**6):
        count = growing_modes(survival_weights(equal_shares(l0, *lengths))).count
        assert count is not None
        assert count >= int(match[1])


def test_coprime_tiers_are_stable_only_from_the_length_that_is_named():
    """(5, 9) in equal shares: unstable at 64, stable at 65, both exactly."""
    for l0 in (10, 64, 65, 300):
        assert sentence(equal_shares(l0, 5, 9)) == (
            "output lengths 5 and 9 are coprime, but the equilibrium is stable only from l0 = 65 on"
        )
    counts = [growing_modes(survival_weights(equal_shares(l0, 5, 9))).count for l0 in (64, 65)]
    assert counts == [2, 0]


def test_tiers_that_are_always_stable_and_islands_of_stability():
    rare = Fraction(1, 100)
    always = Workload((RequestClass(9, 1, 1 - rare), RequestClass(9, 2, rare)))
    assert sentence(always).endswith("coprime, and the equilibrium is stable at every input length")
    threshold = tier_threshold(equal_shares(10, 5, 9)).threshold
    assert threshold is not None
    last = threshold.windows[-1]
    island = InputWindow(20, 22, 0, 0)  # no mix with common inputs and one is known
    found = stability(System(equal_shares(10, 5, 9), 1000))
    with_island = replace(threshold, least=20, windows=(island, *threshold.windows[-2:]))
    assert last.first == 65
    assert tier_sentence(found, InputScale(None, None), with_island).endswith(
        "is stable only from l0 = 65 on, and from 20 to 22"
    )


def test_every_input_length_is_looked_at_only_for_short_tiers_of_one_input():
    half = Fraction(1, 2)
    differ = Workload((RequestClass(10, 5, half), RequestClass(20, 9, half)))
    for workload, status in (
        (differ, TierStatus.INPUTS_DIFFER),
        (equal_shares(10, 5, LONGEST_EXACT + 1), TierStatus.TOO_LONG),
        (equal_shares(10, 5), TierStatus.NO_TIERS),
        (equal_shares(10, *range(1, MOST_TIERS + 2)), TierStatus.NO_TIERS),
    ):
        assert tier_threshold(workload) == TierThreshold(status)
    assert tier_threshold(equal_shares(10, 1, 2)).status is TierStatus.SEARCHED


def test_two_certified_inputs_bracket_where_stability_sets_in():
    """(5, 9) in equal shares: unstable at 64, stable at 65, both exactly."""
    said = bracketed(equal_shares(10, 5, 9))
    match = re.fullmatch(
        r"output lengths 5 and 9 are coprime, but the equilibrium turns stable only between "
        r"l0 = ([\d.]+) and ([\d.]+)",
        said,
    )
    assert match
    low, high = (float(x) for x in match.groups())
    assert low < 65
    assert high > 64
    assert high - low <= 2  # a 64th


def test_stable_tiers_and_tiers_whose_inputs_differ():
    assert re.search(
        r"coprime; stability sets in between l0 = 63 and 65$", bracketed(equal_shares(300, 5, 9))
    )
    half = Fraction(1, 2)
    differ = Workload((RequestClass(10, 5, half), RequestClass(20, 9, half)))
    assert re.search(r"only between [\d.]+ and [\d.]+ times these inputs$", bracketed(differ))


def test_ends_that_were_not_met_are_not_claimed():
    found = stability(System(equal_shares(10, 5, 9), 1000))
    assert tier_sentence(found, InputScale(None, Fraction(4))).endswith(
        "long enough inputs stabilise the equilibrium, but 4 times these do not"
    )
    assert tier_sentence(found, InputScale(Fraction(1, 8), None)).endswith(
        "stable still with inputs shrunk to 1/8 of these"
    )
    assert tier_sentence(found, InputScale(None, None)).endswith(
        "coprime, so long enough inputs stabilise the equilibrium"
    )


def test_only_a_few_lengths_are_tiers():
    assert tier_lengths(equal_shares(10, 4)) == ()
    assert tier_lengths(equal_shares(10, 4, 4, 5)) == (4, 5)
    assert len(tier_lengths(equal_shares(10, *range(1, MOST_TIERS + 1)))) == MOST_TIERS
    assert tier_lengths(equal_shares(10, *range(1, MOST_TIERS + 2))) == ()
    assert sentence(equal_shares(10, 4)) == ""


def test_docs_quote_the_lines():
    text = " ".join(DOCS.read_text(encoding="utf-8").split())
    for lengths in ((128, 256, 512), (127, 255, 509)):
        assert sentence(equal_shares(512, *lengths)) in text


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        # the first is certified by `fluidkv threshold 999 1000 --share 1/2`: one token less is not
        ([(512, 1000), (512, 999)], "only from l0 = 202,337,723 on"),
        ([(100, 4), (1, 7)], "only from 4.390 times these inputs on"),  # crossed at 4.38938
        # crossed at inputs of no tokens, so not at any that a server has
        ([(9, 1), (50, 2)], "coprime, and the equilibrium is stable at every input length"),
    ],
)
def test_the_length_that_is_said_is_stable_itself(
    classes: list[tuple[int, int]], said: str
) -> None:
    """Rounded up, never to nearest."""
    workload = Workload(tuple(RequestClass(i, d, Fraction(1, 2)) for i, d in classes))
    found = stability(System(workload, workload.largest_footprint + 1))
    assert said in tier_sentence(found, input_scale(workload))
