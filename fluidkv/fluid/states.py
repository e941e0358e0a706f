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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel, class_model, cohort_model
from fluidkv.systems import Systems
from fluidkv.workload import System

_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 2**22  # numbers checked at a time: 32 MB

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
    return _read(_owner(of), start, argument, _check_fits)


def class_states(
    of: System | MassModel, start: ArrayLike, *, argument: str = "start"
) -> Float[np.ndarray, "batch class stage"]:
    """As `read_states` of one system, as masses of classes."""
    owner = _owner(of)
    states = _read(owner, start, argument, _check_fits)
    return spread(owner.model(slice(0, 1), True), states)[0]


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
    owner = _owner(of)
    states = _read(owner, start, argument, _check_full if full else _check_fits)
    if states.by_class and owner.classes > 1:
        found = np.zeros((owner.count or 1, states.masses.shape[1], owner.stages))
        for part, block in _blocks(owner, states):
            model = owner.model(part, True)
            cohorts = _gathered(model, block, argument, _Place(owner, part))
            found[part, :, : cohorts.shape[-1]] = cohorts
    else:
        found = states.masses[:, :, 0]
    if owner.count is None:
        return found[0]
    return np.broadcast_to(found, (owner.count, *found.shape[1:]))


def spread(model: MassModel, states: States) -> Float[np.ndarray, "system batch class stage"]:
    """Masses of classes, x_ks = p_k y_s where they are of cohorts; `model`: classes of systems."""
    stages = model.weights.shape[-1]
    masses = states.masses[..., :stages]
    if states.by_class:
        return masses
    return masses * np.where(model.weights > 0, model.shares[..., None], 0.0)[:, None]


@dataclass(frozen=True)
class _Owner:
    """Whose starts they are.

    Fields:
        count: number of systems; None is one system, whose starts have no axis for it.
        models: of a part of the systems, by class or by cohort, with a leading axis of systems.
    """

    count: int | None
    classes: int
    stages: int
    models: Callable[[slice, bool], MassModel]

    def model(self, part: slice, by_class: bool) -> MassModel:
        """Capacity is (system, batch), or (system, 1) where all starts share it."""
        model = self.models(part, by_class)
        capacity = model.capacity
        return replace(model, capacity=capacity[:, None] if capacity.ndim == 1 else capacity)


class _Place(NamedTuple):
    """Where a block of starts lies, to say which one is meant."""

    owner: _Owner
    part: slice

    def of(self, bad: np.ndarray, size: np.ndarray | None = None) -> tuple[tuple[int, int], str]:
        """The first bad system and its first bad start, or that of the largest size; in words."""
        system = int(bad.any(axis=1).argmax())
        start = int((bad if size is None else np.where(bad, size, -np.inf))[system].argmax())
        if self.owner.count is None:
            return (system, start), f"trajectory {start}"
        return (system, start), f"system {self.part.start + system}, start {start}"


def _owner(of: System | Systems | MassModel) -> _Owner:
    if isinstance(of, Systems):
        return _Owner(
            count=len(of),
            classes=of.decode_length.shape[1],
            stages=int(of.longest_decode.max()),
            models=lambda part, by_class: (class_model if by_class else cohort_model)(of[part]),
        )
    if isinstance(of, System):
        return _Owner(
            count=None,
            classes=len(of.workload.classes),
            stages=of.workload.longest_decode,
            models=lambda _, by_class: _lifted((class_model if by_class else cohort_model)(of)),
        )
    if not isinstance(of, MassModel) or of.weights.ndim != 2:
        raise InputError("system", of, "a System, Systems, or the MassModel of one system")
    return _Owner(
        count=None,
        classes=of.weights.shape[0],
        stages=of.weights.shape[1],
        models=lambda _, by_class: _lifted(of if by_class else _of_cohorts(of)),
    )


def _lifted(model: MassModel) -> MassModel:
    return jax.tree.map(lambda values: values[None], model)


def _of_cohorts(model: MassModel) -> MassModel:
    """All classes of a model as one row."""
    return MassModel(
        weights=(model.shares @ model.weights)[None],
        survival=(model.shares @ model.survival)[None],
        shares=np.ones(1),
        capacity=model.capacity,
    )


def _read(
    owner: _Owner,
    start: ArrayLike,
    argument: str,
    check_memory: Callable[[MassModel, States, str, _Place], None],
) -> States:
    states = _by_shape(owner, start, argument)
    for part, block in _blocks(owner, states):
        place = _Place(owner, part)
        model = owner.model(part, block.by_class)
        _check_numbers(block, argument, place)
        _check_stages(model, block, argument, place)
        check_memory(model, block, argument, place)
    return states


def _by_shape(owner: _Owner, start: ArrayLike, argument: str) -> States:
    """The rule at the top of the file."""
    one = owner.count is None
    classes, stages = owner.classes, owner.stages
    shapes = _shapes(owner)
    try:
        masses = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(argument, start, f"masses of shape {shapes}") from None
    wrong = InputError(argument, f"shape {masses.shape}", f"masses of shape {shapes}")
    if not masses.size or not 1 <= masses.ndim <= (3 if one else 4):
        raise wrong
    # A part of many systems may be shorter than the starts of all of them.
    if masses.shape[-1] != stages and (one or masses.shape[-1] < stages):
        raise wrong
    if masses.shape[-1] > stages:
        if masses[..., stages:].any():
            raise wrong
        masses = masses[..., :stages]
    if one:
        return _of_one(owner, masses, wrong)
    if masses.ndim == 4 and masses.shape[2] not in (1, classes):
        raise wrong
    by_class = masses.ndim == 4 and masses.shape[2] == classes
    masses = masses if masses.ndim == 4 else masses[..., None, :]
    masses = masses.reshape((1,) * (4 - masses.ndim) + masses.shape)
    if len(masses) not in (1, owner.count):
        raise wrong
    return States(masses, by_class)


def _shapes(owner: _Owner) -> str:
    if owner.count is None and owner.classes == 1:
        return f"({owner.stages},), one a stage, or a batch of them"
    cohorts, classes = f"batch, {owner.stages}", f"batch, {owner.classes}, {owner.stages}"
    if owner.count is None:
        return f"({cohorts}), of cohorts, or ({classes}), by class"
    what = f"(system, {cohorts}), of cohorts, or (system, {classes}), by class"
    return f"{what}, of {owner.count} systems"


def _of_one(owner: _Owner, masses: np.ndarray, wrong: InputError) -> States:
    classes = owner.classes
    if masses.ndim == 3:
        if masses.shape[1] not in (1, classes):
            raise wrong
        return States(masses[None], by_class=masses.shape[1] == classes)
    table = np.atleast_2d(masses)
    if masses.ndim == 1 or len(table) != classes or classes == 1:
        return States(table[None, :, None], by_class=classes == 1)
    model = owner.model(slice(0, 1), False)
    off = table @ model.weights[0, 0] - model.capacity[0]
    with np.errstate(invalid="ignore"):
        starts = model.capacity.size == 1 and np.all(np.abs(off) <= _rounding(model))
    return States(table[None, :, None] if starts else table[None, None], by_class=not starts)


def _blocks(owner: _Owner, states: States) -> Iterator[tuple[slice, States]]:
    count = owner.count or 1
    _, batch, rows, stages = states.masses.shape
    size = max(1, _BLOCK // max(batch * rows * stages, owner.classes * stages))
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        yield part, states.part(part)


def _check_numbers(states: States, argument: str, place: _Place) -> None:
    good = np.isfinite(states.masses) & (states.masses >= 0)
    if not good.all():
        _, where = place.of(np.any(~good, axis=(2, 3)))
        raise InputError(
            argument, f"a negative or non-finite mass ({where})", "finite masses of at least 0"
        )


def _check_stages(model: MassModel, states: States, argument: str, place: _Place) -> None:
    stages = model.weights.shape[-1]
    masses = states.masses
    beyond = np.any(masses[..., stages:], axis=(2, 3))
    missing = (masses[..., :stages] > 0) & (model.weights == 0)[:, None]
    if beyond.any() or missing.any():
        _, where = place.of(beyond | np.any(missing, axis=(2, 3)))
        raise InputError(
            argument,
            f"mass beyond a decode length ({where})",
            f"0 at stages of at least l1{_hint(place.owner, states)}",
        )


def _check_fits(model: MassModel, states: States, argument: str, place: _Place) -> None:
    used, limit = _memory(model, states.masses), model.capacity
    if limit.shape[1] > 1 and used.shape[1] not in (1, limit.shape[1]):
        allowed = f"{limit.shape[1]}, as capacities"
        raise InputError(argument, f"{used.shape[1]} trajectories", allowed)
    # A start on the boundary may exceed it by the rounding of this sum.
    over = used > limit + _rounding(model)
    if over.any():
        at, where = place.of(over, used - limit)
        raise InputError(
            argument,
            f"memory {used[at]:.17g} tokens ({where})",
            f"at most {np.broadcast_to(limit, used.shape)[at]:.17g} tokens"
            f"{_hint(place.owner, states)}",
        )


def _check_full(model: MassModel, states: States, argument: str, place: _Place) -> None:
    used, limit = _memory(model, states.masses), model.capacity
    off = used - limit
    bad = np.abs(off) > _rounding(model)
    if bad.any():
        at, where = place.of(bad, np.abs(off))
        capacity = float(np.broadcast_to(limit, used.shape)[at])
        scale = capacity / used[at] if used[at] > 0 else np.nan
        raise InputError(
            argument,
            f"memory {off[at]:+.6g} tokens off the boundary ({where})",
            f"memory equal to the capacity, {capacity:.17g} tokens; masses times {scale:.17g} are "
            "on it",
        )


def _memory(model: MassModel, masses: np.ndarray) -> Float[np.ndarray, "system batch"]:
    stages = model.weights.shape[-1]
    return np.einsum("nbks,nks->nb", masses[..., :stages], model.weights)


def _rounding(model: MassModel) -> np.ndarray:
    """What rounding the masses and the sum of memory can do to a start on the boundary."""
    _, rows, stages = model.weights.shape
    return (rows * stages + 2) * _EPS * model.capacity


def _hint(owner: _Owner, states: States) -> str:
    """A table that has been taken for one state may have been meant as starts."""
    one_table = owner.count is None and states.by_class and states.masses.shape[1] == 1
    if not one_table or owner.classes == 1:
        return ""
    shape = f"({owner.classes}, {owner.stages})"
    return f"; masses of shape {shape} are one state, starts of cohorts are (batch, 1, stage)"


def _gathered(
    model: MassModel, states: States, argument: str, place: _Place
) -> Float[np.ndarray, "system batch stage"]:
    """y_s = sum of x_ks / sum of p_k, over the classes that have the stage."""
    stages = model.weights.shape[-1]
    masses = states.masses[..., :stages]
    shares = np.where(model.weights > 0, model.shares[..., None], 0.0)
    total = shares.sum(axis=1)
    cohorts = masses.sum(axis=2) / np.where(total > 0, total, 1.0)[:, None]
    right = cohorts[:, :, None] * shares[:, None]
    off = np.abs(masses - right) > ON_MANIFOLD * right
    if off.any():
        _, where = place.of(np.any(off, axis=(2, 3)))
        raise InputError(
            argument,
            f"classes out of proportion to their shares ({where})",
            "cohort masses y_s, or masses of classes that are p_k y_s, as every trajectory has "
            f"after d = {place.owner.stages} iterations{_hint(place.owner, states)}",
        )
    return cohorts
