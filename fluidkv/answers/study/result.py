"""Everything that a study says, as values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fluidkv.answers.study.chance import Chance
from fluidkv.answers.study.simulation import Collapse, Simulation
from fluidkv.answers.study.swing import MeasuredSwing
from fluidkv.exact.linear_stability import InputScale, StabilityResult
from fluidkv.exact.mixed.thresholds.tiers import TierThreshold, tier_lengths, tier_sentence
from fluidkv.exact.modes import GrowingModes
from fluidkv.exact.one_class.homogeneous import Homogeneous
from fluidkv.measured import Comparison
from fluidkv.plain import with_exact
from fluidkv.record import Record
from fluidkv.traces import LoadReport
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr


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

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> found = fk.study_system(system, iterations=40)
        >>> found.stability.verdict.value, found.growing_modes.modes[0].period
        ('unstable', 2.0)
        >>> found.homogeneous.decode_length, [start.reached for start in found.collapses]
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

    @property
    def tier_sentence(self) -> str:
        """What the divisor of a few decode lengths means; empty where there are many, or one."""
        return tier_sentence(self.stability, self.input_scale, self.tier_threshold.threshold)

    def to_xarray(self) -> "xr.Dataset":
        """The trajectories from perturbed starts: see `Simulation`."""
        return self.simulation.trajectories

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, under keys that stay."""
        workload, found = self.system.workload, self.stability
        threshold = self.tier_threshold.threshold
        scale, modes = self.input_scale, self.growing_modes
        answer: dict[str, object] = {
            **with_exact("capacity", self.system.capacity),
            "gcd": found.decode_gcd,
            "workload": {
                "name": workload.name,
                "note": workload.note,
                "classes": len(workload.classes),
                "requests": workload.requests,
                **with_exact("mean_input_length", workload.mean_input_length),
                **with_exact("mean_decode_length", workload.mean_decode_length),
                "longest_decode_length": workload.longest_decode,
            },
            "equilibrium": {
                **with_exact("rate", found.equilibrium.rate),
                **with_exact("in_flight", found.equilibrium.in_flight),
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
                **with_exact("stable_input_scale", scale.stable),
                **with_exact("unstable_input_scale", scale.unstable),
                "complete": scale.complete,
            },
            "simulation": {
                "iterations": self.simulation.iterations,
                "seed": self.simulation.seed,
                "evidence": "sampled",
                "starts": [vars(group) for group in self.simulation.groups],
            },
        }
        measured = None if self.swing is None else self.swing.to_dict()
        answer["noise"] = self.chance.to_dict() | {"measured": measured}
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
            answer["homogeneous"] = self.homogeneous.to_dict() | {"starts": starts}
        if self.comparison is not None:
            answer |= self.comparison.to_dict()
        return answer
