"""Starts that find what uniform ones miss: bursts, few occupied ages, near-pulses, spare memory.

Uniform starts on a simplex of many ages all look alike: no cohort holds much of the memory. What
may hold a trajectory away from the equilibrium is the reverse, a few large cohorts. All starts are
cohort masses by age, NumPy float64, shape (batch, stage), on the memory boundary unless said.
"""

import jax
import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import Key, boundary_weights, check_count, uniform_starts
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

Starts = Float[np.ndarray, "batch stage"]


def burst_starts(system: System) -> Starts:
    """The corners of the boundary: all memory in one cohort, once for each age."""
    weights, capacity = boundary_weights(system)
    return np.diag(capacity / weights)


def sparse_starts(key: Key, system: System, *, count: int, most: int = 3) -> Starts:
    """A few occupied ages: 1 ... `most` of them, drawn at random; memory uniform on that face.

    Raises:
        InputError: a count or `most` below 1.
    """
    check_count(count)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "an integer of at least 1")
    weights, capacity = boundary_weights(system)
    ages = weights.size
    draws = _uniform(key, count, 1 + 2 * ages)
    sizes = 1 + np.floor(draws[:, :1] * min(most, ages))
    rank, memory = draws[:, 1 : 1 + ages], -np.log1p(-draws[:, 1 + ages :])  # exponential
    memory[rank.argsort(axis=1).argsort(axis=1) >= sizes] = 0.0
    return memory * (capacity / memory.sum(axis=1, keepdims=True)) / weights


def pulse_starts(key: Key, system: System, *, count: int, size: float = 0.1) -> Starts:
    """Near-pulses: equal cohorts every g ages, g = 2 ... d drawn at random, and some noise.

    Each start is (1 - u) pulse + u noise in memory, u uniform in [0, size] and the noise uniform on
    the boundary. Pulses are what common divisors of the decode lengths make stable (Congestion,
    section B.10); g = d is a single cohort.

    Raises:
        InputError: a count below 1, a size outside of (0, 1].
    """
    check_count(count)
    if isinstance(size, bool) or not isinstance(size, float | int) or not 0 < size <= 1:
        raise InputError("size", size, "a number in (0, 1]")
    weights, capacity = boundary_weights(system)
    ages = np.arange(weights.size)
    draw_key, noise_key = jax.random.split(key)
    gap, phase, part = np.split(_uniform(draw_key, count, 3), 3, axis=1)
    least = min(2, ages.size)
    gaps = least + np.floor(gap * (ages.size + 1 - least)).astype(int)
    phases = np.floor(phase * gaps).astype(int)
    part = size * part
    pulse = (ages % gaps == phases).astype(np.float64)
    pulse *= capacity / (pulse @ weights)[:, None]
    noise = uniform_starts(noise_key, system, count=count)
    return (1 - part) * pulse + part * noise


def spare_starts(key: Key, system: System, *, count: int) -> Starts:
    """Below capacity: uniform on the boundary times a factor uniform in [0, 1]."""
    boundary_key, factor_key = jax.random.split(key)
    factor = _uniform(factor_key, count, 1)
    return factor * uniform_starts(boundary_key, system, count=count)


def start_families(key: Key, system: System, *, count: int) -> dict[str, Starts]:
    """All kinds: every burst once, and about `count` of the others together, by name.

    Half of the others are sparse or near-pulses, a quarter uniform, a quarter below capacity.

    Raises:
        InputError: a count below 4.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 4:
        raise InputError("count", count, "an integer of at least 4")
    quarter = int(count) // 4
    uniform, sparse, pulse, spare = jax.random.split(key, 4)
    return {
        "burst": burst_starts(system),
        "uniform": uniform_starts(uniform, system, count=quarter),
        "sparse": sparse_starts(sparse, system, count=quarter),
        "pulse": pulse_starts(pulse, system, count=quarter),
        "spare": spare_starts(spare, system, count=quarter),
    }


def _uniform(key: Key, count: int, columns: int) -> Float[np.ndarray, "batch column"]:
    """In [0, 1). One call of JAX for all that a family draws, since each shape is compiled."""
    with in_float64():
        return np.array(jax.random.uniform(key, (count, columns), dtype=np.float64))
