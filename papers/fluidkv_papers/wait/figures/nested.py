"""Figures 11 to 13: Nested WAIT and first come, first served, over the rate of arrivals."""

from collections.abc import Sequence
from fractions import Fraction

from fluidkv import wait
from fluidkv.errors import InputError
from fluidkv.figures.figure import Data
from fluidkv_papers.wait.figures.sweeps import Point, sweep
from fluidkv_papers.wait.instances import compared, server


def data(
    full: "wait.WaitSystem",
    rates: Sequence[Fraction],
    memory: int,
    *,
    fixed: "wait.NestedWait",
    seeds: Sequence[int],
    seconds: float,
    window: tuple[float, float],
) -> Data:
    """As `sweeps.sweep`, over prompts a second.

    Args:
        full: types, at any rates.
        rates: of all prompts.
        memory: M, tokens, for all policies.
        fixed: Nested WAIT with the same thresholds at every rate.
        seeds, seconds, window: of the runs.
    """
    points = []
    for rate in rates:
        system = full.scaled(rate / full.arrival_rate)
        contenders: dict[str, compared.Contender] = {
            "new_first": compared.Served("fcfs-new-first"),
            "running_first": compared.Served("fcfs-running-first"),
            "nested_fixed": fixed,
        }
        least = least_nested(system, memory)
        if least is not None:
            contenders["nested"] = least
        tables = [wait.poisson_prompts(system, rng=seed, horizon=seconds) for seed in seeds]
        points.append(Point(float(rate), tables, contenders, window))
    return sweep(points, clock=server.clock(), capacity=memory)


def least_nested(system: "wait.WaitSystem", memory: int) -> "wait.NestedWait | None":
    """The least thresholds for these rates, where there are any and their batch fits."""
    segments = wait.Segments.of(system)
    try:
        found = wait.integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    except InputError:  # a load of the segments of 1 or more
        return None
    return wait.NestedWait(segments.ends, found.thresholds) if found.memory <= memory else None
