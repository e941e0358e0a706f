"""Figures: numbers apart from pictures, written together with a manifest.

    render(["congestion_figure_8"], "figures")

writes PNG, SVG, the data and `manifest.json`. Importing this is cheap; Matplotlib is loaded when a
figure is drawn.
"""

from fluidkv.figures.figure import Figure, MissingInput
from fluidkv.figures.registry import figures, select
from fluidkv.figures.render import Rendered, render

__all__ = ["Figure", "MissingInput", "Rendered", "figures", "render", "select"]
