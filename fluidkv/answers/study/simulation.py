"""The mass model from perturbed starts, and which of them end in the worst case."""

from dataclasses import dataclass
from typing import Annotated

import jax
import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import StabilityResult
from fluidkv.fluid import (
    MassModel,
    cohort_model,
    empty_state,
    mode_starts,
    perturbed_starts,
    simulate,
)
from fluidkv.labels import dataset
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.runs.precision import random_key
from fluidkv.workload import System

# Relative deviations of the cohorts from the equilibrium: along the leading mode, and noise.
_MODE_SIZES = (0.01, 0.10)
_NOISE = 0.10
_STARTS_EACH = 8
# Stage updates in one study: about two seconds on two cores (benchmarks/engine.py).
_STAGE_UPDATES = 400_000_000
_WINDOWS = 1000  # points in time that are recorded: short systems are seen at every iteration
# Likewise of a horizon that the caller sets: some five minutes on two cores. An iteration of few
# stages costs as much as one of this many, in overhead.
_MOST_UPDATES, _LEAST_STEP = 20_000_000_000, 500


@dataclass(frozen=True)
class StartGroup(Answer):
    """What became of starts of one kind within the horizon.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> group = fk.study_system(system, iterations=40).simulation.groups[0]
        >>> group.name, group.starts, group.evicting, round(group.throughput, 2)
        ('leading mode, 1%', 8, 8, 0.83)
    """

    name: Annotated[str, Described("kind of start")]
    starts: Annotated[int, Described("how many")]
    evicting: Annotated[int, Described("how many of them evicted anything")]
    first_eviction: Annotated[
        int | None,
        Described(
            "median, over those, of the end of the first window with an eviction; null if none "
            "evicted",
            unit="iterations",
        ),
    ]
    throughput: Annotated[
        float,
        Described("completions in the second half, over the equilibrium's", kind="share"),
    ]
    evicted_per_completed: Annotated[
        float | None,
        Described("in the second half; null if none completed", kind="number"),
    ]
    in_flight: Annotated[
        tuple[float, float],
        Described(
            "[lowest, highest] requests running in the second half, over the equilibrium's",
            kind="share",
            lists=1,
        ),
    ]


@dataclass(frozen=True, eq=False)
class Simulation(Answer):
    """The mass model from perturbed starts.

    Fields:
        trajectories: dataset with dimensions batch and iteration (ends of windows): in_flight,
            completed and evicted, all relative to the equilibrium; empty_stages, a count;
            coordinate `start` on batch.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> answer = fk.study_system(system, iterations=40).simulation
        >>> [group.name for group in answer.groups], answer.iterations
        (['leading mode, 1%', 'leading mode, 10%', 'noise, 10%', 'cold start, empty'], 40)
        >>> dict(answer.trajectories.sizes)
        {'batch': 25, 'iteration': 40}
    """

    iterations: Annotated[int, Described("the horizon", unit="iterations")]
    seed: Annotated[int, Described("of the noise")]
    groups: Annotated[
        tuple[StartGroup, ...],
        Described("one summary for each kind of start", key="starts", lists=1),
    ]
    trajectories: xr.Dataset

    @described("how it is known: `sampled`")
    def evidence(self) -> str:
        """Starts are drawn."""
        return "sampled"


@dataclass(frozen=True)
class Collapse(Answer):
    """Which starts of one kind reached the worst case: a single stage holds all requests."""

    name: Annotated[str, Described("kind of start")]
    starts: Annotated[int, Described("how many")]
    reached: Annotated[int, Described("how many of them were there, within the horizon")]
    iteration: Annotated[
        int | None,
        Described(
            "median, over those, of the end of the first window in which they are there; null if "
            "none is. Once there, they stay (Lemma A.3)",
            unit="iterations",
        ),
    ]


def check_horizon(iterations: int, longest: int) -> None:
    """Refuse a horizon below 1, or one that takes many minutes where outputs are so long."""
    batch = _STARTS_EACH * (len(_MODE_SIZES) + 1) + 1
    most = _MOST_UPDATES // max(batch * longest, _LEAST_STEP)
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, f"a whole number from 1 to {most}")
    if iterations > most:
        allowed = f"1 to {most} where the longest output has {longest} tokens (minutes)"
        raise InputError("iterations", iterations, allowed)


def simulate_starts(
    system: System, proof: StabilityResult, iterations: int | None, seed: int
) -> Simulation:
    """The mass model from starts along the leading mode, with noise, and from an empty server.

    Args:
        proof: the verdict about the system.
        iterations: the horizon, which `check_horizon` has seen; None: 40 longest lifetimes or less.
        seed: of the noise.
    """
    model = cohort_model(system)
    kinds = _starts(model, proof, random_key(seed))
    labels = np.repeat(list(kinds), [len(starts) for starts in kinds.values()])
    batch = np.concatenate(list(kinds.values()))
    horizon = iterations or _horizon(len(batch), system.workload.longest_decode)
    every = max(1, horizon // _WINDOWS)
    horizon -= horizon % every
    data = simulate(
        model,
        batch,
        iterations=horizon,
        record=("completed", "evicted", "in_flight", "empty_stages"),
        every=every,
    )
    rate, in_flight = float(proof.equilibrium.rate), float(proof.equilibrium.in_flight)
    data = data.isel({"class": 0}, drop=True)
    each = ("batch", "iteration")
    of_best = "relative to the equilibrium"
    trajectories = dataset(
        {
            "completed": (each, data.completed / (rate * every), "1", f"completed, {of_best}"),
            "evicted": (each, data.evicted / (rate * every), "1", f"evicted, {of_best}"),
            "in_flight": (each, data.in_flight / in_flight, "1", f"requests running, {of_best}"),
            "empty_stages": (each, data.empty_stages, "1", "stages without mass"),
        },
        {
            "start": ("batch", labels, "1", "kind of start"),
            "iteration": ("iteration", data.iteration, "iteration", "end of the window"),
        },
        system=system,
        seed=seed,
        every=every,
    )
    groups = tuple(_summarise(name, trajectories) for name in kinds)
    return Simulation(horizon, seed, groups, trajectories)


def _starts(model: MassModel, proof: StabilityResult, key: jax.Array) -> dict[str, np.ndarray]:
    """Name of the kind -> states [batch, class, stage]."""
    kinds = {}
    if proof.certificate.leading:
        root = complex(proof.certificate.leading[0].ball.mid())
        for size in _MODE_SIZES:
            starts = mode_starts(model, root, count=_STARTS_EACH, size=size)
            kinds[f"leading mode, {size:.0%}"] = starts
    starts = perturbed_starts(key, model, count=_STARTS_EACH, size=_NOISE)
    kinds[f"noise, {_NOISE:.0%}"] = starts
    kinds["cold start, empty"] = empty_state(model)[None]
    return kinds


def _horizon(batch: int, stages: int) -> int:
    """40 longest lifetimes, at least 1,000 iterations, within the budget of stage updates."""
    affordable = _STAGE_UPDATES // (batch * stages)
    return max(200, min(max(40 * stages, 1000), affordable))


def _summarise(name: str, trajectories: xr.Dataset) -> StartGroup:
    group = _of_kind(trajectories, name)
    late = group.isel(iteration=slice(group.sizes["iteration"] // 2, None))
    evicting, first = _reached(group, group.evicted.values > 0)
    completed = float(late.completed.sum())
    return StartGroup(
        name=name,
        starts=group.sizes["batch"],
        evicting=evicting,
        first_eviction=first,
        throughput=float(late.completed.mean()),
        evicted_per_completed=float(late.evicted.sum()) / completed if completed else None,
        in_flight=(float(late.in_flight.min()), float(late.in_flight.max())),
    )


def collapses(simulation: Simulation, stages: int) -> tuple[Collapse, ...]:
    """Which starts reached the worst case of `stages` decode stages, in the order of the groups."""
    kinds = []
    for group in simulation.groups:
        starts = _of_kind(simulation.trajectories, group.name)
        reached, first = _reached(starts, starts.empty_stages.values == stages - 1)
        kinds.append(Collapse(group.name, group.starts, reached, first))
    return tuple(kinds)


def _of_kind(trajectories: xr.Dataset, name: str) -> xr.Dataset:
    return trajectories.isel(batch=np.flatnonzero(trajectories.start.values == name))


def _reached(group: xr.Dataset, there: np.ndarray) -> tuple[int, int | None]:
    """How many starts have a window in which they are there, and the median end of the first one.

    Args:
        there: by start and window.
    """
    some = there.any(axis=1)
    first = group.iteration.values[there.argmax(axis=1)][some]
    return int(some.sum()), int(np.median(first)) if some.any() else None
