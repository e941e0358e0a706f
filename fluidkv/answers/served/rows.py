"""What pages about servers say alike: when requests come, the clock, the part of a trace that is
served, what an engine takes outputs to be, and what holds a simulated gain.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fluidkv.answers.served.described import THROUGHPUTS
from fluidkv.answers.served.load import LARGEST_COUNT
from fluidkv.report.numbers import short
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.answers.served.bias import Bias
    from fluidkv.answers.served.demand import Demand
    from fluidkv.answers.served.published import Published
    from fluidkv.answers.served.window import Window
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.rules import EngineRules

TITLES = {
    "ttft_p50": "median TTFT",
    "ttft_p99": "p99 TTFT",
    "latency_p99": "p99 latency",
    "tpot_p99": "p99 TPOT",
    "longest_gap_p99": "p99 longest gap",
}
"""Times that users feel, in words."""
FELT = TITLES | dict.fromkeys(THROUGHPUTS, "throughput")
"""What users feel, in words."""


def arrivals_text(demand: "Demand", unit: str, saturated: str = "") -> str:
    """When requests come, as a page says it.

    Args:
        unit: of the clock.
        saturated: what else to say where all wait from the start.
    """
    if demand.kind == "rate":
        return f"Poisson, {demand.rate:g} per {'second' if unit == 's' else 'iteration'}"
    if demand.kind == "clients":
        return f"{demand.clients} clients, each asks again when it has its answer"
    if demand.kind == "replay":
        faster = f", {demand.speed:g} times as fast" if demand.speed != 1 else ""
        return f"the trace at its own times{faster}"
    return f"all requests wait from the start{saturated}"


def short_form(rules: "EngineRules", caching: bool) -> str:
    """What `sglang` leaves out that `sglang+cache` has; "" of others."""
    from fluidkv.serving.engines import SGLANG

    if rules != SGLANG or caching:
        return ""
    return " (a short form of its scheduler without the prefix tree; sglang+cache has both)"


def max_tokens_rows(rules: "EngineRules", demand: "Demand") -> list[tuple[str, str]]:
    """What an engine takes outputs to be at most, where its admission looks at that."""
    from fluidkv.serving.rules import Gate

    if rules.gate not in (Gate.PEAK, Gate.RATIO):
        return []
    if demand.max_tokens is None:
        said = "as it sees all outputs to come exactly; --max-tokens says what clients ask for"
        return [("CAUTION", f"{rules.name} sets room aside {said}")]
    return [("max tokens", f"{demand.max_tokens}: {rules.name} sets room aside by it")]


def window_rows(window: "Window | None") -> list[tuple[str, str]]:
    """Which part of a trace is served, and how its rate compares; the rate in each tenth of it."""
    if window is None:
        return []
    rows: list[tuple[str, str]] = []
    if not window.whole:
        part = f"the first {window.requests * window.runs:,} of {window.of:,} requests"
        if window.busiest:
            part = f"the busiest {window.requests:,} requests in a row, of {window.of:,}"
        if window.runs > 1:
            part += f", in {window.runs} parts that each find an empty server"
        if window.rate is not None and window.rate_of_all is not None:
            own, whole = (f"{rate:.2f}" for rate in (window.rate, window.rate_of_all))
            part += f"; at the trace's own times {own} a second, and {whole} in all of it"
        rows.append(("window", part))
        if window.busiest:
            rest = f"the other {window.of - window.requests:,} are not served:"
            why = f"all may take over a minute or a gigabyte; --requests {window.of} serves them"
            if window.of > LARGEST_COUNT:
                why = f"a run has at most {LARGEST_COUNT:,} requests"
            rows.append(("", f"{rest} {why}"))
    if window.tenths:
        rates = ", ".join(f"{rate:.2f}" for rate in window.tenths)
        each = "arrivals a second in each tenth of the time that is served"
        rows.append(("tenths", f"{rates} {each}, at the trace's own times"))
    return rows


def common_rows(
    demand: "Demand",
    window: "Window | None",
    clock: "IterationClock",
    runs: str,
    then: Sequence[Row] = (),
    *,
    saturated: str = "",
    capacity: float,
    running: int | None = None,
    prefill_tokens: int | None = None,
) -> "list[Row]":
    """What was run, the same for every server: when requests come, how many, and the clock.

    Args:
        runs: how many runs and requests.
        then: rows in front of the clock.
        saturated: as of `arrivals_text`.
        capacity, running, prefill_tokens: as of `clock_rows`.
    """
    return [
        ("arrivals", arrivals_text(demand, clock.unit, saturated)),
        ("runs", runs),
        *window_rows(window),
        *then,
        *clock_rows(clock, capacity=capacity, running=running, prefill_tokens=prefill_tokens),
    ]


def missing_rows(missing: str, *, caching: bool, shared: bool, where: str = "") -> "list[Row]":
    """What is not in a simulation, prefixes among it as far as they are not.

    Args:
        missing: what else.
        caching: whether prefixes are cached.
        shared: whether it is known which prompts begin alike.
        where: they are looked at, if that is not everywhere.
    """
    if not caching:
        return [("not in it", f"prefix caching, {missing}")]
    if not shared:
        return [("not in it", f"prompts that begin alike, {missing}")]
    return [("prompts", f"begin alike as the trace says{where}"), ("not in it", missing)]


def clock_rows(
    clock: "IterationClock",
    *,
    capacity: float,
    running: int | None = None,
    prefill_tokens: int | None = None,
) -> "list[Row]":
    """The clock of a run, how far off a modelled one may be, and where the run leaves its range.

    Args:
        clock: of the run.
        capacity: KV tokens that the run may hold.
        running, prefill_tokens: most of an iteration, where they are limited.
    """
    from fluidkv.answers.served.clock_from import log_behind
    from fluidkv.serving.machines.against import cautions_of, caveat_of
    from fluidkv.serving.machines.named import known, outside

    rows: list[Row] = [("clock", clock_text(clock))]
    if (found := log_behind(clock)) is not None:
        return [*rows, ("", found.caveat)]
    named = known(clock)
    if named is None:
        return rows
    rows += [("", caveat)] if (caveat := caveat_of(named)) else []
    rows += [("CAUTION", caution) for caution in cautions_of(named)]
    beyond = outside(
        named.validity,
        running=running,
        kv_tokens=capacity,
        prefill_tokens=prefill_tokens,
    )
    return rows + [
        ("CAUTION", f"outside of what {clock.name} was taken from: {said}") for said in beyond
    ]


def clock_text(clock: "IterationClock") -> str:
    """A clock as a page says it."""
    if clock.unit == "iteration":
        return "every iteration lasts 1; --clock turns them into seconds"
    parts = [f"{clock.base:g} s per iteration"]
    for value, of in (
        (clock.per_kv_token, "KV token"),
        (clock.per_prefill_token, "prefill token"),
        (clock.per_prefill_pair, "pair of a prefill token and one before it"),
        (clock.per_request, "request that decodes"),
        (clock.experts, "reading of all experts"),
    ):
        if value:
            parts.append(f"{value:g} s per {of}")
    said = " + ".join(parts)
    return f"{said} ({clock.name})" if clock.name else said


def measured_table(page: Page, bias: "Mapping[str, Bias]") -> None:
    """The log beside its simulation: how far that is off, and with the spread its error bar."""
    rows = []
    for name, one in bias.items():
        title = f"{TITLES[name]}, s" if name in TITLES else "output, tokens/s"
        cells = [title, short(one.measured), short(one.simulated)]
        rows.append([*cells, f"{one.relative:+.1%}", f"{one.error_bar:.1%}"])
    page.table(["", "measured", "simulated", "off by", "error bar"], rows)


def not_measured(rules: str, caching: bool) -> str:
    """Where no log is given: what holds a gain, and what simulations missed where one was."""
    from fluidkv.answers.served.elsewhere import missed_elsewhere

    said = "no log of this very run is given, so nothing measured holds a gain here"
    missed = missed_elsewhere(rules, caching)
    if not missed:
        return f"{said}; no log of such an engine was at hand"
    parts = []
    for metric in dict.fromkeys(one.metric for one in missed):
        name = "output" if metric.startswith("output") else TITLES.get(metric, metric)
        off = [one.relative for one in missed if one.metric == metric]
        span = f"{min(off):+.1%}" if len(off) == 1 else f"{min(off):+.1%} to {max(off):+.1%}"
        parts.append(f"{name} {span}")
    logs, first = {one.log for one in missed}, missed[0]
    return (
        f"{said}. On {len(logs)} measured {'log' if len(logs) == 1 else 'logs'} of {first.server} "
        f"simulations by the rules of {first.engine} were off by {', '.join(parts)}"
    )


def published_rows(misses: "Sequence[Published]") -> list[Row]:
    """What is published of a knob beside what we predict, and what chance makes of the two."""
    return [("published", "; ".join(map(_published, misses)))] if misses else []


def _published(one: "Published") -> str:
    measured, ours = (_in_unit(value, one.unit) for value in (one.published, one.ours))
    text = f"{one.what}: {measured} measured, {ours} predicted"
    if one.chance is not None:
        within = abs(one.published - one.ours) <= one.chance
        apart = "no more than the order of arrival makes, so that one test run will not tell"
        beyond = "more than the order of arrival makes"
        text += f", {apart if within else beyond} ({one.chance:.2g} {one.unit})"
    return f"{text} ({one.claim})"


def _in_unit(value: float, unit: str) -> str:
    return f"{value:.1%}" if unit == "share" else f"{value:+.3g} {unit}"
