"""Greedy, capped, watermarked, WAIT and Nested WAIT on one workload in one memory."""

from fractions import Fraction

import numpy as np

from fluidkv import wait
from fluidkv.errors import InputError
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.wait.runs.stages import LPF
from fluidkv_papers.bands import plain_numbers
from fluidkv_papers.wait.figures import nested, sweeps
from fluidkv_papers.wait.figures.sweeps import LOOKS, Point, draw_line
from fluidkv_papers.wait.instances import compared, server

LENGTHS = ((20, 19), (20, 39))  # decode lengths 20 and 40 of Congestion: a common divisor of 20
PER_STAGE = (6, 4)
_LOADS = (0.5, 0.65, 0.8, 0.9, 0.95, 1.0)
_SEEDS = tuple(range(32))
_SECONDS, _WINDOW = 12.0, (4.0, 10.0)


def full() -> "wait.WaitSystem":
    """The rates that fill the memory in the fluid equilibrium."""
    return server.full_system(LENGTHS, PER_STAGE)


def memory() -> int:
    """M* of `full`, a whole number of tokens."""
    return int(wait.fluid_equilibrium(full()).memory)


def contenders(believed: "wait.WaitSystem") -> "dict[str, compared.Contender]":
    """Every policy, set up for these rates and types.

    WAIT: the least thresholds with slack, or those that fill the memory where none are less.
    The cap is x*, what Congestion derives from the mix and the memory alone.
    """
    try:
        least = wait.integer_thresholds(believed, memory(), strict=True).thresholds
    except InputError:
        least = PER_STAGE
    policy = nested.least_nested(believed, memory())
    if policy is None:
        segments, most, _ = server.largest_that_fits(full(), memory())
        policy = wait.NestedWait(segments.ends, most.thresholds)
    return {
        "greedy": compared.Served(LPF),
        "cap": compared.Served(LPF, admission_rate=sum(PER_STAGE)),
        "vllm": compared.Served("vllm", watermark=0.05),
        "wait_least": wait.Wait(int(n) for n in least),
        "nested": policy,
    }


def data(
    loads: tuple[float, ...] = _LOADS,
    seeds: tuple[int, ...] = _SEEDS,
    seconds: float = _SECONDS,
    window: tuple[float, float] = _WINDOW,
) -> Data:
    """As `sweeps.sweep`, over the part of the rate that memory can carry."""
    points = []
    for load in loads:
        system = full().scaled(Fraction(str(load)))
        tables = [wait.poisson_prompts(system, rng=seed, horizon=seconds) for seed in seeds]
        points.append(Point(load, tables, contenders(system), window))
    found = sweeps.sweep(points, clock=server.clock(), capacity=memory())
    return {**found, "full_rate": float(full().arrival_rate)}


def draw(data: Data, canvas: Canvas) -> None:
    left, middle, right = canvas.subplots(1, 3)
    keys = sweeps.keys_of(data)
    for key in keys:
        draw_line(data, left, key, "served", scale=100)
        draw_line(data, middle, key, "latency_p99")
        draw_line(data, right, key, "evictions")
    left.set(ylabel="output tokens completed, % of those asked for", ylim=(None, 103))
    middle.set_yscale("log")
    plain_numbers(middle, decades=3)
    middle.set_ylabel("99 % of latencies below, s")
    right.set_ylabel("evictions a prompt")
    most = max(data[f"{key}.evictions_high"].max() for key in keys)
    sweeps.count_scale(right, most, 0.001)
    for ax in (left, middle, right):
        ax.set_xlabel("rate, parts of what memory can carry")
    canvas.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3)


def caption(data: Data) -> str:
    x = data["x"]
    last, below = -1, int(np.argmin(np.abs(x - 0.8)))

    def at(key: str, name: str, place: int) -> float:
        return float(data[f"{key}.{name}"][place])

    rows = "; ".join(
        f"{LOOKS[key][0]}: {at(key, 'served', last):.1%} of the "
        f"tokens, 99 % within {at(key, 'latency_p99', last):.2f} s, "
        f"{at(key, 'evictions', last):.2g} evictions a prompt "
        f"({at(key, 'latency_p99', below):.2f} s at {x[below]:.0%})"
        for key in sweeps.keys_of(data)
    )
    return (
        "Inputs of 20, outputs of 19 and 39 tokens (20 and 40 in Congestion, which counts the "
        f"prefill's; unstable there, by their common divisor), rates 3 : 2. {server.CLOCK_TOLD}. "
        f"One memory, {data['capacity']:,.0f} tokens, that 6 and 4 prompts at every stage "
        f"fill: it can carry {data['full_rate']:.0f} prompts/s. The same Poisson arrivals "
        f"for all, {len(_SEEDS)} draws; lines are means, bands the range. Greedy admission and the "
        "cap, x* = 10 an iteration, run on Congestion's LPF rules with the same tokens held at "
        "every iteration. WAIT has the least whole thresholds with slack, at the full rate those "
        "that fill memory; Nested WAIT the least whose batch fits, at high rates the most that "
        f"fit. At the full rate, {rows}."
    )


FIGURE = Figure(
    id="wait_policies",
    title="At the rate that memory just carries, WAIT is ahead; below it, waiting costs time",
    source="WAIT and Congestion, on one workload",
    parameters={
        "lengths": [list(pair) for pair in LENGTHS],
        "per_stage": list(PER_STAGE),
        "parts_of_full_rate": list(_LOADS),
        "cap": sum(PER_STAGE),
        "watermark": 0.05,
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": _SECONDS,
        "window_s": list(_WINDOW),
        "seeds": list(_SEEDS),
    },
    size=(10.5, 4.6),
    data=data,
    draw=draw,
    caption=caption,
)
