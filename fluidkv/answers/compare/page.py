"""What `fluidkv compare` answers, as a person reads it."""

import math

from fluidkv.answers.compare.crossover import POLICIES, Along, Crossing, Crossover
from fluidkv.answers.compare.result import Difference, EngineComparison
from fluidkv.answers.served.cost import PER_MILLION
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.answers.served.rows import (
    FELT,
    common_rows,
    max_tokens_rows,
    measured_table,
    missing_rows,
    short_form,
)
from fluidkv.report.numbers import counted, half_shown, percent, short, signed
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
_SHORT = {"trtllm-no-evict": "no-evict", "trtllm-max-utilization": "max-util"}


def say_comparison(page: Page, answer: EngineComparison) -> None:
    """Every engine's metrics, what differs beyond noise, where policies cross, what was run."""
    at = f"{answer.name} at " if answer.name else ""
    page.verdict(_in_short(answer))
    page.title(f"{at}{answer.setup.capacity:,} KV tokens: {counted(len(answer.engines), 'engine')}")
    if any(engine.caching for engine in answer.engines):
        page.paragraph(_SHARED if answer.shared else _NOT_SHARED)
    if answer.short:
        page.paragraph("The runs are too short: memory is hardly filled; take more --requests")
    page.heading(f"Means of {counted(answer.runs, 'run')}")
    columns = [m for m in (*answer.felt, "preemptions", "recompute_tax") if m != "ttft_p50"]
    _engines_table(page, answer, columns)
    page.heading("Against the first", f", {answer.names[0]}")
    page.rows(_differences(answer))
    if answer.logged is not None:
        name = answer.names[answer.logged]
        page.heading("The log, measured and simulated", f", by the rules of {name}")
        measured_table(page, answer.bias)
    if answer.crossover is not None:
        page.heading("MAX_UTILIZATION or GUARANTEED_NO_EVICT")
        _say_crossover(page, answer.crossover)
    page.heading("What was run")
    page.rows([*answer.notes, *_run_rows(answer)])


def _in_short(answer: EngineComparison) -> str:
    """Who is better, by how much in the first thing that differs, and the interval of that."""
    first, felt = answer.names[0], answer.felt
    if answer.short:
        return f"Too short to say: {answer.requests:,} requests hardly fill memory"
    kinds = {(i, m): answer.difference(i, m) for i in range(1, len(answer.engines)) for m in felt}
    order = (Difference.BETTER, Difference.WORSE)
    real = [at for at in kinds if kinds[at] in order]
    real.sort(key=lambda at: (order.index(kinds[at]), at[0] not in answer.better))
    if not real:
        most = max({i for i, _ in kinds}, key=lambda i: abs(answer.against[felt[0]].mean[i]))
        gap = f"{FELT[felt[0]]} of {answer.names[most]} {_gap(answer, most, felt[0])}"
        return f"No difference is told from {first}: {gap}"
    index, metric = real[0]
    word = "worse" if kinds[real[0]] is Difference.WORSE else "better in some, worse in some"
    word = "better" if index in answer.better else word
    return f"{answer.names[index]} is {word} than {first}: {FELT[metric]} {_gap(answer, *real[0])}"


def _engines_table(page: Page, answer: EngineComparison, columns: list[str]) -> None:
    cost = answer.cost
    titles = [_TITLES[metric] for metric in columns] + ([PER_MILLION] if cost else [])
    rows = [
        [
            _numbered(i),
            *(_cell(metric, answer.mean(i, metric)) for metric in columns),
            *([short(answer.cost_of(i), 3)] if cost else []),
        ]
        for i in range(len(answer.engines))
    ]
    page.table(["", *titles], rows)
    page.rows(cost.rows() if cost else ())
    if answer.days is not None:
        counts = [_over_draws(answer, i) for i in range(len(answer.engines))]
        share = f"{share_in(len(answer.days.tables)):.0%}"
        page.paragraph(f"preemptions in {share} of draws like it: {'; '.join(counts)}", "dim")
    page.line()
    page.rows([(_numbered(i), _named(answer, i)) for i in range(len(answer.engines))], width=4)


def _over_draws(answer: EngineComparison, index: int) -> str:
    low, high = spread(answer.counts["preemptions"][index])
    return f"{_numbered(index)} {short(low)} to {short(high)}"


def _numbered(index: int) -> str:
    return f"{index + 1}."


def _named(answer: EngineComparison, index: int) -> str:
    engine, limits = answer.engines[index], answer.limits[index]
    name = engine.label + short_form(engine.rules, engine.caching)
    text = f"{name}, blocks of {limits.block_size}"
    return f"{text}; {engine.note}" if engine.note else text


def _cell(metric: str, value: float) -> str:
    return percent(value) if metric == "recompute_tax" else short(value)


# --- differences --------------------------------------------------------------------------------


def _differences(answer: EngineComparison) -> list[Row]:
    rows: list[Row] = []
    for index in range(1, len(answer.engines)):
        real, rest = [], []
        for metric in answer.felt:
            kind = answer.difference(index, metric)
            text = f"{FELT[metric]} {_gap(answer, index, metric)}"
            (real if kind in (Difference.BETTER, Difference.WORSE) else rest).append((kind, text))
        rows.append((_numbered(index), f"{answer.names[index]}: {_verdict(answer, index)}"))
        for kind, text in real:
            rows.append((f"  {kind.value}", text))
        for kind in (Difference.BIAS, Difference.UNHELD, Difference.NOISE, Difference.UNKNOWN):
            alike = [text for other, text in rest if other is kind]
            if alike:
                rows.append(("", f"{kind.value}: {', '.join(alike)}"))
    return rows


def _verdict(answer: EngineComparison, index: int) -> str:
    kinds = {answer.difference(index, metric) for metric in answer.felt}
    if answer.short:
        return "the runs are too short to say"
    if index in answer.better:
        return "better in what is listed, worse in nothing that users feel"
    if Difference.BETTER in kinds:
        return "better in some, worse in some"
    if Difference.WORSE in kinds:
        return "worse in what is listed, better in nothing that users feel"
    beyond = " and more than what the simulation misses" if answer.bias else ""
    return f"no difference that is more than noise{beyond}"


def _gap(answer: EngineComparison, index: int, metric: str) -> str:
    against = answer.against[metric]
    mean, wide = float(against.mean[index]), float(against.wide[index])
    if not math.isfinite(mean):
        return "none"
    text = f"{signed(mean)} +- {percent(half_shown(wide))}" if math.isfinite(wide) else signed(mean)
    of_trace = answer.of_runs(index, metric)
    return (
        f"{text} ({signed(of_trace)} here)"
        if answer.days is not None and math.isfinite(of_trace)
        else text
    )


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
            f"{100 * gains[m][0][place]:+.1f} +- "
            f"{short(100 * half_shown(float(gains[m][1][place])), 2)}"
            for m in shown
        ]
        rows.append([f"{point:g}x" if by_asked else f"{point:,.0f}", *speeds, *gaps])
    page.table(header, rows)


def _crossing_rows(along: Along, crossed: Crossover) -> list[Row]:
    rows: list[Row] = []
    for metric in crossed.felt:
        rows.append((FELT[metric], _crossing(along.crossings[metric], along)))
    if along.refused:
        points = ", ".join(_point(along, point) for point in along.refused)
        rows.append(("not served", f"the largest request does not fit under no-evict at {points}"))
    if along.axis == "capacity":
        most = crossed.setup.demand.max_tokens
        what = "exactly what is put out" if most is None else str(most)
        rows.append(("asked for", f"{what}, {short(crossed.ratio)} times the outputs on average"))
    return rows


def _crossing(crossing: Crossing, along: Along) -> str:
    if crossing.found and crossing.at is not None:
        assert crossing.low is not None
        assert crossing.high is not None
        before, after = (_SHORT[str(side)] for side in (crossing.before, crossing.after))
        return (
            f"{before} up to {_point(along, crossing.low)}, "
            f"{after} from {_point(along, crossing.high)}; "
            f"they cross at about {_point(along, crossing.at)}"
        )
    if crossing.before is None:
        return "no difference beyond noise"
    if crossing.before != crossing.after:
        return (
            f"{_SHORT[crossing.before]} first, {_SHORT[str(crossing.after)]} last, not told where"
        )
    better = f"{_SHORT[crossing.before]} is better wherever they differ"
    same = (
        ""
        if crossing.same_from is None
        else f"; the same from {_point(along, crossing.same_from)} on"
    )
    return better + same


def _point(along: Along, point: float) -> str:
    return f"{point:.3g}x" if along.axis == "max_tokens" else f"{point:,.0f} tokens"


# --- what was run -------------------------------------------------------------------------------


def _run_rows(answer: EngineComparison) -> list[Row]:
    setup = answer.setup
    demand, clock, window = setup.demand, setup.clock, answer.window
    rows = common_rows(demand, window, clock, _runs(answer), capacity=setup.capacity)
    rows.append(("noise", _noise(answer)))
    if answer.logged is not None:
        text = "a difference has to exceed the error bar, off by and its spread together"
        rows.append(("the log", f"{text}; how far off the other engines are, nobody measured"))
    if not clock.prefills:
        rows.append(("CAUTION", FREE_PREFILL))
    for engine in answer.engines:
        rows += [row for row in max_tokens_rows(engine.rules, demand) if row not in rows]
    for index, count in answer.unfinished:
        ended = counted(count, "run")
        rows.append(("CAUTION", f"{answer.names[index]}: {ended} did not end with all served"))
    missing = "speculative decoding, scheduling cost, kernels: engines differ in their rules alone"
    where = ", where there is a prefix cache"
    return rows + missing_rows(missing, caching=True, shared=answer.shared, where=where)


def _runs(answer: EngineComparison) -> str:
    text = (
        f"{counted(answer.runs, 'run')} of {answer.requests:,} requests, the same for all engines"
    )
    if answer.iterations is None:
        return text
    count = f"{answer.iterations:,} iterations, the first {answer.warm_up:,} do not count"
    return f"{text}; {count}"


def _noise(answer: EngineComparison) -> str:
    what = "runs" if answer.pairs == "run" else "consecutive parts of the one run"
    if answer.days is not None:
        days = answer.days
        how = days.stretch and days.stretch.arrivals
        return (
            f"+- is over {len(days.tables)} fresh draws of {days.requests:,} requests "
            f"(conversations of the trace weighed anew in each, arrivals {how}) and what a log of "
            f"this length leaves open, {CONFIDENCE:.0%} for all {answer.comparisons} differences "
            "at once (Bonferroni); in brackets: of the trace itself"
        )
    return (
        f"+- is over {what}, {CONFIDENCE:.0%} for all {answer.comparisons} differences at once "
        "(Bonferroni)"
    )
