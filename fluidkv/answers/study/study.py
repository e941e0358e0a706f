"""One system, and a log of it where there is one, through every analysis."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fluidkv.answers.study.chance import Chance, Holding, chance
from fluidkv.answers.study.result import StudyResult
from fluidkv.answers.study.simulation import check_horizon, collapses, simulate_starts
from fluidkv.answers.study.swing import MeasuredSwing, measured_swing
from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import InputScale, StabilityResult, stability
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.mixed.thresholds.tiers import tier_threshold
from fluidkv.exact.modes import growing_modes
from fluidkv.exact.one_class.homogeneous import Homogeneous, homogeneous
from fluidkv.exact.survival import survival_weights
from fluidkv.measured import Measurement, Timeseries, compare_with_prediction, measure
from fluidkv.traces.report import LoadReport
from fluidkv.verdict import Stability
from fluidkv.workload import System, Workload

LONGEST_DECODE = 32_768
"""Decode length above which a study is refused: it would take many minutes."""
# Powers of two by which inputs are scaled in search of the boundary. Where a threshold is known to
# exist further up (coprime lengths d need about d^3 / 20 tokens), it is looked for that far.
_REACH, _REACH_COPRIME = 12, 36


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
