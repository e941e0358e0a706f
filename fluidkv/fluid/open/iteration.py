"""The open mass map: execute, arrive, evict, admit, with a queue, as a pure JAX function.

The saturated map of `mass_map` with a queue of each class in place of an endless backlog; `execute`
and `evict` are the same. So are the rules: one trajectory, static shapes, no value is looked at;
`jit`, `vmap`, `grad`, `scan`, and `rollout(model, state, n, step=open_step)`.

Which classes are admitted when the queue does not hold all of them in proportions p_k, the paper
leaves open: it writes a_k = p_k a with a <= Q = sum of Q_k, which no queue with an empty class
allows. Two rules are offered (`Selection`):

    queued   a_k in proportion to what waits, theta Q_k. Whatever waits can be admitted, and from a
             queue in proportions p_k it is the paper's rule. What one draws from a queue without
             looking, in the mean.
    shares   a_k = p_k a exactly, as far as the class that runs out first allows. The formula as it
             stands; with random arrivals the other classes' queues then grow without bound at any
             load, as the square root of time, because no two streams of arrivals stay equal.

Source: Congestion, sections 2.2 and 5.1.
"""

from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fluidkv.errors import InputError
from fluidkv.fluid import mass_map
from fluidkv.fluid.mass_map import Flows
from fluidkv.fluid.model import MassModel, as_array, check_precision

Selection = Literal["queued", "shares"]
"""Which requests are admitted when not all that wait can be."""

Blocked = Literal["wait", "lost"]
"""What becomes of requests that admission leaves over: they wait, or they leave for good."""


class OpenModel(eqx.Module):
    """A mass model with arrivals and limits on admission.

    Fields:
        mass: by class, with one capacity. Of cohorts only for a single class: eviction changes
            which classes wait.
        rates: requests that arrive in an iteration, (class,); or of each iteration, (iteration,
            class), the last one for all that follow.
        cap: rate limit on a, the sum over classes, requests per iteration.
        class_cap: rate limit on a_k, one number or (class,).
        selection, blocked: see `Selection` and `Blocked`; static.

    Raises:
        InputError: a selection or a fate of what is blocked that is none.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import open_step, rollout
        >>> from fluidkv.fluid.open.iteration import OpenModel, OpenState
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> model = OpenModel(fk.class_model(system), np.array([2.5]), cap=2.0)
        >>> with jax.enable_x64(True):
        ...     begun = OpenState(np.zeros((1, 3)), np.zeros(1))
        ...     run = rollout(model, begun, 12, step=open_step)
        >>> run.state.masses.tolist(), run.state.queue.tolist()
        ([[2.0, 2.0, 2.0]], [6.0])
    """

    mass: MassModel
    rates: Float[Array, "*iteration class"] | Float[np.ndarray, "*iteration class"]
    cap: float | Float[Array, ""] | Float[np.ndarray, ""] = np.inf
    class_cap: float | Float[Array, " class"] | Float[np.ndarray, " class"] = np.inf
    selection: Selection = eqx.field(default="queued", static=True)
    blocked: Blocked = eqx.field(default="wait", static=True)

    def __check_init__(self) -> None:
        for name, words in (("selection", Selection), ("blocked", Blocked)):
            if getattr(self, name) not in get_args(words):
                raise InputError(name, getattr(self, name), " or ".join(get_args(words)))


class OpenState(NamedTuple):
    """One trajectory of the open model.

    Fields:
        masses: requests that run, by class and stage.
        queue: requests that wait, by class.
        iteration: how many have been made: which of the rates is next.

    Examples:
        >>> from fluidkv.fluid.open.iteration import OpenState
        >>> OpenState(np.zeros((1, 3)), np.zeros(1)).iteration
        0
    """

    masses: Float[Array, "class stage"] | Float[np.ndarray, "class stage"]
    queue: Float[Array, " class"] | Float[np.ndarray, " class"]
    iteration: int | Int[Array, ""] = 0


def open_step(
    model: OpenModel, state: OpenState, key: Array | None = None
) -> tuple[OpenState, Flows]:
    """One decoding iteration of one trajectory. What is evicted waits again before admission.

    Args:
        state: memory at or below capacity.
        key: arrivals are Poisson numbers with the model's rates as means, drawn with it (of the
            generator threefry); without a key just as many arrive as the rates say. Derivatives by
            rates are those of the latter: a drawn number has none.

    Raises:
        InputError: while tracing, on shapes that are not the model's, or float32 that nobody chose.

    Source: Congestion, sections 2.2 and 5.1.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import open_step
        >>> from fluidkv.fluid.open.iteration import OpenModel, OpenState
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> def waiting(cap):
        ...     model = OpenModel(fk.class_model(system), np.array([5.0]), cap)
        ...     state, flows = open_step(model, OpenState(np.full((1, 3), 1.0), np.zeros(1)))
        ...     return state.queue.sum()
        >>> with jax.enable_x64(True):
        ...     [x.item() for x in jax.value_and_grad(waiting)(3.0)]
        [2.0, -1.0]
    """
    masses, queue = as_array(state.masses, "masses"), as_array(state.queue, "queue")
    _check(model, masses, queue)
    executed = mass_map.execute(model.mass, masses)
    arrived = arrive(model, state.iteration, key)
    remaining, free, evicted = mass_map.evict(model.mass, executed)
    waiting = queue + arrived + evicted.requests
    admitted = admit(model, free, waiting)
    left = jnp.maximum(waiting - admitted, 0.0)
    lost = left if model.blocked == "lost" else jnp.zeros_like(left)
    flows = Flows(
        admitted=admitted,
        completed=mass_map.completed(model.mass, masses),
        evicted=evicted.requests,
        evicted_tokens=evicted.tokens,
        front=evicted.front,
        arrived=arrived,
        lost=lost,
        executed_memory=mass_map.memory_used(model.mass, executed),
    )
    after = remaining.at[:, 0].set(admitted)
    return OpenState(after, left - lost, state.iteration + 1), flows


def arrive(model: OpenModel, iteration: int | Array, key: Array | None) -> Float[Array, " class"]:
    """Requests of each class that come in this iteration."""
    rates = jnp.asarray(model.rates)
    mean = rates if rates.ndim == 1 else rates[iteration]
    return mean if key is None else jax.random.poisson(key, mean).astype(rates.dtype)


def admit(
    model: OpenModel, free: Float[Array, ""], waiting: Float[Array, " class"]
) -> Float[Array, " class"]:
    """Requests of each class that enter stage 0: limited by the queue, the free memory and the cap.

    Memory exactly full, an empty queue and a cap of 0 admit exactly 0.0.
    """
    shares, cost = jnp.asarray(model.mass.shares), jnp.asarray(model.mass.weights)[:, 0]
    offered = jnp.minimum(waiting, model.class_cap)
    if model.selection == "shares":
        total = jnp.minimum(free / jnp.sum(shares * cost), model.cap)
        of_class = offered / jnp.where(shares > 0, shares, 1.0)
        return shares * jnp.minimum(total, jnp.min(jnp.where(shares > 0, of_class, jnp.inf)))
    fits = _fraction(free, jnp.sum(offered * cost))
    return offered * jnp.minimum(fits, _fraction(model.cap, jnp.sum(offered)))


def _fraction(limit: Any, wanted: Float[Array, ""]) -> Float[Array, ""]:
    """The part of what is wanted that a limit lets through; all of it where nothing is wanted."""
    over = wanted > limit
    return jnp.where(over, limit / jnp.where(over, wanted, 1.0), 1.0)


def _check(model: OpenModel, masses: Array, queue: Array) -> None:
    """Shapes and types, which are known while tracing."""
    mass_map.check_one(model.mass)
    shape = jnp.shape(model.mass.weights)
    numbers = {"masses": masses, "queue": queue, "rates": as_array(model.rates, "rates")}
    wanted = {"masses": (masses.shape, shape), "queue": (queue.shape, shape[:1])}
    rates = numbers["rates"].shape
    wanted["rates"] = rates if len(rates) > 2 else rates[-1:], shape[:1]
    wanted["cap"] = jnp.shape(model.cap), ()
    wanted["class_cap"] = jnp.shape(model.class_cap) or shape[:1], shape[:1]
    for name, (got, allowed) in wanted.items():
        if got != allowed:
            advice = "one trajectory by class and stage; jax.vmap maps over several"
            raise InputError(name, f"shape {got}", f"{allowed}, {advice}")
    for name, values in numbers.items():
        check_precision(model.mass.precision, values, name)
