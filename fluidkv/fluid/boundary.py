"""Starts on the memory boundary, of cohorts: uniform on a face, near a state, on a slice, families.

The boundary is the simplex {y >= 0, sum of V_s y_s = M}; a face of it has some stages empty. Masses
are NumPy float64, by stage, shape (batch, stage), on the boundary up to rounding unless said. With
one class they are the masses x_j of its stages, V_j = w_j; with several they are masses of cohorts
by age, and stage s is age s: the state x_ks = p_k y_s. Of many systems they are (system, batch,
stage), 0 beyond a system's own stages; system i has those that it has alone with the key
`jax.random.fold_in(key, systems.index[i])`. A `path` names splits of the key, see `fluid.draws`.

Source: Congestion, section 2.3, Lemma A.9 (faces) and Lemma 9 (cohorts).
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Draw, Key, Path, check_size, drawn_starts
from fluidkv.fluid.model import MassModel, class_model, cohort_model
from fluidkv.fluid.states import cohort_states
from fluidkv.runs.checks import count as count_of
from fluidkv.systems import Systems
from fluidkv.workload import System

Starts = Float[np.ndarray, "*system batch stage"]


def uniform_starts(
    key: Key,
    system: System | Systems,
    *,
    count: int,
    occupied: Sequence[int] | None = None,
    path: Path = (),
) -> Starts:
    """Uniform on a face of the boundary, with respect to Lebesgue measure on the face.

    The memory of the stages, V_s y_s / M, is uniform on the unit simplex (independent exponentials
    over their sum), and masses are a linear image of it.

    Args:
        key: JAX random key; the same key gives the same starts.
        system: any number of classes; or many systems.
        count: number of starts (of each system), at least 1.
        occupied: stages that hold mass; the others are exactly 0. None is all of them.
        path: the splits of the key to draw with.

    Raises:
        InputError: not a System or Systems, a count below 1, a stage that the system does not have
            or that is named twice, or no stage.

    Examples:
        >>> import jax
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts = fk.uniform_starts(jax.random.key(0), system, count=4, occupied=[0, 2])
        >>> starts.shape, np.round(starts @ [3, 4, 5], 9), starts[:, 1]
        ((4, 3), array([24., 24., 24., 24.]), array([0., 0., 0., 0.]))
    """
    face = None if occupied is None else _checked_stages(occupied, system)

    def recipe(weights: np.ndarray, capacity: np.ndarray, memory: np.ndarray) -> np.ndarray:
        if face is None:
            return _holding(memory, weights, capacity)
        masses = np.zeros((*memory.shape[:2], weights.shape[-1]))
        masses[..., face] = _holding(memory, weights[..., face], capacity)
        return masses

    numbers = _each_stage if face is None else lambda *_: face.size
    return _drawn(key, system, count, recipe, Draw("exponential", numbers, path))


def nearby_starts(
    key: Key,
    system: System | Systems,
    state: ArrayLike,
    *,
    count: int,
    size: float,
    occupied: Sequence[int] | None = None,
) -> Starts:
    """Uniform on a small copy of a face, shrunk by `size` towards a state.

    Each start is (1 - size) state + size u with u uniform on the face. If the state is inside of
    the face, the starts surround it; with size 1 they fill the face.

    Args:
        key, system, count: as of `uniform_starts`.
        state: masses by stage, on the boundary; of many systems, (system, 1, stage).
        size: in (0, 1].
        occupied: stages of the face, as in `uniform_starts`; stages of the state keep their mass.

    Raises:
        InputError: as `uniform_starts`; a state off the boundary, several of them, a size outside
            of (0, 1].

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import nearby_starts
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts = nearby_starts(jax.random.key(0), system, [2, 2, 2], count=4, size=0.01)
        >>> starts.shape, bool(np.abs(starts - 2).max() < 0.06)
        ((4, 3), True)
    """
    centre = cohort_states(system, state, argument="start", full=True)
    if centre.shape[-2] != 1:
        raise InputError("start", f"{centre.shape[-2]} states", "one state")
    check_size(size)
    face = uniform_starts(key, system, count=count, occupied=occupied)
    return (1 - size) * centre + size * face


def slice_starts(
    system: System, corners: ArrayLike, *, points: int
) -> tuple[Float[np.ndarray, "batch stage"], Float[np.ndarray, "batch corner"]]:
    """A triangular grid on the two-dimensional slice through three states, for pictures.

    Args:
        system: any number of classes.
        corners: three states on the boundary, shape (3, stage).
        points: on each side of the triangle, at least 2; points (points + 1) / 2 starts in all.

    Returns:
        The starts, and the weights of the corners in each of them, which sum to 1.

    Raises:
        InputError: not three corners, one of them off the boundary, fewer than 2 points.

    Examples:
        >>> from fluidkv.fluid import slice_starts
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts, shares = slice_starts(system, np.diag([8, 6, 4.8]), points=3)
        >>> starts.shape, shares[1].tolist(), starts[1].tolist()
        ((6, 3), [0.5, 0.5, 0.0], [4.0, 3.0, 0.0])
    """
    ends = cohort_states(system, corners, argument="start", full=True)
    if ends.shape[0] != 3:
        raise InputError("corners", f"{ends.shape[0]} states", "three states")
    count_of("points", points, least=2)
    first, second = np.tril_indices(points)
    steps = np.stack([points - 1 - first, first - second, second], axis=1)
    shares = steps / (points - 1)
    return shares @ ends, shares


def burst_starts(system: System | Systems) -> Starts:
    """The corners of the boundary: all memory in one cohort, once for each age.

    Of many systems those with fewer ages begin again at age 0, so that all have as many starts.
    """
    model = cohort_model(system)
    weights, capacity = model.weights[..., 0, :], model.capacity[..., None]
    ages = np.arange(weights.shape[-1])
    own = np.count_nonzero(weights, axis=-1, keepdims=True)
    corner = ages == (ages % own)[..., None]
    return np.where(corner, (capacity / np.where(weights > 0, weights, 1.0))[..., None, :], 0.0)


def sparse_starts(
    key: Key, system: System | Systems, *, count: int, most: int = 3, path: Path = ()
) -> Starts:
    """A few occupied ages: 1 ... `most` of them, drawn at random; memory uniform on that face.

    Raises:
        InputError: a count or `most` below 1.
    """
    count_of("most", most)

    def recipe(weights: np.ndarray, capacity: np.ndarray, draws: np.ndarray) -> np.ndarray:
        ages = weights.shape[-1]
        sizes = 1 + np.floor(draws[..., :1] * min(most, ages))
        rank = draws[..., 1 : 1 + ages]
        memory = -np.log1p(-draws[..., 1 + ages :])  # exponential
        memory[rank.argsort(axis=-1).argsort(axis=-1) >= sizes] = 0.0
        return _holding(memory, weights, capacity)

    draw = Draw("uniform", lambda _, ages: 1 + 2 * ages, path)
    return _drawn(key, system, count, recipe, draw)


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
    check_size(size)

    def recipe(
        weights: np.ndarray, capacity: np.ndarray, draws: np.ndarray, memory: np.ndarray
    ) -> np.ndarray:
        gap, phase, part = np.split(draws, 3, axis=-1)
        stages = weights.shape[-1]
        least = min(2, stages)
        gaps = least + np.floor(gap * (stages + 1 - least)).astype(int)
        pulse = (np.arange(stages) % gaps == np.floor(phase * gaps)).astype(np.float64)
        pulse *= capacity / (pulse * weights).sum(axis=-1, keepdims=True)
        part = size * part
        return (1 - part) * pulse + part * _holding(memory, weights, capacity)

    shape = Draw("uniform", lambda *_: 3, (*path, (2, 0)))
    noise = Draw("exponential", _each_stage, (*path, (2, 1)))
    return _drawn(key, system, count, recipe, shape, noise)


def spare_starts(key: Key, system: System | Systems, *, count: int, path: Path = ()) -> Starts:
    """Below capacity: uniform on the boundary times a factor uniform in [0, 1].

    Raises:
        InputError: a count below 1.
    """

    def recipe(
        weights: np.ndarray, capacity: np.ndarray, memory: np.ndarray, factor: np.ndarray
    ) -> np.ndarray:
        return factor * _holding(memory, weights, capacity)

    memory = Draw("exponential", _each_stage, (*path, (2, 0)))
    factor = Draw("uniform", lambda *_: 1, (*path, (2, 1)))
    return _drawn(key, system, count, recipe, memory, factor)


def start_families(key: Key, system: System | Systems, *, count: int) -> dict[str, Starts]:
    """All kinds: every burst once, and about `count` of the others together, by name.

    Uniform starts on a simplex of many ages all look alike: no cohort holds much of the memory.
    What may hold a trajectory away from the equilibrium is the reverse, a few large cohorts. So
    half of the others are sparse or near-pulses, a quarter uniform, a quarter below capacity.

    Raises:
        InputError: not a System or Systems, a count below 4.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import start_families
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> families = start_families(jax.random.key(0), system, count=8)
        >>> {name: starts.shape for name, starts in families.items()}
        {'burst': (3, 3), 'uniform': (2, 3), 'sparse': (2, 3), 'pulse': (2, 3), 'spare': (2, 3)}
    """
    quarter = count_of("count", count, least=4) // 4
    kinds = [uniform_starts, sparse_starts, pulse_starts, spare_starts]
    drawn = {
        make.__name__.removesuffix("_starts"): make(key, system, count=quarter, path=((4, i),))
        for i, make in enumerate(kinds)
    }
    return {"burst": burst_starts(system)} | drawn


def weights_of_one_class(
    system: System,
) -> tuple[Float[np.ndarray, " stage"], Float[np.ndarray, ""]]:
    """w_j and M as floats.

    Raises:
        InputError: more than one class.
    """
    if len(system.workload.classes) != 1:
        raise InputError("system", f"{len(system.workload.classes)} classes", "one class")
    model = class_model(system)
    return model.weights[0], model.capacity


def _drawn(
    key: Key,
    system: System | Systems,
    count: int,
    recipe: Callable[..., np.ndarray],
    *draws: Draw,
) -> Starts:
    """Recipes get V (system, 1, stage), M (system, 1, 1), and give (system, batch, stage)."""

    def rows(model: MassModel, *numbers: np.ndarray) -> np.ndarray:
        return recipe(model.weights, model.capacity[..., None], *numbers)[:, :, None]

    return drawn_starts(key, system, cohort_model, rows, *draws, count=count)[..., 0, :]


def _each_stage(_: int, stages: int) -> int:
    return stages


def _holding(memory: np.ndarray, weights: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Masses that hold all the capacity, in the proportions of `memory`; stages are last."""
    return memory * (capacity / memory.sum(axis=-1, keepdims=True)) / weights


def _checked_stages(occupied: Sequence[int], system: System | Systems) -> np.ndarray:
    """Sorted; all systems have them."""
    many = isinstance(system, Systems)
    stages = int(system.longest_decode.min()) if many else system.workload.longest_decode
    chosen = list(occupied)
    known = all(isinstance(j, int | np.integer) and 0 <= j < stages for j in chosen)
    if not chosen or not known or len(set(chosen)) != len(chosen):
        raise InputError("occupied", occupied, f"different stages of 0 ... {stages - 1}")
    return np.array(sorted(chosen))
