"""Figures of what requests are given: drawn, and their captions from the numbers."""

import pytest

from fluidkv.figures import Figure
from fluidkv.figures.render import draw
from fluidkv_papers.cacheopt.figures.given import FIGURES


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.id)
def test_figures_are_drawn_and_told(figure: Figure) -> None:
    data = figure.data()
    assert draw(figure, data, "png").startswith(b"\x89PNG")
    told = figure.caption(data)
    assert {"cacheopt_figure_4": "29 and 18", "cacheopt_figure_6": "200 at 6/s"}[figure.id] in told
