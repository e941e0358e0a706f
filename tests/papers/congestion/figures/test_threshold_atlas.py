"""The atlas figure: its numbers against counts of roots, its words against its numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.exact.mixed.mix import two_lengths
from fluidkv.exact.mixed.thresholds.threshold import input_threshold
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.figures.figure import Data
from fluidkv_papers.congestion.figures import threshold_atlas


@pytest.fixture(scope="module")
def data() -> Data:
    return threshold_atlas.data(12)


def test_the_map_has_first_stable_lengths_and_nothing_for_common_divisors(data: Data) -> None:
    rows = zip(data["first"], data["second"], data["l0_min"], strict=True)
    for first, second, least in rows:
        a, n = int(first), int(second)
        assert math.isnan(least) == (math.gcd(a, n) > 1)
        if not math.isnan(least):
            weights = two_lengths(a, n, Fraction(1, 2)).weights
            assert count_unstable(weights(int(least))).outside == 0
            below = count_unstable(weights(int(least) - 1))
            assert (below.outside, below.on_circle) != (0, 0)


def test_lines_over_the_share_are_thresholds(data: Data) -> None:
    line = data["l0_min_5_9"]
    assert len(line) == len(data["share"])
    assert line[data["share"] == 0.5] == 65


def test_the_caption_says_what_the_data_says(data: Data) -> None:
    text = threshold_atlas.caption(data)
    least = data["l0_min"]
    assert "All 66 pairs" in text
    assert f"The largest is {np.nanmax(least):,.0f}, of 11 and 12" in text
    assert "stable at all input lengths from l0_min on" in text
    islands = {**data, "stable_windows": data["stable_windows"] * 2}
    assert "unstable again" in threshold_atlas.caption(islands)


def test_pairs_with_a_common_divisor_are_never_stable(data: Data) -> None:
    """The legend of the map says so."""
    common = np.isnan(data["l0_min"])
    assert (data["stable_windows"][common] == 0).all()


def test_thresholds_grow_like_the_cube() -> None:
    """The title: from n to 2n by a factor near 8, for n - 1 and n and for 1 and n."""
    for near in ("top", "bottom"):
        found = []
        for n in (16, 32, 64):
            pair = (n - 1, n) if near == "top" else (1, n)
            least = input_threshold(two_lengths(*pair, Fraction(1, 2))).least
            assert least is not None
            found.append(least)
        exponents = np.diff(np.log2(found))
        assert all(abs(e - 3) < 0.2 for e in exponents)
        assert abs(exponents[1] - 3) < abs(exponents[0] - 3)
