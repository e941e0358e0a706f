"""One system, and a log of it where there is one, through every analysis."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fluidkv.answers.study.chance import Chance, Holding, chance
from fluidkv.answers.study.simulation import (
    Collapse,
    Simulation,
    check_horizon,
    collapses,
    simulate_starts,
)
from fluidkv.answers.study.swing import MeasuredSwing, measured_swing
from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import InputScale, StabilityResult, stability
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.mixed.thresholds.tiers import (
    TierThreshold,
    tier_lengths,
    tier_sentence,
    tier_threshold,
)
from fluidkv.exact.modes import GrowingModes, growing_modes
from fluidkv.exact.one_class.homogeneous import Homogeneous, homogeneous
from fluidkv.exact.survival import survival_weights
from fluidkv.measured import (
    Comparison,
    Measurement,
    Timeseries,
    compare_with_prediction,
    measure,
)
from fluidkv.plain import picked, with_exact
from fluidkv.record import Record
from fluidkv.traces.report import LoadReport
from fluidkv.verdict import Stability
from fluidkv.workload import System, Workload

if TYPE_CHECKING:
    import xarray as xr

LONGEST_DECODE = 32_768
"""Decode length above which a study is refused: it would take many minutes."""
# Powers of two by which inputs are scaled in search of the boundary. Where a threshold is known to
# exist further up (coprime lengths d need about d^3 / 20 tokens), it is looked for that far.
_REACH, _REACH_COPRIME = 12, 36


@dataclass(frozen=True, eq=False)
class StudyResult(Record):
    """Everything `fluidkv study` reports.

    Fields:
        system: what was studied.
        stability: verdict and certificate, with the equilibrium.
        growing_modes: the modes that grow, each enclosed; a matter of the workload alone.
        input_scale: how far the boundary of stability is on the axis of input lengths.
        tier_threshold: stability at every common input length, for tiers; or why it is not known.
        simulation: what happens from perturbed starts.
        chance: how far running swings by chance, and how often that evicts, as requests hold memory
            on this server.
        swing: whether the running requests of a log swing as chance does, where there was one.
        homogeneous: best and worst equilibrium, where all requests have the same lengths.
        collapses: which starts reached the worst one, in the order of the groups; empty where
            lengths differ.
        load_report: rows kept, changed and dropped, where the workload came from a file.
        comparison: prediction against measurement, where a log was given.
        series: counters of the engine, where there were some.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> answer = fk.study_system(system, iterations=40)
        >>> answer.stability.verdict.value, answer.growing_modes.modes[0].period
        ('unstable', 2.0)
        >>> answer.homogeneous.decode_length, [start.reached for start in answer.collapses]
        (2, [8, 8, 8, 1])
    """

    system: System
    stability: StabilityResult
    growing_modes: GrowingModes
    input_scale: InputScale
    tier_threshold: TierThreshold
    simulation: Simulation
    chance: Chance
    swing: MeasuredSwing | None
    homogeneous: Homogeneous | None
    collapses: tuple[Collapse, ...]
    load_report: LoadReport | None
    comparison: Comparison | None
    series: Timeseries | None

    @property
    def tier_sentence(self) -> str:
        """What the divisor of a few decode lengths means; empty where there are many, or one."""
        return tier_sentence(self.stability, self.input_scale, self.tier_threshold.threshold)

    def to_xarray(self) -> "xr.Dataset":
        """The trajectories from perturbed starts: see `Simulation`."""
        return self.simulation.trajectories

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, under keys that stay."""
        workload, proof = self.system.workload, self.stability
        scale, modes = self.input_scale, self.growing_modes
        answer: dict[str, object] = {
            **with_exact("capacity", self.system.capacity),
            "gcd": proof.decode_gcd,
            "workload": {
                **picked(workload, "name", "note"),
                "classes": len(workload.classes),
                **picked(workload, "requests", "mean_input_length", "mean_decode_length"),
                "longest_decode_length": workload.longest_decode,
            },
            "equilibrium": picked(proof.equilibrium, "rate", "in_flight"),
            "stability": {
                **picked(proof, "verdict", "evidence", "reason", "certificate.method"),
                **picked(proof, "spectral_radius", "unstable_modes", "neutral_modes"),
                **picked(proof, "leading_period", "folding_time"),
            },
            "growing_modes": {
                **picked(modes, "count", "enclosed", "complete", "status"),
                "modes": [
                    picked(mode, "multiplicity", "modulus", "period", "folding_time")
                    for mode in modes.modes
                ],
            },
            "boundary": {
                **with_exact("stable_input_scale", scale.stable),
                **with_exact("unstable_input_scale", scale.unstable),
                "complete": scale.complete,
            },
            "simulation": {
                **picked(self.simulation, "iterations", "seed"),
                "evidence": "sampled",
                "starts": [vars(group) for group in self.simulation.groups],
            },
            "noise": self.chance.to_dict() | {"measured": self.swing and self.swing.to_dict()},
        }
        if tiers := tier_lengths(workload):
            threshold = self.tier_threshold.threshold
            answer["tiers"] = {
                "decode_lengths": list(tiers),
                "persistent_modes": proof.decode_gcd - 1,
                "least_stable_input": threshold and threshold.least,
                "sentence": self.tier_sentence,
            }
        if self.homogeneous is not None:
            starts = [vars(collapse) for collapse in self.collapses]
            answer["homogeneous"] = self.homogeneous.to_dict() | {"starts": starts}
        return answer if self.comparison is None else answer | self.comparison.to_dict()


def study_system(
    system: System,
    *,
    iterations: int | None = None,
    seed: int = 0,
    holding: Holding | None = None,
    measurement: Measurement | None = None,
    series: Timeseries | None = None,
    load_report: LoadReport | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> StudyResult:
    """Certify the equilibrium, simulate perturbed starts, and hold the result against a log.

    Args:
        system: workload and capacity.
        iterations: horizon of the simulation; by default 40 times the longest decode length, less
            where that would take more than a few seconds.
        seed: of the perturbations.
        holding: what requests hold on this server, for `chance`; every token if left out.
        measurement: from `measure`, to compare with.
        series: counters of an engine that ran full, held to what chance does: in the window of
            `measurement`, or with a backlog.
        load_report: from `read_trace`, carried into the result.
        on_progress: told what is being done.

    Raises:
        InputError: a decode length above `LONGEST_DECODE`; `iterations` below 1, or so many that
            they would take many minutes.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> answer = fk.study_system(system, iterations=40)
        >>> str(answer.stability.equilibrium.rate), answer.stability.verdict.value
        ('12/5', 'unstable')
        >>> answer.growing_modes.count
        1
    """
    longest = system.workload.longest_decode
    if longest > LONGEST_DECODE:
        raise InputError("decode_length", longest, f"at most {LONGEST_DECODE} tokens in a study")
    if iterations is not None:
        check_horizon(iterations, longest)
    say = on_progress or (lambda _: None)
    say(f"certifying the equilibrium, outputs of up to {longest:,} tokens")
    proof, alike = stability(system), homogeneous(system)
    comparison = None
    if measurement is not None:
        comparison = compare_with_prediction(
            measurement, float(proof.equilibrium.in_flight), _period(proof, alike)
        )
    say("simulating perturbed starts, looking for the boundary of stability")
    # The simulation leaves Python alone, on a core of its own: what is exact takes another.
    with ThreadPoolExecutor(max_workers=1) as aside:
        scale = aside.submit(_input_scale, system.workload, proof)
        noise = aside.submit(chance, system, holding)
        simulation = simulate_starts(system, proof, iterations, seed)
    say("enclosing the growing modes")
    modes = growing_modes(survival_weights(system.workload), proof.certificate)
    return StudyResult(
        system=system,
        stability=proof,
        growing_modes=modes,
        input_scale=scale.result(),
        tier_threshold=tier_threshold(system.workload),
        simulation=simulation,
        chance=noise.result(),
        swing=_swing(series, measurement, noise.result(), _period(proof, alike)),
        homogeneous=alike,
        collapses=() if alike is None else collapses(simulation, alike.decode_length),
        load_report=load_report,
        comparison=comparison,
        series=series,
    )


def _period(proof: StabilityResult, alike: Homogeneous | None) -> float | None:
    """Iterations from peak to peak of a batch that swings; None without modes.

    Of requests that are all alike every mode grows as fast as any other, and none leads: what they
    come to is the worst case, in which all finish together (Congestion, Theorem 2).
    """
    if alike is None or proof.leading_period is None:
        return proof.leading_period
    return float(alike.decode_length)


def _swing(
    series: Timeseries | None,
    measurement: Measurement | None,
    chance: Chance,
    mass_period: float | None,
) -> MeasuredSwing | None:
    if series is None:
        return None
    growing = mass_period
    if not chance.holding.plain:
        modes = chance.stability.modes.modes
        growing = modes[0].period if modes else None
    return measured_swing(series, measurement or measure(series), chance, growing)


def _input_scale(workload: Workload, proof: StabilityResult) -> InputScale:
    threshold_above = proof.verdict is Stability.UNSTABLE and proof.decode_gcd == 1
    reach = _REACH_COPRIME if threshold_above else _REACH
    return input_scale(workload, reach=reach)
