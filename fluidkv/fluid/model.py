"""What the mass dynamics need to know of a system, as arrays: one model for classes and cohorts.

A *row* of the model is what admission fills at once: a request class (`class_model`), or the
cohort of all requests admitted in one iteration (`cohort_model`). A unit of mass of row k at stage
s stands for `survival` requests that hold `weights` tokens:

    class_model    survival 1 while s < l1_k, then 0     weight l0_k + 1 + s, then 0    share p_k
    cohort_model   alpha_s, one row                      V_s                            1

After d = max l1 iterations every trajectory of the class model lies on the manifold
x_ks = p_k y_s, where the cohort model is the whole of it (Congestion, Lemma 9). So the cohort
model carries thousands of classes, those of an empirical trace, at the cost of one.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.systems import Systems
from fluidkv.workload import System


class MassModel(eqx.Module):
    """Arrays that drive the iteration; build one with `class_model` or `cohort_model`.

    Index order is (class, stage), stage s = 0 ... d-1 with d the longest decode length. The arrays
    are NumPy float64 on the host: they reach JAX as arguments, so that another capacity or other
    weights of the same shape compile nothing. A model of many systems has a leading axis of systems
    in every field; a system's rows and stages beyond its own are 0.

    Fields:
        weights: w_ks, tokens held by a unit of mass; 0 where the class has no such stage.
        survival: requests in a unit of mass, in [0, 1]; 0 where the class has no such stage.
        shares: p_k, proportions of admission.
        capacity: M, tokens; one number, or one for each trajectory of the batch.
        precision: of all masses, "float64" unless `in_float32` chose otherwise.

    Source: Congestion, sections 2.2 and 4.1, Appendix B.8.

    Examples:
        >>> model = fk.class_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> model.weights.tolist(), float(model.capacity)
        ([[3.0, 4.0, 5.0]], 24.0)
        >>> model.with_capacity([24, 48]).capacity
        array([24., 48.])
    """

    weights: Float[np.ndarray, "*system class stage"]
    survival: Float[np.ndarray, "*system class stage"]
    shares: Float[np.ndarray, "*system class"]
    capacity: Float[np.ndarray, "*system"] | Float[np.ndarray, " batch"]
    precision: str = eqx.field(default="float64", static=True)

    @classmethod
    def from_lengths(
        cls,
        input_length: Array | ArrayLike,
        decode_length: Array | ArrayLike,
        shares: Array | ArrayLike,
        capacity: Array | ArrayLike,
        *,
        stages: int,
        precision: str = "float64",
    ) -> "MassModel":
        """The class model of numbers that JAX may trace: what one differentiates or maps over.

        Args:
            input_length: l0 of each class, (class,), tokens; may be any real number.
            decode_length: l1 of each class, (class,), at most `stages`.
            shares: p_k, (class,), which sum to 1.
            capacity: M, tokens, a number.
            stages: of the state, static.
            precision: "float64", or by choice "float32".

        Raises:
            InputError: a decode length above `stages`, where it is known; float64 where
                `jax_enable_x64` is not set.

        Examples:
            >>> import jax
            >>> from fluidkv.fluid import MassModel
            >>> def best(inputs):
            ...     model = MassModel.from_lengths(inputs, [3], [1.0], 24.0, stages=3)
            ...     return model.equilibrium().sum() / 3  # requests completed an iteration
            >>> with jax.enable_x64(True):
            ...     slope = jax.grad(lambda l0: best(l0[None]))(jax.numpy.float64(2))
            >>> round(slope.item(), 6)  # -M / (3 (l0 + 2)^2)
            -0.5
        """
        if not isinstance(decode_length, Tracer):
            _check_stages(stages, int(np.max(np.asarray(decode_length))))
        kind = float if precision == "float64" else precision
        inputs, parts = jnp.asarray(input_length, kind), jnp.asarray(shares, kind)
        check_precision(precision, inputs, "input_length")
        stage = jnp.arange(stages, dtype=inputs.dtype)[None]
        alive = (stage < jnp.asarray(decode_length, inputs.dtype)[:, None]).astype(inputs.dtype)
        weights = alive * (inputs[:, None] + 1 + stage)
        limit = jnp.asarray(capacity, kind)
        return cls(weights, alive, parts, limit, precision)  # pyright: ignore[reportArgumentType]  # JAX's here

    def cohorts(self) -> "MassModel":
        """All classes as one row, on the manifold x_ks = p_k y_s (Congestion, Lemma 9)."""
        return dataclasses.replace(
            self,
            weights=self.shares[..., None, :] @ self.weights,
            survival=self.shares[..., None, :] @ self.survival,
            shares=np.ones((*self.shares.shape[:-1], 1), self.precision),
        )

    def equilibrium(self) -> Float[np.ndarray, "*system class stage"]:
        """The eviction-free equilibrium: p_k x* at every stage that class k has.

        Source: Congestion, section 4.2: x* = M / sum of V_s.
        """
        exists = (self.weights > 0).astype(self.weights.dtype)
        held = (self.shares[..., None] * self.weights).sum(axis=(-2, -1))
        unit = (self.capacity / held)[..., None, None]
        return unit * self.shares[..., None] * exists

    def in_float32(self) -> "MassModel":
        """The same model by choice in single precision, for an accelerator: about seven digits.

        What they decide, such as whether a trajectory has settled, or an exact tie, they may decide
        otherwise than float64.
        """
        narrow = {
            f.name: getattr(self, f.name).astype(np.float32)
            for f in dataclasses.fields(self)
            if f.name != "precision"
        }
        return MassModel(**narrow, precision="float32")

    def with_capacity(self, capacity: ArrayLike) -> "MassModel":
        """The same model at another capacity, or at one capacity for each trajectory (a sweep).

        Raises:
            InputError: a capacity that is not a positive finite number or a list of them.
        """
        try:
            values = np.asarray(capacity, dtype=self.precision)
        except (TypeError, ValueError):
            values = np.asarray(np.nan, self.precision)
        if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
            allowed = "a positive finite number of tokens, or a list of them, one a trajectory"
            raise InputError("capacity", capacity, allowed)
        return dataclasses.replace(self, capacity=values)


def class_model(system: System | Systems, *, stages: int | None = None) -> MassModel:
    """One row for each request class: any state, in memory classes x longest decode length.

    Args:
        system: one or many.
        stages: at least the longest decode length, which it is by default.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(10, 2), (10, 3)]), capacity=1000)
        >>> model = fk.class_model(system)
        >>> model.weights.tolist(), model.shares.tolist()
        ([[11.0, 12.0, 0.0], [11.0, 12.0, 13.0]], [0.5, 0.5])
    """
    inputs, decodes, shares, capacity = _numbers(system)
    if stages is not None:
        _check_stages(stages, int(decodes.max()))
    stage = np.arange(decodes.max() if stages is None else stages)
    alive = (stage < decodes[..., None]).astype(np.float64)
    return MassModel(
        weights=alive * (inputs[..., None] + 1 + stage),
        survival=alive,
        shares=shares,
        capacity=capacity,
    )


def cohort_model(system: System | Systems) -> MassModel:
    """One row for all classes: the states x_ks = p_k y_s, in memory longest decode length.

    Its weights V_s and survival alpha_s are sums over the classes with l1_k > s of
    p_k (l0_k + 1 + s) and of p_k.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(10, 2), (10, 3)]), capacity=1000)
        >>> model = fk.cohort_model(system)
        >>> model.weights.tolist(), model.survival.tolist()
        ([[11.0, 12.0, 6.5]], [[1.0, 1.0, 0.5]])
    """
    inputs, decodes, shares, capacity = _numbers(system)
    survival = _alive(decodes, shares)
    weights = _alive(decodes, shares * inputs) + (1 + np.arange(survival.shape[-1])) * survival
    return MassModel(
        weights=weights[..., None, :],
        survival=survival[..., None, :],
        shares=np.ones((*capacity.shape, 1)),
        capacity=capacity,
    )


def as_array(values: Any, argument: str) -> Array:
    """An array of JAX, or an InputError that names the argument."""
    try:
        return jnp.asarray(values)
    except (TypeError, ValueError):
        raise InputError(argument, values, "an array of numbers") from None


def check_precision(chosen: str, values: Array, argument: str) -> None:
    """InputError for numbers of another type than the model's.

    JAX turns float64 into float32 where `jax_enable_x64` is not set; that is never done silently.
    """
    if values.dtype != np.dtype(chosen):
        advice = (
            "; set jax.config.update('jax_enable_x64', True) first, or choose float32"
            if chosen == "float64" and not jax.config.read("jax_enable_x64")
            else ", as the model"
        )
        raise InputError(argument, f"numbers of {values.dtype}", chosen + advice)


def _check_stages(stages: object, longest: int) -> None:
    whole = isinstance(stages, int | np.integer) and not isinstance(stages, bool)
    if not whole or stages < longest:  # pyright: ignore[reportOperatorIssue]  # whole here
        raise InputError("stages", stages, f"an integer of at least {longest}, the longest decode")


def _numbers(system: System | Systems) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """l0, l1 and p, (..., class), and M, (...); l1 is 0 for no class."""
    if isinstance(system, Systems):
        floats = system.share.floats, system.capacity.floats
        return system.input_length, system.decode_length, *floats
    classes = system.workload.classes
    return (
        np.array([float(c.input_length) for c in classes]),
        np.array([c.decode_length for c in classes]),
        np.array([float(c.share) for c in classes]),
        np.asarray(float(system.capacity)),
    )


def _alive(decodes: np.ndarray, parts: np.ndarray) -> Float[np.ndarray, "*system stage"]:
    """The sum of the parts of the classes with l1_k > s, for each s.

    All terms are positive, so the suffix sums lose nothing to cancellation.
    """
    stages = int(decodes.max())
    rows = decodes.reshape(-1, decodes.shape[-1])
    # A class ends at l1 - 1; one that is none has no part, and adds 0 wherever it is put.
    ends = np.maximum(rows - 1, 0) + stages * np.arange(len(rows))[:, None]
    sums = np.bincount(ends.ravel(), weights=parts.ravel(), minlength=stages * len(rows))
    table = sums.reshape(*decodes.shape[:-1], stages)
    return np.cumsum(table[..., ::-1], axis=-1)[..., ::-1]
