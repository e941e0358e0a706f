"""WAIT, Figure 11: Nested WAIT on two outputs that nobody can foresee."""

from fractions import Fraction
from functools import cache

import numpy as np

from fluidkv import wait
from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import ratio
from fluidkv_papers.wait.figures import nested, sweeps
from fluidkv_papers.wait.instances import server

_LENGTHS = ((10, 20), (10, 40))
_PER_STAGE = (6, 6)
_LOADS = (0.4, 0.6, 0.8, 0.92, 1.05)
_SEEDS = tuple(range(32))
_SECONDS, _WINDOW = 10.0, (3.0, 8.0)


def data(
    loads: tuple[float, ...] = _LOADS,
    seeds: tuple[int, ...] = _SEEDS,
    seconds: float = _SECONDS,
    window: tuple[float, float] = _WINDOW,
) -> Data:
    """As `nested.data`; "load" is the part of the rate that memory can carry, "fixed" of which
    the fixed thresholds are the least."""
    full = server.full_system(_LENGTHS, _PER_STAGE)
    memory = int(wait.fluid_equilibrium(full).memory)
    fixed, part = _fixed()
    found = nested.data(
        full,
        [Fraction(str(load)) * full.arrival_rate for load in loads],
        memory,
        fixed=fixed,
        seeds=seeds,
        seconds=seconds,
        window=window,
    )
    return {**found, "load": np.array(loads), "fixed": float(part)}


@cache
def _fixed() -> "tuple[wait.NestedWait, Fraction]":
    """The thresholds whose batch just fits, and the part of the full rate that they are for."""
    full = server.full_system(_LENGTHS, _PER_STAGE)
    memory = int(wait.fluid_equilibrium(full).memory)
    segments, found, part = server.largest_that_fits(full, memory)
    return wait.NestedWait(segments.ends, found.thresholds), part


def caption(data: Data) -> str:
    fixed, _ = _fixed()
    load = data["load"]
    gain = ratio(data, "throughput", "nested_fixed", "running_first") - 1
    later = ratio(data, "latency_mean", "nested_fixed", "running_first")
    least = ratio(data, "latency_mean", "nested", "running_first")
    evicted = data["nested_fixed.evictions"]
    thresholds = " and ".join(map(str, fixed.thresholds))
    return (
        "The paper's outputs, ratio and batch limit are lost. Chosen: inputs of 10, outputs of 20 "
        f"and 40 tokens, equally often, {data['capacity']:,.0f} tokens of memory, that 6 "
        f"prompts of each at every stage fill. {server.CLOCK_TOLD}. {len(_SEEDS)} draws; lines "
        "are means, bands the range. Fixed thresholds are "
        f"{thresholds}, whose batch fits; the least for {data['fixed']:.0%} of the rate "
        "that memory can carry in the fluid; above it there are none that fit. At "
        + ", ".join(f"{value:.0%}" for value in load)
        + " of that rate they complete "
        + ", ".join(f"{value:+.1%}" for value in gain)
        + " output tokens/s against first come, first served with the running first, "
        + ", ".join(f"{value:.2f}" for value in later)
        + f" times as late, and evict at most {evicted.max():.1g} times a prompt. "
        + "With the least thresholds for each rate: "
        + ", ".join(f"{value:.2f}" for value in least if np.isfinite(value))
        + " times as late."
    )


FIGURE = Figure(
    id="wait_figure_11",
    title="Lengths unknown: Nested WAIT is slower while memory lasts, and ahead once others evict",
    source="WAIT, Figure 11 and section 6.2",
    parameters={
        "lengths": [list(pair) for pair in _LENGTHS],
        "per_stage": list(_PER_STAGE),
        "parts_of_full_rate": list(_LOADS),
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": _SECONDS,
        "window_s": list(_WINDOW),
        "seeds": list(_SEEDS),
    },
    size=(10.5, 4.4),
    data=data,
    draw=sweeps.draw_sweep,
    caption=caption,
)
