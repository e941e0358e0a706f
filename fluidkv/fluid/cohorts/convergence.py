"""Which starts return to the eviction-free equilibrium, when, and what the others do: in batches.

Local stability is about a neighbourhood of the equilibrium; this is about all states. Mixed
workloads are followed on the cohort manifold, which every trajectory enters within d iterations
(Congestion, Lemma 9), so that a state is one mass for each cohort age. `following` has the loops.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.cohorts.eviction_free import Rule, rule_of
from fluidkv.fluid.cohorts.looks import NEVER, REPEATS_WITHIN
from fluidkv.fluid.cohorts.parts import (
    in_threads,
    longest_of,
    masses_of,
    parts_of,
    shares_of,
    tables_of,
)
from fluidkv.fluid.results import dataset_over, one_or_many
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.fluid.cohorts.following import Ends, Rules
    from fluidkv.fluid.cohorts.lanes import Tables

RETURNED = "returned"
"""What `convergence` says of a start that returned to the equilibrium.

>>> from fluidkv.fluid import RETURNED
>>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
>>> found = fk.convergence(system, [[47, 0, 0]], iterations=600)
>>> RETURNED, found.outcome.item() == RETURNED
('returned', True)
"""
PERIODIC = "periodic"
NOT_SETTLED = "not settled"
"""What `convergence` says of a start that neither returned nor cycles within the horizon.

>>> from fluidkv.fluid import NOT_SETTLED
>>> slow = fk.System(fk.Workload.from_lengths([(65, 5), (65, 9)]), capacity=1000)
>>> found = fk.convergence(slow, [[10] + [0] * 8], iterations=60)
>>> NOT_SETTLED, found.outcome.item() == NOT_SETTLED
('not settled', True)
"""

_LONGEST_PERIOD = 512


class _Found(NamedTuple):
    """Results of trajectories, (system, batch, ...)."""

    outcome: np.ndarray
    settled: Int[np.ndarray, "system batch"]
    last_eviction: Int[np.ndarray, "system batch"]
    evicted: Float[np.ndarray, "system batch"]
    period: Int[np.ndarray, "system batch"]
    deviation: Float[np.ndarray, "system batch"]
    final_state: Float[np.ndarray, "system batch stage"]


_ABOUT: dict[str, tuple[str, str]] = {
    "outcome": ("1", "what became of the start"),
    "settled": ("iteration", "first look that found it free of evictions for good; -1: none"),
    "last_eviction": ("iteration", "last iteration whose execution left memory full; 0: none"),
    "evicted": ("request", "requests evicted up to the last look"),
    "period": ("iteration", "period; 0: not periodic, or longer than 512"),
    "deviation": ("1", "largest relative deviation of a cohort from x* at the end"),
    "final_state": ("request", "cohort masses at the end"),
}


def convergence(
    systems: System | Systems | Sequence[System],
    starts: ArrayLike,
    *,
    iterations: int = 50_000,
    radius: float | None = None,
) -> xr.Dataset:
    """Follow each start until it has returned to the eviction-free equilibrium, or cycles.

    A start has returned when no eviction can come any more: from there the deviation moves by a
    linear map and dies out. By default its modes say so (`stable_modes`), or where they cannot be
    told apart a cube about the equilibrium (`eviction_free_radius`). These are statements about
    floats; a start that lies exactly on an unstable cycle may leave it by rounding.

    Args:
        systems: any number of classes; one, or many.
        starts: memory at or below capacity, from `uniform_starts`, `perturbed_starts`,
            `fluidkv.fluid.boundary` or elsewhere: cohort masses (batch, stage), units of
            admission, or masses of classes in proportion to their shares (batch, class, stage);
            for many systems with `system` before, 0 beyond a system's own stages.
        iterations: the horizon, at least 1; rounded up to a multiple of 60.
        radius: returned is instead that |y_s / x* - 1| is at most this at all ages, in (0, 1); for
            a neighbourhood that has a certificate of its own.

    Returns:
        A dataset, index order (system, batch, stage), `system` only where there are many:
            outcome (batch): "returned", "periodic" (the state repeats itself, to 1e-12 of
                capacity) or "not settled" (within the horizon).
            settled (batch): iterations to the first look, one in 60 iterations, that found the
                start free of evictions for good; -1 if none did.
            last_eviction (batch): the last iteration whose execution left memory full, so that
                nothing was admitted; 0 if none. That is an eviction, or an exact tie.
            evicted (batch): requests evicted on the way, up to the last look.
            period (batch): iterations; 0 where not periodic or longer than 512.
            deviation (batch): largest relative deviation of a cohort from x*, at the end.
            final_state (batch, stage): cohort masses at the end.
        Attributes, or of many systems variables (system): rule ("modes", "radius" or "none": where
            the equilibrium is not stable, or so nearly neutral that floats cannot tell, no start
            returns), radius (nan unless that is the rule). Attribute: iterations.

    Raises:
        InputError: starts of the wrong shape, negative or above capacity; iterations below 1; a
            radius outside of (0, 1).

    Source: Congestion, Theorem 3 (2) and Theorem 22.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> found = fk.convergence(system, [[47, 0, 0]], iterations=600)
        >>> found.outcome.item(), found.settled.item(), round(found.evicted.item(), 2)
        ('returned', 60, 1.55)
    """
    of = one_or_many(systems)
    masses = cohort_states(of, starts, argument="start")
    masses = masses if isinstance(of, Systems) else masses[None]
    _check_rule(iterations, radius)
    longest = longest_of(of)
    found, rules = [], []
    for part, chosen in parts_of(of, longest * (2 * longest + 4 * masses.shape[1])):
        tables = tables_of(chosen, longest)
        own = _rules(tables, radius)
        found.append(_part(tables, own, masses[part], int(iterations)))
        rules += own
    all_of = _Found(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    columns: dict[str, Column] = {
        name: ("stage" if name == "final_state" else (), values, *_ABOUT[name])
        for name, values in all_of._asdict().items()
    }
    names = [rule.name for rule in rules]
    radii = [np.nan if rule.radius is None else rule.radius for rule in rules]
    if not isinstance(of, Systems):
        about = {"rule": names[0], "radius": radii[0]}
        return dataset_over(of, columns, iterations=int(iterations), **about)
    table: dict[str, Column] = {
        "rule": ((), np.array(names), "1", "how it is known that no eviction comes"),
        "radius": ((), np.array(radii), "1", "relative deviation from which none comes; NaN: none"),
    }
    return dataset_over(of, columns, table, iterations=int(iterations))


def _check_rule(iterations: int, radius: float | None) -> None:
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, "an integer of at least 1")
    if radius is not None and not 0 < radius < 1:
        raise InputError("radius", radius, "a number in (0, 1)")


def _rules(tables: "Tables", radius: float | None) -> list[Rule]:
    """Of each system; those that differ in capacity alone share one."""
    if radius is not None:
        return [Rule(None, float(radius))] * len(tables.ages)
    known: dict[bytes, Rule] = {}
    found = []
    for ages, weights in zip(tables.ages, tables.weights, strict=True):
        own = weights[:ages]
        if own.tobytes() not in known:
            known[own.tobytes()] = rule_of(own)
        found.append(known[own.tobytes()])
    return found


def _packed(rules: list[Rule], longest: int) -> "Rules":
    """As the loops take them; modes with large parts first, which are the first to say no."""
    from fluidkv.fluid.cohorts.following import Rules

    parts = np.zeros((len(rules), longest, longest), np.complex128)
    most = np.zeros(len(rules), np.int64)
    for i, rule in enumerate(rules):
        if rule.modes is not None:
            own = rule.modes.parts
            order = np.argsort(-np.abs(own).max(axis=1), kind="stable")
            most[i] = len(own)
            parts[i, : len(own), : len(own)] = own[order]
    radius = np.array([np.nan if rule.radius is None else rule.radius for rule in rules])
    return Rules(radius, most, np.ascontiguousarray(parts.real), np.ascontiguousarray(parts.imag))


def _part(
    tables: "Tables",
    rules: list[Rule],
    masses: Float[np.ndarray, "system batch stage"],
    horizon: int,
) -> _Found:
    shape, longest = masses.shape[:2], masses.shape[2]
    ends = _followed(tables, _packed(rules, longest), shares_of(tables, masses), shape[1], horizon)
    period = np.zeros(len(ends.settled), np.int64)
    held = np.flatnonzero(ends.settled == NEVER)
    if held.size:
        period[held] = _periods(tables, ends.shares, shape[1], held)
    final = masses_of(tables, ends.shares)
    held_units = np.einsum("nbs,ns->nb", final - masses, tables.alive * tables.weights)
    lost = ends.lost.reshape(shape) * tables.capacity[:, None] - held_units
    evicting = ends.last_full.reshape(shape) > 0
    here = tables.weights > 0
    relative = np.abs(
        ends.shares.reshape(masses.shape) / np.where(here, tables.equilibrium, 1.0)[:, None] - 1.0
    )
    which = [ends.settled != NEVER, period > 0]
    return _Found(
        outcome=np.select(which, [RETURNED, PERIODIC], NOT_SETTLED).reshape(shape),
        settled=ends.settled.reshape(shape),
        last_eviction=ends.last_full.reshape(shape),
        evicted=np.where(evicting, np.maximum(lost, 0.0), 0.0),
        period=period.reshape(shape),
        deviation=np.where(here[:, None], relative, 0.0).max(axis=2),
        final_state=final,
    )


def _followed(
    tables: "Tables",
    rules: "Rules",
    shares: Float[np.ndarray, "trajectory age"],
    batch: int,
    horizon: int,
) -> "Ends":
    from fluidkv.fluid.cohorts.following import Ends, follow

    count = len(shares)
    ends = Ends(
        shares=shares,
        last_full=np.zeros(count, np.int32),
        lost=np.zeros(count),
        settled=np.full(count, NEVER, np.int32),
        repeated=np.zeros(count, np.bool_),
    )
    in_threads(lambda lanes: follow(tables, rules, batch, lanes, horizon, ends), count)
    return ends


def _periods(
    tables: "Tables",
    shares: Float[np.ndarray, "trajectory age"],
    batch: int,
    held: Int[np.ndarray, " lane"],
) -> Int[np.ndarray, " lane"]:
    """The smallest number of iterations after which each state repeats itself; 0 if none is."""
    from fluidkv.fluid.cohorts.following import Returns, watch

    count = len(shares)
    returns = Returns(np.zeros(count, np.int64), np.zeros(count), np.zeros(count))
    within = np.full(tables.weights.shape, REPEATS_WITHIN)

    def group(lanes: np.ndarray) -> None:
        watch(tables, batch, held[lanes], shares, within, _LONGEST_PERIOD, returns)

    in_threads(group, held.size)
    return returns.period[held]
