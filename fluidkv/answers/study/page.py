"""The answer of `fluidkv study`, as a person reads it."""

from collections.abc import Sequence

from fluidkv.answers.study.chance import Chance
from fluidkv.answers.study.result import StudyResult
from fluidkv.answers.study.simulation import Simulation
from fluidkv.answers.study.swing import MeasuredSwing, Swings
from fluidkv.exact.linear_stability import (
    InputScale,
    StabilityResult,
    exact_factor,
    rounded_outward,
)
from fluidkv.exact.modes import GrowingMode, GrowingModes
from fluidkv.exact.one_class.homogeneous import Homogeneous
from fluidkv.footprints.stability import FootprintStability
from fluidkv.measured import Comparison
from fluidkv.report.blocks import coloured
from fluidkv.report.numbers import counted, percent, seconds, short, signed
from fluidkv.report.page import Page, Row
from fluidkv.verdict import Evidence, Stability

_COLOURS = {
    Stability.STABLE: "bold green",
    Stability.UNSTABLE: "bold red",
    Stability.UNDECIDED: "bold yellow",
}
_PROVED = {
    Evidence.EXACT: "proved in exact arithmetic",
    Evidence.BALL: "proved, every rounding bounded",
    Evidence.FLOAT: "in floating point, not proved",
    Evidence.SAMPLED: "sampled, not proved",
}

_SWINGS = {
    Swings.NOISE: ("bold green", "chance swings so, too: at no period is there more than it has"),
    Swings.INSTABILITY: ("bold red", "more than chance does, or requests hold something else"),
    Swings.LESS: (
        "bold yellow",
        "half of what drawn requests do, or less: lengths in turn, a cap or a reserve",
    ),
}
_MEANING = {
    Stability.STABLE: "small imbalances die out; a cold start may still evict at first",
    Stability.UNSTABLE: "small imbalances grow until memory overflows and requests are evicted "
    "(preempted)",
}
_CAPACITY = {
    Stability.STABLE: "scales what is in flight; no KV size destabilises this mix",
    Stability.UNSTABLE: "scales the swing, not its growth: no KV size stabilises this mix",
    Stability.UNDECIDED: "scales all of this alike and does not move the verdict",
}
_MODEL = (
    "about the mass model: all requests as a fluid, the least progressed evicted first (LPF). "
    "An engine's own rules may still preempt; to see what they do here, run"
)
_MODES_SHOWN = 5


def say_study(page: Page, result: StudyResult, to_run: Sequence[str]) -> None:
    """Verdict, equilibrium, modes, boundary, perturbed starts, measured log, workload.

    Args:
        to_run: commands that ask for an engine's own rules.
    """
    page.verdict(_in_short(result))
    page.heading("Eviction-free equilibrium")
    page.rows(_verdict_rows(result))
    for command in to_run:  # not wrapped, so that it can be pasted
        page.line(f"  {command}")
    page.rows(_equilibrium_rows(result))
    page.heading(_horizon(result))
    _starts(page, result.simulation)
    plain = result.chance.holding.plain  # as the rest of the study has it
    page.heading("By chance" if plain else "This server: stability and chance")
    page.rows([*chance_rows(result.chance), *swing_rows(result.swing)])
    if result.homogeneous is not None:
        page.heading("All requests alike: the worst case")
        page.rows(_homogeneous_rows(result.homogeneous, result))
    if result.comparison is not None:
        page.heading("Predicted against measured")
        _comparison(page, result.comparison)
    page.heading("Workload")
    page.rows(_workload_rows(result))


def _in_short(result: StudyResult) -> str:
    """The verdict, how fast an imbalance changes, how we know."""
    stability = result.stability
    if stability.verdict not in _MEANING or stability.folding_time is None:
        return f"{str(stability.verdict).capitalize()}: {stability.reason}"
    does = "grow" if stability.verdict is Stability.UNSTABLE else "die out"
    return (
        f"{str(stability.verdict).capitalize()}: small imbalances {does}, by a factor e in "
        f"{short(stability.folding_time)} iterations ({_PROVED[stability.evidence]})"
    )


def _workload_rows(result: StudyResult) -> list[Row]:
    workload = result.system.workload
    classes = counted(len(workload.classes), "class", "classes")
    if workload.requests:
        classes += f" from {workload.requests:,} requests"
    rows: list[Row] = [
        ("name", f"{workload.name}, {classes}" if workload.name else classes),
        (
            "lengths",
            f"input {short(workload.mean_input_length)}, output "
            f"{short(workload.mean_decode_length)} tokens on average, "
            f"{workload.longest_decode:,} at most",
        ),
    ]
    if workload.note:
        rows.append(("note", workload.note))
    if result.load_report is not None:
        first, *reasons = result.load_report.summary().splitlines()
        rows.append(("read", first))
        rows += [("", reason.strip()) for reason in reasons]
    return rows


def _verdict_rows(result: StudyResult) -> list[Row]:
    stability = result.stability
    rows: list[Row] = [_judged("verdict", stability, stability.reason)]
    if stability.verdict in _MEANING:
        rows.append(("that is", _MEANING[stability.verdict]))
    return [*rows, ("which is", _MODEL)]


def _judged(label: str, certificate: StabilityResult | FootprintStability, why: str) -> Row:
    """A verdict, why, and how we know."""
    colour, proved = _COLOURS[certificate.verdict], _PROVED[certificate.evidence]
    return label, coloured(certificate.verdict, colour, f"{why} ({proved})")


def _equilibrium_rows(result: StudyResult) -> list[Row]:
    stability = result.stability
    rows: list[Row] = [
        (
            "carries",
            f"{short(stability.equilibrium.in_flight)} requests in flight, "
            f"{short(stability.equilibrium.rate)} completed per iteration, at "
            f"{short(result.system.capacity)} KV tokens",
        )
    ]
    if stability.certificate.degree > 0:
        rows.append(("leading mode", _leading_mode(stability)))
    rows += _growing_rows(result)
    rows.append(("boundary", _boundary(result)))
    rows.append(("capacity", _CAPACITY[stability.verdict]))
    lengths = result.tier_sentence or _synchrony(result)
    if lengths:
        rows.append(("lengths", lengths))
    return rows


def _growing_rows(result: StudyResult) -> list[Row]:
    """The growing modes: how many, the fastest of them one a line, and how many more."""
    growing = result.growing_modes
    if not growing.modes:
        return []
    if growing.complete and len(growing.modes) == 1:
        pair = "a pair of mirror images" if growing.count == 2 else "a single root"
        return [("growing", f"only the leading mode ({pair})")]
    shown = growing.modes[:_MODES_SHOWN]
    lines = [_growing_mode(mode) for mode in shown]
    more = (growing.count or 0) - sum(mode.multiplicity for mode in shown)
    lines += [f"and {more:,} more"] * (more > 0)
    return [("growing", _growing_count(growing)), *(("", line) for line in lines)]


def _growing_count(growing: GrowingModes) -> str:
    if growing.complete:
        return f"{growing.count:,} modes, all enclosed; a pair turns once in a period:"
    if growing.count is not None:
        return f"{growing.count:,} modes; some of the fastest, each enclosed:"
    return "how many is undecided; these do, each enclosed:"


def _growing_mode(mode: GrowingMode) -> str:
    pair = ", a pair" if mode.multiplicity == 2 else ""
    return (
        f"period {short(mode.period)}{pair}: by a factor e in {short(mode.folding_time)} iterations"
    )


def _leading_mode(stability: StabilityResult) -> str:
    low, high = stability.spectral_radius
    if stability.leading_period is None:
        return f"not isolated; spectral radius in [{low:.9f}, {high:.9f}]"
    middle = (low + high) / 2
    text = f"period {short(stability.leading_period)} iterations, |z| = {middle:.7f}"
    if stability.folding_time is None:
        return f"{text}: neither grows nor decays"
    verb = "grows" if middle > 1 else "decays"
    return f"{text}: {verb} by a factor e in {short(stability.folding_time)} iterations"


def _boundary(result: StudyResult) -> str:
    scale = result.input_scale
    if scale.complete:
        return _known_boundary(scale)
    if scale.stable is not None and scale.unstable is not None:
        stable = rounded_outward(scale.stable, 4, up=scale.stable > scale.unstable)
        unstable = rounded_outward(scale.unstable, 4, up=scale.stable < scale.unstable)
        return (
            f"crossed between {unstable} (unstable) and {stable} (stable) times these inputs: "
            "each verdict certified, the factors rounded outward"
        )
    if scale.unstable is not None:
        return f"not met: still unstable with inputs {exact_factor(scale.unstable)} times as long"
    if scale.stable is not None:
        return f"not met: still stable with inputs shrunk to {exact_factor(scale.stable)} of this"
    return "not looked for: the verdict at these inputs is undecided"


def _known_boundary(scale: InputScale) -> str:
    if scale.stable is None:
        return "none: unstable at every input length (certified)"
    if scale.unstable is None or scale.unstable <= 0:  # crossed at inputs of no tokens
        return "none: stable at every input length (certified)"
    return (
        f"crossed once, at {float(scale.stable):,.6g} times these inputs: unstable with shorter, "
        "stable with longer ones (certified for every factor)"
    )


def _synchrony(result: StudyResult) -> str:
    common = result.stability.decode_gcd
    if common == 1:
        return ""
    if len({c.decode_length for c in result.system.workload.classes}) == 1:
        return (
            f"every output has {common} tokens: the equilibrium is unstable at every input "
            "length (Congestion, Theorem 2)"
        )
    return (
        f"all outputs are multiples of {common}: completions synchronise, and longer inputs do "
        "not cure it (Congestion, Theorem 3)"
    )


def _horizon(result: StudyResult) -> str:
    iterations, folding = result.simulation.iterations, result.stability.folding_time
    text = f"From perturbed starts: mass model, {iterations:,} iterations"
    if folding is not None:
        text += f" ({iterations / folding:,.1f} e-folds)"
    return f"{text}, sampled"


def _starts(page: Page, simulation: Simulation) -> None:
    rows = [
        (
            group.name,
            f"{group.evicting} of {group.starts}",
            short(group.first_eviction),
            f"{group.throughput:.1%}",
            "-" if group.evicted_per_completed is None else f"{group.evicted_per_completed:.3f}",
            "{:.1f} to {:.1f}%".format(*(100 * share for share in group.in_flight)),
        )
        for group in simulation.groups
    ]
    page.table(("start", "evicting", "first at", "throughput", "evicted/done", "in flight"), rows)
    page.line("Last three columns: second half of the run; shares are of the equilibrium.", "dim")


def _homogeneous_rows(alike: Homogeneous, result: StudyResult) -> list[Row]:
    if alike.decode_length == 1:
        only = "the fixed point is the only equilibrium; every start is there after one iteration"
        return [("worst case", only)]
    rows: list[Row] = [
        (
            "worst case",
            f"{short(alike.worst)} completed per iteration, "
            f"{percent(alike.worst_case_ratio)} of the equilibrium's: all requests in step, "
            f"finishing together every {alike.decode_length:,} iterations, evicted in between",
        ),
        ("others", _unstable_equilibria(alike)),
        (
            "theory",
            "every start but a set of measure zero ends in the worst case (Congestion, Theorem 2)",
        ),
    ]
    for i, collapse in enumerate(result.collapses):
        when = ""
        if collapse.iteration is not None:
            middle = ", the median one" if collapse.reached > 1 else ""
            when = f"{middle} by iteration {collapse.iteration:,}"
        text = f"{collapse.name}: {collapse.reached} of {collapse.starts} there{when}"
        rows.append(("simulated" if i == 0 else "", text))
    return rows


def _unstable_equilibria(alike: Homogeneous) -> str:
    if alike.equilibria is None:
        cycles = f"some 10^{alike.equilibria_magnitude} balanced cycles, all"
    elif alike.equilibria == 2:
        return "the fixed point, unstable"
    else:
        balanced = counted(alike.equilibria - 2, "balanced cycle")
        cycles = f"{balanced}, {'both' if alike.equilibria == 3 else 'all'}"
    return f"the fixed point and {cycles} unstable"


def _comparison(page: Page, comparison: Comparison) -> None:
    measured = comparison.measured
    page.table(
        ("", "predicted", "measured", "difference"),
        [
            (
                "requests running (mean)",
                f"{comparison.predicted_in_flight:.2f}",
                f"{measured.running_mean:.2f}",
                signed(comparison.in_flight_difference),
            ),
            (
                "period of the oscillation",
                seconds(comparison.predicted_period_s),
                seconds(measured.period_s),
                signed(comparison.period_difference),
            ),
            ("iterations per second", "", f"{measured.iterations_per_s:.2f}", ""),
        ],
    )
    page.line()
    first, last = measured.window_s
    rows: list[Row] = [
        ("window", f"{first:g} to {last:g} s: {measured.window_rule}"),
        ("period", measured.period_method),
    ]
    if measured.report is not None:
        rows.append(("read", measured.report.statement))
    page.rows(rows)


def chance_rows(chance: Chance) -> list[Row]:
    """How far whole requests swing around the equilibrium, and what that evicts."""
    rows: list[Row] = []
    if not chance.holding.plain:
        low, high = chance.stability.spectral_radius
        rows.append(("requests hold", chance.holding.sentence))
        rows.append(_judged("verdict", chance.stability, f"leading |z| = {(low + high) / 2:.7f}"))
    if chance.running_std is None:
        grows = "an imbalance of chance grows as any other does"
        if chance.first_eviction is not None:
            grows += f": the first eviction comes after {short(chance.first_eviction)} iterations"
        elif chance.no_tail:
            grows += f"; when that evicts is not computed: {chance.no_tail}"
        return [*rows, ("running", f"{short(chance.running)}; {grows}")]
    swing = f"{short(chance.running)} on average, and swings by {short(chance.running_std)}"
    if chance.peak_period is not None:
        swing += f", most of all in {short(chance.peak_period)} iterations"
    rows.append(("running", f"{swing} (standard deviation; requests come one by one)"))
    if chance.evictions_per_iteration is None:
        return [*rows, ("evictions", f"not computed: {chance.no_tail}")]
    count = 1000 * chance.evictions_per_iteration
    often = short(count) if count >= 1e-3 else "fewer than 0.001"
    rows.append(("evictions", f"{often} of 1,000 iterations must evict (approximation)"))
    if chance.rare_from is not None:
        memory = float(f"{chance.rare_from:.3g}")  # a root that is found to 1e-4 of itself
        rows.append(("rare from", f"{short(memory)} KV tokens on: 1 in a million"))
    return rows


def swing_rows(swing: MeasuredSwing | None) -> list[Row]:
    """What the running requests of a log are: noise, or an instability."""
    if swing is None:
        return []
    if swing.test is None or swing.verdict is None:
        return [("measured", f"noise or an instability is not decided: {swing.reason}")]
    verdict = coloured(swing.verdict, *_SWINGS[swing.verdict])
    predicted = ""
    if swing.predicted_period is not None:
        predicted = f"; predicted is a period of {short(swing.predicted_period)}"
    peak = (
        f"{short(swing.test.most)} times the power of chance at a period of "
        f"{short(swing.test.peak_period)} iterations (chance has up to {short(swing.test.high)})"
    )
    ticks = f"{swing.ticks:,} ticks of {counted(swing.every, 'iteration', 'iterations')}"
    ticks += f"; chance is taken for more in {swing.test.level / 2:.1%} of logs"
    return [("measured", verdict), ("most of all", f"{peak}{predicted}"), ("seen in", ticks)]
