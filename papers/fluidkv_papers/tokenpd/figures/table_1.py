"""Tables 1 and 2 beside the simulation: what memory policies need, of what FIFO needs."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE
from fluidkv_papers.tokenpd.instances import simulated
from fluidkv_papers.tokenpd.instances.simulated import LOADS, SEEDS, STRUCTURES
from fluidkv_papers.tokenpd.instances.tables import METHODS, printed

_POLICIES = (*simulated.BASELINES, simulated.OURS, simulated.ORACLE)
_NAMES = (*METHODS, "Token-PD,\nreturns known")
_LOOKS = dict(
    zip(STRUCTURES, ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D")), strict=True)
)


def data() -> Data:
    """Of each load: printed, and by structure, memory over FIFO's, (policy,)."""
    numbers: dict[str, np.ndarray] = {}
    for load in LOADS:
        memory = np.array([float(printed(load, method, "memory")) for method in METHODS])
        numbers[f"printed_{load}"] = memory / memory[0]
        for structure in STRUCTURES:
            needed = np.array([simulated.mean(structure, load, name) for name in _POLICIES])
            numbers[f"{structure}_{load}"] = needed / needed[0]
    return numbers


def draw(data: Data, canvas: Canvas) -> None:
    axes = canvas.subplots(1, len(LOADS), sharey=True)
    for ax, load in zip(axes, LOADS, strict=True):
        _panel(data, ax, load)
    axes[0].set_ylabel("memory, of FIFO's")
    axes[-1].legend(fontsize="small")


def _panel(data: Data, ax: Axes, load: int) -> None:
    said = np.asarray(data[f"printed_{load}"])
    ax.plot(range(len(said)), said, color=BLACK, marker="x", linewidth=2, label="printed")
    for structure, (colour, marker) in _LOOKS.items():
        needed = np.asarray(data[f"{structure}_{load}"])
        ax.plot(needed, color=colour, marker=marker, markersize=4, linewidth=1, label=structure)
    ax.set_xticks(range(len(_NAMES)), _NAMES, rotation=40, ha="right", fontsize="small")
    ax.set_title(f"{load} streams", fontsize="medium")
    ax.set_ylim(0, None)


def _caption(data: Data) -> str:
    ours, known = (
        ", ".join(f"{data[f'{name}_256'][at]:.2f}" for name in STRUCTURES) for at in (3, 4)
    )
    return (
        "Black: peak memory of Tables 1 and 2 over FIFO's. Coloured: the least budget with which a "
        "policy keeps 90 % of generated attention, over FIFO's; one stream for "
        f"{simulated.PER_STREAM} of the paper's, mean of {len(SEEDS)} draws. Token-PD is section "
        "5's heap with a network that predicts once, when a token is written. At 256 streams it "
        f"needs {ours} times FIFO's ({', '.join(STRUCTURES)}), and {known} times if it is told the "
        f"true returns then; printed is {data['printed_256'][3]:.2f}."
    )


FIGURE = Figure(
    id="tokenpd_table_1",
    title="How much memory Token-PD saves depends on how well returns are known",
    source="Token-PD, Tables 1 and 2",
    parameters={"seeds": list(SEEDS), "per_stream": simulated.PER_STREAM, "kept": 0.9},
    size=(11.0, 4.0),
    data=data,
    draw=draw,
    caption=_caption,
)
