"""docs/explore.md says what holds: the link's ranges, and how long the recorded moves took."""

import re
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.explore import state
from fluidkv.explore.presets import NAMED

TEXT = (Path(__file__).parents[2] / "docs" / "explore.md").read_text(encoding="utf-8")


def row(field: str) -> str:
    """Of the table of the link's fields."""
    (found,) = re.findall(rf"^\| `{field}` \| (.*) \|$", TEXT, flags=re.M)
    return found


def test_the_ranges_of_the_link_are_those_of_the_page():
    assert f"1 to {state.LONGEST_INPUT:,}" in row("in")
    assert f"1 to {state.MOST_CLASSES} lengths of 1 to {state.LONGEST_OUTPUT:,} tokens" in row(
        "out"
    )
    assert f"parts of 1 to {state.LARGEST_PART:,}" in row("out")
    assert f"up to {state.LARGEST_KV:,}" in row("kv")
    assert "numbers from 0 to 999,999,999, at most six decimals" in row("start")
    for masses in ("0", "999999999", "0.123456"):
        assert (
            state.PageState(state.Lengths((50,), ((2, 1),)), 10**6, f"over:{masses}").start
            == f"over:{masses}"
        )
    for masses in ("1000000000", "0.1234567", "-1"):
        with pytest.raises(InputError, match="start"):
            state.PageState(state.Lengths((50,), ((2, 1),)), 10**6, f"over:{masses}")
    assert f"{state.FEWEST_ITERATIONS} to {state.MOST_ITERATIONS:,}" in row("n")
    assert f"1 to {state.MOST_DRAFTS} drafts" in row("drafts")
    assert f"1 to {state.LONGEST_INPUT + state.LONGEST_OUTPUT:,} tokens" in row("window")
    assert f"outputs of more than {state.MOST_STAGES} tokens" in TEXT
    assert f"#{NAMED['figure-2b'].state.link}\n" in TEXT


def test_no_move_that_was_measured_took_as_long_as_is_said():
    """Of the processor; recorded by `python -m benchmarks.explore`, not measured here."""
    rows = re.findall(r"^\| \d+, each (?:a step|end to end) *\|(.*)\|$", TEXT, flags=re.M)
    steps, jumps = ([int(n) for n in each.split("|")] for each in rows)
    assert "took less than 50 ms of the processor" in TEXT
    assert steps[2] < 50
    assert "took less than 2.5 s,\nand 19 of 20 less than 100 ms" in TEXT
    assert jumps[2] < 2500
    assert jumps[1] < 100
