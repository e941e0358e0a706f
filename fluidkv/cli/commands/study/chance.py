"""What a study says of chance, as rows: swings, evictions, and what a log's running shows."""

from rich.text import Text

from fluidkv.answers.study.chance import Chance
from fluidkv.answers.study.swing import MeasuredSwing, Swings
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Row
from fluidkv.verdict import Evidence, Stability

COLOURS = {
    Stability.STABLE: "bold green",
    Stability.UNSTABLE: "bold red",
    Stability.UNDECIDED: "bold yellow",
}
PROVED = {
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


def chance_heading(found: Chance) -> str:
    """What is assumed of memory where it is not what the rest of the study assumes."""
    return "By chance" if found.holding.plain else "This server: stability and chance"


def chance_rows(found: Chance) -> list[Row]:
    """How far whole requests swing around the equilibrium, and what that evicts."""
    rows: list[Row] = []
    if not found.holding.plain:
        low, high = found.stability.spectral_radius
        verdict = Text(str(found.stability.verdict).upper(), COLOURS[found.stability.verdict])
        proved = PROVED[found.stability.evidence]
        verdict.append(f"  leading |z| = {(low + high) / 2:.7f} ({proved})", "default")
        rows += [("requests hold", found.holding.sentence), ("verdict", verdict)]
    if found.running_std is None:
        grows = "an imbalance of chance grows as any other does"
        if found.first_eviction is not None:
            grows += f": the first eviction comes after {short(found.first_eviction)} iterations"
        elif found.no_tail:
            grows += f"; when that evicts is not computed: {found.no_tail}"
        return [*rows, ("running", f"{short(found.running)}; {grows}")]
    swing = f"{short(found.running)} on average, and swings by {short(found.running_std)}"
    if found.peak_period is not None:
        swing += f", most of all in {short(found.peak_period)} iterations"
    rows.append(("running", f"{swing} (standard deviation; requests come one by one)"))
    if found.evictions_per_iteration is None:
        return [*rows, ("evictions", f"not computed: {found.no_tail}")]
    often = 1000 * found.evictions_per_iteration
    rows.append(("evictions", f"{_often(often)} of 1,000 iterations must evict (approximation)"))
    if found.rare_from is not None:
        rows.append(("rare from", f"{short(found.rare_from)} KV tokens on: 1 in a million"))
    return rows


def swing_rows(found: MeasuredSwing | None) -> list[Row]:
    """What the running requests of a log are: noise, or an instability."""
    if found is None:
        return []
    if found.test is None or found.verdict is None:
        return [("measured", f"noise or an instability is not decided: {found.reason}")]
    colour, means = _SWINGS[found.verdict]
    verdict = Text(str(found.verdict).upper(), colour)
    verdict.append(f"  {means}", "default")
    predicted = ""
    if found.predicted_period is not None:
        predicted = f"; predicted is a period of {short(found.predicted_period)}"
    peak = (
        f"{short(float(found.test.ratio.max()))} times the power of chance at a period of "
        f"{short(found.test.peak_period)} iterations (chance has up to {short(found.test.high)})"
    )
    ticks = f"{found.ticks:,} ticks of {counted(found.every, 'iteration', 'iterations')}"
    ticks += f"; chance is taken for more in {found.test.level / 2:.1%} of logs"
    return [("measured", verdict), ("most of all", f"{peak}{predicted}"), ("seen in", ticks)]


def _often(count: float) -> str:
    return short(count) if count >= 1e-3 else "fewer than 0.001"
