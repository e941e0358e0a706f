"""The one look of every figure."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which stays apart under the common colour deficiencies.
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#6B6B6B"
PALE = "#EDEDED"
BLACK = "#1A1A1A"
STAGES = ("#B9DDF1", "#4E93C5", "#123C69")  # light to dark, early to late

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


def zero_line(ax: "Axes", y: float) -> None:
    """A thin horizontal reference."""
    ax.axhline(y, color=GREY, linewidth=0.8)
