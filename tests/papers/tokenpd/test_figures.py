"""Figures of Token-PD's guarantee: numbers from closed forms, drawn, and their captions."""

import numpy as np

from fluidkv.figures.render import draw
from fluidkv.papers.tokenpd.figures import price_paths


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
