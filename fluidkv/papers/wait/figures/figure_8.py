"""WAIT, Figure 8: WAIT and first come, first served, at high demand."""

from typing import TYPE_CHECKING

import numpy as np

from fluidkv.figures.figure import Data, Figure, array
from fluidkv.papers.wait.figures import demand, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOADS = (0.85, 0.92, 0.97, 1.05, 1.2)


def data(
    loads: tuple[float, ...] = _LOADS,
    seeds: tuple[int, ...] = demand.SEEDS,
    seconds: float = demand.SECONDS,
    window: tuple[float, float] = demand.WINDOW,
) -> Data:
    """As `demand.data`, up to and above what memory can carry."""
    return demand.data(loads, seeds, seconds, window)


def draw(data: Data, canvas: "Canvas") -> None:
    sweeps.draw_sweep(data, canvas, FIGURE.title, "prompts/s")


def caption(data: Data) -> str:
    load = array(data, "load")
    gain = sweeps.ratio(data, "throughput", "wait", "running_first") - 1
    later = sweeps.ratio(data, "latency_mean", "wait", "running_first") - 1
    new = sweeps.ratio(data, "throughput", "new_first", "running_first")
    evicted = array(data, "running_first.evictions")

    def each(values: np.ndarray, form: str) -> str:
        return ", ".join(format(value, form) for value in values)

    return (
        f"{demand.told(data)} At {each(load, '.0%')} of the rate that memory can carry, WAIT "
        f"completes {each(gain, '+.1%')} output tokens/s against first come, first served with "
        f"the running first, at {each(later, '+.0%')} mean latency. It evicts nobody: a batch "
        "never holds more than its thresholds do. The running first evict "
        f"{each(evicted, '.2f')} times a prompt. With the new first, "
        f"{each(new, '.0%')} of the throughput of the running first is left: newcomers evict who "
        "runs, who come again as newcomers. Above 100 % latencies grow with the length of the run."
    )


FIGURE = Figure(
    id="wait_figure_8",
    title="At high demand WAIT evicts nobody and serves a little more; new first collapses",
    source="WAIT, Figure 8 and section 6.1",
    parameters=demand.parameters(_LOADS),
    size=(10.5, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
