"""What a study answers: verdict and boundary, what happens from starts and by chance, a log."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.study.chance import Chance
from fluidkv.answers.study.simulation import Collapse, Simulation
from fluidkv.answers.study.swing import MeasuredSwing
from fluidkv.exact.linear_stability import InputScale, StabilityResult
from fluidkv.exact.mixed.thresholds.tiers import TierThreshold, tier_lengths, tier_sentence
from fluidkv.exact.modes import GrowingModes
from fluidkv.exact.one_class.homogeneous import Homogeneous
from fluidkv.measured import Comparison, Timeseries
from fluidkv.plain import picked, with_exact
from fluidkv.questions.answer import Answer, Described, described
from fluidkv.traces.report import LoadReport
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr

_TIERS = (
    (
        "tiers.{decode_lengths[], persistent_modes, least_stable_input, sentence}",
        "tokens, count, tokens, text",
        "if there are two to eight output lengths: modes that grow at all inputs; smallest stable "
        "common input",
    ),
)
_ALIKE = (
    (
        "homogeneous.{input_length, decode_length, attractor, equilibria}",
        "tokens, tokens, text, count",
        "if all requests are alike: where nearly every start ends",
    ),
    (
        "homogeneous.{best, worst, worst_case_ratio}",
        "per iteration, per iteration, share",
        "if all requests are alike: throughput of the equilibria, and what the worst has of it",
    ),
    *(
        (f"homogeneous.starts[].{key}", kind, f"if all requests are alike: {title}")
        for key, kind, title in Collapse.json_keys()
    ),
)
_MEASURED = tuple(
    (key, kind, f"if `--measured` is given: {title}")
    for key, kind, title in (
        ("measured.{window_s[], window_rule}", "s, text", "first and last tick used; why"),
        (
            "measured.{samples, tick_s, resampled, backlog_share}",
            "count, s, yes/no, share",
            "grid; ticks with requests that wait",
        ),
        ("measured.{running_mean, gen_throughput_mean}", "requests, tokens a second", "means"),
        (
            "measured.{iterations_per_s, iterations_per_s_ratio_of_means}",
            "a second",
            "throughput over running; of the means",
        ),
        (
            "measured.{period_s, period_method, period_peak_height, period_p_value, "
            "period_evidence}",
            "s, text, number, share, text",
            "of the autocorrelation, against red noise",
        ),
        ("measured.{periodogram_period_s, periodogram_agrees}", "s, yes/no", "second method"),
        ("measured.rows.{read, kept}", "rows", "of the series"),
        (
            "measured.rows.{dropped_because, changed_because}[].{what, rows, first_line}",
            "text, rows, count",
            "as in a [report](#report)",
        ),
        ("predicted.{in_flight, period_s}", "requests, s", "at x*; of what swings"),
        (
            "difference.{in_flight, period_s}",
            "relative",
            "predicted less measured, over measured",
        ),
    )
)


def _scale_json(scale: InputScale) -> dict[str, Any]:
    return {
        **with_exact("stable_input_scale", scale.stable),
        **with_exact("unstable_input_scale", scale.unstable),
        "complete": scale.complete,
    }


def _modes_json(modes: GrowingModes) -> dict[str, Any]:
    each = [
        picked(mode, "multiplicity", "modulus", "period", "folding_time") for mode in modes.modes
    ]
    return picked(modes, "count", "enclosed", "complete", "status") | {"modes": each}


@dataclass(frozen=True, eq=False)
class StudyResult(Answer):
    """Everything `fluidkv study` reports.

    Fields:
        load_report: rows kept, changed and dropped, where the workload came from a file.
        series: counters of the engine, where there were some.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2)]), 12)
        >>> answer = fk.study_system(system, iterations=40)
        >>> answer.stability.verdict.value, answer.growing_modes.modes[0].period
        ('unstable', 2.0)
        >>> answer.homogeneous.decode_length, [start.reached for start in answer.collapses]
        (2, [8, 8, 8, 1])
    """

    system: Annotated[
        System,
        Described(
            "what was studied",
            flat=True,
            below=(
                ("capacity", "tokens", "KV memory"),
                ("workload.name", "text", "shown in reports"),
                ("workload.note", "text", "where it is from"),
                ("workload.requests", "count", "observed; null where shares are given"),
                ("workload.mean_input_length", "tokens", "over requests"),
                ("workload.mean_decode_length", "tokens", "over requests"),
                ("workload.longest_decode_length=workload.longest_decode", "tokens", "of any"),
            ),
        ),
    ]
    stability: Annotated[
        StabilityResult,
        Described(
            "verdict and certificate, with the equilibrium",
            flat=True,
            below=(
                ("gcd=decode_gcd", "tokens", "greatest common divisor of the output lengths"),
                ("equilibrium.rate", "per iteration", "completed at x*"),
                ("equilibrium.in_flight", "requests", "running at x*"),
                ("stability.verdict=verdict", "text", "`stable`, `unstable` or `undecided`"),
                ("stability.evidence=evidence", "text", "`exact` or `ball`"),
                ("stability.reason=reason", "text", "in a line"),
                ("stability.method=certificate.method", "text", "of the certificate"),
                (
                    "stability.spectral_radius[]=spectral_radius",
                    "number",
                    "[low, high] around max |z|, rounded outward",
                ),
                ("stability.unstable_modes=unstable_modes", "count", "|z| > 1; null: undecided"),
                ("stability.neutral_modes=neutral_modes", "count", "|z| = 1; null: undecided"),
                (
                    "stability.leading_period=leading_period",
                    "iterations",
                    "one turn of the leading mode",
                ),
                ("stability.folding_time=folding_time", "iterations", "to change by a factor e"),
            ),
        ),
    ]
    growing_modes: Annotated[
        GrowingModes,
        Described(
            "the modes that grow, each enclosed; a matter of the workload alone",
            below=(
                ("count", "count", "certified"),
                ("enclosed", "count", "how many of them the list has"),
                ("complete", "yes/no", "whether these are all"),
                ("status", "text", "in words"),
                ("modes[].multiplicity", "count", "2 for a pair of mirror images"),
                ("modes[].modulus[]", "number", "[low, high] around |z|"),
                ("modes[].{period, folding_time}", "iterations", "as of `stability`"),
            ),
            json=_modes_json,
        ),
    ]
    input_scale: Annotated[
        InputScale,
        Described(
            "how far the boundary of stability is on the axis of input lengths",
            key="boundary",
            below=(
                (
                    "stable_input_scale",
                    "number",
                    "factor on all inputs that is certified to be stable",
                ),
                ("unstable_input_scale", "number", "the same of an unstable one"),
                (
                    "complete",
                    "yes/no",
                    "the verdict at every factor is known, and changes there at most",
                ),
            ),
            json=_scale_json,
        ),
    ]
    tier_threshold: Annotated[
        TierThreshold, Described("stability at every common input length, for tiers", key="")
    ]
    simulation: Annotated[Simulation, Described("what happens from perturbed starts")]
    chance: Annotated[
        Chance,
        Described("how far running swings by chance, and how often that evicts", key="noise"),
    ]
    swing: Annotated[
        MeasuredSwing | None,
        Described(
            "whether the running requests of a log swing as chance does; null without one",
            key="noise.measured",
        ),
    ]
    homogeneous: Annotated[
        Homogeneous | None,
        Described("best and worst equilibrium, where all requests have the same lengths", key=""),
    ]
    collapses: Annotated[
        tuple[Collapse, ...],
        Described("which starts reached the worst one, in the order of the groups", key=""),
    ]
    comparison: Annotated[
        Comparison | None,
        Described(
            "prediction against measurement, where a log was given",
            flat=True,
            below=_MEASURED,
            json=Comparison.to_dict,
        ),
    ]
    load_report: LoadReport | None
    series: Timeseries | None

    @property
    def tier_sentence(self) -> str:
        """What the divisor of a few decode lengths means; empty where there are many, or one."""
        return tier_sentence(self.stability, self.input_scale, self.tier_threshold.threshold)

    def to_xarray(self) -> "xr.Dataset":
        """The trajectories from perturbed starts: see `Simulation`."""
        return self.simulation.trajectories

    @described("distinct (input, output) pairs, or as given", key="workload.classes")
    def class_count(self) -> int:
        """How many classes the workload has."""
        return len(self.system.workload.classes)

    @described("of two to eight output lengths", flat=True, below=_TIERS)
    def tiers(self) -> dict[str, Any]:
        """What is known at every common input length; empty where lengths are many, or one."""
        lengths = tier_lengths(self.system.workload)
        if not lengths:
            return {}
        threshold = self.tier_threshold.threshold
        return {
            "tiers": {
                "decode_lengths": list(lengths),
                "persistent_modes": self.stability.decode_gcd - 1,
                "least_stable_input": threshold and threshold.least,
                "sentence": self.tier_sentence,
            }
        }

    @described("of requests that are all alike", flat=True, below=_ALIKE)
    def equal_requests(self) -> dict[str, Any]:
        """The two ends of their equilibria, and which starts came to the worst; else empty."""
        if self.homogeneous is None:
            return {}
        starts = [each.to_dict() for each in self.collapses]
        return {"homogeneous": self.homogeneous.to_dict() | {"starts": starts}}
