"""What a policy kept, as numbers: quantiles over requests, use of memory, violation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.answers.price.made import made


def test_use_and_violation():
    kept = made().of("token-pd")
    assert kept is not None
    used = np.array([10, 3, 0, 9])
    kept = replace(kept, used=(used, used - 1), budget=8)
    assert kept.average == pytest.approx(((10 + 3 + 9) / 3 + (9 + 2 + 8) / 3) / 2)
    assert kept.peak == 10
    assert not kept.fits
    assert kept.largest == 2
    assert kept.positive == (2 + 1 + 1) / 2  # 10, 9 in one run; 9 in the other
    assert kept.netted == 0  # 22 and 18 of 32


def test_netted_violation_adds_up_what_is_above_and_below():
    kept = made().of("lru")
    assert kept is not None
    kept = replace(kept, used=(np.array([10, 9, 7]),), budget=8)
    assert (kept.netted, kept.positive, kept.largest) == (2, 3, 2)


def test_the_worst_request_and_the_fifth_percentile():
    kept = made().of("lru")
    assert kept is not None
    kept = replace(kept, mass=(np.array([0.9, 0.5]), np.array([0.7, 0.3])))
    assert kept.mean == pytest.approx(0.6)
    assert kept.worst == 0.3
    assert kept.low == pytest.approx(0.33)  # 0.15 of the way from the least to the next


def test_everything_is_plain():
    found = json.loads(json.dumps(made().to_dict(), allow_nan=False))
    assert found["policies"][3]["violation"] == {"netted": 8.0, "positive": 8.0, "largest": 2}
    assert found["policies"][0]["price_by_round"] is None
    assert found["pick"]["brings"][0]["what"] == "pooling"
    assert len(found["policies"][0]["there_by_round"]) == found["rounds"]
