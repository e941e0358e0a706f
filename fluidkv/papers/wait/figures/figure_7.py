"""WAIT, Figure 7: WAIT and first come, first served, at low demand."""

from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, Figure, array
from fluidkv.papers.wait.figures import demand, sweeps

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOADS = (0.3, 0.45, 0.6, 0.7)


def data(
    loads: tuple[float, ...] = _LOADS,
    seeds: tuple[int, ...] = demand.SEEDS,
    seconds: float = demand.SECONDS,
    window: tuple[float, float] = demand.WINDOW,
) -> Data:
    """As `demand.data`, well below what memory can carry."""
    return demand.data(loads, seeds, seconds, window)


def draw(data: Data, canvas: "Canvas") -> None:
    sweeps.draw_sweep(data, canvas, FIGURE.title, "prompts/s")


def caption(data: Data) -> str:
    served = array(data, "wait.throughput") / array(data, "running_first.throughput")
    later = sweeps.ratio(data, "latency_mean", "wait", "running_first")
    least = sweeps.ratio(data, "latency_mean", "wait_least", "running_first")
    load = array(data, "load")
    evicted = max(array(data, f"{key}.evictions").max() for key in sweeps.keys_of(data))
    return (
        f"{demand.told(data)} At {load[0]:.0%} to {load[-1]:.0%} of the rate that memory can "
        "carry, first come, first served completes what comes, whichever goes first; WAIT with "
        "thresholds that fill memory (the paper's practice: thresholds from the batch limit) "
        f"{served.min():.1%} to {served.max():.1%} of it, {later.min():.1f} to "
        f"{later.max():.1f} times as late in the mean, with the least thresholds of (11) "
        f"{least.min():.2f} to {least.max():.2f} times: a type computes its next token when enough "
        "newcomers wait, so its prompts step at the pace of arrivals. Evictions: at most "
        f"{evicted:.3g} a prompt. The paper's Figure 7 has WAIT above both in throughput at every "
        "rate; what has come bounds all alike (Proposition 2), and nothing is lost here."
    )


FIGURE = Figure(
    id="wait_figure_7",
    title="At low demand WAIT serves no more than first come, first served, and later",
    source="WAIT, Figure 7 and section 6.1",
    parameters=demand.parameters(_LOADS),
    size=(10.5, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
