"""What an array of masses is, in one place: of which axes, of classes or of cohorts, of whom.

Masses x_ks are of class k at stage s. Cohort masses y_s, of all requests admitted s iterations ago,
stand for the state x_ks = p_k y_s; every trajectory is of that form after d iterations (Congestion,
Lemma 9). An array with labels (`xarray.DataArray`) says by its dimensions what it is, some of
system, batch, class and stage. Of one without, the axes are, for K classes and d stages:

    of one system                       of many
    (stage,), (batch, stage)            (stage,), (batch, stage)          cohort masses
                                        (system, batch, stage)            cohort masses
    (batch, class, stage)               (system, batch, class, stage)     masses of classes
    (class, stage) if that is (K, d)                                      one state, of classes

An axis of classes of length 1 holds cohort masses, whatever K is: `starts[:, None]` says that K > 1
starts of cohorts are not one state. Nothing is guessed from the masses. Many systems have the
largest d and K of them, and 0 where a system has no such stage or class; a system axis of length 1,
or none, serves each of them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel, class_model, cohort_model
from fluidkv.systems import Systems
from fluidkv.workload import System

_EPS = float(np.finfo(np.float64).eps)

ON_MANIFOLD = 1e-12
"""How far, of p_k y_s, a mass may be from it in a state that counts as one of cohorts. An iteration
rounds a mass once, so that 1,000 stages leave about 1e-13."""

_AXES = ("system", "batch", "class", "stage")


States = Float[np.ndarray, "system batch row stage"]
"""Rows are classes, or one row of cohort masses. One system has a system axis of length 1, and so
may starts that serve each of many."""


def read_states(
    of: System | Systems | MassModel,
    start: ArrayLike,
    *,
    argument: str = "start",
    full: bool = False,
) -> States:
    """Starts with memory at or below capacity, as their axes say (see above).

    Args:
        of: whose they are; of a model, rows are its classes, and `capacity` may be one a start.
        start: masses, with or without labels.
        argument: name of what is read, for messages.
        full: whether memory has to be full.

    Raises:
        InputError: a wrong shape, masses that are negative or not finite, mass at a stage that its
            class does not have, memory above capacity; with `full`, off it.
    """
    owner = _owner(of, argument)
    masses = _by_axes(owner, start)
    _check(owner, masses, full=full)
    return masses


def class_states(
    of: System | MassModel, start: ArrayLike, *, argument: str = "start"
) -> Float[np.ndarray, "batch class stage"]:
    """As `read_states` of one system, as masses of classes."""
    masses = read_states(of, start, argument=argument)
    return spread(_owner(of, argument).model(by_class=True), masses)[0]


def cohort_states(
    of: System | Systems, start: ArrayLike, *, argument: str = "starts", full: bool = False
) -> Float[np.ndarray, "*system batch stage"]:
    """As `read_states`, as cohort masses: masses of classes are taken if they are p_k y_s.

    Returns:
        (batch, stage) of one System, (system, batch, stage) of Systems.

    Raises:
        InputError: what `read_states` raises; classes that are not in proportion to their shares.
    """
    owner = _owner(of, argument)
    masses = read_states(of, start, argument=argument, full=full)
    cohorts = masses[:, :, 0] if masses.shape[2] == 1 else _gathered(owner, masses)
    if not owner.many:
        return cohorts[0]
    return np.broadcast_to(cohorts, (owner.systems, *cohorts.shape[1:]))


def spread(model: MassModel, states: States) -> Float[np.ndarray, "system batch class stage"]:
    """Masses of classes, x_ks = p_k y_s where they are of cohorts; `model`: classes of systems."""
    masses = states[..., : model.weights.shape[-1]]
    return masses if masses.shape[2] > 1 else masses * _shares(model)[:, None]


def lifted(model: MassModel) -> MassModel:
    """With an axis of systems, which many have anyway, and capacity (system, batch or 1)."""
    if model.weights.ndim == 2:
        model = jax.tree.map(lambda values: values[None], model)
    return replace(model, capacity=model.capacity.reshape(len(model.weights), -1))


class _Owner(NamedTuple):
    """Whose starts are read.

    Fields:
        of: one system, many, or a model of one.
        many: whether starts have an axis of systems.
        systems: how many.
        classes, stages: the most that one has.
        argument: what is read, for messages.
    """

    of: System | Systems | MassModel
    many: bool
    systems: int
    classes: int
    stages: int
    argument: str

    def model(self, *, by_class: bool) -> MassModel:
        """Rows as the starts have them, `lifted`."""
        if isinstance(self.of, MassModel):
            return lifted(self.of if by_class else self.of.cohorts())
        return lifted((class_model if by_class else cohort_model)(self.of))

    def shapes(self) -> str:
        """What is allowed."""
        cohorts, classes = f"batch, {self.stages}", f"batch, {self.classes}, {self.stages}"
        if self.many:
            what = f"(system, {cohorts}), of cohorts, or (system, {classes}), by class"
            return f"masses of shape {what}, of {self.systems} systems"
        if self.classes == 1:
            return f"masses of shape ({self.stages},), one a stage, or a batch of them"
        return f"masses of shape ({cohorts}), of cohorts, or ({classes}), by class"

    def hint(self, masses: np.ndarray) -> str:
        """One state by class may have been meant as as many starts of cohorts."""
        if self.many or self.classes == 1 or masses.shape[1:3] != (1, self.classes):
            return ""
        shape = f"({self.classes}, {self.stages})"
        return f"; masses of shape {shape} are one state, starts of cohorts are (batch, 1, stage)"

    def refuse(
        self,
        bad: Bool[np.ndarray, "system batch"],
        say: Callable[[tuple[int, int]], tuple[str, str]],
        size: Float[np.ndarray, "system batch"] | None = None,
    ) -> None:
        """InputError of the first bad start of the first bad system, or of its worst by `size`;
        `say` is told which, and says value and what is allowed."""
        if not bad.any():
            return
        system = int(bad.any(axis=1).argmax())
        badness = bad if size is None else np.where(bad, size, -np.inf)
        at = system, int(badness[system].argmax())
        value, allowed = say(at)
        where = f"system {at[0]}, start {at[1]}" if self.many else f"trajectory {at[1]}"
        raise InputError(self.argument, f"{value} ({where})", allowed)


def _owner(of: System | Systems | MassModel, argument: str) -> _Owner:
    if isinstance(of, Systems):
        extent = len(of), of.decode_length.shape[1], int(of.longest_decode.max())
    elif isinstance(of, System):
        extent = 1, len(of.workload.classes), of.workload.longest_decode
    elif isinstance(of, MassModel) and of.weights.ndim == 2:
        extent = 1, len(of.weights), of.weights.shape[1]
    else:
        raise InputError("system", of, "a System, Systems, or the MassModel of one system")
    return _Owner(of, isinstance(of, Systems), *extent, argument)


def _by_axes(owner: _Owner, start: ArrayLike) -> States:
    """The rule at the top of the file."""
    try:
        masses = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(owner.argument, start, owner.shapes()) from None
    wrong = InputError(owner.argument, f"shape {masses.shape}", owner.shapes())
    axes = _axes(owner, start, masses)
    if not masses.size or axes is None:
        raise wrong
    masses = np.moveaxis(masses, range(masses.ndim), np.argsort(np.argsort(axes)))
    masses = np.expand_dims(masses, [place for place in range(4) if place not in axes])
    # A part of many systems may be shorter than the starts of all of them.
    beyond = masses[..., owner.stages :]
    if masses.shape[-1] < owner.stages or beyond.any() or (beyond.size and not owner.many):
        raise wrong
    if len(masses) not in (1, owner.systems) or masses.shape[2] not in (1, owner.classes):
        raise wrong
    return masses[..., : owner.stages]


def _axes(owner: _Owner, start: Any, masses: np.ndarray) -> tuple[int, ...] | None:
    """Which of `_AXES` each axis of the masses is; None: there are too many or too few."""
    if hasattr(start, "dims"):
        places = {name: place for place, name in enumerate(_AXES) if owner.many or place}
        if "stage" not in start.dims or not set(start.dims) <= set(places):
            allowed = f"stage, and at will {', '.join(list(places)[:-1])}"
            raise InputError(
                owner.argument, f"dimensions {', '.join(map(str, start.dims))}", allowed
            )
        return tuple(places[name] for name in start.dims)
    if not owner.many and owner.classes > 1 and masses.shape == (owner.classes, owner.stages):
        return 2, 3
    one = {1: (3,), 2: (1, 3), 3: (1, 2, 3)}
    return (one | {3: (0, 1, 3), 4: (0, 1, 2, 3)} if owner.many else one).get(masses.ndim)


def _check(owner: _Owner, masses: States, *, full: bool) -> None:
    """Masses of at least 0 where there are stages; memory at or below capacity, or just full, up to
    the rounding of the masses and of its sum."""
    model = owner.model(by_class=masses.shape[2] == owner.classes)
    bad = np.any(~(np.isfinite(masses) & (masses >= 0)), axis=(2, 3))
    allowed = "finite masses of at least 0"
    owner.refuse(bad, lambda _: ("a negative or non-finite mass", allowed))
    beyond = np.any((masses > 0) & (model.weights == 0)[:, None], axis=(2, 3))
    allowed = f"0 at stages of at least l1{owner.hint(masses)}"
    owner.refuse(beyond, lambda _: ("mass beyond a decode length", allowed))
    used = np.einsum("nbks,nks->nb", masses, model.weights)
    limit = model.capacity
    if limit.shape[1] > 1 and used.shape[1] not in (1, limit.shape[1]):
        value, allowed = f"{used.shape[1]} trajectories", f"{limit.shape[1]}, as capacities"
        raise InputError(owner.argument, value, allowed)
    _, rows, stages = model.weights.shape
    rounding = (rows * stages + 2) * _EPS * limit
    used, limit = np.broadcast_arrays(used, limit)
    off = np.abs(used - limit) if full else used - limit

    def say(at: tuple[int, int]) -> tuple[str, str]:
        capacity = f"{limit[at]:.17g} tokens"
        if not full:
            return f"memory {used[at]:.17g} tokens", f"at most {capacity}{owner.hint(masses)}"
        scale = f"; masses times {limit[at] / used[at]:.17g} are on it" if used[at] > 0 else ""
        allowed = f"memory equal to the capacity, {capacity}{scale}"
        return f"memory {used[at] - limit[at]:+.6g} tokens off the boundary", allowed

    owner.refuse(off > rounding, say, off)


def _gathered(owner: _Owner, masses: States) -> Float[np.ndarray, "system batch stage"]:
    """y_s = sum of x_ks / sum of p_k, over the classes that have the stage."""
    shares = _shares(owner.model(by_class=True))
    total = shares.sum(axis=1)
    cohorts = masses.sum(axis=2) / np.where(total > 0, total, 1.0)[:, None]
    right = cohorts[:, :, None] * shares[:, None]
    off = np.any(np.abs(masses - right) > ON_MANIFOLD * right, axis=(2, 3))
    allowed = (
        "cohort masses y_s, or masses of classes that are p_k y_s, as every trajectory has "
        f"after d = {owner.stages} iterations{owner.hint(masses)}"
    )
    owner.refuse(off, lambda _: ("classes out of proportion to their shares", allowed))
    return cohorts


def _shares(model: MassModel) -> Float[np.ndarray, "system class stage"]:
    """p_k at the stages that class k has."""
    return np.where(model.weights > 0, model.shares[..., None], 0.0)
