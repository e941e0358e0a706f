"""Where trajectories start: at the equilibrium, around it, from one burst, from nothing.

Every start but the empty one lies on the memory boundary (memory = capacity). Arrays are NumPy
float64, shape (class, stage) or (batch, class, stage), and go straight into `simulate`.
"""

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, UInt

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel
from fluidkv.runs.precision import in_float64


def equilibrium_state(model: MassModel) -> Float[np.ndarray, "*batch class stage"]:
    """The eviction-free fixed point: x* p_k at every stage that class k has.

    x* = M / sum of p_k w_ks. With one capacity for each trajectory there is a leading batch axis.

    Source: Congestion, equation (8).
    """
    exists = (model.weights > 0).astype(np.float64)
    return _on_boundary(model, model.shares[:, None] * exists)


def burst_state(model: MassModel) -> Float[np.ndarray, "*batch class stage"]:
    """All memory held by requests at stage 0: what an empty system admits at once."""
    burst = np.zeros_like(model.weights)
    burst[:, 0] = model.shares
    return _on_boundary(model, burst)


def empty_state(model: MassModel) -> Float[np.ndarray, "class stage"]:
    """No requests. Its first iteration leads to `burst_state`."""
    return np.zeros_like(model.weights)


def perturbed_starts(
    key: PRNGKeyArray | UInt[Array, "2"], model: MassModel, *, count: int, size: float
) -> Float[np.ndarray, "batch class stage"]:
    """The equilibrium, each mass multiplied by an independent factor in [1 - size, 1 + size].

    Factors are uniform; then each start is rescaled to memory = capacity.

    Args:
        key: JAX random key; the same key gives the same starts.
        model: with one capacity, or with `count` of them.
        count: number of starts, at least 1.
        size: relative size of the perturbation, in (0, 1].

    Raises:
        InputError: count or size outside of what is allowed.
    """
    _check_count(count)
    if model.capacity.shape not in ((), (count,)):
        raise InputError("count", count, f"{model.capacity.size}, the number of capacities")
    _check_size(size)
    with in_float64():
        shape = (count, *model.weights.shape)
        noise = np.asarray(jax.random.uniform(key, shape, minval=-1.0, maxval=1.0))
    return _on_boundary(model, equilibrium_state(model) * (1 + size * noise))


def mode_starts(
    model: MassModel, root: complex, *, count: int, size: float
) -> Float[np.ndarray, "batch class stage"]:
    """The equilibrium disturbed along one mode of the linearised dynamics, at evenly spaced phases.

    A mode z moves admissions as Re(c z^n), so the cohort of age s deviates as Re(c z^-s). When z is
    a root of F the deviation holds no memory and the start is on the boundary as it stands.

    Args:
        model: with one capacity; a cohort model, or a class model (on the cohort manifold).
        root: z, not 0.
        count: number of phases, at least 1.
        size: bound on the deviation of a cohort relative to the equilibrium, in (0, 1]; some
            cohort of some phase comes near it.

    Raises:
        InputError: root, count or size outside of what is allowed.

    Source: Congestion, equations (9) and (10).
    """
    _check_count(count)
    _check_size(size)
    if root == 0 or not np.isfinite(root):
        raise InputError("root", root, "a finite complex number other than 0")
    if model.capacity.shape != ():
        raise InputError("model", f"{model.capacity.size} capacities", "one capacity")
    ages = np.arange(model.weights.shape[1])
    # |z|^-s over its largest value, so that nothing overflows
    log_size = -ages * np.log(np.abs(root))
    shape = np.exp(log_size - log_size.max() - 1j * ages * np.angle(root))
    # A third of a step off zero: no phase is then a node of a real mode, with nothing disturbed.
    phases = np.exp(2j * np.pi * (np.arange(count) + 1 / 3) / count)
    deviation = np.real(phases[:, None, None] * shape)
    return _on_boundary(model, equilibrium_state(model) * (1 + size * deviation))


def _on_boundary(
    model: MassModel, state: Float[np.ndarray, "*batch class stage"]
) -> Float[np.ndarray, "*batch class stage"]:
    used = np.einsum("...ks,ks->...", state, model.weights)
    return state * (model.capacity / used)[..., None, None]


def _check_count(count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InputError("count", count, "an integer of at least 1")


def _check_size(size: object) -> None:
    if isinstance(size, bool) or not isinstance(size, float | int) or not 0 < size <= 1:
        raise InputError("size", size, "a number in (0, 1]")
