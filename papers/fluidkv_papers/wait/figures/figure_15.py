"""WAIT, Figure 15: how long outputs are."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE, name_axes
from fluidkv_papers.wait.figures import azure

_WIDTH = 10


def data() -> Data:
    """Shares of prompts by output in bins of ten tokens, and the part of the load that they are.

    Shapes: "output" (the last of a bin), "share" and "cost" (share of the token-iterations with
    an input of 62), each (bin,).

    Raises:
        MissingInput: the trace is not there.
    """
    outputs = np.array(azure.trace().decode_lengths)
    edges = np.arange(0, 1000 + _WIDTH, _WIDTH)
    bins = np.searchsorted(edges, outputs) - 1
    costs = (outputs + 1) * (62 + outputs / 2)
    size = len(edges) - 1
    return {
        "output": edges[1:].astype(float),
        "share": np.bincount(bins, minlength=size) / outputs.size,
        "cost": np.bincount(bins, costs, minlength=size) / costs.sum(),
        "prompts": float(outputs.size),
        "mean": float(outputs.mean()),
        "median": float(np.median(outputs)),
        "longest": float(outputs.max()),
        "left_out": azure.left_out(),
    }


def draw(data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    x = data["output"]
    ax.bar(x, 100 * data["share"], -_WIDTH, align="edge", color=BLUE, label="of prompts")
    ax.step(
        np.append(x - _WIDTH, x[-1]),
        100 * np.append(data["cost"], data["cost"][-1]),
        where="post",
        color=ORANGE,
        linewidth=1.2,
        label="of the load they make (input 62)",
    )
    name_axes(ax, f"output tokens, in bins of {_WIDTH}", "share, %")
    ax.set_xlim(0, 1000)
    ax.legend(loc="upper right")


def caption(data: Data) -> str:
    x, share, cost = (data[name] for name in ("output", "share", "cost"))
    late = (x > 350) & (x <= 500)
    return (
        f"{azure.TOLD}: {data['prompts']:,.0f} prompts, mean output "
        f"{data['mean']:.0f}, median {data['median']:.0f}, longest "
        f"{data['longest']:.0f} tokens; {data['left_out']:.1%} are longer than the "
        f"paper's 500. Outputs of 351 to 500 tokens are {share[late].sum():.0%} of the prompts and "
        f"{cost[late].sum():.0%} of the tokens held, summed over iterations, with an input of 62 "
        "for all."
    )


FIGURE = Figure(
    id="wait_figure_15",
    title="Output lengths have two peaks; the second makes up most of the load",
    source="WAIT, Figure 15 and section 7.2",
    parameters={"trace": azure.FILE, "bin": _WIDTH, "input_length": 62},
    size=(8.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
