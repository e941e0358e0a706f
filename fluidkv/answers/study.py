"""The whole answer about one system: equilibrium, certified stability, perturbed starts, a log.

`study_system` computes; `StudyResult` holds plain values and xarray data. Printing is the command
line's, drawing is `fluidkv.figures`'.
"""

from dataclasses import dataclass

import jax
import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import InputScale, StabilityResult, stability
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.mixed.thresholds.threshold import InputThreshold
from fluidkv.exact.mixed.thresholds.tiers import tier_lengths, tier_sentence, tier_threshold
from fluidkv.exact.modes import GrowingModes, growing_modes
from fluidkv.exact.one_class.homogeneous import Homogeneous, homogeneous
from fluidkv.exact.survival import survival_weights
from fluidkv.fluid import (
    MassModel,
    cohort_model,
    empty_state,
    mode_starts,
    perturbed_starts,
    simulate,
)
from fluidkv.fluid.precision import random_key
from fluidkv.measured import Comparison, Measurement, compare
from fluidkv.traces import LoadReport
from fluidkv.verdict import Stability
from fluidkv.workload import System, Workload

# Relative deviations of the cohorts from the equilibrium: along the leading mode, and noise.
_MODE_SIZES = (0.01, 0.10)
_NOISE = 0.10
_STARTS_EACH = 8
# Stage updates in one study: about two seconds on two cores (benchmarks/engine.py).
_STAGE_UPDATES = 400_000_000
_WINDOWS = 1000  # points in time that are recorded: short systems are seen at every iteration
LONGEST_DECODE = 32_768
"""Decode length above which a study is refused: it would take many minutes."""
# Likewise of a horizon that the caller sets: some five minutes on two cores. An iteration of few
# stages costs as much as one of this many, in overhead.
_MOST_UPDATES, _LEAST_STEP = 20_000_000_000, 500
# Powers of two by which inputs are scaled in search of the boundary. Where a threshold is known to
# exist further up (coprime lengths d need about d^3 / 20 tokens), it is looked for that far.
_REACH, _REACH_COPRIME = 12, 36


@dataclass(frozen=True)
class StartGroup:
    """What became of starts of one kind within the horizon.

    Fields:
        name: the kind of start.
        starts: how many.
        evicting: how many of them evicted anything.
        first_eviction: median, over those, of the end of the first window with an eviction,
            iterations; None if none evicted.
        throughput: completions in the second half of the horizon, over the equilibrium's.
        evicted_per_completed: requests evicted for each one completed, in the second half; None
            if none completed.
        in_flight: (lowest, highest) requests running in the second half, over the equilibrium's.
    """

    name: str
    starts: int
    evicting: int
    first_eviction: int | None
    throughput: float
    evicted_per_completed: float | None
    in_flight: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Simulation:
    """The mass model from perturbed starts.

    Fields:
        iterations: the horizon.
        seed: of the noise.
        groups: one summary for each kind of start.
        trajectories: dataset with dimensions batch and iteration (ends of windows): in_flight,
            completed and evicted, all relative to the equilibrium; empty_stages, a count;
            coordinate `start` on batch.
    """

    iterations: int
    seed: int
    groups: tuple[StartGroup, ...]
    trajectories: xr.Dataset


@dataclass(frozen=True)
class Collapse:
    """Which starts of one kind reached the worst case: a single stage holds all requests.

    Fields:
        name: the kind of start.
        starts: how many.
        reached: how many of them, within the horizon.
        iteration: median, over those, of the end of the first window in which they are there;
            None if none is. Once there, they stay (Lemma A.3).
    """

    name: str
    starts: int
    reached: int
    iteration: int | None


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Everything `fluidkv study` reports.

    Fields:
        system: what was studied.
        stability: verdict and certificate, with the equilibrium.
        growing_modes: the modes that grow, each enclosed; a matter of the workload alone.
        input_scale: how far the boundary of stability is on the axis of input lengths.
        tier_threshold: stability at every common input length, for tiers; None where not known.
        simulation: what happens from perturbed starts.
        homogeneous: best and worst equilibrium, where all requests have the same lengths.
        collapses: which starts reached the worst one, in the order of the groups; empty where
            lengths differ.
        load_report: rows kept, changed and dropped, where the workload came from a file.
        comparison: prediction against measurement, where a log was given.
    """

    system: System
    stability: StabilityResult
    growing_modes: GrowingModes
    input_scale: InputScale
    tier_threshold: InputThreshold | None
    simulation: Simulation
    homogeneous: Homogeneous | None
    collapses: tuple[Collapse, ...]
    load_report: LoadReport | None
    comparison: Comparison | None

    @property
    def tier_sentence(self) -> str:
        """What the divisor of a few decode lengths means; empty where there are many, or one."""
        return tier_sentence(self.stability, self.input_scale, self.tier_threshold)

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON, under keys that stay."""
        workload, found = self.system.workload, self.stability
        threshold = self.tier_threshold
        scale, modes = self.input_scale, self.growing_modes
        answer: dict[str, object] = {
            "capacity": _plain(self.system.capacity),
            "gcd": found.decode_gcd,
            "workload": {
                "name": workload.name,
                "note": workload.note,
                "classes": len(workload.classes),
                "requests": workload.requests,
                "mean_input_length": float(workload.mean_input_length),
                "mean_decode_length": float(workload.mean_decode_length),
                "longest_decode_length": workload.longest_decode,
            },
            "equilibrium": {
                "rate": float(found.equilibrium.rate),
                "rate_exact": str(found.equilibrium.rate),
                "in_flight": float(found.equilibrium.in_flight),
                "in_flight_exact": str(found.equilibrium.in_flight),
            },
            "stability": {
                "verdict": str(found.verdict),
                "evidence": str(found.evidence),
                "reason": found.reason,
                "method": found.certificate.method,
                "spectral_radius": list(found.spectral_radius),
                "unstable_modes": found.unstable_modes,
                "neutral_modes": found.neutral_modes,
                "leading_period": found.leading_period,
                "folding_time": found.folding_time,
            },
            "growing_modes": {
                "count": modes.count,
                "enclosed": modes.enclosed,
                "complete": modes.complete,
                "status": str(modes.status),
                "modes": [
                    {
                        "multiplicity": mode.multiplicity,
                        "modulus": list(mode.modulus),
                        "period": mode.period,
                        "folding_time": mode.folding_time,
                    }
                    for mode in modes.modes
                ],
            },
            "boundary": {
                "stable_input_scale": _float(scale.stable),
                "unstable_input_scale": _float(scale.unstable),
                "complete": scale.complete,
            },
            "simulation": {
                "iterations": self.simulation.iterations,
                "seed": self.simulation.seed,
                "evidence": "sampled",
                "starts": [vars(group) for group in self.simulation.groups],
            },
        }
        tiers = tier_lengths(workload)
        if tiers:
            answer["tiers"] = {
                "decode_lengths": list(tiers),
                "persistent_modes": found.decode_gcd - 1,
                "least_stable_input": threshold.least if threshold else None,
                "sentence": self.tier_sentence,
            }
        if self.homogeneous is not None:
            starts = [vars(collapse) for collapse in self.collapses]
            answer["homogeneous"] = self.homogeneous.as_dict() | {"starts": starts}
        if self.load_report is not None:
            answer["load"] = self.load_report.as_dict()
        if self.comparison is not None:
            answer |= self.comparison.as_dict()
        return answer


def study_system(
    system: System,
    *,
    iterations: int | None = None,
    seed: int = 0,
    measurement: Measurement | None = None,
    load_report: LoadReport | None = None,
) -> StudyResult:
    """Certify the equilibrium, simulate perturbed starts, and hold the result against a log.

    Args:
        system: workload and capacity.
        iterations: horizon of the simulation; by default 40 times the longest decode length, less
            where that would take more than a few seconds.
        seed: of the perturbations.
        measurement: from `measure`, to compare with.
        load_report: from `read_trace`, carried into the result.

    Raises:
        InputError: a decode length above `LONGEST_DECODE`; `iterations` below 1, or so many that
            they would take many minutes.
    """
    longest = system.workload.longest_decode
    if longest > LONGEST_DECODE:
        raise InputError("decode_length", longest, f"at most {LONGEST_DECODE} tokens in a study")
    if iterations is not None:
        _check_horizon(iterations, longest)
    found = stability(system)
    comparison = None
    if measurement is not None:
        comparison = compare(measurement, float(found.equilibrium.in_flight), found.leading_period)
    simulation = _simulate(system, found, iterations, seed)
    alike = homogeneous(system)
    return StudyResult(
        system=system,
        stability=found,
        growing_modes=growing_modes(survival_weights(system.workload), found.certificate),
        input_scale=_input_scale(system.workload, found),
        tier_threshold=tier_threshold(system.workload),
        simulation=simulation,
        homogeneous=alike,
        collapses=() if alike is None else _collapses(simulation, alike.decode_length),
        load_report=load_report,
        comparison=comparison,
    )


def _input_scale(workload: Workload, found: StabilityResult) -> InputScale:
    threshold_above = found.verdict is Stability.UNSTABLE and found.decode_gcd == 1
    reach = _REACH_COPRIME if threshold_above else _REACH
    return input_scale(workload, reach=reach)


def _check_horizon(iterations: int, longest: int) -> None:
    batch = _STARTS_EACH * (len(_MODE_SIZES) + 1) + 1
    most = _MOST_UPDATES // max(batch * longest, _LEAST_STEP)
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise InputError("iterations", iterations, f"a whole number from 1 to {most}")
    if iterations > most:
        allowed = f"1 to {most} where the longest output has {longest} tokens (minutes)"
        raise InputError("iterations", iterations, allowed)


def _simulate(
    system: System, found: StabilityResult, iterations: int | None, seed: int
) -> Simulation:
    model = cohort_model(system)
    kinds = _starts(model, found, random_key(seed))
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
    rate, in_flight = float(found.equilibrium.rate), float(found.equilibrium.in_flight)
    data = data.isel({"class": 0}).drop_vars("final_state")
    trajectories = xr.Dataset(
        {
            "completed": data.completed / (rate * every),
            "evicted": data.evicted / (rate * every),
            "in_flight": data.in_flight / in_flight,
            "empty_stages": data.empty_stages,
        },
        attrs={"every": every},
    ).assign_coords(start=("batch", labels))
    groups = tuple(_summarise(name, trajectories) for name in kinds)
    return Simulation(horizon, seed, groups, trajectories)


def _starts(model: MassModel, found: StabilityResult, key: jax.Array) -> dict[str, np.ndarray]:
    """Name of the kind -> states [batch, class, stage]."""
    kinds = {}
    if found.certificate.leading:
        root = complex(found.certificate.leading[0].ball.mid())
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
    group = trajectories.isel(batch=np.flatnonzero(trajectories.start.values == name))
    late = group.isel(iteration=slice(group.sizes["iteration"] // 2, None))
    evicts = group.evicted.values > 0
    evicting = evicts.any(axis=1)
    first = group.iteration.values[evicts.argmax(axis=1)][evicting]
    completed = float(late.completed.sum())
    return StartGroup(
        name=name,
        starts=group.sizes["batch"],
        evicting=int(evicting.sum()),
        first_eviction=int(np.median(first)) if evicting.any() else None,
        throughput=float(late.completed.mean()),
        evicted_per_completed=float(late.evicted.sum()) / completed if completed else None,
        in_flight=(float(late.in_flight.min()), float(late.in_flight.max())),
    )


def _collapses(simulation: Simulation, stages: int) -> tuple[Collapse, ...]:
    return tuple(_collapse(g.name, simulation.trajectories, stages) for g in simulation.groups)


def _collapse(name: str, trajectories: xr.Dataset, stages: int) -> Collapse:
    group = trajectories.isel(batch=np.flatnonzero(trajectories.start.values == name))
    there = group.empty_stages.values == stages - 1
    reached = there.any(axis=1)
    first = group.iteration.values[there.argmax(axis=1)][reached]
    return Collapse(
        name=name,
        starts=len(there),
        reached=int(reached.sum()),
        iteration=int(np.median(first)) if reached.any() else None,
    )


def _plain(value) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _float(value) -> float | None:
    return None if value is None else float(value)
