"""Where predictors stop being worth it: entries of the page are computed again."""

from pathlib import Path

import pytest

from fluidkv_papers.cacheopt.instances.worth import CASES, METRICS, RULES, entry, tables

PAGE = Path(__file__).parents[3] / "docs" / "preemption.md"


@pytest.mark.thorough
def test_a_row_is_what_the_page_says():
    case = CASES[0]
    waiting = tables(case, None, None)
    (found,) = entry(case, RULES["ESTIMATE_THEN_BLOCKS"], waiting, METRICS[:1]).values()
    assert (found.level, found.low, found.high) == (0, 0, 0)
    (found,) = entry(case, RULES["ESTIMATE_THEN_BLOCKS"], waiting, METRICS[2:]).values()
    assert found.level == float("inf")
    row = "| ShareGPT, 16,384 | `ESTIMATE_THEN_BLOCKS` | 0 | 0 | never (0.92 to never) |"
    assert row in PAGE.read_text(encoding="utf-8")


def test_each_case_has_its_rows_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition("\n## How wrong may a length predictor be?\n")[2].partition("\n## ")[0]
    table = [line for line in part.splitlines() if line.startswith("|") and "`" in line]
    assert len(table) == sum(len(case.rules) for case in CASES)
