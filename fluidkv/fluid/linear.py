"""Derivatives of the mass map: what a small deviation becomes, and how much each parameter matters.

At the eviction-free equilibrium the Jacobian of one step on the cohort manifold has exactly the
roots of the characteristic polynomial F as its eigenvalues, and 0 (Congestion, equation (9) and
Appendix B.6.2); `fluidkv.exact` has the same roots in certified balls. On a cycle the Jacobian of a
whole period has the multipliers.

Where the front changes with the perturbation the map has a kink, and derivatives are those of the
side on which JAX evaluates it: `fronts` says which linear maps were composed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Int

from fluidkv.fluid.driver import rollout
from fluidkv.fluid.mass_map import State, check_one
from fluidkv.fluid.model import MassModel, check_precision
from fluidkv.fluid.observers import Fronts


class Linearisation(NamedTuple):
    """The map of small deviations over a period.

    Fields:
        jacobian: of the state after the period by the state before; masses flattened by (class,
            stage).
        multipliers: its eigenvalues, largest modulus first.
        fronts: of each iteration, see `Flows.front`; deviations small enough not to change them
            obey the Jacobian.

    Examples:
        >>> from fluidkv.fluid.linear import Linearisation
        >>> Linearisation._fields
        ('jacobian', 'multipliers', 'fronts')
    """

    jacobian: Float[Array, "mass mass"]
    multipliers: Complex[Array, " mass"]
    fronts: Int[Array, " iteration"]


def linearise(model: MassModel, state: State, *, period: int = 1) -> Linearisation:
    """The Jacobian of `period` iterations at a state, such as the equilibrium or one of a cycle.

    Args:
        model: with one capacity.
        state: (class, stage), or (stage,) for a model of one row.
        period: iterations, static.

    Raises:
        InputError: as `step` and `rollout`.

    Source: Congestion, equations (9) and (10), Appendix B.6.2.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import linearise
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> model = fk.cohort_model(system)
        >>> with jax.enable_x64(True):
        ...     linear = linearise(model, model.equilibrium()[0])
        >>> np.abs(linear.multipliers).round(6).tolist()  # of 3 z^2 + 4 z + 5, and 0
        [1.290994, 1.290994, 0.0]
    """
    state = jnp.asarray(state)
    check_precision(model.precision, state, "state")

    def after(
        flat: Float[Array, " mass"],
    ) -> tuple[Float[Array, " mass"], Int[Array, " iteration"]]:
        run = rollout(model, flat.reshape(state.shape), period, observe=Fronts(), every=1)
        return run.state.ravel(), run.observed

    jacobian, fronts = jax.jacfwd(after, has_aux=True)(state.ravel())
    multipliers = jnp.linalg.eigvals(jacobian)
    order = jnp.argsort(-jnp.abs(multipliers))
    return Linearisation(jacobian, multipliers[order], fronts)


def spectral_radius(model: MassModel) -> Float[Array, ""]:
    """The largest modulus of a multiplier of the equilibrium on the cohort manifold.

    Pure and differentiable by shares, inputs and whatever else the model is made of, where the
    largest one is simple: the equilibrium is stable where it is below 1, up to rounding. A verdict
    is `fluidkv.stability`; this is for slopes and maps.

    Raises:
        InputError: a model of several systems, or in a precision that nobody chose.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import MassModel, spectral_radius
        >>> def radius(inputs):
        ...     model = MassModel.from_lengths([inputs] * 2, [2, 3], [0.5, 0.5], 1e3, stages=3)
        ...     return spectral_radius(model)
        >>> with jax.enable_x64(True):
        ...     value, slope = jax.value_and_grad(radius)(10.0)
        >>> round(value.item(), 4), slope.item() < 0  # longer inputs are more stable
        (0.7687, True)
    """
    check_one(model)
    weights = jnp.asarray(model.cohorts().weights)[0]
    check_precision(model.precision, weights, "model")
    if weights.size == 1:  # all that runs completes: nothing is left of a deviation
        return jnp.zeros((), weights.dtype)
    # Companion matrix of F(z) = sum of V_s z^(d-1-s).
    companion = (
        jnp.eye(weights.size - 1, k=-1, dtype=weights.dtype).at[0].set(-weights[1:] / weights[0])
    )
    return jnp.max(jnp.abs(jnp.linalg.eigvals(companion)))
