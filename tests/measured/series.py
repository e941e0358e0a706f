"""Series with a known period, and from columns."""

import numpy as np
from numpy.typing import ArrayLike

from fluidkv.measured import Timeseries


def of_columns(*columns: ArrayLike) -> Timeseries:
    """t_s, running, waiting, gen_throughput, from anything that NumPy reads."""
    t_s, running, waiting, throughput = (np.asarray(c, dtype=np.float64) for c in columns)
    return Timeseries(t_s, running, waiting, throughput)


def sine(period: float, *, ticks: int = 200, noise: float = 0.0, seed: int = 0) -> Timeseries:
    """A batch of 30 that swings by 5 with a known period, 10 iterations a second, backlogged."""
    t = np.arange(ticks, dtype=float)
    rng = np.random.default_rng(seed)
    running = 30 + 5 * np.sin(2 * np.pi * t / period + 0.7) + noise * rng.standard_normal(ticks)
    return of_columns(t, running, np.ones(ticks), 10 * running)
