"""Starts that find what uniform ones miss: bursts, few occupied ages, near-pulses, spare memory.

Uniform starts on a simplex of many ages all look alike: no cohort holds much of the memory. What
may hold a trajectory away from the equilibrium is the reverse, a few large cohorts. All starts are
cohort masses by age, NumPy float64, shape (batch, stage), on the memory boundary unless said; of
many systems (system, batch, stage), of system i those that it has alone with the key
`jax.random.fold_in(key, systems.index[i])`. A `path` names splits of the key, see `fluid.draws`.
"""

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import (
    boundary_weights,
    built,
    check_count,
    uniform_starts,
    with_memory,
)
from fluidkv.fluid.draws import Key, Path, drawn, drawn_each
from fluidkv.systems import Systems
from fluidkv.workload import System

Starts = Float[np.ndarray, "*system batch stage"]


def burst_starts(system: System | Systems) -> Starts:
    """The corners of the boundary: all memory in one cohort, once for each age.

    Of many systems those with fewer ages begin again at age 0, so that all have as many starts.
    """
    weights, capacity = boundary_weights(system)
    if not isinstance(system, Systems):
        return np.diag(capacity / weights)
    own, place = system.longest_decode[:, None], np.arange(weights.shape[1])
    age = place % own
    starts = np.zeros((*weights.shape, weights.shape[1]))
    each = np.take_along_axis(weights, age, axis=1)
    starts[np.arange(len(system))[:, None], place, age] = capacity[:, None] / each
    return starts


def sparse_starts(
    key: Key, system: System | Systems, *, count: int, most: int = 3, path: Path = ()
) -> Starts:
    """A few occupied ages: 1 ... `most` of them, drawn at random; memory uniform on that face.

    Raises:
        InputError: a count or `most` below 1.
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError("most", most, "an integer of at least 1")

    def build(draws: np.ndarray, weights: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        ages = weights.shape[-1]
        sizes = 1 + np.floor(draws[..., :1] * min(most, ages))
        rank = draws[..., 1 : 1 + ages]
        memory = -np.log1p(-draws[..., 1 + ages :])  # exponential
        memory[rank.argsort(axis=-1).argsort(axis=-1) >= sizes] = 0.0
        return with_memory(memory, weights, capacity)

    return built("uniform", key, system, count, lambda ages: 1 + 2 * ages, build, path=path)


def pulse_starts(
    key: Key, system: System | Systems, *, count: int, size: float = 0.1, path: Path = ()
) -> Starts:
    """Near-pulses: equal cohorts every g ages, g = 2 ... d drawn at random, and some noise.

    Each start is (1 - u) pulse + u noise in memory, u uniform in [0, size] and the noise uniform on
    the boundary. Pulses are what common divisors of the decode lengths make stable (Congestion,
    section B.10); g = d is a single cohort.

    Raises:
        InputError: a count below 1, a size outside of (0, 1].
    """
    if isinstance(size, bool) or not isinstance(size, float | int) or not 0 < size <= 1:
        raise InputError("size", size, "a number in (0, 1]")

    draws = _uniform(key, system, count, 3, path=(*path, (2, 0)))
    gap, phase, part = np.split(draws, 3, axis=-1)
    weights, capacity = boundary_weights(system)
    weights, capacity = weights[..., None, :], capacity[..., None, None]
    ages = np.arange(weights.shape[-1])
    own = np.count_nonzero(weights, axis=-1, keepdims=True)
    least = np.minimum(2, own)
    gaps = least + np.floor(gap * (own + 1 - least)).astype(int)
    phases = np.floor(phase * gaps).astype(int)
    pulse = ((ages % gaps == phases) & (ages < own)).astype(np.float64)
    pulse *= capacity / (pulse * weights).sum(axis=-1, keepdims=True)
    part = size * part
    noise = uniform_starts(key, system, count=count, path=(*path, (2, 1)))
    return (1 - part) * pulse + part * noise


def spare_starts(key: Key, system: System | Systems, *, count: int, path: Path = ()) -> Starts:
    """Below capacity: uniform on the boundary times a factor uniform in [0, 1].

    Raises:
        InputError: a count below 1.
    """
    factor = _uniform(key, system, count, 1, path=(*path, (2, 1)))
    return factor * uniform_starts(key, system, count=count, path=(*path, (2, 0)))


def start_families(key: Key, system: System | Systems, *, count: int) -> dict[str, Starts]:
    """All kinds: every burst once, and about `count` of the others together, by name.

    Half of the others are sparse or near-pulses, a quarter uniform, a quarter below capacity.

    Raises:
        InputError: a count below 4.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import start_families
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> families = start_families(jax.random.key(0), system, count=8)
        >>> {name: starts.shape for name, starts in families.items()}
        {'burst': (3, 3), 'uniform': (2, 3), 'sparse': (2, 3), 'pulse': (2, 3), 'spare': (2, 3)}
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 4:
        raise InputError("count", count, "an integer of at least 4")
    quarter = int(count) // 4
    return {
        "burst": burst_starts(system),
        "uniform": uniform_starts(key, system, count=quarter, path=((4, 0),)),
        "sparse": sparse_starts(key, system, count=quarter, path=((4, 1),)),
        "pulse": pulse_starts(key, system, count=quarter, path=((4, 2),)),
        "spare": spare_starts(key, system, count=quarter, path=((4, 3),)),
    }


def _uniform(
    key: Key, system: System | Systems, count: int, columns: int, *, path: Path
) -> Float[np.ndarray, "*system batch column"]:
    """In [0, 1)."""
    check_count(count)
    if not isinstance(system, Systems):
        return drawn("uniform", key, (int(count), columns), path=path)
    found = np.empty((len(system), int(count), columns))
    shapes = np.broadcast_to([int(count), columns], (len(system), 2))
    for chosen, draws in drawn_each("uniform", key, system.index, shapes, path=path):
        found[chosen] = draws
    return found
