"""Which starts return to the eviction-free equilibrium, when, and what the others do: in batches.

Local stability is about a neighbourhood of the equilibrium; this is about all states. Mixed
workloads are followed on the cohort manifold, which every trajectory enters within d iterations
(Congestion, Lemma 9), so that a state is one mass for each cohort age (`following`).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.labels.lane import FREE, NEVER
from fluidkv.fluid.outcomes.eviction_free import rules_of
from fluidkv.fluid.outcomes.following import Trajectories, advance, cohorts_of, periods
from fluidkv.fluid.outcomes.results import dataset_over, one_or_many
from fluidkv.fluid.states import cohort_states
from fluidkv.labels import Column
from fluidkv.runs.checks import count
from fluidkv.systems import Systems
from fluidkv.workload import System

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

>>> from fluidkv.fluid.outcomes.convergence import NOT_SETTLED
>>> slow = fk.System(fk.Workload.from_lengths([(65, 5), (65, 9)]), capacity=1000)
>>> found = fk.convergence(slow, [[10] + [0] * 8], iterations=60)
>>> NOT_SETTLED, found.outcome.item() == NOT_SETTLED
('not settled', True)
"""

CHECK_EVERY = 60
"""Iterations between two looks at a trajectory: the resolution of `settled`. Divisible by many
periods, so that a short cycle shows after few looks.

>>> from fluidkv.fluid.outcomes.convergence import CHECK_EVERY
>>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
>>> found = fk.convergence(system, [[47, 0, 0]], iterations=600)
>>> CHECK_EVERY, found.settled.item() % CHECK_EVERY
(60, 0)
"""

_ROUND = 64
"""Looks at which a state is compared with the same earlier one: a cycle shows if its period divides
`CHECK_EVERY` times a number up to this."""

_REPEATS_WITHIN = 1e-12
"""Largest change of a memory share after a period that still counts as a repetition. A share is at
most 1 and is rounded at 1e-16; an attracting cycle whose multipliers are not nearly 1 is followed
to within a few hundred roundings. It is far below any radius of the equilibrium."""

_LONGEST_PERIOD = 512
_PART = 2**23
"""Numbers in the states and rules of the systems that are followed at a time."""


_ABOUT: dict[str, tuple[str | tuple[str, ...], str, str]] = {
    "outcome": ((), "1", "what became of the start"),
    "settled": ((), "iteration", "first look that found it free of evictions for good; -1: none"),
    "last_eviction": ((), "iteration", "last iteration whose execution left memory full; 0: none"),
    "evicted": ((), "request", "requests evicted up to the last look"),
    "period": ((), "iteration", "period; 0: not periodic, or longer than 512"),
    "deviation": ((), "1", "largest relative deviation of a cohort from x* at the end"),
    "final_state": ("stage", "request", "cohort masses at the end"),
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
    linear map and dies out. By default its modes say so, or where they cannot be told apart a
    cube about the equilibrium (`eviction_free.rule_of`). These are statements about
    floats; a start that lies exactly on an unstable cycle may leave it by rounding.

    Args:
        systems: any number of classes; one, or many.
        starts: memory at or below capacity, from `uniform_starts`, `perturbed_starts`,
            `fluidkv.fluid.starts` or elsewhere: cohort masses (batch, stage), units of
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
    count("iterations", iterations)
    if radius is not None and not 0 < radius < 1:
        raise InputError("radius", radius, "a number in (0, 1)")
    ends, rules = [], []
    for part, chosen in _parts(of, masses.shape):
        these = cohorts_of(chosen, masses.shape[1])
        own, looks = rules_of(these.weights, radius)
        ends.append(_followed(these, looks, masses[part], int(iterations)))
        rules += own
    columns: dict[str, Column] = {
        name: (dims, np.concatenate([found[name] for found in ends]), units, title)
        for name, (dims, units, title) in _ABOUT.items()
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


def _parts(
    of: System | Systems, shape: tuple[int, ...]
) -> Iterator[tuple[slice, System | Systems]]:
    """Systems one after the other, some tens of megabytes of states and rules at a time."""
    count, batch, stages = shape
    size = max(1, _PART // (stages * (2 * stages + 4 * batch)))
    for first in range(0, count, size):
        part = slice(first, first + size)
        yield part, of[part] if isinstance(of, Systems) else of


def _followed(
    these: Trajectories,
    rules: dict[str, np.ndarray],
    masses: Float[np.ndarray, "system batch stage"],
    horizon: int,
) -> dict[str, np.ndarray]:
    """Each trajectory to the first look that finds it free of evictions, or back where it was at
    the beginning of its round of looks, or to the horizon: variables (system, batch, ...)."""
    shape, start = masses.shape[:2], masses.reshape(-1, masses.shape[2])
    own = these.weights > 0
    # Of memory shares V_s y_s / M; stages that a system does not have hold nothing.
    within = _REPEATS_WITHIN * these.capacity[:, None] / np.where(own, these.weights, 1.0)
    every, moves = np.full(len(own), CHECK_EVERY), np.array([_ROUND])
    looks = rules | {"every": every, "moves": moves, "within": within, "best": these.best}
    most = CHECK_EVERY * -(-horizon // CHECK_EVERY)
    run = advance(these, start, most, **looks, mark=np.array(start))
    final, free = run.state[:, 0], run.ended == FREE
    others = np.flatnonzero(~free)
    period = np.zeros(len(start), np.int64)
    there = final[others]
    period[others] = periods(these.of(others), there, there, within, most=_LONGEST_PERIOD)
    off = np.where(own, 1.0, 0.0)[these.system] * (final / these.best[these.system, None] - 1.0)
    found = {
        "outcome": np.select([free, period > 0], [RETURNED, PERIODIC], NOT_SETTLED),
        "settled": np.where(free, run.iterations, NEVER).astype(np.int32),
        "last_eviction": run.last_full.astype(np.int32),
        "evicted": run.evicted,
        "period": period,
        "deviation": np.abs(off).max(axis=1),
        "final_state": final,
    }
    return {name: values.reshape(*shape, *values.shape[1:]) for name, values in found.items()}
