"""What a person reads in a terminal of 80 columns."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fluidkv.answers.study import Simulation, StudyResult
from fluidkv.exact.linear_stability import (
    InputScale,
    StabilityResult,
    exact_factor,
    rounded_outward,
)
from fluidkv.exact.modes import GrowingMode, GrowingModes
from fluidkv.exact.one_class.homogeneous import Homogeneous
from fluidkv.ledger.claim import Result
from fluidkv.measured import Comparison
from fluidkv.verdict import Evidence, Stability, Verdict

_COLOURS = {
    Stability.STABLE: "bold green",
    Stability.UNSTABLE: "bold red",
    Stability.UNDECIDED: "bold yellow",
    Verdict.HOLDS: "green",
    Verdict.FAILS: "red",
    Verdict.UNDECIDED: "yellow",
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
_MODES_SHOWN = 5
_PROVED = {
    Evidence.EXACT: "proved in exact arithmetic",
    Evidence.BALL: "proved, every rounding bounded",
    Evidence.FLOAT: "in floating point, not proved",
    Evidence.SAMPLED: "sampled, not proved",
}


def print_study(result: StudyResult, console: Console) -> None:
    """Workload, verdict, equilibrium, modes, boundary, perturbed starts, measured log."""
    _heading(console, "Workload")
    _pairs(console, _workload_rows(result))
    _heading(console, "Eviction-free equilibrium")
    _pairs(console, _equilibrium_rows(result))
    _heading(console, _horizon(result))
    _starts(console, result.simulation)
    if result.homogeneous is not None:
        _heading(console, "All requests alike: the worst case")
        _pairs(console, _homogeneous_rows(result.homogeneous, result))
    if result.comparison is not None:
        _heading(console, "Predicted against measured")
        _comparison(console, result.comparison)


def print_claim(result: Result, console: Console) -> None:
    """One line; what a reader needs to see a failure by follows indented."""
    outcome = result.outcome
    line = Text()
    if outcome is None:
        line.append("error    ", "bold red")
    else:
        line.append(f"{outcome.verdict} ".ljust(9), _COLOURS[outcome.verdict])
        line.append(f"{outcome.evidence:<8}", "dim")
    line.append(result.claim.id)
    console.print(line, soft_wrap=True)
    if outcome is None:
        _indented(console, result.error)
        return
    if outcome.verdict is not Verdict.HOLDS or not result.as_expected:
        _indented(console, result.claim.statement)
        _indented(console, f"paper: {outcome.paper}; ours: {outcome.ours}")
        for extra in (
            outcome.witness and f"smallest counterexample: {outcome.witness}",
            outcome.note,
        ):
            if extra:
                _indented(console, extra)
    if not result.as_expected:
        _indented(console, f"DIFFERS from the record, which says: {result.claim.expected}")


def print_tally(results: Sequence[Result], console: Console) -> None:
    """How many claims came out how, and how many differ from the record."""
    verdicts = Counter(r.outcome.verdict for r in results if r.outcome is not None)
    parts = [f"{verdicts[v]} {word}" for v, word in _tally_words() if verdicts[v]]
    errors = sum(r.outcome is None for r in results)
    if errors:
        parts.append(f"{errors} could not be checked")
    differing = sum(not r.as_expected for r in results)
    record = "all as on record" if not differing else f"{differing} DIFFER from the record"
    console.print(f"\n{len(results)} claims: {', '.join(parts)}; {record}")


def _tally_words() -> Iterable[tuple[Verdict, str]]:
    return (
        (Verdict.HOLDS, "hold"),
        (Verdict.FAILS, "fail"),
        (Verdict.UNDECIDED, "undecided"),
    )


def _workload_rows(result: StudyResult) -> list[tuple[str, str]]:
    workload = result.system.workload
    count = len(workload.classes)
    classes = f"{count:,} class{'es' if count > 1 else ''}"
    if workload.requests:
        classes += f" from {workload.requests:,} requests"
    rows = [
        ("name", f"{workload.name}, {classes}" if workload.name else classes),
        (
            "lengths",
            f"input {_short(float(workload.mean_input_length))}, output "
            f"{_short(float(workload.mean_decode_length))} tokens on average, "
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


def _equilibrium_rows(result: StudyResult) -> list[tuple[str, str | Text]]:
    found = result.stability
    verdict = Text(str(found.verdict).upper(), _COLOURS[found.verdict])
    verdict.append(f"  {found.reason} ({_PROVED[found.evidence]})", "default")
    rows: list[tuple[str, str | Text]] = [("verdict", verdict)]
    if found.verdict in _MEANING:
        rows.append(("that is", _MEANING[found.verdict]))
    rows.append(
        (
            "carries",
            f"{_short(float(found.equilibrium.in_flight))} requests in flight, "
            f"{_short(float(found.equilibrium.rate))} completed an iteration, at "
            f"{_short(float(result.system.capacity))} KV tokens",
        )
    )
    if found.leading_period is not None:
        rows.append(("leading mode", _leading_mode(found)))
    elif found.certificate.degree > 0:
        low, high = found.spectral_radius
        rows.append(("leading mode", f"not isolated; spectral radius in [{low:.9f}, {high:.9f}]"))
    rows += _growing_rows(result)
    rows.append(("boundary", _boundary(result)))
    rows.append(("capacity", _CAPACITY[found.verdict]))
    lengths = result.tier_sentence or _synchrony(result)
    if lengths:
        rows.append(("lengths", lengths))
    return rows


def _growing_rows(result: StudyResult) -> list[tuple[str, str | Text]]:
    """The growing modes: how many, the fastest of them one a line, and how many more."""
    growing = result.growing_modes
    if not growing.modes:
        return []
    if growing.complete and len(growing.modes) == 1:
        pair = "a pair of mirror images" if growing.count == 2 else "a single root"
        return [("growing", f"only the leading mode ({pair})")]
    shown = [_growing_mode(mode) for mode in growing.modes[:_MODES_SHOWN]]
    more = (growing.count or 0) - sum(m.multiplicity for m in growing.modes[:_MODES_SHOWN])
    if more > 0:
        shown.append(f"and {more:,} more")
    return [("growing", _growing_count(growing)), *(("", line) for line in shown)]


def _growing_count(growing: GrowingModes) -> str:
    if growing.complete:
        return f"{growing.count:,} modes, all enclosed; a pair turns once in a period:"
    if growing.count is not None:
        return f"{growing.count:,} modes; some of the fastest, each enclosed:"
    return "how many is undecided; these do, each enclosed:"


def _growing_mode(mode: GrowingMode) -> str:
    pair = ", a pair" if mode.multiplicity == 2 else ""
    return (
        f"period {_short(mode.period)}{pair}: by a factor e in "
        f"{_short(mode.folding_time)} iterations"
    )


def _leading_mode(found: StabilityResult) -> str:
    low, high = found.spectral_radius
    middle = (low + high) / 2
    text = f"period {_short(found.leading_period or 0.0)} iterations, |z| = {middle:.7f}"
    if found.folding_time is None:
        return f"{text}: neither grows nor decays"
    verb = "grows" if middle > 1 else "decays"
    return f"{text}: {verb} by a factor e in {_short(found.folding_time)} iterations"


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


def _starts(console: Console, simulation: Simulation) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("start", no_wrap=True)
    for column in ("evicting", "first at", "throughput", "evicted/done", "in flight"):
        table.add_column(column, justify="right")
    for group in simulation.groups:
        low, high = group.in_flight
        wasted = group.evicted_per_completed
        table.add_row(
            group.name,
            f"{group.evicting} of {group.starts}",
            "-" if group.first_eviction is None else f"{group.first_eviction:,}",
            f"{group.throughput:.1%}",
            "-" if wasted is None else f"{wasted:.3f}",
            f"{100 * low:.1f} to {100 * high:.1f}%",
        )
    console.print(table)
    console.print(
        "Last three columns: second half of the run; shares are of the equilibrium.",
        style="dim",
    )


def _homogeneous_rows(found: Homogeneous, result: StudyResult) -> list[tuple[str, str | Text]]:
    if found.decode_length == 1:
        only = "the fixed point is the only equilibrium; every start is there after one iteration"
        return [("worst case", only)]
    rows: list[tuple[str, str | Text]] = [
        (
            "worst case",
            f"{_short(float(found.worst_case))} completed an iteration, "
            f"{float(found.worst_case_ratio):.1%} of the equilibrium's: all requests in step, "
            f"finishing together every {found.decode_length:,} iterations, evicted in between",
        ),
        ("others", _unstable_equilibria(found)),
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


def _unstable_equilibria(found: Homogeneous) -> str:
    if found.equilibria is None:
        return (
            f"the fixed point and some 10^{found.equilibria_magnitude} balanced cycles, all "
            "unstable"
        )
    balanced = found.equilibria - 2
    if balanced == 0:
        return "the fixed point, unstable"
    cycles = "1 balanced cycle, both" if balanced == 1 else f"{balanced:,} balanced cycles, all"
    return f"the fixed point and {cycles} unstable"


def _comparison(console: Console, comparison: Comparison) -> None:
    measured = comparison.measured
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for column in ("predicted", "measured", "difference"):
        table.add_column(column, justify="right")
    table.add_row(
        "requests running (mean)",
        f"{comparison.predicted_in_flight:.2f}",
        f"{measured.running_mean:.2f}",
        _percent(comparison.in_flight_difference),
    )
    table.add_row(
        "period of the oscillation",
        _seconds(comparison.predicted_period_s),
        _seconds(measured.period_s),
        _percent(comparison.period_difference),
    )
    table.add_row("iterations a second", "", f"{measured.iterations_per_s:.2f}", "")
    console.print(table)
    first, last = measured.window_s
    console.print()
    rows: list[tuple[str, str | Text]] = [
        ("window", f"{first:g} to {last:g} s: {measured.window_rule}"),
        ("period", measured.period_method),
    ]
    if measured.report is not None:
        rows.append(("read", measured.report.statement))
    _pairs(console, rows)


def _heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", "bold"))


def _pairs(console: Console, rows: Sequence[tuple[str, str | Text]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=12)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, value if isinstance(value, Text) else Text(value))
    console.print(table)


def _indented(console: Console, text: str) -> None:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 17), pad_edge=True)
    table.add_column(overflow="fold", style="dim")
    table.add_row(Text(text))
    console.print(table)


def _short(value: float) -> str:
    """Whole numbers whole, others to four significant digits; thousands separated."""
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) < 1:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 4 - len(str(int(abs(value)))))}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} s"
