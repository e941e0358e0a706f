"""Figures 7 and 8: WAIT and first come, first served, at low and at high demand."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from fluidkv import wait
from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import listed, ratio
from fluidkv_papers.wait.figures.sweeps import Point, draw_sweep, keys_of, sweep
from fluidkv_papers.wait.instances import compared, server

LENGTHS = ((60, 20), (60, 40), (60, 80))
PER_STAGE = (8, 4, 2)
SEEDS = tuple(range(32))
SECONDS = 18.0
WINDOW = (5.0, 15.0)


def data(
    loads: tuple[float, ...],
    seeds: tuple[int, ...] = SEEDS,
    seconds: float = SECONDS,
    window: tuple[float, float] = WINDOW,
) -> Data:
    """As `sweeps.sweep`, over prompts a second; "load" is the part of the full rate."""
    full = server.full_system(LENGTHS, PER_STAGE)
    memory = int(wait.fluid_equilibrium(full).memory)  # a whole number of tokens, by `PER_STAGE`
    points = []
    for load in loads:
        system = full.scaled(Fraction(str(load)))
        contenders: dict[str, compared.Contender] = {
            "new_first": compared.Served("fcfs-new-first"),
            "running_first": compared.Served("fcfs-running-first"),
            "wait": wait.Wait(PER_STAGE),
        }
        if load < 1:
            least = wait.integer_thresholds(system, memory, strict=True)
            contenders["wait_least"] = wait.Wait(int(n) for n in least.thresholds)
        tables = [wait.poisson_prompts(system, rng=seed, horizon=seconds) for seed in seeds]
        points.append(Point(float(system.arrival_rate), tables, contenders, window))
    found = sweep(points, clock=server.clock(), capacity=memory)
    return {**found, "load": np.array(loads)}


def _told(data: Data) -> str:
    """What was chosen, for the captions."""
    return (
        "The paper's types, rates, lengths and batch limits are lost. Chosen: inputs of 60, "
        "outputs of 20, 40 and 80 tokens, rates 4 : 2 : 1, one memory for all policies, "
        f"{data['capacity']:,.0f} tokens, that 8, 4 and 2 prompts at every stage fill. "
        f"{server.CLOCK_TOLD}. {len(SEEDS)} draws of Poisson arrivals; lines are means, bands "
        "the range; who is not served by the end counts with the time so far. Throughputs within "
        "1 % of each other differ by what was in the system at the ends of the window."
    )


def _parameters(loads: tuple[float, ...]) -> dict[str, object]:
    return {
        "lengths": [list(pair) for pair in LENGTHS],
        "per_stage": list(PER_STAGE),
        "parts_of_full_rate": list(loads),
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": SECONDS,
        "window_s": list(WINDOW),
        "seeds": list(SEEDS),
    }


def _low_caption(data: Data) -> str:
    served = data["wait.throughput"] / data["running_first.throughput"]
    later = ratio(data, "latency_mean", "wait", "running_first")
    least = ratio(data, "latency_mean", "wait_least", "running_first")
    load = data["load"]
    evicted = max(data[f"{key}.evictions"].max() for key in keys_of(data))
    return (
        f"{_told(data)} At {load[0]:.0%} to {load[-1]:.0%} of the rate that memory can "
        "carry, first come, first served completes what comes, whichever goes first; WAIT with "
        "thresholds that fill memory (the paper's practice: thresholds from the batch limit) "
        f"{served.min():.1%} to {served.max():.1%} of it, {later.min():.1f} to "
        f"{later.max():.1f} times as late in the mean, with the least thresholds of (11) "
        f"{least.min():.2f} to {least.max():.2f} times: a type computes its next token when enough "
        "newcomers wait, so its prompts step at the pace of arrivals. Evictions: at most "
        f"{evicted:.3g} a prompt. The paper's Figure 7 has WAIT above both in throughput at every "
        "rate; what has come bounds all alike (Proposition 2), and nothing is lost here."
    )


def _high_caption(data: Data) -> str:
    load = data["load"]
    gain = ratio(data, "throughput", "wait", "running_first") - 1
    later = ratio(data, "latency_mean", "wait", "running_first") - 1
    new = ratio(data, "throughput", "new_first", "running_first")
    evicted = data["running_first.evictions"]

    return (
        f"{_told(data)} At {listed(load, '.0%')} of the rate that memory can carry, WAIT "
        f"completes {listed(gain, '+.1%')} output tokens/s against first come, first served with "
        f"the running first, at {listed(later, '+.0%')} mean latency. It evicts nobody: a batch "
        "never holds more than its thresholds do. The running first evict "
        f"{listed(evicted, '.2f')} times a prompt. With the new first, "
        f"{listed(new, '.0%')} of the throughput of the running first is left: newcomers evict who "
        "runs, who come again as newcomers. Above 100 % latencies grow with the length of the run."
    )


def _figure(
    number: int, title: str, loads: tuple[float, ...], caption: Callable[[Data], str]
) -> Figure:
    return Figure(
        id=f"wait_figure_{number}",
        title=title,
        source=f"WAIT, Figure {number} and section 6.1",
        parameters=_parameters(loads),
        size=(10.5, 4.4),
        data=partial(data, loads),
        draw=draw_sweep,
        caption=caption,
    )


FIGURES = (
    _figure(
        7,
        "At low demand WAIT serves no more than first come, first served, and later",
        (0.3, 0.45, 0.6, 0.7),
        _low_caption,
    ),
    _figure(
        8,
        "At high demand WAIT evicts nobody and serves a little more; new first collapses",
        (0.85, 0.92, 0.97, 1.05, 1.2),
        _high_caption,
    ),
)
