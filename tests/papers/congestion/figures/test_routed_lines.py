"""Lines that lie on one another can be told apart, and say where they are."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from fluidkv.figures.figure import Data
from fluidkv.figures.registry import select
from fluidkv_papers.congestion.figures.routed_lines import zero_said


def test_a_line_on_the_axis_says_so() -> None:
    assert zero_said("mixed", np.zeros(3)) == "mixed: 0 throughout"
    assert zero_said("mixed", np.array([0, 0, 1e-9])) == "mixed"


def test_lines_that_coincide_have_looks_of_their_own() -> None:
    """Figure 33 with nothing evicted at all: six lines in one place."""
    (figure,) = select(["congestion_figure_33"])
    factor = np.array([1.0, 2.0, 3.0])
    data: dict[str, np.ndarray] = {"factor": factor}
    for policy in ("greedy", "capped", "queued"):
        data |= {f"{policy}.{routing}": np.zeros(3) for routing in ("apart", "mixed")}
    data["greedy.apart"] += 1  # the axis ends there
    looks = _looks(figure.draw, data)
    assert len(looks) == len(set(looks)) == 6
    assert sum("0 throughout" in label for label, *_ in looks) == 5
    assert len({(marker, face) for _, marker, face in looks}) == 6


def _looks(draw, data: Data) -> list[tuple[str, str, str]]:
    canvas = Canvas()
    draw(data, canvas)
    return [
        (str(line.get_label()), str(line.get_marker()), str(line.get_markerfacecolor()))
        for line in canvas.axes[0].get_lines()
    ]
