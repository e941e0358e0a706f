"""Figures: numbers apart from pictures, written together with a manifest.

    render(["congestion_figure_8"], "figures")

writes PNG, SVG, the data and `manifest.json`; so does

    write_figures(study_figures(study_system(system)), "build/study")

for the pictures of one study. Importing this is cheap; Matplotlib is loaded when a
figure is drawn.
"""

from fluidkv.figures.figure import Figure, MissingInput
from fluidkv.figures.registry import figures, select
from fluidkv.figures.render import MANIFEST, Rendered, render, write_figures
from fluidkv.figures.study import study_figures

__all__ = [
    "MANIFEST",
    "Figure",
    "MissingInput",
    "Rendered",
    "figures",
    "render",
    "select",
    "study_figures",
    "write_figures",
]
