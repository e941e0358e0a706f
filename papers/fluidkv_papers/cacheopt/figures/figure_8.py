"""Figure 8, from a count of operations and bytes: to swap or to compute again, and how sharply."""

from fractions import Fraction

import numpy as np

from fluidkv import preempt
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes
from fluidkv.preempt.restoring.bus import one_way
from fluidkv.preempt.restoring.roofline import OPT_13B
from fluidkv_papers.cacheopt.instances.machines import BUS, SPOT, bandwidth_for

SHARE = 0.5
"""Of the GPU's operations; ours."""
LENGTHS = 8192
BANDWIDTHS = (4e9, 14e9)
COPIES = {"alone": 2.0, "many at once": 3.0, "for throughput": 1.0}
"""Copies' time that stands against one prefill."""
SHADES = {"alone": BLUE, "many at once": ORANGE, "for throughput": GREEN}


def data() -> Data:
    """Seconds by length; and the sweet spot, NaN where there is none, by bytes a second."""
    lengths = np.arange(64, LENGTHS + 1, 64, dtype=float)
    recompute = preempt.recompute_of(OPT_13B, share=SHARE)
    wanted = float(bandwidth_for(SPOT, Fraction(SHARE)))
    found: dict[str, np.ndarray | float] = {
        "length": lengths,
        "recompute": recompute(lengths),
        "recompute.peak": preempt.recompute_of(OPT_13B, share=1.0)(lengths),
        "bandwidth.wanted": wanted,
        "bandwidth": np.linspace(*BANDWIDTHS, 401),
    }
    for name, bandwidth in (("swap", float(BUS)), ("swap.wanted", wanted)):
        copies = preempt.copies_of(OPT_13B, bandwidth=bandwidth)
        found[name] = 2 * one_way(copies, 1) * lengths
    for name, copies in COPIES.items():
        found[f"spot.{name}"] = np.array([_spot(b, copies) for b in np.linspace(*BANDWIDTHS, 401)])
    return found


def _spot(bandwidth: float, copies: float) -> float:
    recompute = preempt.recompute_of(OPT_13B, share=SHARE)
    swap = preempt.copies_of(OPT_13B, bandwidth=bandwidth)
    spots = preempt.spots_on_a_bus(recompute, swap, copies)
    return spots[-1].tokens if spots else float("nan")


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2)
    gigabytes = data["bandwidth.wanted"] / 1e9
    for name, label, shade, style in (
        ("recompute", "recompute, half of the operations", PURPLE, "-"),
        ("recompute.peak", "recompute, all of them", PURPLE, "--"),
        ("swap.wanted", f"swap, {gigabytes:.2f} GB/s", BLUE, "-"),
        ("swap", f"swap, {BUS / 1e9:g} GB/s", BLUE, "--"),
    ):
        left.plot(data["length"], data[name], style, color=shade, label=label)
    left.axvline(OPT_13B.longest or 0, ymax=0.65, color=GREY, linewidth=0.8)
    left.annotate("positions of OPT", (OPT_13B.longest or 0, 0), (4, 3), textcoords="offset points")
    name_axes(left, "tokens", "seconds", "the two latencies")
    left.set(xlim=(0, LENGTHS), ylim=(0, None))
    left.legend()
    for name in COPIES:
        right.plot(
            data["bandwidth"] / 1e9, data[f"spot.{name}"] / 1e3, color=SHADES[name], label=name
        )
    right.axhline(SPOT / 1e3, color=GREY, linewidth=0.8)
    right.annotate("the paper's", (11, SPOT / 1e3), (0, 3), textcoords="offset points")
    name_axes(
        right,
        "bandwidth of the bus, GB/s each way",
        "sweet spot, thousand tokens",
        "where they cross",
    )
    right.set(xlim=tuple(b / 1e9 for b in BANDWIDTHS), ylim=(0, 40))
    right.legend()


def caption(data: Data) -> str:
    gigabytes = data["bandwidth.wanted"] / 1e9
    alone = data["spot.alone"]
    none = data["bandwidth"][np.isnan(alone)][0] / 1e9
    slower = float(np.interp(0.95 * gigabytes, data["bandwidth"] / 1e9, alone))
    return (
        "OPT-13B on an A100, from operations and bytes; nothing is measured. Left: a "
        f"prefill at half of the operations; copies at {gigabytes:.2f} GB/s each way, chosen so "
        f"that they cross it at the paper's {SPOT:,} tokens; at {BUS / 1e9:g} GB/s swapping is "
        "faster at every length, even against a prefill that gets all operations. Both are "
        "nearly straight: the squares "
        f"are half of a prefill only at {OPT_13B.even:,.0f} tokens. Right: so the sweet spot "
        f"depends steeply on the bandwidth: {slower:,.0f} tokens with 5 % less, and none "
        f"above {none:.2f} GB/s. Many victims at once queue for the bus, and count 3 copies "
        "against a prefill instead of 2; for throughput only the copy out counts."
    )


FIGURE = Figure(
    id="cacheopt_figure_8",
    title="Swapping and recomputing both cost linear time; where the lines cross is uncertain",
    source="CacheOPT, Figure 8, Observation 4",
    parameters={"share": SHARE, "lengths": LENGTHS, "bandwidths": list(BANDWIDTHS)},
    size=(9.0, 3.8),
    data=data,
    draw=draw,
    caption=caption,
)
