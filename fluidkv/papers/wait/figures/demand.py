"""Figures 7 and 8: WAIT and first come, first served, at low and at high demand."""

from fractions import Fraction

import numpy as np

from fluidkv.figures.figure import Data, scalar
from fluidkv.papers.wait.figures.sweeps import Point, sweep
from fluidkv.papers.wait.instances import server

LENGTHS = ((60, 20), (60, 40), (60, 80))
PER_STAGE = (8, 4, 2)
SEEDS = (0, 1)
SECONDS = 18.0
WINDOW = (5.0, 15.0)


def data(
    loads: tuple[float, ...],
    seeds: tuple[int, ...] = SEEDS,
    seconds: float = SECONDS,
    window: tuple[float, float] = WINDOW,
) -> Data:
    """As `sweeps.sweep`, over prompts a second; "load" is the part of the full rate."""
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.compare import Contender, Served
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.thresholds import integer_thresholds

    full = server.full_system(LENGTHS, PER_STAGE)
    memory = int(fluid_equilibrium(full).memory)  # a whole number of tokens, by `PER_STAGE`
    points = []
    for load in loads:
        system = full.scaled(Fraction(str(load)))
        contenders: dict[str, Contender] = {
            "new_first": Served("fcfs-new-first"),
            "running_first": Served("fcfs-running-first"),
            "wait": Wait(PER_STAGE),
        }
        if load < 1:
            least = integer_thresholds(system, memory, strict=True)
            contenders["wait_least"] = Wait(int(n) for n in least.thresholds)
        tables = [poisson_prompts(system, rng=seed, horizon=seconds) for seed in seeds]
        points.append(Point(float(system.arrival_rate), tables, contenders, window))
    found = sweep(points, clock=server.clock(), capacity=memory)
    return {**found, "load": np.array(loads)}


def told(data: Data) -> str:
    """What was chosen, for the captions."""
    return (
        "The paper's types, rates, lengths and batch limits are lost. Chosen: inputs of 60, "
        "outputs of 20, 40 and 80 tokens, rates 4 : 2 : 1, one memory for all policies, "
        f"{scalar(data, 'capacity'):,.0f} tokens, that 8, 4 and 2 prompts at every stage fill. "
        f"{server.CLOCK_TOLD}. {len(SEEDS)} draws of Poisson arrivals; lines are means, bands "
        "the range; who is not served by the end counts with the time so far. Throughputs within "
        "1 % of each other differ by what was in the system at the ends of the window."
    )


def parameters(loads: tuple[float, ...]) -> dict[str, object]:
    return {
        "lengths": [list(pair) for pair in LENGTHS],
        "per_stage": list(PER_STAGE),
        "parts_of_full_rate": list(loads),
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": SECONDS,
        "window_s": list(WINDOW),
        "seeds": list(SEEDS),
    }
