"""What `fluidkv recommend` answers, as a person reads it: today, what to set, what if, the runs."""

import math
from collections.abc import Callable, Mapping

from fluidkv.answers.recommend.pick_page import outcome_of, setting_text
from fluidkv.answers.recommend.records import MARGIN
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.served.bias import OUTPUT, Bias
from fluidkv.answers.served.cost import PER_MILLION
from fluidkv.answers.served.paired import CONFIDENCE, within_noise
from fluidkv.answers.served.rows import (
    TITLES,
    common_rows,
    max_tokens_rows,
    missing_rows,
    short_form,
)
from fluidkv.answers.served.setting import KNOBS
from fluidkv.report.numbers import counted, short, signed
from fluidkv.report.page import Page, Row

_CHANGES = {"": "as it is", "capacity": "KV", "inputs": "prompts"}  # others have their own name
_TIMES = {2: "twice the ", 0.5: "half the "}
_FRONTIER_ROWS = 8  # --out has all settings
_STEP = 0.9  # a row is shown if it preempts less than this times the row above
_HEADINGS = {
    "max_num_seqs": "max seqs",
    "admission_rate": "rate cap",
    "conservativeness": "conserv.",
}


def say_recommendation(page: Page, answer: Recommendation) -> None:
    """What it does today, what to set and how sure, what if, the frontier, how it was run."""
    at, outcome = f"{answer.name} at " if answer.name else "", outcome_of(answer)
    page.verdict(outcome.sentence)
    page.title(f"{at}{answer.plan.limits.capacity:,} KV tokens, rules of {_rules(answer)}")
    _say_today(page, answer)
    page.heading(outcome.heading)
    page.rows(outcome.rows)
    _say_what_if(page, answer)
    if len(answer.settings) > 1:
        _say_frontier(page, answer)
    page.heading("How it was run")
    page.rows([*answer.notes, *rows_of_runs(answer)])


def first_lines(bias: Mapping[str, Bias]) -> list[str]:
    """The first table, as long as what may be better is not known."""
    lines = [f"{'so far':<26}{'measured':>10}{'simulated':>11}{'off by':>8}"]
    for name, error in bias.items():
        numbers = f"{short(error.measured):>10}{short(error.simulated):>11}"
        title = TITLES.get(name, "output a second")
        lines.append(f"{title:<26}{numbers}{signed(error.relative):>8}")
    return lines


def _rules(answer: Recommendation) -> str:
    """Whose; and what a cache among them is."""
    engine = answer.plan.engine
    if engine.own_scheduler:
        return f"{answer.label}, its own scheduler" + " and tree" * engine.finds_prefixes
    rules = answer.label + short_form(engine.rules, engine.caching)
    return rules + ", prefix cache for preempted requests" * engine.caching


# --- what it does today -------------------------------------------------------------------------


def _say_today(page: Page, answer: Recommendation) -> None:
    """Measured, simulated and the best that was tried, side by side; what a gain has to exceed."""
    best, logged = answer.best, bool(answer.bias)
    page.heading("What it does today" + (", and the best that was tried" if best else ""))
    columns = ["measured", "simulated", "off by"] if logged else ["simulated"]
    if best:
        columns += ["tried", "gain", "+-", *(["counts from"] if logged else [])]
    metrics = dict.fromkeys((answer.throughput, *answer.tails, *answer.felt))
    rows = [
        *(_felt_cells(answer, metric) for metric in metrics),
        _cells(answer, "preemptions", "preemptions", measured=_logged_preemptions(answer)),
        _cells(answer, "computed again", "recompute_tax", _share),
    ]
    cost = answer.cost
    if cost is not None:

        def price(output: float) -> str:
            return short(cost.per_million(output), 3)

        measured = price(answer.bias[OUTPUT].measured) if OUTPUT in answer.bias else "-"
        rows.append(_cells(answer, f"cost, {PER_MILLION} output", OUTPUT, price, measured))
    page.table(["", *columns], [[row.get(column, "") for column in ("", *columns)] for row in rows])
    page.rows([("today", setting_text(answer, 0))])
    page.rows([("tried", setting_text(answer, best))] if best else ())
    page.rows(cost.rows() if cost else ())
    if logged and best:
        page.paragraph(
            "gain: on the measured or the simulated server, whichever is less. It counts if it is "
            "larger than 'counts from', which is what the simulation misses on this log (off by, "
            "and the spread of that over its quarters), and larger than +-, which is how much "
            "the quarters of the run disagree.",
            "dim",
        )


def _cells(
    answer: Recommendation,
    title: str,
    metric: str,
    show: Callable[[float], str] = short,
    measured: str = "-",
) -> dict[str, str]:
    """Column -> text, of what is no gain of anybody's: it says where gains come from."""
    now, tried = (show(answer.mean(index, metric)) for index in (0, answer.best or 0))
    return {"": title, "measured": measured, "simulated": now, "off by": "-", "tried": tried}


def _felt_cells(answer: Recommendation, metric: str) -> dict[str, str]:
    """The same of a metric that users feel; as a log's clients would have seen it."""
    gains, best, bias = answer.gains, answer.best or 0, answer.bias.get(metric)
    gain = gains.of(best, metric)
    return {
        "": _titled(answer, metric),
        "measured": "-" if bias is None else short(bias.measured),
        "simulated": short(gains.beside_log(0, metric)),
        "off by": "-" if bias is None else signed(bias.relative),
        "tried": short(gains.beside_log(best, metric)),
        "gain": signed(gain.relative),
        "+-": _share(gain.half),
        "counts from": f"{gain.needed:.1%}",
    }


def _logged_preemptions(answer: Recommendation) -> str:
    """What the log shows; "+": at least so many."""
    totals = answer.totals
    if totals is None or totals.preemptions is None:
        return "-"
    return f"{totals.preemptions:,}" + "+" * (not totals.counted)


def _titled(answer: Recommendation, metric: str) -> str:
    seconds = answer.plan.clock.unit == "s"
    if metric == answer.throughput:
        return f"output, tokens/{'s' if seconds else 'iteration'}"
    if metric == "goodput":
        return f"goodput, requests/{'s' if seconds else 'iteration'}"
    return f"{TITLES.get(metric, metric)}, {'s' if seconds else 'iterations'}"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


# --- what if ------------------------------------------------------------------------------------


def _say_what_if(page: Page, answer: Recommendation) -> None:
    """With more memory, longer prompts, more requests; as it is set now."""
    if not answer.what_if:
        return
    page.heading("What if: the same requests and clock, set as today")
    rows, refused = [], []
    for row in answer.what_if:
        title = _TIMES.get(float(row.factor), "") + _CHANGES.get(row.of, row.of)
        if row.metrics is None:
            refused.append(f"{title}: {row.why}")
            continue
        metrics = (answer.throughput, "preemptions", *answer.tails)
        rows.append([title, f"{row.capacity:,}", *(short(row.metrics.get(m)) for m in metrics)])
    page.table(["", "KV tokens", *_speed_titles(answer)], rows)
    for line in refused:
        page.line(line)
    text = "Simulated, and of this machine: another one has another clock."
    now = answer.settings[0]
    capped = now.max_num_seqs is not None or now.admission_rate is not None
    if capped and any(row.of == "capacity" for row in answer.what_if):
        text += " A cap of today's stays, and may take what memory gives."
    page.paragraph(text, "dim")


def _speed_titles(answer: Recommendation) -> list[str]:
    """Of throughput, preemptions and tails in a table."""
    unit = "s" if answer.plan.clock.unit == "s" else "it"
    return [f"tokens/{unit}", "preempt", *(TITLES[name] for name in answer.tails)]


# --- the frontier -------------------------------------------------------------------------------


def _say_frontier(page: Page, answer: Recommendation) -> None:
    """The settings that no other beats, fastest first."""
    shown = _on_the_page(answer)
    on_it = sum(index in answer.frontier for index in shown)
    others = counted(len(shown) - on_it, "other")
    more = f", and {others}" if len(shown) > on_it else ""
    page.heading(f"Frontier: {on_it} of {len(answer.frontier)} settings that no other beats{more}")
    turned = [k for k in KNOBS if len({getattr(answer.settings[i], k) for i in shown}) > 1]
    page.table(
        ("", *(_HEADINGS.get(knob, knob) for knob in turned), *_speed_titles(answer)),
        [
            (
                _marks(answer, index),
                *(short(getattr(answer.settings[index], knob)) for knob in turned),
                *(short(answer.mean(index, metric)) for metric in answer.plan.objectives),
            )
            for index in shown
        ],
    )
    legend = f"> pick  . now  = within {MARGIN:.0%} of the fastest"
    if answer.runs > 1:
        legend += "  ~ not told from it by the runs"
    page.line(legend, "dim")


def _on_the_page(answer: Recommendation) -> list[int]:
    """Fastest first; then who preempts clearly less than all above; now and the pick besides."""

    def slowness(index: int) -> float:
        return -answer.mean(index, answer.throughput)

    rows: list[int] = []
    least = math.inf
    for index in sorted(answer.frontier, key=slowness):
        preemptions = answer.mean(index, "preemptions")
        if preemptions < _STEP * least:
            rows.append(index)
            least = preemptions
    rows = rows[:_FRONTIER_ROWS]
    besides = {0, answer.choice.index, answer.choice.closest} - {None, *rows}
    return sorted([*rows, *(index for index in besides if index is not None)], key=slowness)


def _marks(answer: Recommendation, index: int) -> str:
    """Whether it is the pick, as it is now, as fast as the fastest, and not told from that."""
    speeds = answer.table[answer.throughput].values
    means = speeds.mean(axis=1)
    told = answer.runs == 1 or not within_noise(speeds[index], speeds[means.argmax()])
    marks = {
        ">": index == answer.choice.index,
        ".": index == 0,
        "=": means[index] >= (1 - MARGIN) * means.max(),
        "~": not told,
    }
    return "".join(mark if there else " " for mark, there in marks.items())


# --- how it was run -----------------------------------------------------------------------------


def rows_of_runs(answer: Recommendation) -> list[Row]:
    """What was run, for how long, on which clock, and what is not in it."""
    plan = answer.plan
    horizon = "until every request is served; start and end are in the numbers"
    if plan.horizon is not None:
        warm_up = plan.warm_up * plan.every
        horizon = f"{plan.horizon:,} iterations, of which the first {warm_up:,} do not count"
    noise = "one run of each setting: +- is from its four parts, which are not independent"
    if answer.runs > 1:
        noise = f"+- is {CONFIDENCE:.0%} for one pair of settings, not for all at once; "
        noise += "the best of many looks better than it is"
    rows = common_rows(
        plan.demand,
        plan.window,
        plan.clock,
        _runs(answer),
        [("horizon", horizon)],
        capacity=plan.limits.capacity,
        prefill_tokens=plan.limits.max_num_batched_tokens,
    )
    rows.append(("memory", _memory(answer)))
    if len(answer.settings) > 1:
        rows.append(("noise", noise))
    if answer.unfinished:
        why = "runs ran out of work before the horizon: take more --requests"
        if plan.horizon is None:
            why = "runs ended with requests that can never be admitted"
        rows.append(("CAUTION", f"{answer.unfinished} {why}"))
    missing = "speculative decoding, swapping, scheduling cost"
    if not plan.clock.prefills:
        missing += "; time for prefill, so that computing again costs nothing in throughput"
    rows += missing_rows(missing, caching=plan.engine.caching, shared=any(plan.prompts))
    rows += max_tokens_rows(plan.engine.rules, plan.demand)
    if len({setting.clients for setting in answer.settings}) > 1:
        rows.append(("", "with fewer clients: what then waits outside is in no latency"))
    return rows


def _runs(answer: Recommendation) -> str:
    count, window, requests = len(answer.settings), answer.plan.window, answer.plan.size
    what = "draw" if window is None else "run"
    parts = f"{counted(answer.runs, what)} of {requests:,} requests"
    if window is not None and window.whole:
        parts = f"all {requests:,} requests of the {'log' if answer.bias else 'trace'}"
    if count == 1:
        return f"as it is now x {parts}"
    text = f"{count} settings x {parts}; the same requests in every setting"
    if answer.ran.left_out:
        text += f"; {answer.ran.left_out} pairs of knobs not run: other values are better alone"
    return text


def _memory(answer: Recommendation) -> str:
    limits = answer.plan.limits
    budget = limits.max_num_batched_tokens
    tokens = "no limit on tokens per iteration" if budget is None else f"{budget:,} tokens at most"
    unused = limits.capacity - limits.blocks * limits.block_size
    left = f", {counted(unused, 'token')} unused" if unused else ""
    return (
        f"{limits.blocks:,} blocks of {limits.block_size}{left}; {tokens}; carries "
        f"{short(answer.plan.equilibrium.in_flight)} requests without eviction"
    )
