"""`rollout`: one driver for every map of this package, and for a user's own.

A map is a pure `step(model, state, key) -> (state, flows)` of one trajectory. What is wanted of the
way is said by *observers*, which are values (`fluidkv.fluid.observers`): each has something in its
memory, takes in every iteration, may write down one thing a window, and may say that it has seen
enough. Nothing else is kept, so that nothing else leaves the device. A batch is `jax.vmap` of a
rollout.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int, PyTree

from fluidkv.errors import InputError
from fluidkv.fluid.draws import Key, one_key
from fluidkv.fluid.mass_map import step as saturated_step
from fluidkv.runs.checks import count
from fluidkv.runs.devices import vary_like

Step = Callable[[Any, Any, Array | None], tuple[Any, Any]]
"""(model, state, key) -> (state, flows), pure."""


class Transition(NamedTuple):
    """One iteration, as an observer sees it.

    Fields:
        iteration: n; the iteration leads from X^(n-1) to X^n.
        before: X^(n-1).
        flows: what the step says that it moved.
        after: X^n.

    Examples:
        >>> from fluidkv.fluid.driver import Transition
        >>> Transition._fields
        ('iteration', 'before', 'flows', 'after')
    """

    iteration: Int[Array, ""]
    before: Any
    flows: Any
    after: Any


class Observer(eqx.Module):
    """What is wanted of a trajectory; a value. Most need `init` and `update`.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Observer, rollout
        >>> class Peak(Observer):
        ...     def init(self, model, state):
        ...         return state.max()
        ...     def update(self, model, memory, transition):
        ...         return jax.numpy.maximum(memory, transition.after.max())
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=Peak()).observed.item()
        8.0
    """

    @abstractmethod
    def init(self, model: Any, state: Any) -> PyTree:
        """The memory at the start."""

    @abstractmethod
    def update(self, model: Any, memory: PyTree, transition: Transition) -> PyTree:
        """The memory after an iteration."""

    def emit(self, model: Any, memory: PyTree, state: Any) -> tuple[PyTree, PyTree]:
        """At the end of a window: the memory to go on with, and what is written down; None is
        nothing."""
        return memory, None

    def ended(self, memory: PyTree) -> Bool[Array, ""] | None:
        """Whether it has seen enough; None: it never says so. When all that can say so have, the
        rollout stops at the end of the window."""
        return None

    def result(self, model: Any, memory: PyTree, written: PyTree) -> PyTree:
        """What it found; `written` has a leading axis of windows."""
        return memory


class Rollout(NamedTuple):
    """A trajectory that was followed.

    Fields:
        state: the last one.
        iterations: how many were made.
        observed: results, in the structure of `observe`.

    Examples:
        >>> from fluidkv.fluid.driver import Rollout
        >>> Rollout._fields
        ('state', 'iterations', 'observed')
    """

    state: Any
    iterations: Int[Array, ""]
    observed: Any


def rollout(
    model: Any,
    state: Any,
    iterations: int,
    *,
    observe: Any = None,
    step: Step = saturated_step,
    every: int | None = None,
    key: Key | None = None,
) -> Rollout:
    """Iterate a map from one state. Pure: call it under `jit`, `vmap`, `grad`, `jacobian`.

    Args:
        model: a pytree that the step knows.
        state: of one trajectory.
        iterations: how many at most, static, a multiple of `every`.
        observe: observers in any structure (one, a tuple, a dict); None is none.
        step: the map.
        every: iterations of a window, static: observers write down, and may end, at its end. By
            default all iterations are one window.
        key: JAX random key where the step draws; iteration n draws with `fold_in(key, n)`.

    Returns:
        See `Rollout`. Where an observer can end it, fewer iterations may be made, always whole
        windows; windows that were not reached are written down as 0. Reverse derivatives exist
        where none can, forward ones always.

    Raises:
        InputError: iterations or `every` that are no integers of at least 1, or not whole windows;
            something else than observers; a key that is none, or several.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import FirstEviction, Windows, rollout
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> model = fk.cohort_model(system)
        >>> watch = {"flows": Windows(("completed",)), "first": FirstEviction()}
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=watch, every=3)
        >>> np.round(run.observed["flows"]["completed"], 3).tolist()
        [5.25, 4.938, 4.8, 4.8]
        >>> run.observed["first"].item(), np.round(run.state, 3).tolist()
        (1, [0.0, 6.0, 0.0])
    """
    every = iterations if every is None else every
    check_counts(iterations, every)
    observers, structure = jax.tree.flatten(observe, is_leaf=lambda x: isinstance(x, Observer))
    _check_state_and_observers(state, observers)
    window = _window(model, step, observers, every, None if key is None else one_key(key))
    state = jax.tree.map(jnp.asarray, state)
    memories = vary_like(tuple(each.init(model, state) for each in observers), (model, state))
    begun = (jnp.int32(0), vary_like(state, model), memories)
    windows = iterations // every
    if any(
        each.ended(memory) is not None for each, memory in zip(observers, memories, strict=True)
    ):
        carry, written = _until_ended(window, observers, begun, windows)
    else:
        carry, written = lax.scan(lambda carry, _: window(carry), begun, None, length=windows)
    iterations_made, state, memories = carry
    results = [
        each.result(model, memory, out)
        for each, memory, out in zip(observers, memories, written, strict=True)
    ]
    return Rollout(state, iterations_made, jax.tree.unflatten(structure, results))


def _window(
    model: Any, step: Step, observers: list[Observer], every: int, key: Array | None
) -> Callable[[Any], tuple[Any, Any]]:
    """(iterations made, state, memories) -> the same `every` iterations later, and what observers
    write down."""

    def iterate(_: Any, carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        iteration, before, memories = carry
        iteration = iteration + 1
        step_key = None if key is None else jax.random.fold_in(key, iteration)
        pair = step(model, before, step_key)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError("step", step, "a function that returns a pair (state, flows)")
        after, flows = pair
        transition = Transition(iteration, before, flows, after)
        pairs = zip(observers, memories, strict=True)
        updated = tuple(each.update(model, memory, transition) for each, memory in pairs)
        return iteration, after, updated

    def window(carry: Any) -> tuple[Any, Any]:
        iteration, state, memories = lax.fori_loop(0, every, iterate, carry)
        pairs = zip(observers, memories, strict=True)
        emitted = [each.emit(model, memory, state) for each, memory in pairs]
        remaining = tuple(memory for memory, _ in emitted)
        return (iteration, state, remaining), tuple(out for _, out in emitted)

    return window


def _until_ended(
    window: Callable[[Any], tuple[Any, Any]], observers: list[Observer], begun: Any, windows: int
) -> tuple[Any, Any]:
    """At most so many windows, until all observers that can end it have; what they write down has
    room for all windows."""
    shapes = jax.eval_shape(window, begun)[1]
    room = jax.tree.map(lambda out: jnp.zeros((windows, *out.shape), out.dtype), shapes)
    room = vary_like(room, begun)

    def goes_on(loop: Any) -> Array:
        place, (_, _, memories), _ = loop
        pairs = zip(observers, memories, strict=True)
        answers = [each.ended(memory) for each, memory in pairs]
        return (place < windows) & ~jnp.all(jnp.stack([end for end in answers if end is not None]))

    def body(loop: Any) -> Any:
        place, carry, written = loop
        carry, out = window(carry)
        written = jax.tree.map(lambda all_, one: all_.at[place].set(one), written, out)
        return place + 1, carry, written

    _, carry, written = lax.while_loop(goes_on, body, (jnp.int32(0), begun, room))
    return carry, written


def _check_state_and_observers(state: Any, observers: list[Any]) -> None:
    if state is None or isinstance(state, list):
        raise InputError("state", state, "an array, or a pytree of arrays, of one trajectory")
    for observer in observers:
        if not isinstance(observer, Observer):
            raise InputError("observe", observer, "observers, see fluidkv.fluid.observers")


def check_counts(iterations: int, every: int) -> None:
    """InputError for what is no number of iterations, or no number of whole windows."""
    count("iterations", iterations)
    if iterations % count("every", every):
        raise InputError("iterations", iterations, f"a multiple of every={every}")
