"""Runs of servers whose requests hold random footprints: thousands of seeds, on threads."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.footprints.order import batch_correlation
from fluidkv.footprints.second_moments import mean_weights
from fluidkv.footprints.simulation.reference import simulated_literally
from fluidkv.footprints.simulation.tables import COLUMNS, Rules, tabulated
from fluidkv.footprints.stability import FullServer
from fluidkv.record import Record
from fluidkv.runs.checks import count

_UNBOUNDED = 2**62


@dataclass(frozen=True)
class FootprintRuns(Record):
    """What servers did, run by run and iteration by iteration.

    Fields:
        running: requests after admission, [run, iteration].
        admitted: requests admitted.
        evicted: requests evicted, which wait again.
        used: tokens after admission.
        free: tokens free before eviction and admission; below 0 where an iteration must evict.

    Examples:
        >>> server = fk.FullServer(fk.RequestFootprint(20, 8), capacity=2000)
        >>> runs = fk.simulate_footprints(server, iterations=3, runs=2)
        >>> runs.running.shape, bool((runs.used <= 2000).all())
        ((2, 3), True)
    """

    running: Int[np.ndarray, "run iteration"]
    admitted: Int[np.ndarray, "run iteration"]
    evicted: Int[np.ndarray, "run iteration"]
    used: Float[np.ndarray, "run iteration"]
    free: Float[np.ndarray, "run iteration"]


def simulate_footprints(
    server: FullServer,
    *,
    iterations: int,
    runs: int = 1,
    seed: int = 0,
    watermark: Fraction | int = 0,
    most_running: int | None = None,
    most_admitted: int | None = None,
    arrivals: float | None = None,
    batch: int = 1,
    alike: Sequence[float] = (1.0,),
    literal: bool = False,
) -> FootprintRuns:
    """Serve requests drawn from a footprint, first come first admitted, last come first evicted.

    Args:
        server: footprint and capacity.
        iterations: recorded ones; at the first the server is near its equilibrium.
        runs: with random numbers of their own.
        seed: of all runs.
        watermark: tokens that are left free when a request is admitted.
        most_running, most_admitted: a cap on who runs, and on who is admitted an iteration.
        arrivals: requests that come an iteration (Poisson), on a server without end of memory; if
            left out, there are always some that wait, and memory is full.
        batch: requests that come together.
        alike: chances of batches of 1, 2, ... requests in a row with one growth; sum 1.
        literal: by the literal reference, which is slow.

    Raises:
        InputError: a number of iterations or runs below 1, a rate below 0, chances below 0 or that
            do not sum to 1.

    Examples:
        >>> server = fk.FullServer(fk.RequestFootprint(20, 8), capacity=2000)
        >>> fast, slow = (
        ...     fk.simulate_footprints(server, iterations=20, literal=literal)
        ...     for literal in (False, True)
        ... )
        >>> fast == slow
        True
    """
    tables, unit = tabulated(server.footprint)
    for name, number in (("iterations", iterations), ("runs", runs), ("batch", batch)):
        count(name, number)
    if arrivals is not None and not 0 <= arrivals < math.inf:
        raise InputError("arrivals", arrivals, "a finite number of at least 0")
    batch_correlation(alike)  # refuses what is no law of batches
    weights = mean_weights(server.footprint)
    rate = float(server.capacity / weights.lifetime_memory) if arrivals is None else arrivals
    if most_running is not None:
        rate = min(rate, float(most_running / weights.mean_lifetime))
    if most_admitted is not None:
        rate = min(rate, float(most_admitted))
    rules = Rules(
        math.floor(server.capacity * unit) if arrivals is None else -1,
        math.ceil(watermark * unit),
        _UNBOUNDED if most_running is None else most_running,
        _UNBOUNDED if most_admitted is None else most_admitted,
        -1.0 if arrivals is None else float(arrivals),
        batch,
        np.append(np.cumsum(alike)[:-1], 1.0),
        rate,
    )
    at_once = 4 * rate * float(weights.mean_lifetime) + 40 * batch * weights.ages + 100
    most = int(max(at_once, math.floor(server.capacity * unit) / int(tables.tokens.min()) + 2))
    record = np.zeros((runs, iterations, len(COLUMNS)), np.int64)

    def one(run: int) -> None:
        rng = np.random.default_rng([seed, run])
        if literal:
            simulated_literally(tables, rules, weights.ages, rng, record[run])
            return
        from fluidkv.footprints.simulation.kernel import simulated  # Numba loads slowly

        if not simulated(tables, rules, weights.ages, most, rng, record[run]):
            raise InputError("arrivals", arrivals, "a rate at which less requests run at once")

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(one, range(runs)))
    running, admitted, evicted, used, free = np.moveaxis(record, -1, 0)
    return FootprintRuns(running, admitted, evicted, used / unit, free / unit)
