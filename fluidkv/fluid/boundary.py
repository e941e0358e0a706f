"""Starts on the memory boundary: checked, drawn on a face, near a state, on a slice.

The boundary is the simplex {y >= 0, sum of V_s y_s = M}; a face of it has some stages empty. All
points that are made here are weighted means of points of it, so that they lie on it up to
rounding. Masses are NumPy float64, by stage, shape (batch, stage). With one class they are the
masses x_j of its stages, V_j = w_j; with several they are masses of cohorts by age, and stage s is
age s: the state x_ks = p_k y_s.

Source: Congestion, section 2.3, Lemma A.9 (faces) and Lemma 9 (cohorts).
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Key, Path, drawn, drawn_each
from fluidkv.fluid.model import class_model, cohort_model
from fluidkv.fluid.states import cohort_states
from fluidkv.systems import Systems
from fluidkv.workload import System


def uniform_starts(
    key: Key,
    system: System | Systems,
    *,
    count: int,
    occupied: Sequence[int] | None = None,
    path: Path = (),
) -> Float[np.ndarray, "*system batch stage"]:
    """Uniform on a face of the boundary, with respect to Lebesgue measure on the face.

    The memory of the stages, V_s y_s / M, is uniform on the unit simplex (independent exponentials
    over their sum), and masses are a linear image of it.

    Args:
        key: JAX random key; the same key gives the same starts.
        system: any number of classes; or many systems, of which system i has the starts that it
            would have alone with the key `jax.random.fold_in(key, systems.index[i])`.
        count: number of starts (of each system), at least 1.
        occupied: stages that hold mass; the others are exactly 0. None is all of them.
        path: the splits of the key to draw with, see `fluidkv.fluid.draws`.

    Returns:
        (batch, stage); of many systems (system, batch, stage), 0 beyond a system's own stages.

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
    shortest = system.longest_decode.min() if isinstance(system, Systems) else _stages(system)
    stages = None if occupied is None else _checked_stages(occupied, int(shortest))

    def face(memory: np.ndarray, weights: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        chosen = slice(None) if stages is None else stages
        masses = np.zeros((*memory.shape[:2], weights.shape[-1]))
        masses[..., chosen] = with_memory(memory, weights[..., chosen], capacity)
        return masses

    def numbers(ages: int) -> int:
        return ages if stages is None else stages.size

    return built("exponential", key, system, count, numbers, face, path=path)


def _stages(system: System) -> int:
    return system.workload.longest_decode


def with_memory(memory: np.ndarray, weights: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Masses that hold all the capacity, in the proportions of `memory`; stages are last."""
    return memory * (capacity / memory.sum(axis=-1, keepdims=True)) / weights


def built(
    kind: str,
    key: Key,
    system: System | Systems,
    count: int,
    numbers: Callable[[int], int],
    build: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    *,
    path: Path = (),
) -> Float[np.ndarray, "*system batch stage"]:
    """Starts of one system, or of each of many, out of numbers drawn for each start.

    Args:
        kind, path: what is drawn, with which key, see `draws`.
        count: of starts, at least 1.
        numbers: of a start, for so many stages.
        build: from numbers (system, batch, number), V (system, 1, stage) and M (system, 1, 1), of
            systems with so many stages, to masses (system, batch, stage).

    Raises:
        InputError: not a System or Systems, a count below 1.
    """
    check_count(count)
    if not isinstance(system, Systems):
        weights, capacity = boundary_weights(system)
        drawn_here = drawn(kind, key, (int(count), numbers(weights.size)), path=path)
        return build(drawn_here[None], weights[None, None], capacity.reshape(1, 1, 1))[0]
    own = system.longest_decode
    sizes = np.array([numbers(d) for d in range(1, int(own.max()) + 1)])[own - 1]
    shapes = np.stack([np.full(len(system), int(count)), sizes], axis=1)
    masses = np.zeros((len(system), int(count), int(own.max())))
    for chosen, found in drawn_each(kind, key, system.index, shapes, path=path):
        for stages in np.unique(own[chosen]):
            among = own[chosen] == stages
            weights, capacity = boundary_weights(system[chosen[among]])
            each = build(found[among], weights[:, None], capacity[:, None, None])
            masses[chosen[among], :, :stages] = each
    return masses


def nearby_starts(
    key: Key,
    system: System | Systems,
    state: ArrayLike,
    *,
    count: int,
    size: float,
    occupied: Sequence[int] | None = None,
) -> Float[np.ndarray, "*system batch stage"]:
    """Uniform on a small copy of a face, shrunk by `size` towards a state.

    Each start is (1 - size) state + size u with u uniform on the face. If the state is inside of
    the face, the starts surround it; with size 1 they fill the face.

    Args:
        key: JAX random key.
        system: any number of classes; or many systems, as of `uniform_starts`.
        state: masses by stage, on the boundary; of many systems, (system, 1, stage).
        count: number of starts (of each system), at least 1.
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
    if isinstance(size, bool) or not isinstance(size, float | int) or not 0 < size <= 1:
        raise InputError("size", size, "a number in (0, 1]")
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
    ends = checked_starts(system, corners)
    if ends.shape[0] != 3:
        raise InputError("corners", f"{ends.shape[0]} states", "three states")
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 2:
        raise InputError("points", points, "an integer of at least 2")
    first, second = np.tril_indices(points)
    steps = np.stack([points - 1 - first, first - second, second], axis=1)
    shares = steps / (points - 1)
    return shares @ ends, shares


def boundary_weights(
    system: System | Systems,
) -> tuple[Float[np.ndarray, "*system stage"], Float[np.ndarray, "*system"]]:
    """V_s and M as floats; V_j = w_j with one class."""
    model = cohort_model(system)
    return model.weights[..., 0, :], model.capacity


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


def checked_starts(system: System, start: ArrayLike) -> Float[np.ndarray, "batch stage"]:
    """Masses on the memory boundary, as a float batch; InputError otherwise."""
    return cohort_states(system, start, argument="start", full=True)


def check_count(count: object) -> None:
    """InputError for a number of starts below 1."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InputError("count", count, "an integer of at least 1")


def _checked_stages(occupied: Sequence[int] | None, stages: int) -> np.ndarray:
    chosen = list(range(stages)) if occupied is None else list(occupied)
    known = all(isinstance(j, int | np.integer) and 0 <= j < stages for j in chosen)
    if not chosen or not known or len(set(chosen)) != len(chosen):
        raise InputError("occupied", occupied, f"different stages of 0 ... {stages - 1}")
    return np.array(sorted(chosen))
