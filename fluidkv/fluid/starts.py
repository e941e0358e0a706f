"""Where trajectories start: around the equilibrium, or anywhere on the memory boundary.

The boundary is where memory is exactly full, the simplex {y >= 0, sum of V_s y_s = M}; a face of it
has some stages empty. Starts are NumPy float64, on the boundary up to rounding unless said, and go
straight into `simulate` and what follows starts to their end; `fluidkv.fluid.states` says what
their axes are. Two kinds are made:

    by class     of a model, of a `System` (which stands for its class model) or of `Systems`:
                 (class, stage) if it is one state, (batch, class, stage). The equilibrium is
                 `MassModel.equilibrium`.
    of cohorts   of a `System` or `Systems`: (batch, stage), the state x_ks = p_k y_s; stage s is
                 the age s. Of one class these are its masses.

Of many systems there is an axis of systems first, and one of the batch; masses are 0 where a system
has no such class or stage. System i has the starts that it would have alone with the key
`jax.random.fold_in(key, systems.index[i])`.

Source: Congestion, section 2.3, Lemma A.9 (faces) and Lemma 9 (cohorts).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Draw, Key, drawn_starts
from fluidkv.fluid.model import MassModel, class_model, cohort_model
from fluidkv.fluid.states import cohort_states, lifted
from fluidkv.runs.checks import count as count_of
from fluidkv.runs.checks import real
from fluidkv.systems import Systems
from fluidkv.workload import System

Of = MassModel | System | Systems
States = Float[np.ndarray, "*batch class stage"]
Starts = Float[np.ndarray, "*system batch stage"]


def burst_state(model: Of) -> States:
    """All memory held by requests at stage 0: what an empty system admits at once.

    Examples:
        >>> from fluidkv.fluid import burst_state
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> burst_state(system)
        array([[8., 0., 0.]])
    """
    of = lifted(_by_class(model))
    burst = np.zeros_like(of.weights)
    burst[..., 0] = of.shares
    return _single(model, _on_boundary(of, burst[:, None]))


def empty_state(model: Of) -> States:
    """No requests. Its first iteration leads to `burst_state`.

    Examples:
        >>> from fluidkv.fluid import empty_state
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> fk.simulate(system, empty_state(system), iterations=1).final_state.values[0]
        array([[8., 0., 0.]])
    """
    weights = lifted(_by_class(model)).weights
    return np.zeros_like(weights[:, None] if isinstance(model, Systems) else weights[0])


def perturbed_starts(
    key: Key, model: Of, *, count: int, size: float
) -> Float[np.ndarray, "*system batch class stage"]:
    """The equilibrium, each mass multiplied by an independent factor in [1 - size, 1 + size].

    Factors are uniform; then each start is rescaled to memory = capacity.

    Args:
        key: JAX random key; the same key gives the same starts.
        model: with one capacity, or with `count` of them; a System; or Systems.
        count: number of starts (of each system), at least 1.
        size: relative size of the perturbation, in (0, 1].

    Raises:
        InputError: count or size outside of what is allowed, a key that is none.

    Examples:
        >>> import jax
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts = fk.perturbed_starts(jax.random.key(0), system, count=5, size=0.1)
        >>> starts.shape, bool(np.abs(starts / 2 - 1).max() < 0.25)
        ((5, 1, 3), True)
        >>> np.round(starts @ [3, 4, 5], 9).ravel()
        array([24., 24., 24., 24., 24.])
    """
    count_of("count", count)
    size = _checked_size(size)
    if isinstance(model, MassModel) and model.capacity.shape not in ((), (count,)):
        raise InputError("count", count, f"{model.capacity.size}, the number of capacities")

    def recipe(of: MassModel, noise: np.ndarray) -> np.ndarray:
        noise = noise.reshape(*noise.shape[:2], *of.weights.shape[1:])
        return _on_boundary(of, _equilibrium(of) * (1 + size * noise))

    noise = Draw("signed", lambda classes, stages: classes * stages)
    return drawn_starts(key, model, _by_class, recipe, noise, count=count)


def mode_starts(
    model: Of, root: complex | ArrayLike, *, count: int, size: float
) -> Float[np.ndarray, "*system batch class stage"]:
    """The equilibrium disturbed along one mode of the linearised dynamics, at evenly spaced phases.

    A mode z moves admissions as Re(c z^n), so the cohort of age s deviates as Re(c z^-s). When z is
    a root of F the deviation holds no memory and the start is on the boundary as it stands.

    Args:
        model: with one capacity; a cohort model, or a class model (on the cohort manifold); a
            System; or Systems.
        root: z, not 0; of Systems, one or one each.
        count: number of phases, at least 1.
        size: bound on the deviation of a cohort relative to the equilibrium, in (0, 1]; some
            cohort of some phase comes near it.

    Raises:
        InputError: root, count or size outside of what is allowed.

    Source: Congestion, equations (9) and (10).

    Examples:
        >>> from fluidkv.fluid import mode_starts
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> ball = fk.growing_modes(fk.survival_weights(system.workload)).modes[0].root.ball
        >>> starts = mode_starts(system, complex(ball.mid()), count=2, size=0.1)
        >>> np.round(starts, 3).tolist()
        [[[2.1, 1.845, 2.064]], [[1.9, 2.155, 1.936]]]
    """
    count_of("count", count)
    size = _checked_size(size)
    of = _by_class(model)
    roots = np.asarray(root, complex)
    if np.any(roots == 0) or not np.all(np.isfinite(roots)):
        raise InputError("root", root, "a finite complex number other than 0")
    if isinstance(model, MassModel) and model.capacity.shape != ():
        raise InputError("model", f"{model.capacity.size} capacities", "one capacity")
    if roots.shape not in ((), of.capacity.shape):
        raise InputError("root", f"shape {roots.shape}", "one number, or one for each system")
    of, roots = lifted(of), roots.reshape(-1, 1)
    ages = np.arange(of.weights.shape[-1])
    # |z|^-s over its largest value, so that nothing overflows
    exists = np.any(of.weights > 0, axis=-2)
    log_size = np.where(exists, -ages * np.log(np.abs(roots)), -np.inf)
    largest = log_size.max(axis=-1, keepdims=True)
    shape = np.exp(log_size - largest - 1j * ages * np.angle(roots))
    # A third of a step off zero: no phase is then a node of a real mode, with nothing disturbed.
    phases = np.exp(2j * np.pi * (np.arange(count) + 1 / 3) / count)
    deviation = np.real(phases[:, None, None] * shape[:, None, None, :])
    starts = _on_boundary(of, _equilibrium(of) * (1 + size * deviation))
    return starts if isinstance(model, Systems) else starts[0]


def uniform_starts(
    key: Key,
    system: System | Systems,
    *,
    count: int,
    occupied: Sequence[int] | None = None,
    around: ArrayLike | None = None,
    size: float = 1.0,
) -> Starts:
    """Cohorts, uniform on a face of the boundary, with respect to Lebesgue measure on the face.

    The memory of the stages, V_s y_s / M, is uniform on the unit simplex (independent exponentials
    over their sum), and masses are a linear image of it. With `around`, a start is (1 - size)
    around + size u with u on the face: uniform on a small copy of the face, shrunk towards that
    state. If the state is inside of the face, the starts surround it.

    Args:
        key: JAX random key; the same key gives the same starts.
        system: any number of classes; or many systems.
        count: number of starts (of each system), at least 1.
        occupied: stages that hold mass; the others are exactly 0, or what `around` has there. None
            is all of them.
        around: a state on the boundary, masses by stage; of many systems, (system, 1, stage).
        size: of the copy, in (0, 1].

    Raises:
        InputError: not a System or Systems, a count below 1, a key that is none, a stage that the
            system does not have or that is named twice, or no stage; a state off the boundary, or
            several; a size outside of (0, 1], or below 1 with nothing to be around.

    Examples:
        >>> import jax
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> starts = fk.uniform_starts(jax.random.key(0), system, count=4, occupied=[0, 2])
        >>> starts.shape, np.round(starts @ [3, 4, 5], 9), starts[:, 1]
        ((4, 3), array([24., 24., 24., 24.]), array([0., 0., 0., 0.]))
        >>> near = {"around": [2, 2, 2], "size": 0.01}
        >>> starts = fk.uniform_starts(jax.random.key(0), system, count=4, **near)
        >>> bool(np.abs(starts - 2).max() < 0.06)
        True
    """
    size = _checked_size(size)
    if around is None and size != 1:
        raise InputError("size", size, "1, the whole face, where there is nothing to be around")
    centre = None
    if around is not None:
        centre = cohort_states(system, around, argument="around", full=True)
        if centre.shape[-2] != 1:
            raise InputError("around", f"{centre.shape[-2]} states", "one state")
    recipe, draw = _full, Draw("exponential", _each_stage)
    if occupied is not None:
        face = _checked_stages(occupied, system)
        recipe, draw = partial(_on_face, face), draw._replace(numbers=lambda *_: face.size)
    starts = drawn_starts(key, system, cohort_model, recipe, draw, count=count)
    return starts if centre is None else (1 - size) * centre + size * starts


def start_families(key: Key, system: System | Systems, *, count: int) -> dict[str, Starts]:
    """Cohorts of all kinds: every burst once, and about `count` of the others together, by name.

    burst     the corners of the boundary: all memory in one cohort, once for each age; of many
              systems those with fewer ages begin again at age 0
    uniform   as `uniform_starts`
    sparse    one, two or three occupied ages, drawn at random; memory uniform on that face
    pulse     (1 - u) pulse + u noise in memory, u uniform in [0, 0.1]: equal cohorts every g ages,
              g = 2 ... d drawn at random, and noise uniform on the boundary. Pulses are what common
              divisors of the decode lengths make stable (Congestion, section B.10)
    spare     below capacity: uniform on the boundary times a factor uniform in [0, 1]

    Uniform starts on a simplex of many ages all look alike: no cohort holds much of the memory.
    What may hold a trajectory away from the equilibrium is the reverse, a few large cohorts.

    Raises:
        InputError: not a System or Systems, a count below 4, a key that is none.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import start_families
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> families = start_families(jax.random.key(0), system, count=8)
        >>> {name: starts.shape for name, starts in families.items()}
        {'burst': (3, 3), 'uniform': (2, 3), 'sparse': (2, 3), 'pulse': (2, 3), 'spare': (2, 3)}
    """
    quarter = count_of("count", count, least=4) // 4
    drawn = {
        name: drawn_starts(key, system, cohort_model, *kind, count=quarter)
        for name, kind in _KINDS.items()
    }
    return {"burst": _corners(system)} | drawn


def _by_class(of: Of) -> MassModel:
    """Of many systems no model, whose capacities would be taken for those of a sweep."""
    if not isinstance(of, MassModel):
        return class_model(of)
    if of.weights.ndim != 2:
        raise InputError("model", f"a model of {len(of.weights)} systems", "of one; or Systems")
    return of


def _single(of: Of, states: Float[np.ndarray, "system batch class stage"]) -> States:
    """One start of one system, or of each of many, or for each capacity of a model."""
    if isinstance(of, Systems):
        return states
    return states[0] if isinstance(of, MassModel) and of.capacity.ndim else states[0, 0]


def _equilibrium(of: MassModel) -> Float[np.ndarray, "system batch class stage"]:
    exists = (of.weights > 0).astype(np.float64)
    return _on_boundary(of, (of.shares[..., None] * exists)[:, None])


def _on_boundary(
    of: MassModel, states: Float[np.ndarray, "system batch class stage"]
) -> Float[np.ndarray, "system batch class stage"]:
    """Rescaled to memory = capacity."""
    used = np.einsum("...ks,...ks->...", states, of.weights[:, None])
    return states * (of.capacity / used)[..., None, None]


def _full(of: MassModel, memory: np.ndarray) -> Starts:
    """Cohort masses that hold all the capacity, in the proportions of `memory` (..., stage)."""
    return memory * (of.capacity[..., None] / memory.sum(axis=-1, keepdims=True)) / of.weights


def _on_face(stages: np.ndarray, of: MassModel, memory: np.ndarray) -> Starts:
    masses = np.zeros((*memory.shape[:2], of.weights.shape[-1]))
    masses[..., stages] = _full(replace(of, weights=of.weights[..., stages]), memory)
    return masses


def _sparse(of: MassModel, draws: np.ndarray) -> Starts:
    ages = of.weights.shape[-1]
    sizes = 1 + np.floor(draws[..., :1] * min(3, ages))
    rank = draws[..., 1 : 1 + ages]
    memory = -np.log1p(-draws[..., 1 + ages :])  # exponential
    memory[rank.argsort(axis=-1).argsort(axis=-1) >= sizes] = 0.0
    return _full(of, memory)


def _pulse(of: MassModel, draws: np.ndarray, memory: np.ndarray) -> Starts:
    gap, phase, part = np.split(draws, 3, axis=-1)
    stages = of.weights.shape[-1]
    least = min(2, stages)
    gaps = least + np.floor(gap * (stages + 1 - least)).astype(int)
    pulse = (np.arange(stages) % gaps == np.floor(phase * gaps)).astype(np.float64)
    pulse *= of.capacity[..., None] / (pulse * of.weights).sum(axis=-1, keepdims=True)
    part = 0.1 * part
    return (1 - part) * pulse + part * _full(of, memory)


def _spare(of: MassModel, memory: np.ndarray, factor: np.ndarray) -> Starts:
    return factor * _full(of, memory)


def _each_stage(_: int, stages: int) -> int:
    return stages


_KINDS: dict[str, tuple] = {
    "uniform": (_full, Draw("exponential", _each_stage, ((4, 0),))),
    "sparse": (_sparse, Draw("uniform", lambda _, ages: 1 + 2 * ages, ((4, 1),))),
    "pulse": (
        _pulse,
        Draw("uniform", lambda *_: 3, ((4, 2), (2, 0))),
        Draw("exponential", _each_stage, ((4, 2), (2, 1))),
    ),
    "spare": (
        _spare,
        Draw("exponential", _each_stage, ((4, 3), (2, 0))),
        Draw("uniform", lambda *_: 1, ((4, 3), (2, 1))),
    ),
}
"""What `start_families` draws besides bursts: a recipe, and the numbers that it takes."""


def _corners(system: System | Systems) -> Starts:
    """All memory in one cohort, once for each age."""
    model = cohort_model(system)
    weights, capacity = model.weights[..., 0, :], model.capacity[..., None]
    ages = np.arange(weights.shape[-1])
    own = np.count_nonzero(weights, axis=-1, keepdims=True)
    corner = ages == (ages % own)[..., None]
    return np.where(corner, (capacity / np.where(weights > 0, weights, 1.0))[..., None, :], 0.0)


def _checked_stages(occupied: Sequence[int], system: System | Systems) -> np.ndarray:
    """Sorted; all systems have them."""
    many = isinstance(system, Systems)
    stages = int(system.longest_decode.min()) if many else system.workload.longest_decode
    chosen = list(occupied)
    known = all(isinstance(j, int | np.integer) and 0 <= j < stages for j in chosen)
    if not chosen or not known or len(set(chosen)) != len(chosen):
        raise InputError("occupied", occupied, f"different stages of 0 ... {stages - 1}")
    return np.array(sorted(chosen))


def _checked_size(size: object) -> float:
    """Of a disturbance, in (0, 1]."""
    if not 0 < (number := real(size)) <= 1:
        raise InputError("size", size, "a number in (0, 1]")
    return number
