"""A recommendation, as a person reads it."""

import math
from collections.abc import Iterable

from fluidkv.answers.recommend import Recommendation, knobs
from fluidkv.answers.recommend.frontier import MARGIN, RULE
from fluidkv.answers.served.paired import difference
from fluidkv.answers.served.setting import KNOBS, Setting
from fluidkv.cli.commands.recommend_runs import simulated_rows
from fluidkv.cli.page.numbers import counted, short
from fluidkv.cli.page.page import Page, Row
from fluidkv.serving.engines import SGLANG

_ROWS = 12  # of the frontier; --out has all settings
_STEP = 0.9  # a row is shown if it preempts less than this times the row above
_ALL_START = "memory holds a good part of all requests at once: these runs are mostly their start"
_NAMES = {"admission_rate": "rate cap"}
_HEADINGS = {"max_num_seqs": "max seqs", "admission_rate": "rate cap"}
_TITLES = {
    "ttft_p99": "p99 TTFT",
    "latency_p99": "p99 latency",
    "longest_gap_p99": "p99 longest gap",
}


def say_recommendation(
    page: Page,
    found: Recommendation,
    name: str,
    notes: Iterable[Row],
    version: str | None = None,
) -> None:
    """Now, the pick and its flags, the frontier, what was run and what is left out.

    Args:
        page: where to.
        found: what to say.
        name: of the workload.
        notes: rows about where it came from.
        version: of the engine whose log was read.
    """
    at = f"{name} at " if name else ""
    page.title(f"{at}{found.limits.capacity:,} KV tokens, rules of {_rules(found)}")
    page.heading("As it is now")
    page.rows([("settings", _setting(found, 0)), *_results(found, 0)])
    _measured(page, found)
    _pick(page, found, version)
    page.heading("Watermark alone")
    page.rows(_watermark_rows(found))
    _frontier(page, found)
    page.heading("What was run")
    page.rows([*notes, *simulated_rows(found)])


def _rules(found: Recommendation) -> str:
    """Whose; and what a cache among them is."""
    if not found.caching:
        return found.engine.label
    own = found.engine == SGLANG
    what = "its own scheduler and tree" if own else "prefix cache for preempted requests"
    return f"{found.engine.label}, {what}"


# --- the pick -----------------------------------------------------------------------------------


def _measured(page: Page, found: Recommendation) -> None:
    """Measured, simulated and what the rule takes, side by side; what a gain has to exceed."""
    if not found.bias:
        return
    best = found.candidate
    header = ["", "measured", "simulated", "off by", "gains count from"]
    rows = []
    for name, bias in found.bias.items():
        unit = "tokens/s" if name == found.throughput else "s"
        title = "output" if name == found.throughput else _TITLES.get(name, name)
        cells = [f"{title}, {unit}", short(bias.measured), short(bias.simulated)]
        rows.append([*cells, f"{bias.relative:+.1%}", f"{bias.error_bar:.1%}"])
        if best:
            rows[-1] += [short(found.mean(best, name)), f"{found.gain(best, name):+.1%}"]
    page.heading("The log beside the simulation")
    page.table([*header, *(["by the rule", "change"] if best else [])], rows)
    page.paragraph(
        "Gains count from: what the simulation misses on this log, bias and spread over its "
        "quarters; and only as far as the log itself does not have them already.",
        "dim",
    )


def _pick(page: Page, found: Recommendation, version: str | None) -> None:
    choice = found.choice
    if found.all_start:
        page.heading("No pick")
        page.rows([("why", f"{_ALL_START}; take more --requests"), *_free_prefill(found)])
        return
    if choice.index is None:
        page.heading("No setting meets what is asked")
        index = choice.closest or 0
        rows: list[Row] = [("closest", _setting(found, index))]
    else:
        page.heading("Pick")
        index = choice.index
        rows = [("settings", "as it is now" if index == 0 else _setting(found, index))]
        if found.left and found.candidate is not None:
            rows = [("settings", "leave it as it is"), ("why", _left(found, found.candidate))]
    if index:
        rows += _results(found, index)
        rows.append(("against now", _gain(found, index)))
    rows += _free_prefill(found)
    rows += [("asked", line) for line in _slo_lines(found, index)]
    if choice.index is not None:
        rows += _flag_rows(found, index, version)
        rows.append(("rule", RULE))
        rows.append(("allowed", _allowed(found)))
    page.rows(rows)


def _left(found: Recommendation, best: int) -> str:
    gain = found.gain(best, found.throughput)
    return (
        f"nothing tried gains more than the simulation misses on this log; by the rule below it "
        f"would be {_setting(found, best)}, with {gain:+.1%} output, simulated against simulated: "
        f"{short(found.mean(0, 'preemptions'))} preemptions would become "
        f"{short(found.mean(best, 'preemptions'))}"
    )


def _free_prefill(found: Recommendation) -> list[Row]:
    if not found.free_prefill:
        return []
    what = "caps look worse than they are"
    if "watermark" in knobs(found.engine, found.demand):
        what = "a watermark looks worse than it is"
    silent = "; it has no time to first token" if found.demand.kind != "saturated" else ""
    said = f"prefill costs nothing here: {what}{silent}; give --clock D0:D1:D2"
    return [("CAUTION", said)]


def _allowed(found: Recommendation) -> str:
    what = (
        "every SLO in every run"
        if found.slos
        else f"no longer {' or '.join(_TITLES[t] for t in found.tails)} than now (+{MARGIN:.0%})"
    )
    count, ties = len(found.choice.allowed), len(found.choice.ties)
    return f"{what}: {count} of {len(found.settings)} settings, {ties} as fast"


def _gain(found: Recommendation, index: int) -> str:
    speeds = found.table[found.throughput].values
    mean, half = difference(speeds[index], speeds[0])
    base = speeds[0].mean()
    noise = f" (+- {half / base:.1%})" if found.runs > 1 else ""
    verdict = ", within noise" if found.runs > 1 and abs(mean) <= half else ""
    then, now = (found.mean(i, "preemptions") for i in (index, 0))
    parts = [f"throughput {mean / base:+.1%}{noise}{verdict}"]
    parts.append(f"preemptions {short(now)} -> {short(then)}")
    return "; ".join(parts)


def _slo_lines(found: Recommendation, index: int) -> list[str]:
    lines = []
    for slo in found.slos:
        values = found.table[slo.metric].values[index]
        worst = values.min() if slo.at_least else values.max()
        met = bool(slo.met(values[None])[0])
        sign = ">=" if slo.at_least else "<="
        unit = found.table[slo.metric].attrs["units"]
        lines.append(
            f"{slo.metric} {sign} {slo.bound:g} {unit}".rstrip()
            + f": {'met' if met else 'MISSED'}, "
            f"worst run {short(float(worst))}"
        )
    return lines


def _flag_rows(found: Recommendation, index: int, version: str | None) -> list[Row]:
    rows = []
    flags = " ".join(f"{flag} {value}" for flag, value in found.flags(index))
    if flags:
        rows.append(("set", f"{flags}   ({found.engine.label})"))
    for flag, first in found.needs(index, version):
        said = f"{flag}: {found.engine.name} {first} has it; the log's server is {version}"
        rows.append(("needs", said))
    for knob in found.without_flag(index):
        rows.append(("set", _no_flag(found, index, knob)))
    if not rows:
        rows.append(("set", "nothing to change"))
    return rows


def _no_flag(found: Recommendation, index: int, knob: str) -> str:
    setting = found.settings[index]
    if knob == "clients":
        return f"at most {setting.clients} requests at once from the clients; no flag of the engine"
    if knob != "admission_rate" or setting.admission_rate is None:
        return f"{knob} {getattr(setting, knob)}; {found.engine.label} has no flag for it"
    rate = float(setting.admission_rate)
    share = rate / float(found.equilibrium.rate)
    where = f"{rate:.4g} admissions per iteration ({share:.0%} of x*)"
    if found.clock.unit == "s":
        length = found.mean(index, "duration") / found.mean(index, "iterations")
        where += f", {rate / length:.3g} per second at {1000 * length:.3g} ms per iteration"
    return f"{where}; no flag: put a rate limiter in front"


# --- one setting --------------------------------------------------------------------------------


def _setting(found: Recommendation, index: int) -> str:
    setting, there = found.settings[index], knobs(found.engine, found.demand)
    parts = [f"watermark {setting.watermark:g}"] if "watermark" in there else []
    parts.append(_knob(setting, "max_num_seqs") if setting.max_num_seqs else "no max_num_seqs")
    if setting.admission_rate is not None:
        parts.append(f"{_knob(setting, 'admission_rate')} per iteration")
    if setting.clients is not None:
        parts.append(_knob(setting, "clients"))
    return ", ".join(parts)


def _knob(setting: Setting, name: str) -> str:
    value = getattr(setting, name)
    return f"{_NAMES.get(name, name)} {float(value):.4g}"


def _results(found: Recommendation, index: int) -> list[Row]:
    unit = "per second" if found.clock.unit == "s" else "per iteration"
    served = found.mean(index, "completions")
    preemptions = found.mean(index, "preemptions")
    each = f", {preemptions / served:.2g} for each request served" if served else ""
    tax = found.mean(index, "recompute_tax")
    recomputed = f", {tax:.1%} of the tokens computed again" if preemptions else ""
    tails = ", ".join(f"{_TITLES[name]} {_time(found, index, name)}" for name in found.tails)
    return [
        ("output", f"{short(found.mean(index, found.throughput))} tokens {unit}"),
        ("preemptions", f"{short(preemptions)} per run{each}{recomputed}"),
        ("tails", tails),
    ]


def _time(found: Recommendation, index: int, name: str) -> str:
    value = found.mean(index, name)
    if math.isnan(value):
        return "-"
    return f"{short(value)} {'s' if found.clock.unit == 's' else 'iterations'}"


# --- watermark ----------------------------------------------------------------------------------


def _watermark_rows(found: Recommendation) -> list[Row]:
    tried = found.watermarks
    if len(tried) < 2:
        why = f"{found.engine.label} has no flag for it"
        if "watermark" in knobs(found.engine, found.demand):
            why = "no other than the one that is set now was to be tried"
        return [("answer", f"not tried: {why}")]
    end = found.end_of_preemption
    largest = found.settings[tried[-1]].watermark
    left, now = found.mean(tried[-1], "preemptions"), found.mean(0, "preemptions")
    if found.all_start:
        answer = "not said: see above"
    elif end is None:
        share = f", {left / now:.0%} of what it is now" if now else ""
        answer = f"none tried ends preemption: {short(left)} per run are left at {largest:g}{share}"
    elif not found.settings[end].watermark:
        answer = "none is needed: no run preempts without one"
    else:
        answer = f"{found.settings[end].watermark:g} is the smallest tried that ends preemption"
    rows = [f"{found.settings[i].watermark:g}: {_cost(found, i)}" for i in tried]
    return [("answer", answer), ("tried", "; ".join(rows))]


def _cost(found: Recommendation, index: int) -> str:
    base = found.mean(0, found.throughput)
    gain = found.mean(index, found.throughput) / base - 1 if base else math.nan
    return f"{short(found.mean(index, 'preemptions'))} ({gain:+.1%} output)"


# --- the frontier -------------------------------------------------------------------------------


def _frontier(page: Page, found: Recommendation) -> None:
    shown = _shown(found)
    on_it = sum(index in found.frontier for index in shown)
    besides = counted(len(shown) - on_it, "other")
    more = f", and {besides}" if len(shown) > on_it else ""
    page.heading(f"Frontier: {on_it} of {len(found.frontier)} settings that no other beats{more}")
    turned = [k for k in KNOBS if len({getattr(found.settings[i], k) for i in shown}) > 1]
    unit = "s" if found.clock.unit == "s" else "it"
    page.table(
        (
            "",
            *(_HEADINGS.get(k, k) for k in turned),
            f"tokens/{unit}",
            "preempt",
            *(_TITLES[name] for name in found.tails),
        ),
        [
            (
                _mark(found, index),
                *(short(getattr(found.settings[index], knob)) for knob in turned),
                short(found.mean(index, found.throughput)),
                short(found.mean(index, "preemptions")),
                *(short(found.mean(index, name)) for name in found.tails),
            )
            for index in shown
        ],
    )
    legend = f"> pick  . now  = within {MARGIN:.0%} of the fastest"
    if found.runs > 1:
        legend += "  ~ not told from it by the runs"
    page.line(legend, "dim")


def _shown(found: Recommendation) -> list[int]:
    """Fastest first; then who preempts clearly less than all above; now and the pick besides."""
    fastest_first = sorted(found.frontier, key=lambda i: -found.mean(i, found.throughput))
    kept: list[int] = []
    least = math.inf
    for index in fastest_first:
        preemptions = found.mean(index, "preemptions")
        if preemptions < _STEP * least:
            kept.append(index)
            least = preemptions
    kept = kept[:_ROWS]
    besides = {0, found.choice.index, found.choice.closest} - {None, *kept}
    rows = [*kept, *(index for index in besides if index is not None)]
    return sorted(rows, key=lambda i: -found.mean(i, found.throughput))


def _mark(found: Recommendation, index: int) -> str:
    marks = ">" if index == found.choice.index else " "
    marks += "." if index == 0 else " "
    marks += "=" if found.as_fast(index) else " "
    return marks + ("~" if found.runs > 1 and found.in_noise(index) else " ")
