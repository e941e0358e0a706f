"""Where trajectories start: at the equilibrium, around it, from one burst, from nothing.

Every start but the empty one lies on the memory boundary (memory = capacity). Arrays are NumPy
float64 and go straight into `simulate`. A model, or a `System` in its place, which stands for its
class model, has starts of shape (class, stage) or (batch, class, stage). Many systems have
(system, batch, class, stage), 0 where a system has no such class or stage, with a batch of one
where there is one start; system i has the starts that it would have alone, with the key
`jax.random.fold_in(key, systems.index[i])`.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Draw, Key, check_size, drawn_starts
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.states import lifted
from fluidkv.runs.checks import count as count_of
from fluidkv.systems import Systems
from fluidkv.workload import System

Of = MassModel | System | Systems
States = Float[np.ndarray, "*batch class stage"]


def equilibrium_state(model: Of) -> States:
    """The eviction-free fixed point: x* p_k at every stage that class k has.

    x* = M / sum of p_k w_ks. With one capacity for each trajectory there is a leading batch axis.

    Source: Congestion, equation (8).

    Examples:
        >>> from fluidkv.fluid import equilibrium_state
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> equilibrium_state(system)
        array([[2., 2., 2.]])
    """
    return _state(model, _equilibrium(lifted(_by_class(model))))


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
    return _state(model, _on_boundary(of, burst[:, None]))


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
        InputError: count or size outside of what is allowed.

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
    check_size(size)
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
    check_size(size)
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


def _by_class(of: Of) -> MassModel:
    return of if isinstance(of, MassModel) else class_model(of)


def _state(of: Of, states: Float[np.ndarray, "system batch class stage"]) -> States:
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
