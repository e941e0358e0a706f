"""What a start of a given shape means, in one place: masses of classes or of cohorts, of whom.

Masses x_ks are of class k at stage s. Cohort masses y_s, of all requests admitted s iterations ago,
stand for the state x_ks = p_k y_s; every trajectory is of that form after d iterations (Congestion,
Lemma 9). By shape, for a system of K classes and d stages:

    (d,), (batch, d)           cohort masses
    (K, d), (batch, K, d)      masses of classes
    (batch, 1, d)              cohort masses

For many systems cohort masses are (system, batch, d) and masses of classes (system, batch, K, d),
with d and K the largest of them and 0 where a system has no such stage or class; (d,) and (batch,
d), or a system axis of length 1, serve each of them.

A table of K > 1 rows could be one state or K starts. It is one state, unless each row, as cohort
masses, holds just the capacity: then it is K starts. One state never looks like that, it would not
fit. The class with the longest input takes at least V_s tokens at each stage that it has, V_s being
a mean of the classes that are left; so its row takes the whole capacity and others take more.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

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


@dataclass(frozen=True)
class States:
    """Starts that are good.

    Fields:
        masses: (system, batch, row, stage), rows are classes, or one row of cohort masses. One
            system has a system axis of length 1, and so may starts that serve each of many.
        by_class: whether rows are classes.
    """

    masses: Float[np.ndarray, "system batch row stage"]
    by_class: bool

    def part(self, chosen: slice) -> "States":
        """Of these systems."""
        serves_all = len(self.masses) == 1
        return self if serves_all else replace(self, masses=self.masses[chosen])


def read_states(
    of: System | Systems | MassModel, start: ArrayLike, *, argument: str = "start"
) -> States:
    """Starts with memory at or below capacity, as their shape says (see above).

    Args:
        of: whose they are; of a model, rows are its classes, and `capacity` may be one a start.
        start: masses.
        argument: name of what is read, for messages.

    Raises:
        InputError: a wrong shape, masses that are negative or not finite, mass at a stage that its
            class does not have, memory above capacity.
    """
    return _read(_reader(of, argument), start, full=False)


def class_states(
    of: System | MassModel, start: ArrayLike, *, argument: str = "start"
) -> Float[np.ndarray, "batch class stage"]:
    """As `read_states` of one system, as masses of classes."""
    reader = _reader(of, argument)
    return spread(reader.model(by_class=True), _read(reader, start, full=False))[0]


def cohort_states(
    of: System | Systems, start: ArrayLike, *, argument: str = "starts", full: bool = False
) -> Float[np.ndarray, "*system batch stage"]:
    """As `read_states`, as cohort masses: masses of classes are taken if they are p_k y_s.

    Args:
        full: whether memory has to be full.

    Returns:
        (batch, stage) of one System, (system, batch, stage) of Systems.

    Raises:
        InputError: what `read_states` raises; classes that are not in proportion to their shares;
            with `full`, a start off the memory boundary.
    """
    reader = _reader(of, argument)
    states = _read(reader, start, full=full)
    cohorts = states.masses[:, :, 0]
    if states.by_class and reader.classes > 1:
        cohorts = _gathered(reader, states)
    if not reader.many:
        return cohorts[0]
    return np.broadcast_to(cohorts, (reader.systems, *cohorts.shape[1:]))


def spread(model: MassModel, states: States) -> Float[np.ndarray, "system batch class stage"]:
    """Masses of classes, x_ks = p_k y_s where they are of cohorts; `model`: classes of systems."""
    stages = model.weights.shape[-1]
    masses = states.masses[..., :stages]
    return masses if states.by_class else masses * _shares(model)[:, None]


def lifted(model: MassModel) -> MassModel:
    """With an axis of systems, which many have anyway, and capacity (system, batch or 1)."""
    if model.weights.ndim == 2:
        model = jax.tree.map(lambda values: values[None], model)
    return replace(model, capacity=model.capacity.reshape(len(model.weights), -1))


class _Reader(NamedTuple):
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

    def refusal(
        self,
        value: str,
        allowed: str,
        bad: Bool[np.ndarray, "system batch"],
        size: Float[np.ndarray, "system batch"] | None = None,
    ) -> InputError:
        """Of the first bad start of the first bad system, or of the worst if `size` is told."""
        system, start = _worst(bad, size)
        where = f"system {system}, start {start}" if self.many else f"trajectory {start}"
        return InputError(self.argument, f"{value} ({where})", allowed)

    def hint(self, states: States) -> str:
        """A table that has been taken for one state may have been meant as starts."""
        if self.many or self.classes == 1 or not states.by_class or states.masses.shape[1] > 1:
            return ""
        shape = f"({self.classes}, {self.stages})"
        return f"; masses of shape {shape} are one state, starts of cohorts are (batch, 1, stage)"


def _reader(of: System | Systems | MassModel, argument: str) -> _Reader:
    if isinstance(of, Systems):
        extent = len(of), of.decode_length.shape[1], int(of.longest_decode.max())
    elif isinstance(of, System):
        extent = 1, len(of.workload.classes), of.workload.longest_decode
    elif isinstance(of, MassModel) and of.weights.ndim == 2:
        extent = 1, len(of.weights), of.weights.shape[1]
    else:
        raise InputError("system", of, "a System, Systems, or the MassModel of one system")
    return _Reader(of, isinstance(of, Systems), *extent, argument)


def _read(reader: _Reader, start: ArrayLike, *, full: bool) -> States:
    states = _by_shape(reader, start)
    model = reader.model(by_class=states.by_class)
    _check_masses(reader, model, states)
    _check_memory(reader, model, states, full=full)
    return states


def _by_shape(reader: _Reader, start: ArrayLike) -> States:
    """The rule at the top of the file."""
    stages = reader.stages
    try:
        masses = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(reader.argument, start, reader.shapes()) from None
    wrong = InputError(reader.argument, f"shape {masses.shape}", reader.shapes())
    if not masses.size or not 1 <= masses.ndim <= (4 if reader.many else 3):
        raise wrong
    # A part of many systems may be shorter than the starts of all of them.
    beyond = masses[..., stages:]
    if masses.shape[-1] < stages or beyond.any() or (beyond.size and not reader.many):
        raise wrong
    masses = masses[..., :stages]
    if not reader.many:
        one_state = masses.ndim == 2 and _is_one_state(reader, masses)
        masses = masses[None] if one_state or masses.ndim == 3 else masses
        masses = masses[None] if one_state else masses
    masses = masses if masses.ndim == 4 else masses[..., None, :]
    masses = masses.reshape((1,) * (4 - masses.ndim) + masses.shape)
    if len(masses) not in (1, reader.systems) or masses.shape[2] not in (1, reader.classes):
        raise wrong
    return States(masses, by_class=masses.shape[2] == reader.classes)


def _is_one_state(reader: _Reader, table: Float[np.ndarray, "row stage"]) -> bool:
    """It has a row for each class, and these are not all cohort masses that hold the capacity."""
    if len(table) != reader.classes or reader.classes == 1:
        return False
    model = reader.model(by_class=False)
    with np.errstate(invalid="ignore"):
        off = table @ model.weights[0, 0] - model.capacity[0, 0]
        starts = model.capacity.size == 1 and np.all(np.abs(off) <= _rounding(model)[0])
    return not starts


def _check_masses(reader: _Reader, model: MassModel, states: States) -> None:
    masses = states.masses
    bad = np.any(~(np.isfinite(masses) & (masses >= 0)), axis=(2, 3))
    if bad.any():
        value, allowed = "a negative or non-finite mass", "finite masses of at least 0"
        raise reader.refusal(value, allowed, bad)
    beyond = np.any((masses > 0) & (model.weights == 0)[:, None], axis=(2, 3))
    if beyond.any():
        allowed = f"0 at stages of at least l1{reader.hint(states)}"
        raise reader.refusal("mass beyond a decode length", allowed, beyond)


def _check_memory(reader: _Reader, model: MassModel, states: States, *, full: bool) -> None:
    """At or below capacity, or just full, up to the rounding of this sum."""
    used = np.einsum("nbks,nks->nb", states.masses, model.weights)
    limit = model.capacity
    if limit.shape[1] > 1 and used.shape[1] not in (1, limit.shape[1]):
        value, allowed = f"{used.shape[1]} trajectories", f"{limit.shape[1]}, as capacities"
        raise InputError(reader.argument, value, allowed)
    used, limit = np.broadcast_arrays(used, limit)
    off = np.abs(used - limit) if full else used - limit
    bad = off > _rounding(model)
    if not bad.any():
        return
    at = _worst(bad, off)
    capacity = f"{limit[at]:.17g} tokens"
    if full:
        scale = limit[at] / used[at] if used[at] > 0 else np.nan
        value = f"memory {used[at] - limit[at]:+.6g} tokens off the boundary"
        allowed = f"memory equal to the capacity, {capacity}; masses times {scale:.17g} are on it"
    else:
        value, allowed = f"memory {used[at]:.17g} tokens", f"at most {capacity}"
        allowed += reader.hint(states)
    raise reader.refusal(value, allowed, bad, off)


def _worst(
    bad: Bool[np.ndarray, "system batch"], size: Float[np.ndarray, "system batch"] | None
) -> tuple[int, int]:
    system = int(bad.any(axis=1).argmax())
    return system, int((bad if size is None else np.where(bad, size, -np.inf))[system].argmax())


def _rounding(model: MassModel) -> Float[np.ndarray, "system batch"]:
    """What rounding the masses and the sum of memory can do to a start on the boundary."""
    _, rows, stages = model.weights.shape
    return (rows * stages + 2) * _EPS * model.capacity


def _gathered(reader: _Reader, states: States) -> Float[np.ndarray, "system batch stage"]:
    """y_s = sum of x_ks / sum of p_k, over the classes that have the stage."""
    shares = _shares(reader.model(by_class=True))
    total = shares.sum(axis=1)
    cohorts = states.masses.sum(axis=2) / np.where(total > 0, total, 1.0)[:, None]
    right = cohorts[:, :, None] * shares[:, None]
    off = np.any(np.abs(states.masses - right) > ON_MANIFOLD * right, axis=(2, 3))
    if off.any():
        value = "classes out of proportion to their shares"
        allowed = (
            "cohort masses y_s, or masses of classes that are p_k y_s, as every trajectory has "
            f"after d = {reader.stages} iterations{reader.hint(states)}"
        )
        raise reader.refusal(value, allowed, off)
    return cohorts


def _shares(model: MassModel) -> Float[np.ndarray, "system class stage"]:
    """p_k at the stages that class k has."""
    return np.where(model.weights > 0, model.shares[..., None], 0.0)
