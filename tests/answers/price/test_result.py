"""What a policy kept, as numbers: quantiles over requests, use of memory, violation."""

import json

import numpy as np
import pytest

from fluidkv.answers.price.result import Kept
from fluidkv.answers.price.tally import Tally
from tests.answers.price.made import POLICIES, made


def _kept(used: list[list[int]], mass: list[list[float]] | None = None) -> Kept:
    """Of runs that used so much, and whose requests kept so much."""
    tally = Tally(POLICIES[0], there=np.ones((1, 1), bool))
    tally.used = [np.array(each) for each in used]
    tally.mass = tally.error = [np.array(each) for each in mass or [[0.5]] * len(used)]
    tally.total, tally.optimum = [0.0] * len(used), [0.0] * len(used)
    tally.recomputed = [0] * len(used)
    return tally.kept(8, None)


def test_use_and_violation() -> None:
    kept = _kept([[10, 3, 0, 9], [9, 2, -1, 8]])
    assert kept.average == pytest.approx(((10 + 3 + 9) / 3 + (9 + 2 + 8) / 3) / 2)
    assert kept.peak == 10
    assert not kept.fits
    assert kept.largest == 2
    assert kept.positive == (2 + 1 + 1) / 2  # 10, 9 in one run; 9 in the other
    assert kept.netted == 0  # 22 and 18 of 32


def test_netted_violation_adds_up_what_is_above_and_below() -> None:
    kept = _kept([[10, 9, 7]])
    assert (kept.netted, kept.positive, kept.largest) == (2, 3, 2)


def test_the_worst_request_and_the_fifth_percentile() -> None:
    kept = _kept([[1], [1]], [[0.9, 0.5], [0.7, 0.3]])
    assert kept.mean == pytest.approx(0.6)
    assert kept.worst == 0.3
    assert kept.low == pytest.approx(0.33)  # 0.15 of the way from the least to the next


def test_everything_is_plain() -> None:
    found = json.loads(json.dumps(made().to_dict(), allow_nan=False))
    assert found["policies"][3]["violation"] == {"netted": 8.0, "positive": 8.0, "largest": 2}
    assert found["policies"][0]["price_by_round"] is None
    assert found["pick"]["brings"][0]["what"] == "pooling"
    assert len(found["policies"][0]["there_by_round"]) == found["rounds"]
