"""Figures of Token-PD's guarantee: numbers from closed forms, drawn, and their captions."""

from pathlib import Path

import pytest

from fluidkv_papers.tokenpd.instances.rates import exponent

MEASURES = (
    *("rounds_netted", "price_netted", "rounds_hard", "rounds_kept"),
    *("violation", "overuse"),
)
PAGE = Path(__file__).parents[3] / "docs" / "price_theorem.md"
TABLE = PAGE.read_text(encoding="utf-8").partition("## Measured")[2].partition("\n|---")[2]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines()[1:] if line.startswith("| ")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_has_the_powers_on_record(row: list[str]) -> None:
    for measure, cell in zip(MEASURES, row[1:], strict=True):
        found = exponent(row[0], measure)
        if found.sign > 0:
            assert cell == f"{found.power:.3f} [{found.low:.3f}, {found.high:.3f}]"
        elif cell == "a gain":
            assert found.means[-1] < 0
        else:
            assert (cell, found.means[-1]) == ("0", 0)
