"""How much of what SGLang evicted was not needed: by hand, and in its records by another count."""

import pytest

from fluidkv.prefix.radix.overshoot import Overshoot, overshoot
from fluidkv.prefix.radix.values import SplitBirth
from tests.prefix.radix.test_oracles import oracle, recorded


def test_by_hand() -> None:
    """2 are free and 4 needed: 5 go, of which 3 are not needed. A failure needs all it gets."""
    rows = [
        ["I", 0, 0, 0, 8, 8, 0, 2, 2, 2, []],
        ["A", 4, 5, 1, 3, 3, 0, 3, 1, 1, [[0, 5, 1, 0]]],
        ["A", 3, 0, 0, 3, 3, 0, 0, 1, 1, []],
        ["A", -1, 3, 1, 0, 0, 0, 3, 0, 0, [[0, 3, 2, 0]]],
        ["E", 7, 7, 1, 0, 0, 0, 9, 0, 0, [[0, 7, 3, 0]]],
    ]
    assert overshoot(rows) == Overshoot(8, 3)
    assert overshoot(rows).share == 3 / 8
    assert overshoot([]).share == 0


SHARES = {
    "multiturn_ps16_lru": 0.328,
    "priority_ps16_priority": 0.317,
    "scan_lower_bound_ps1_lru": 0,
    "shared_prompts_ps1_lfu": 0.464,
    "shared_prompts_ps1_lru": 0.498,
    "tight_ps16_slru": 0.395,
    "tree_ps1_lru": 0.447,
}
"""Recorded here, from SGLang's rows; as in docs/prefix_caches.md."""


@pytest.mark.parametrize("name", SHARES)
def test_a_third_to_a_half_was_not_needed(name: str) -> None:
    record = oracle(name)
    found = overshoot(recorded(record, SplitBirth.NEW))
    assert round(found.share, 3) == SHARES[name]
    missing, free = 0, record["capacity_tokens"]
    for row in record["rows"]:
        if row[0] == "A":
            missing += max(row[1] - free, 0)
        free = row[7]
    assert found.evicted - missing == found.unneeded
