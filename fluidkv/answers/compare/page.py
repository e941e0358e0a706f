"""What `fluidkv compare` found, as a person reads it."""

import math

from fluidkv.answers.compare.crossover import POLICIES, Along, Crossing, Crossover
from fluidkv.answers.compare.result import Difference, EngineComparison
from fluidkv.answers.served.cost import PER_MILLION
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.answers.served.rows import (
    arrivals_text,
    clock_rows,
    max_tokens_rows,
    measured_table,
    short_form,
    window_rows,
)
from fluidkv.report.numbers import counted, percent, short, signed
from fluidkv.report.page import Page, Row
from fluidkv.serving.clock import FREE_PREFILL

_SHARED = "Prefix caches find what prompts share, as the trace says it."
_NOT_SHARED = (
    "Nothing here says which prompts begin alike: a prefix cache finds only what preempted "
    "requests left of themselves. What it finds of shared prompts say fluidkv cache and fluidkv "
    "route, of a SOURCE with hash_ids or segments."
)

_TITLES = {
    "output_throughput_per_time": "tok/s",
    "output_throughput": "tok/it",
    "ttft_p50": "TTFT p50",
    "ttft_p99": "TTFT p99",
    "latency_p99": "lat p99",
    "tpot_p99": "TPOT p99",
    "longest_gap_p99": "gap p99",
    "preemptions": "preempt",
    "recompute_tax": "tax",
}
_WORDS = {
    "output_throughput_per_time": "throughput",
    "output_throughput": "throughput",
    "ttft_p50": "median TTFT",
    "ttft_p99": "p99 TTFT",
    "latency_p99": "p99 latency",
    "tpot_p99": "p99 TPOT",
    "longest_gap_p99": "p99 longest gap",
}
_SHORT = {"trtllm-no-evict": "no-evict", "trtllm-max-utilization": "max-util"}


def say_comparison(page: Page, found: EngineComparison) -> None:
    """Every engine's metrics, what differs beyond noise, where policies cross, what was run."""
    at = f"{found.name} at " if found.name else ""
    page.verdict(_in_short(found))
    page.title(f"{at}{found.asked.capacity:,} KV tokens: {counted(len(found.engines), 'engine')}")
    if any(engine.caching for engine in found.engines):
        page.paragraph(_SHARED if found.shared else _NOT_SHARED)
    if found.short:
        page.paragraph("The runs are too short: memory is hardly filled; take more --requests")
    page.heading(f"Means of {counted(found.runs, 'run')}")
    columns = [m for m in (*found.felt, "preemptions", "recompute_tax") if m != "ttft_p50"]
    _engines_table(page, found, columns)
    page.heading("Against the first", f", {found.names[0]}")
    page.rows(_differences(found))
    if found.logged is not None:
        name = found.names[found.logged]
        page.heading("The log, measured and simulated", f", by the rules of {name}")
        measured_table(page, found.bias)
    if found.crossover is not None:
        page.heading("MAX_UTILIZATION or GUARANTEED_NO_EVICT")
        _say_crossover(page, found.crossover)
    page.heading("What was run")
    page.rows([*found.notes, *_run_rows(found)])


def _in_short(found: EngineComparison) -> str:
    """Who is better, by how much in the first thing that differs, and the interval of that."""
    first, felt = found.names[0], found.felt
    if found.short:
        return f"Too short to say: {found.requests:,} requests hardly fill memory"
    is_ = {(i, m): found.difference(i, m) for i in range(1, len(found.engines)) for m in felt}
    order = (Difference.BETTER, Difference.WORSE)
    told = [at for at in is_ if is_[at] in order]
    told.sort(key=lambda at: (order.index(is_[at]), at[0] not in found.better))
    if not told:
        most = max({i for i, _ in is_}, key=lambda i: abs(found.against[felt[0]].mean[i]))
        gap = f"{_WORDS[felt[0]]} of {found.names[most]} {_gap(found, most, felt[0])}"
        return f"No difference is told from {first}: {gap}"
    index, metric = told[0]
    word = "worse" if is_[told[0]] is Difference.WORSE else "better in some, worse in some"
    word = "better" if index in found.better else word
    return f"{found.names[index]} is {word} than {first}: {_WORDS[metric]} {_gap(found, *told[0])}"


def _engines_table(page: Page, found: EngineComparison, columns: list[str]) -> None:
    cost = found.cost
    titles = [_TITLES[metric] for metric in columns] + ([PER_MILLION] if cost else [])
    rows = [
        [
            _numbered(i),
            *(_cell(metric, found.mean(i, metric)) for metric in columns),
            *([short(found.cost_of(i), 3)] if cost else []),
        ]
        for i in range(len(found.engines))
    ]
    page.table(["", *titles], rows)
    page.rows(cost.rows() if cost else ())
    if found.days is not None:
        counts = [_over_draws(found, i) for i in range(len(found.engines))]
        share = f"{share_in(len(found.days.tables)):.0%}"
        page.paragraph(f"preemptions in {share} of draws like it: {'; '.join(counts)}", "dim")
    page.line()
    page.rows([(_numbered(i), _named(found, i)) for i in range(len(found.engines))], width=4)


def _over_draws(found: EngineComparison, index: int) -> str:
    low, high = spread(found.counts["preemptions"][index])
    return f"{_numbered(index)} {short(low)} to {short(high)}"


def _numbered(index: int) -> str:
    return f"{index + 1}."


def _named(found: EngineComparison, index: int) -> str:
    engine, limits = found.engines[index], found.limits[index]
    name = engine.label + short_form(engine.rules, engine.caching)
    said = f"{name}, blocks of {limits.block_size}"
    return f"{said}; {engine.note}" if engine.note else said


def _cell(metric: str, value: float) -> str:
    return percent(value) if metric == "recompute_tax" else short(value)


# --- differences --------------------------------------------------------------------------------


def _differences(found: EngineComparison) -> list[Row]:
    rows: list[Row] = []
    for index in range(1, len(found.engines)):
        real, rest = [], []
        for metric in found.felt:
            said = found.difference(index, metric)
            text = f"{_WORDS[metric]} {_gap(found, index, metric)}"
            (real if said in (Difference.BETTER, Difference.WORSE) else rest).append((said, text))
        rows.append((_numbered(index), f"{found.names[index]}: {_verdict(found, index)}"))
        for said, text in real:
            rows.append((f"  {said.value}", text))
        for said in (Difference.BIAS, Difference.UNHELD, Difference.NOISE, Difference.UNKNOWN):
            alike = [text for other, text in rest if other is said]
            if alike:
                rows.append(("", f"{said.value}: {', '.join(alike)}"))
    return rows


def _verdict(found: EngineComparison, index: int) -> str:
    said = {found.difference(index, metric) for metric in found.felt}
    if found.short:
        return "the runs are too short to say"
    if index in found.better:
        return "better in what is listed, worse in nothing that users feel"
    if Difference.BETTER in said:
        return "better in some, worse in some"
    if Difference.WORSE in said:
        return "worse in what is listed, better in nothing that users feel"
    beyond = " and more than what the simulation misses" if found.bias else ""
    return f"no difference that is more than noise{beyond}"


def _gap(found: EngineComparison, index: int, metric: str) -> str:
    against = found.against[metric]
    mean, wide = float(against.mean[index]), float(against.wide[index])
    if not math.isfinite(mean):
        return "none"
    said = f"{signed(mean)} +- {percent(wide)}" if math.isfinite(wide) else signed(mean)
    own = found.of_runs(index, metric)
    return f"{said} ({signed(own)} here)" if found.days is not None and math.isfinite(own) else said


# --- the two policies ---------------------------------------------------------------------------


def _say_crossover(page: Page, crossed: Crossover) -> None:
    for along in (crossed.by_max_tokens, crossed.by_capacity):
        _along_table(page, along, crossed.felt)
        page.rows(_crossing_rows(along, crossed))
        page.line()
    page.paragraph(f"+- holds for all points of a metric at once, at {CONFIDENCE:.0%}")


def _along_table(page: Page, along: Along, felt: tuple[str, ...]) -> None:
    by_asked = along.axis == "max_tokens"
    shown = [metric for metric in felt if metric in (felt[0], "ttft_p99", "latency_p99")]
    what = "Clients that ask for more than they get" if by_asked else "Other pools"
    page.paragraph(f"{what}: {_TITLES[felt[0]]} of both, and what no-evict has more")
    header = ["max_tokens" if by_asked else "KV tokens"]
    header += [_SHORT[policy] for policy in POLICIES]
    header += [f"{_TITLES[metric]} %" for metric in shown]
    rows = []
    gains = {metric: along.gain(metric) for metric in shown}
    for place, point in enumerate(along.points):
        speeds = [
            short(float(along.table[felt[0]].values[policy, place].mean())) for policy in (0, 1)
        ]
        gaps = [
            f"{100 * gains[m][0][place]:+.1f} +- {short(100 * float(gains[m][1][place]), 2)}"
            for m in shown
        ]
        rows.append([f"{point:g}x" if by_asked else f"{point:,.0f}", *speeds, *gaps])
    page.table(header, rows)


def _crossing_rows(along: Along, crossed: Crossover) -> list[Row]:
    rows: list[Row] = []
    for metric in crossed.felt:
        found = along.crossings[metric]
        rows.append((_WORDS[metric], _crossing(found, along)))
    if along.refused:
        said = ", ".join(_point(along, point) for point in along.refused)
        rows.append(("not served", f"the largest request does not fit under no-evict at {said}"))
    if along.axis == "capacity":
        asked = crossed.asked.demand.max_tokens
        what = "exactly what is put out" if asked is None else str(asked)
        rows.append(("asked for", f"{what}, {short(crossed.ratio)} times the outputs on average"))
    return rows


def _crossing(found: Crossing, along: Along) -> str:
    if found.found and found.at is not None:
        assert found.low is not None
        assert found.high is not None
        before, after = (_SHORT[str(side)] for side in (found.before, found.after))
        return (
            f"{before} up to {_point(along, found.low)}, {after} from {_point(along, found.high)}; "
            f"they cross at about {_point(along, found.at)}"
        )
    if found.before is None:
        return "no difference beyond noise"
    if found.before != found.after:
        return f"{_SHORT[found.before]} first, {_SHORT[str(found.after)]} last, not told where"
    better = f"{_SHORT[found.before]} is better wherever they differ"
    same = "" if found.same_from is None else f"; the same from {_point(along, found.same_from)} on"
    return better + same


def _point(along: Along, point: float) -> str:
    return f"{point:.3g}x" if along.axis == "max_tokens" else f"{point:,.0f} tokens"


# --- what was run -------------------------------------------------------------------------------


def _run_rows(found: EngineComparison) -> list[Row]:
    asked = found.asked
    rows: list[Row] = [
        ("arrivals", arrivals_text(asked.demand, asked.clock.unit)),
        ("runs", _runs(found)),
        *window_rows(found.window),
        *clock_rows(asked.clock, capacity=asked.capacity),
        ("noise", _noise(found)),
    ]
    if found.logged is not None:
        said = "a difference has to exceed the error bar, off by and its spread together"
        rows.append(("the log", f"{said}; how far off the other engines are, nobody measured"))
    if not asked.clock.prefills:
        rows.append(("CAUTION", FREE_PREFILL))
    for engine in found.engines:
        rows += [row for row in max_tokens_rows(engine.rules, asked.demand) if row not in rows]
    for index, count in found.unfinished:
        ended = counted(count, "run")
        rows.append(("CAUTION", f"{found.names[index]}: {ended} did not end with all served"))
    missing = "speculative decoding, scheduling cost, kernels"
    if found.shared:
        rows.append(("prompts", "begin alike as the trace says, where there is a prefix cache"))
    else:
        missing = f"prompts that begin alike, {missing}"
    rows.append(("not in it", f"{missing}: engines differ in their rules alone"))
    return rows


def _runs(found: EngineComparison) -> str:
    said = f"{counted(found.runs, 'run')} of {found.requests:,} requests, the same for all engines"
    if found.iterations is None:
        return said
    count = f"{found.iterations:,} iterations, the first {found.warm_up:,} do not count"
    return f"{said}; {count}"


def _noise(found: EngineComparison) -> str:
    what = "runs" if found.pairs == "run" else "consecutive parts of the one run"
    if found.days is not None:
        days = found.days
        how = days.stretch and days.stretch.arrivals
        return (
            f"+- is over {len(days.tables)} fresh draws of {days.requests:,} requests "
            f"(conversations of the trace weighed anew in each, arrivals {how}) and what a log of "
            f"this length leaves open, {CONFIDENCE:.0%} for all {found.comparisons} differences at "
            "once (Bonferroni); in brackets: of the trace itself"
        )
    return (
        f"+- is over {what}, {CONFIDENCE:.0%} for all {found.comparisons} differences at once "
        "(Bonferroni)"
    )
