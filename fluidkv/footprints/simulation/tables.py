"""A footprint and the rules of a server as the loops read them: arrays and numbers."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.footprints.footprint import Footprint

COLUMNS = ("running", "admitted", "evicted", "used", "free")
"""What is recorded in each iteration."""


class Tables(NamedTuple):
    """Growths, one after another: what is held at each place, and how a request moves on.

    Fields:
        tokens: what is held at each place of each growth, times the common unit.
        first: where the places of each growth begin.
        places: how many it has.
        walk: from this place on its steps are drawn.
        steps: cumulative chances of steps of 1, 2, ...; rows end in 1.
        shares: cumulative shares of the growths.
    """

    tokens: Int[np.ndarray, " place"]
    first: Int[np.ndarray, " growth"]
    places: Int[np.ndarray, " growth"]
    walk: Int[np.ndarray, " growth"]
    steps: Float[np.ndarray, "growth step"]
    shares: Float[np.ndarray, " growth"]


class Rules(NamedTuple):
    """What a server admits; tokens are times the common unit.

    Fields:
        capacity: M. Without bound below 0.
        watermark: tokens that are left free when a request is admitted.
        most_running: at most so many run.
        most_admitted: at most so many are admitted an iteration.
        arrivals: requests that come an iteration, on average (Poisson); below 0, there are always
            some that wait.
        batch: requests that come together.
        alike: cumulative chances of 1, 2, ... requests in a row of one growth.
        rate: u of the equilibrium that a run starts from.
    """

    capacity: int
    watermark: int
    most_running: int
    most_admitted: int
    arrivals: float
    batch: int
    alike: Float[np.ndarray, " request"]
    rate: float


def tabulated(footprint: Footprint) -> tuple[Tables, int]:
    """Growths as the kernel reads them, and the common unit of what is held."""
    growths = [growth for _, growth in footprint.growths]
    unit = math.lcm(*(growth.unit for growth in growths))
    held = [np.concatenate([g.start, g.held]) * (unit // g.unit) for g in growths]
    places = np.array([len(tokens) for tokens in held], np.int64)
    widest = max(len(growth.steps) for growth in growths)
    steps = np.ones((len(growths), widest))
    for row, growth in zip(steps, growths, strict=True):
        row[: len(growth.steps) - 1] = np.cumsum([float(p) for p in growth.steps])[:-1]
    shares = np.cumsum([float(share) for share, _ in footprint.growths])
    shares[-1] = 1
    walk = np.array([len(growth.start) for growth in growths], np.int64)
    first = np.cumsum(places) - places
    return Tables(np.concatenate(held), first, places, walk, steps, shares), unit
