"""The committed table of cases is what Python finds, and tries what it says that it tries."""

import json
from math import gcd

import pytest

from tests.explore.cases import CASES, TABLE, text


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    return json.loads(TABLE.read_text(encoding="utf-8"))["cases"]


def test_the_table_is_what_python_finds():
    """Written by `python -m tests.explore.cases`."""
    assert TABLE.read_text(encoding="utf-8") == text()


def test_the_cases_are_of_all_kinds(cases):
    assert {case["verdict"] for case in cases} == {"stable", "unstable", "undecided"}
    assert {len(each.state.outputs) for each in CASES} == {1, 2, 3, 4}
    assert {each.state.start.partition(":")[0] for each in CASES} == {"empty", "over", "list"}
    divisors = {gcd(*(length for length, _ in each.state.outputs)) for each in CASES}
    assert divisors >= {1, 2, 20, 25}
    on_circle = {(case["growing"] > 0, case["neutral"]) for case in cases if case["neutral"]}
    assert on_circle == {(False, 1), (False, 2), (True, 1)}
    evicting = [case for case in cases if max(case["flows"]["evicted"]) > 0]
    assert 5 < len(evicting) < len(cases) - 5
    assert max(len(case["memory"]) for case in cases) == 256
