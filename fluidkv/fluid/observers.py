"""Observers of trajectories: values that say what a rollout is to keep.

They read flows and states of the maps of this package. Each is a pytree: a batch of rollouts may
vary what is in it. `fluidkv.fluid.driver` says what an observer is, for one of your own.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.fluid import mass_map
from fluidkv.fluid.driver import Observer, Transition
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.quantities import QUANTITIES, evicts, masses_of, names_of, read

NEVER = -1
"""Stands for "not within the iterations run" where an iteration or a period is given."""


class Windows(Observer):
    """Flows summed over each window, and levels at its end.

    Fields:
        names: out of `QUANTITIES`.

    The result is a dict of arrays with a leading axis of windows.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Windows, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     watch = Windows(("evicted", "memory"))
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=watch, every=4)
        >>> np.round(run.observed["evicted"], 3).tolist(), run.observed["memory"].tolist()
        ([3.396, 2.054, 5.2], [24.0, 24.0, 24.0])
    """

    names: tuple[str, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        if isinstance(self.names, str):
            raise InputError("names", self.names, f"a sequence of names, as ({self.names!r},)")
        for name in self.names:
            if name not in tuple(QUANTITIES):  # which need not be hashable
                raise InputError("names", name, "any of " + ", ".join(QUANTITIES))

    def init(self, model: Any, state: Any) -> dict[str, Array]:
        masses = _masses(self, masses_of(state))
        shapes = {(): (), ("class",): masses.shape[:-1]}
        summed = [name for name in self.names if name not in names_of("level")]
        return {n: jnp.zeros(shapes[QUANTITIES[n].dims], masses.dtype) for n in summed}

    def update(
        self, model: Any, memory: dict[str, Array], transition: Transition
    ) -> dict[str, Array]:
        now = {name: read(name, model, transition) for name in memory}
        last = names_of("last")
        return {n: now[n] if n in last else total + now[n] for n, total in memory.items()}

    def emit(self, model: Any, memory: dict[str, Array], state: Any) -> tuple[Any, Any]:
        levels = [name for name in self.names if name in names_of("level")]
        now = {name: read(name, model, state) for name in levels}
        return jax.tree.map(jnp.zeros_like, memory), memory | now

    def result(self, model: Any, memory: Any, written: dict[str, Array]) -> dict[str, Array]:
        return {name: written[name] for name in self.names}


class Total(Observer):
    """A flow summed over all iterations, such as "completed", or the waste, "evicted_tokens".

    Fields:
        name: a flow of `QUANTITIES`.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Total, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=Total("evicted_tokens"))
        >>> round(run.observed.item(), 3)
        45.0
    """

    name: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.name not in names_of("flow"):
            raise InputError("name", self.name, "any of " + ", ".join(names_of("flow")))

    def init(self, model: Any, state: Any) -> Array:
        return Windows((self.name,)).init(model, state)[self.name]

    def update(self, model: Any, memory: Array, transition: Transition) -> Array:
        return memory + read(self.name, model, transition)


class FirstEviction(Observer):
    """The first iteration that evicts, or `NEVER`.

    Fields:
        stops: whether the rollout may end there.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import FirstEviction, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     watch = FirstEviction(stops=True)
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=watch, every=3)
        >>> run.observed.item(), run.iterations.item()
        (1, 3)
    """

    stops: bool = eqx.field(default=False, static=True)

    def init(self, model: Any, state: Any) -> Int[Array, ""]:
        return jnp.int32(NEVER)

    def update(self, model: Any, memory: Array, transition: Transition) -> Array:
        first = (memory == NEVER) & evicts(model, transition)
        return jnp.where(first, transition.iteration, memory)

    def ended(self, memory: Array) -> Bool[Array, ""] | None:
        return memory != NEVER if self.stops else None


class Evictions(Observer):
    """How many iterations evict.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Evictions, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=Evictions())
        >>> run.observed.item()
        7
    """

    def init(self, model: Any, state: Any) -> Int[Array, ""]:
        return jnp.int32(0)

    def update(self, model: Any, memory: Array, transition: Transition) -> Array:
        return memory + jnp.int32(evicts(model, transition))


class Fronts(Observer):
    """The front of every iteration: the stage that eviction trims, -1 where nothing is evicted.

    Its last value in each window is written down; with windows of one iteration that is all of
    them. Two trajectories with the same fronts obey the same linear map.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import rollout
        >>> from fluidkv.fluid.observers import Fronts
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=Fronts(), every=1)
        >>> run.observed.tolist()
        [1, -1, -1, 1, -1, 1, 2, -1, 1, 2, -1, 1]
    """

    def init(self, model: Any, state: Any) -> Int[Array, ""]:
        return jnp.int32(mass_map.NO_FRONT)

    def update(self, model: Any, memory: Array, transition: Transition) -> Array:
        return transition.flows.front

    def emit(self, model: Any, memory: Array, state: Any) -> tuple[Array, Array]:
        return memory, memory

    def result(self, model: Any, memory: Array, written: Array) -> Array:
        return written


class Extremes(Observer):
    """Least and largest of a level after any iteration, in pairs.

    Fields:
        level: a level of `QUANTITIES`.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Extremes, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 12, observe=Extremes("in_flight"))
        >>> [round(x.item(), 3) for x in run.observed]
        [4.8, 8.0]
    """

    level: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.level not in names_of("level"):
            raise InputError("level", self.level, "any of " + ", ".join(names_of("level")))

    def init(self, model: Any, state: Any) -> tuple[Array, Array]:
        _masses(self, masses_of(state))
        shape = jax.eval_shape(lambda s: read(self.level, model, s), state)
        return jnp.full(shape.shape, jnp.inf), jnp.full(shape.shape, -jnp.inf)

    def update(self, model: Any, memory: tuple[Array, Array], transition: Transition) -> Any:
        now = read(self.level, model, transition.after)
        return jnp.minimum(memory[0], now), jnp.maximum(memory[1], now)


class Settled(Observer):
    """Since when nothing was evicted and the state lies near the equilibrium, or `NEVER`.

    It ends the rollout. Of a stable system, near enough means for good (`eviction_free_radius`).

    Fields:
        within: largest deviation of a mass, relative to the equilibrium.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import rollout
        >>> from fluidkv.fluid.observers import Settled
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> with jax.enable_x64(True):
        ...     start = np.array([47.0, 0.0, 0.0])
        ...     run = rollout(fk.cohort_model(system), start, 600, observe=Settled(1e-3), every=60)
        >>> run.observed.item(), run.iterations.item()
        (27, 60)
    """

    within: float | Float[Array, ""]

    def __check_init__(self) -> None:
        _check_within(self.within)

    def init(self, model: MassModel, state: Any) -> Int[Array, ""]:
        _masses(self, state)
        if not hasattr(model, "equilibrium"):
            raise InputError("observe", f"Settled of {type(model).__name__}", "a map of masses")
        return jnp.int32(NEVER)

    def update(self, model: MassModel, memory: Array, transition: Transition) -> Array:
        masses, centre = jnp.atleast_2d(transition.after), jnp.asarray(model.equilibrium())
        near = jnp.all(jnp.abs(masses - centre) <= self.within * centre)
        since = jnp.where(memory == NEVER, transition.iteration, memory)
        return jnp.where(near & ~evicts(model, transition), since, NEVER)

    def ended(self, memory: Array) -> Bool[Array, ""]:
        return memory != NEVER


class Cycle(Observer):
    """Whether the trajectory came back to a state where it was, and after how many iterations.

    The state is compared with a mark that moves to iterations 1, 2, 4, 8 ... (Brent), so that any
    period shows, at the latest when the mark is as old as the period. It ends the rollout. The
    result is (period, mark): `NEVER` while nothing came back; else the trajectory is periodic from
    iteration `mark` on. Floats find a cycle and do not prove it.

    Fields:
        within: largest change of the memory of a stage, as a share of capacity, that is a return.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import Cycle, rollout
        >>> model = fk.cohort_model(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> with jax.enable_x64(True):
        ...     run = rollout(model, np.array([4.0, 3.0, 0.0]), 60, observe=Cycle(1e-12))
        >>> [n.item() for n in run.observed]
        [3, 8]
    """

    within: float | Float[Array, ""]

    def __check_init__(self) -> None:
        _check_within(self.within)

    def init(self, model: MassModel, state: Any) -> tuple[Array, Array, Array]:
        return jnp.int32(NEVER), jnp.int32(0), _masses(self, state)

    def update(self, model: MassModel, memory: Any, transition: Transition) -> Any:
        period, since, mark = memory
        change = jnp.abs(jnp.atleast_2d(transition.after - mark))
        tokens = change * jnp.atleast_2d(jnp.asarray(model.weights))
        back = jnp.all(tokens <= self.within * model.capacity)
        running = period == NEVER
        period = jnp.where(running & back, transition.iteration - since, period)
        power = (transition.iteration & (transition.iteration - 1)) == 0
        moves = running & ~back & power
        return (
            period,
            jnp.where(moves, transition.iteration, since),
            jnp.where(moves, transition.after, mark),
        )

    def ended(self, memory: Any) -> Bool[Array, ""]:
        return memory[0] != NEVER

    def result(self, model: Any, memory: Any, written: Any) -> tuple[Array, Array]:
        return memory[:2]


def _masses(observer: Observer, state: Any) -> Any:
    """The state of a map of masses alone.

    Raises:
        InputError: while tracing, of another map.
    """
    if not hasattr(state, "shape"):
        observed = f"{type(observer).__name__} of {type(state).__name__}"
        raise InputError("observe", observed, "an observer of its map; these states are no array")
    return state


def _check_within(within: Any) -> None:
    """A number of at least 0; what JAX traces or maps over is not looked at."""
    number = isinstance(within, float | int) and not isinstance(within, bool)
    if not hasattr(within, "dtype") and not (number and within >= 0):
        raise InputError("within", within, "a number of at least 0")
