"""One system, and a log of it where there is one, through every analysis."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

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
from fluidkv.plain import picked
from fluidkv.questions.answer import Answer, Described, described
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
                    "stable_input_scale=stable",
                    "number",
                    "factor on all inputs that is certified to be stable",
                ),
                ("unstable_input_scale=unstable", "number", "the same of an unstable one"),
                (
                    "complete",
                    "yes/no",
                    "the verdict at every factor is known, and changes there at most",
                ),
            ),
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
