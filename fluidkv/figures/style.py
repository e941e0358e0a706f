"""The one look of every figure."""

from typing import Any

from fluidkv.figures.figure import Axes

# Okabe and Ito's palette, which stays apart under the common colour deficiencies.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
GREY = "#6B6B6B"
PALE = "#EDEDED"
BLACK = "#1A1A1A"
STAGES = ("#B9DDF1", "#4E93C5", "#123C69")  # light to dark, early to late
# Of words beside a point: the distance is in points of type.
NOTE: dict[str, Any] = {"textcoords": "offset points", "color": GREY, "fontsize": 8.5}
SMALL_NOTE: dict[str, Any] = NOTE | {"fontsize": 8}

RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so text has one width everywhere
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": BLACK,
    "axes.axisbelow": True,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": BLACK,
    "ytick.labelcolor": BLACK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "figure.titlesize": 11.5,
    "figure.titleweight": "bold",
    "savefig.facecolor": "white",
    "savefig.dpi": 160,
    # Names inside the SVG are hashed with this, so that the file is the same on every run.
    "svg.hashsalt": "fluidkv",
    "svg.fonttype": "path",
}


def zero_line(ax: Axes, y: float) -> None:
    """A thin horizontal reference."""
    ax.axhline(y, color=GREY, linewidth=0.8)


def name_axes(ax: Axes, x: str = "", y: str = "", title: str = "", *, log: str = "") -> None:
    """Words at the axes and above; `log` names the logarithmic ones: "x", "y" or "xy"."""
    for axis in log:
        ax.set(**{f"{axis}scale": "log"})
    said = {"xlabel": x, "ylabel": y, "title": title}
    ax.set(**{name: words for name, words in said.items() if words})
