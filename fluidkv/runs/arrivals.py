"""Tables of requests with their times, for a run. How often they come: `fluidkv.runs.rates`.

Lengths are drawn from a `Workload`, independently for each request or its classes in turn. Times
are on the run's clock; on the theory's clock the requests of iteration n (the A^n of Congestion)
come at n = 0, 1, 2, ...
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0
from fluidkv.runs.checks import count as at_least
from fluidkv.runs.rates import burst_rates
from fluidkv.runs.requests import Requests
from fluidkv.workload import Workload


def saturated(
    workload: Workload, count: int, *, rng: Generator | int | None = None, in_turn: bool = False
) -> Requests:
    """`count` requests that wait from the start: work never runs out before the last of them.

    Args:
        workload: classes and shares.
        count: at least 1.
        rng: draws the classes; needed unless `in_turn` or there is one class.
        in_turn: classes take turns (equal shares only).

    Examples:
        >>> mix = fk.Workload.from_counts({(100, 20): 3, (800, 50): 1})
        >>> fk.saturated(mix, 8, rng=0).input_length.tolist()
        [100, 100, 100, 100, 800, 800, 100, 100]
    """
    return _of(workload, _classes(workload, at_least("count", count), rng, in_turn), None)


def poisson(
    workload: Workload, rate: float, count: int, *, rng: Generator | int, per_iteration: bool = True
) -> Requests:
    """Poisson arrivals.

    Args:
        workload: classes and shares.
        rate: lambda, requests per iteration, or per second; finite, above 0.
        count: requests in all.
        rng: a numpy generator or a seed.
        per_iteration: whole times n with Poisson(rate) requests at each n (the A^n of the paper);
            else times on a continuous clock.

    Raises:
        InputError: a rate that is not finite and above 0, or a count below 1.

    Examples:
        >>> table = fk.poisson(fk.Workload.from_lengths([(100, 20)]), rate=0.5, count=6, rng=0)
        >>> table.arrival.tolist()
        [1.0, 3.0, 3.0, 3.0, 4.0, 7.0]
    """
    generator = _generator(rng)
    gaps = generator.standard_exponential(at_least("count", count)) / above_0("rate", rate)
    times = np.cumsum(gaps)
    # Points of a Poisson process in [n, n + 1) are Poisson(rate) many, independently for each n.
    arrival = np.floor(times) if per_iteration else times
    return _of(workload, _classes(workload, count, generator, False), arrival)


def bursts(
    workload: Workload,
    rate: float,
    count: int,
    *,
    period: float,
    window: float,
    contrast: float,
    rng: Generator | int,
    per_iteration: bool = True,
) -> Requests:
    """Poisson arrivals with a periodic burst; the mean rate stays.

    In the first `window` of every `period` the rate is `contrast` times the rate outside of it, as
    in `fluidkv.runs.rates.burst_rates`.

    Raises:
        InputError: as `burst_rates`, or a count below 1.

    Examples:
        >>> one, day = fk.Workload.from_lengths([(100, 20)]), {"period": 10, "window": 2}
        >>> table = fk.bursts(one, 1.0, 1000, **day, contrast=6, rng=0)
        >>> round(float(np.mean(table.arrival % 10 < 2)), 2)  # in a fifth of the time
        0.61
    """
    generator = _generator(rng)
    burst, quiet = burst_rates(rate, period=period, window=window, contrast=contrast)
    # Unit-rate points, mapped through the inverse of the integrated rate.
    mass = np.cumsum(generator.standard_exponential(at_least("count", count)))
    whole, rest = np.divmod(mass, rate * period)
    in_burst = rest < burst * window
    inside = np.where(in_burst, rest / burst, window + (rest - burst * window) / (quiet or 1.0))
    times = whole * period + inside
    arrival = np.maximum.accumulate(np.floor(times) if per_iteration else times)
    return _of(workload, _classes(workload, count, generator, False), arrival)


def replayed(
    input_length: Sequence[int],
    output_length: Sequence[int],
    arrival: Sequence[float],
    *,
    speed: float = 1.0,
) -> Requests:
    """The requests of a trace at their own times, from 0 on.

    Args:
        input_length, output_length: tokens.
        arrival: seconds, not falling.
        speed: how many times as fast they come.

    Raises:
        InputError: times that go backwards, and what `Requests` refuses.

    Examples:
        >>> fk.replayed([100, 200], [5, 9], [10.0, 14.0], speed=2).arrival.tolist()
        [0.0, 2.0]
    """
    table = Requests(np.asarray(input_length), np.asarray(output_length), arrival=arrival)
    times = (table.arrival - table.arrival[0]) / above_0("speed", speed)
    return Requests(table.input_length, table.output_length, arrival=times)


def _of(workload: Workload, classes: np.ndarray, arrival: Float[np.ndarray, " n"] | None):
    inputs = np.array([c.input_length for c in workload.classes])[classes]
    outputs = np.array([c.decode_length for c in workload.classes])[classes]
    return Requests(inputs, outputs, arrival=arrival, class_index=classes)


def _classes(
    workload: Workload, count: int, rng: Generator | int | None, in_turn: bool
) -> np.ndarray:
    size = len(workload.classes)
    if size == 1:
        return np.zeros(count, np.int64)
    if in_turn:
        if len({c.share for c in workload.classes}) > 1:
            raise InputError("in_turn", True, "a workload with equal shares")
        return np.arange(count) % size
    if rng is None:
        raise InputError("rng", None, "a seed or a numpy Generator, to draw the classes")
    shares = [float(c.share) for c in workload.classes]
    return _generator(rng).choice(size, size=count, p=np.array(shares) / math.fsum(shares))


def _generator(rng: Generator | int) -> Generator:
    return rng if isinstance(rng, Generator) else np.random.default_rng(rng)
