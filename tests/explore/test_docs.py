"""docs/explore.md says what holds: the link's ranges, and how long the recorded moves took."""

import re
from pathlib import Path

from fluidkv.explore import state
from fluidkv.explore.presets import NAMED

TEXT = (Path(__file__).parents[2] / "docs" / "explore.md").read_text(encoding="utf-8")


def row(field: str) -> str:
    """Of the table of the link's fields."""
    (found,) = re.findall(rf"^\| `{field}` \| (.*) \|$", TEXT, flags=re.M)
    return found


def test_the_ranges_of_the_link_are_those_of_the_page():
    assert f"1 to {state.LONGEST_INPUT:,}" in row("in")
    assert f"1 to {state.MOST_CLASSES} lengths of 1 to {state.LONGEST_OUTPUT} tokens" in row("out")
    assert f"parts of 1 to {state.LARGEST_PART:,}" in row("out")
    assert f"up to {state.LARGEST_KV:,}" in row("kv")
    assert f"{state.FEWEST_ITERATIONS} to {state.MOST_ITERATIONS:,}" in row("n")
    assert f"none above {state.LONGEST_OUTPUT} tokens" in TEXT
    assert f"#{NAMED['figure-2b'].state.link}\n" in TEXT


def test_no_move_that_was_measured_took_as_long_as_is_said():
    """Of the processor; recorded by `python -m benchmarks.explore`, not measured here."""
    rows = re.findall(r"^\| \d+, each (?:a step|end to end) *\|(.*)\|$", TEXT, flags=re.M)
    longest = [int(each.split("|")[2]) for each in rows]
    assert len(longest) == 2
    assert "answered within 50 ms" in TEXT
    assert max(longest) < 50
