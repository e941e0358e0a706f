"""Figures of Token-PD's guarantee: numbers from closed forms, drawn, and their captions."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.figures.render import draw
from fluidkv_papers.tokenpd.figures import price_paths, rates
from fluidkv_papers.tokenpd.instances.rates import exponent


def test_price_paths_have_the_regrets_that_are_proved() -> None:
    data = price_paths.data()
    pairs = price_paths.ROUNDS // 2
    assert data["alternating.netted.regret"][-1] == -pairs / 2
    assert data["alternating.wanted.regret"][-1] == pairs / 2
    np.testing.assert_array_equal(
        data["alternating.netted.price"], data["alternating.wanted.price"]
    )
    assert (data["idle_then_busy.netted.used"] == [0] * pairs + [2] * pairs).all()
    # S is -32 in the middle and 0 in the end; doubles round exp(-4) to a part in 10^15.
    assert abs(data["idle_then_busy.netted.price"].min() / np.exp(-4) - 1) < 1e-14
    assert data["idle_then_busy.netted.price"][-1] == 1


def test_price_paths_are_drawn_and_told() -> None:
    data = price_paths.data()
    assert draw(price_paths.FIGURE, data, "png").startswith(b"\x89PNG")
    assert "Regret in the end is -16, 16, 3:" in price_paths.caption(data)


@pytest.mark.thorough
def test_rates_are_drawn_and_told() -> None:
    data = rates.data()
    assert draw(rates.FIGURE, data, "png").startswith(b"\x89PNG")
    assert "the worst known case has 0.500 [0.500, 0.500]" in rates.caption(data)


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
