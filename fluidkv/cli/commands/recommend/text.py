"""A recommendation, as a person reads it: today, what to set and how sure, what if, the runs."""

import math
from collections.abc import Iterable
from typing import Any

from fluidkv.answers.recommend import Recommendation
from fluidkv.answers.served.bias import OUTPUT
from fluidkv.answers.served.cost import PER_MILLION, Cost
from fluidkv.answers.served.rows import TITLES, short_form
from fluidkv.cli.commands.recommend.frontier import say_frontier
from fluidkv.cli.commands.recommend.pick import in_short, pick_rows, setting_said
from fluidkv.cli.commands.recommend.runs import simulated_rows
from fluidkv.report.numbers import short, signed
from fluidkv.report.page import Page, Row

ASSUMES = (
    "Settings are simulated by the engine's own rules, not tried on a server. Where a log is "
    "given, its own run is simulated as well, and the error of that stands beside each gain.",
    "How long an iteration lasts stands beside 'clock', and is the same function of the batch in "
    "every setting.",
    "Every setting serves the same requests; how they come stands beside 'arrivals'. Another day "
    "may bring others.",
)
"""What the answer takes for granted, for the report."""

_CHANGES = {"": "as it is", "capacity": "KV", "inputs": "prompts", "rate": "rate"}
_CHANGES |= {"clients": "clients"}


def say_recommendation(
    page: Page, found: Recommendation, name: str, notes: Iterable[Row], cost: Cost | None
) -> None:
    """What it does today, what to set and how sure, what if, the frontier, how it was run.

    Args:
        page: where to.
        found: what to say.
        name: of the workload.
        notes: rows about where it came from.
        cost: of the server; None: not asked.
    """
    at = f"{name} at " if name else ""
    page.verdict(in_short(found))
    page.title(f"{at}{found.plan.limits.capacity:,} KV tokens, rules of {_rules(found)}")
    _today(page, found, cost)
    page.heading(_heading(found))
    page.rows(pick_rows(found))
    _what_if(page, found)
    if len(found.settings) > 1:
        say_frontier(page, found)
    page.heading("How it was run")
    page.rows([*notes, *simulated_rows(found)])


def _rules(found: Recommendation) -> str:
    """Whose; and what a cache among them is."""
    engine = found.plan.engine
    if engine.own_scheduler:
        return f"{found.label}, its own scheduler" + " and tree" * engine.finds_prefixes
    said = found.label + short_form(engine.rules, engine.caching)
    return said + ", prefix cache for preempted requests" * engine.caching


# --- what it does today -------------------------------------------------------------------------


def _best(found: Recommendation) -> int | None:
    return found.choice.index or found.candidate or found.choice.closest


def costs(found: Recommendation, cost: Cost | None) -> dict[str, Any]:
    """For JSON: of a million output tokens, as it is set and by the best that was tried."""
    if cost is None:
        return {}
    best = _best(found)
    at = {"now": 0} | ({"tried": best} if best else {})
    return cost.values(**{k: cost.per_million(found.mean(i, OUTPUT)) for k, i in at.items()})


def _today(page: Page, found: Recommendation, cost: Cost | None) -> None:
    """Measured, simulated and the best that was tried, side by side; what a gain has to exceed."""
    best = _best(found)
    page.heading("What it does today" + (", and the best that was tried" if best else ""))
    header = ["", *(["measured"] if found.bias else []), "simulated"]
    header += ["off by"] if found.bias else []
    header += (["tried", "gain", "+-", *(["counts from"] if found.bias else [])]) if best else []
    rows = []
    for metric in dict.fromkeys((found.throughput, *found.tails, *found.felt)):
        bias = found.bias.get(metric)
        cells = [_titled(found, metric)]
        if found.bias:
            cells.append("-" if bias is None else short(bias.measured))
        cells.append(short(found.gains.beside_log(0, metric)))
        if found.bias:
            cells.append("-" if bias is None else signed(bias.relative))
        if best:
            gain = found.gains.of(best, metric)
            cells += [short(found.gains.beside_log(best, metric)), signed(gain.relative)]
            cells.append(_share(gain.half))
            cells += [f"{gain.needed:.1%}"] if found.bias else []
        rows.append(cells)
    rows += _of_preemptions(found, best, len(header))
    rows += [_priced(found, best, cost, len(header))] if cost else []
    page.table(header, rows)
    page.rows([("today", setting_said(found, 0))])
    if best:
        page.rows([("tried", setting_said(found, best))])
    page.rows(cost.rows() if cost else ())
    if found.bias and best:
        page.paragraph(
            "gain: on the measured or the simulated server, whichever is less. It counts if it is "
            "larger than 'counts from', which is what the simulation misses on this log (off by, "
            "and the spread of that over its quarters), and larger than +-, which is how much "
            "the quarters of the run disagree.",
            "dim",
        )


def _priced(found: Recommendation, best: int | None, cost: Cost, width: int) -> list[str]:
    """What a million output tokens cost: measured, simulated, tried."""
    bias = found.bias.get(OUTPUT)
    cells = [f"cost, {PER_MILLION} output"]
    if found.bias:
        cells.append("-" if bias is None else short(cost.per_million(bias.measured), 3))
    cells.append(short(cost.per_million(found.mean(0, OUTPUT)), 3))
    cells += ["-"] if found.bias else []
    cells += [short(cost.per_million(found.mean(best, OUTPUT)), 3)] if best else []
    return [*cells, *([""] * (width - len(cells)))]


def _of_preemptions(found: Recommendation, best: int | None, width: int) -> list[list[str]]:
    """Two rows that are no gain of anybody's: they say where gains come from."""
    rows = []
    for title, metric, form in (
        ("preemptions", "preemptions", short),
        ("computed again", "recompute_tax", _share),
    ):
        cells = [title, *([_seen(found, metric)] if found.bias else [])]
        cells.append(form(found.mean(0, metric)))
        cells += ["-"] if found.bias else []
        cells += [form(found.mean(best, metric))] if best else []
        rows.append([*cells, *([""] * (width - len(cells)))])
    return rows


def _seen(found: Recommendation, metric: str) -> str:
    """What the log shows; "+": at least so many."""
    count = found.totals.preemptions
    if metric != "preemptions" or count is None:
        return "-"
    return f"{count:,}" + ("" if found.totals.counted else "+")


def _titled(found: Recommendation, metric: str) -> str:
    seconds = found.plan.clock.unit == "s"
    if metric == found.throughput:
        return f"output, tokens/{'s' if seconds else 'iteration'}"
    if metric == "goodput":
        return f"goodput, requests/{'s' if seconds else 'iteration'}"
    return f"{TITLES.get(metric, metric)}, {'s' if seconds else 'iterations'}"


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


# --- what to set --------------------------------------------------------------------------------


def _heading(found: Recommendation) -> str:
    if found.ran.nothing_to_gain:
        return "Nothing to gain: leave it as it is"
    if found.all_start:
        return "No pick"
    if found.choice.index is None:
        return "No setting meets what is asked"
    return "What to set, and how sure"


# --- what if ------------------------------------------------------------------------------------


def _what_if(page: Page, found: Recommendation) -> None:
    """With more memory, longer prompts, more requests; as it is set now."""
    if not found.what_if:
        return
    page.heading("What if: the same requests and clock, set as today")
    unit = "s" if found.plan.clock.unit == "s" else "it"
    header = ["", "KV tokens", f"tokens/{unit}", "preempt", *(TITLES[t] for t in found.tails)]
    rows, refused = [], []
    for each in found.what_if:
        times = {2: "twice the ", 0.5: "half the "}.get(float(each.factor), "")
        title = times + _CHANGES[each.of]
        if each.metrics is None:
            refused.append(f"{title}: {each.why}")
            continue
        metrics = (found.throughput, "preemptions", *found.tails)
        cells = [short(each.metrics.get(name)) for name in metrics]
        rows.append([title, f"{each.capacity:,}", *cells])
    page.table(header, rows)
    for line in refused:
        page.line(line)
    said = "Simulated, and of this machine: another one has another clock."
    if any(each.of == "capacity" for each in found.what_if) and _capped(found):
        said += " A cap of today's stays, and may take what memory gives."
    page.paragraph(said, "dim")


def _capped(found: Recommendation) -> bool:
    now = found.settings[0]
    return now.max_num_seqs is not None or now.admission_rate is not None
