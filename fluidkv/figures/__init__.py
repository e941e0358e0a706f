"""Figures: numbers apart from pictures, written together with a manifest.

    from fluidkv.answers.figures.study import study_figures
    write_figures(study_figures(study_system(system)), "build/study")

writes PNG, SVG, the data and `manifest.json`. Figures that plug-ins list are in `registry`.
Importing this is cheap; Matplotlib is loaded when a figure is drawn.
"""

from fluidkv.figures.figure import Figure, MissingInput
from fluidkv.figures.render import MANIFEST, Rendered, draw, write_figures

__all__ = ["MANIFEST", "Figure", "MissingInput", "Rendered", "draw", "write_figures"]
