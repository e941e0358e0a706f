"""What sizing found, as a person reads it."""

from collections.abc import Iterable

from fluidkv.answers import Size, SizeAnswer
from fluidkv.answers.memory import Memory
from fluidkv.answers.served.cost import PER_MILLION, Cost
from fluidkv.answers.served.rows import short_form
from fluidkv.answers.size.cliff import TIMES_WORSE, Cliff
from fluidkv.answers.size.trials import NEAR_FULL
from fluidkv.cli.commands.size.basis import measured, run_rows, theory_rows
from fluidkv.cli.commands.size.draws import count_rows, holds_rows
from fluidkv.cli.commands.size.sizes import (
    arrivals_said,
    plain_size,
    pool_said,
    rate_said,
    size_said,
    slo_said,
    unit_of,
)
from fluidkv.cli.commands.size.verdict import bound_said, cost_at, in_short
from fluidkv.report.numbers import counted, percent, short
from fluidkv.report.page import Page, Row

ASSUMES = (
    "Sizes are simulated by the engine's own rules, not tried on a server. Every size serves the "
    "same requests, and the same fresh draws of what is like them, chosen once.",
    "How long an iteration lasts stands beside 'clock', and is the same function of the batch at "
    "every size.",
    "Where there are several replicas, they are alike and get requests in turn (round robin).",
    "An SLO is met where every run, and nearly every draw, meets it; nothing is concluded for a "
    "size that was not run.",
)
"""What the answer takes for granted, for the report."""

_NOTHING = "the log has nothing that can be held against the simulation"
_ROWS = 14  # of the table; --out has all sizes
_FOUND = {
    "kv": "smallest KV pool",
    "rate": "highest rate",
    "replicas": "fewest replicas",
}
_TITLES = {"ttft_p99": "p99 TTFT", "latency_p99": "p99 latency", "tpot_p99": "p99 TPOT"}


def say_size(
    page: Page,
    answer: SizeAnswer,
    name: str,
    memory: Memory,
    notes: Iterable[Row],
    why: str,
    cost: Cost | None,
) -> None:
    """The answer, the cliff behind it, the theory beside it, the log, and what was run.

    Args:
        page: where to.
        answer: what to say.
        name: of the requests.
        memory: options that say what a token takes.
        notes: rows about where requests and server came from.
        why: there is no log that holds the answer.
        cost: of a replica; None: not asked.
    """
    plan = answer.plan
    cache = ", with its prefix cache" if plan.caching else ""
    rules = plan.rules.label + short_form(plan.rules, plan.caching)
    of = f"{name}: " if name else ""
    page.verdict(in_short(answer, memory))
    page.title(f"{of}{_FOUND[plan.axis.find]}, rules of {rules}{cache}")
    page.heading("Answer")
    sure = _sure_rows(answer, memory, why)
    page.rows([*_answer_rows(answer, memory), *sure, ("bound", bound_said(answer))])
    page.line()
    _table(page, answer, cost)
    page.heading("The cliff")
    page.rows(_cliff_rows(answer, memory))
    page.heading("Theory", ", of the mass model, beside the simulation")
    page.rows(theory_rows(answer))
    measured(page, answer)
    page.heading("What was run")
    page.rows([*notes, *run_rows(answer)])


# --- the answer ---------------------------------------------------------------------------------


def _answer_rows(answer: SizeAnswer, memory: Memory) -> list[Row]:
    plan, edge = answer.plan, answer.edge
    rows: list[Row] = [(_FOUND[plan.axis.find], size_said(answer, answer.answer, memory))]
    rows += holds_rows(answer, memory)
    if plan.axis.find != "kv":
        rows.append(("KV pool", f"{pool_said(answer, answer.answer, memory)}, of each replica"))
    if plan.axis.find != "rate":
        rows.append(("arrivals", arrivals_said(answer)))
    for slo in plan.slos:
        found = answer.worst(answer.answer, slo.metric)
        spare = abs(found / slo.bound - 1) if slo.bound else 0.0
        unit = unit_of(answer, slo.metric)
        rows.append(
            (
                "asked",
                f"{slo_said(answer, slo)}: {short(found)}{unit}, "
                f"{percent(spare)} to spare{_of_which(answer)}",
            )
        )
    if edge.answer == answer.answer:
        rows.append(("next", _next(answer, memory)))
    if edge.ceiling is not None and edge.too_easy is not None:
        rows.append(
            (
                "CAUTION",
                f"met only up to {size_said(answer, edge.ceiling, memory)}: "
                f"{size_said(answer, edge.too_easy, memory)} misses "
                f"{_missed(answer, edge.too_easy)}; with more memory more requests run together: "
                "a cap on running requests keeps both",
            )
        )
    for first, last in edge.islands:
        span = size_said(answer, first, memory)
        if last != first:
            span += f" to {size_said(answer, last, memory)}"
        rows.append(
            (
                "not in order",
                f"{span} meets it, too, and others between do not: chance of "
                "these requests, no size to take",
            )
        )
    if answer.today is not None:
        rows.append(("today", _today(answer, memory)))
    return rows


def _of_which(answer: SizeAnswer) -> str:
    return "" if answer.nearly is None else ", by the requests that are run"


def _next(answer: SizeAnswer, memory: Memory) -> str:
    blocker, find = answer.edge.blocker, answer.plan.axis.find
    tried = f"{len(answer.along)} sizes tried"
    if blocker is None:
        least = {
            "kv": "none is smaller: the largest request needs it",
            "rate": "the highest tried: take more --requests to fill memory",
            "replicas": "one is enough",
        }[find]
        return f"{least}; {tried}"
    beyond = "every one tried beyond the answer meets it"
    if answer.edge.ceiling is not None:
        beyond = "those tried beyond the answer meet it only so far as the CAUTION says"
    harder = f"{size_said(answer, blocker, memory)} misses {_missed(answer, blocker)}"
    return f"{harder}; {beyond} ({tried})"


def _missed(answer: SizeAnswer, size: Size) -> str:
    parts = []
    for slo in answer.plan.slos:
        found = answer.worst(size, slo.metric)
        if not (found >= slo.bound if slo.at_least else found <= slo.bound):
            parts.append(f"{slo.metric}: {short(found)}{unit_of(answer, slo.metric)}")
    return ", ".join(parts) or "it: not all requests are served"


def _today(answer: SizeAnswer, memory: Memory) -> str:
    now = answer.today
    assert now is not None  # asked only then
    if not answer.meets(now):
        return f"{size_said(answer, now, memory)}: misses {_missed(answer, now)}"
    axis = answer.plan.axis
    change = axis.of(answer.answer) / axis.of(now) - 1
    which = _of_which(answer)
    return f"{size_said(answer, now, memory)} meets it{which}; the answer is {change:+.1%}"


def _sure_rows(answer: SizeAnswer, memory: Memory, why: str) -> list[Row]:
    """How sure: chance of the requests, and what the simulation missed on the log."""
    rows: list[Row] = []
    if answer.runs > 1:
        each = [plain_size(answer, size) for size in answer.each_run() if size is not None]
        rows.append(("each run", f"by itself: {', '.join(each)}"))
    against = answer.against
    if against is None:
        rows.append(("measured", f"no measurement holds it: {why or _NOTHING}"))
        return rows
    found = "none tried" if against.edge is None else size_said(answer, against.edge.answer, memory)
    drawn = "" if answer.nearly is None else " and for the same draws"
    rows.append(
        (
            "with its error",
            f"{found}, if every iteration lasts {against.bar:.1%} longer{drawn}: so far "
            "off was the simulation on this log, bias and spread together",
        )
    )
    own, at = answer.plan.own_rate, answer.rate(answer.answer)
    if own is not None and abs(at / own - 1) > 0.01:
        rows.append(
            (
                "",
                f"that error was measured at {short(own)} arrivals a second; at "
                f"{short(at)} nothing was measured",
            )
        )
    return rows


# --- the cliff ----------------------------------------------------------------------------------


def _cliff_rows(answer: SizeAnswer, memory: Memory) -> list[Row]:
    at = answer.answer
    less, more = {
        "kv": ("less memory", "faster arrivals"),
        "rate": ("faster arrivals", "less memory"),
        "replicas": ("fewer replicas", "faster arrivals"),
    }[answer.plan.axis.find]
    load = answer.plan.load(at)
    held = answer.worst(at, "peak_kv")
    return [
        ("load", f"{load:.2f} of what this memory carries in theory without preemptions"),
        (
            "memory",
            f"at most {short(held)} tokens held, {percent(answer.worst(at, 'peak_share'))} of the "
            f"blocks; {percent(answer.mean(at, 'utilisation'))} in the mean; "
            f"{percent(answer.mean(at, 'near_full'))} of the time {NEAR_FULL:.0%} or more",
        ),
        (less, _beyond(answer, answer.cliff, memory)),
        (more, _beyond(answer, answer.other, memory)),
        ("preemptions", _preemptions(answer, memory)),
        *count_rows(answer),
    ]


def _beyond(answer: SizeAnswer, cliff: Cliff, memory: Memory) -> str:
    title = _TITLES[cliff.metric]
    if cliff.worse is None or cliff.margin is None:
        return f"{title} is nowhere {TIMES_WORSE:g} times that of the answer, of what was tried"
    times = (
        "never comes for some"
        if cliff.times is None
        else f"is {short(cliff.times, 2)} times as long"
    )
    where = cliff.worse
    kind = "kv" if where.blocks != answer.answer.blocks else "rate"
    if where.replicas != answer.answer.replicas:
        return f"{title} {times} with {counted(where.replicas, 'replica')}"
    change = f"{cliff.margin:.1%} {'less memory' if kind == 'kv' else 'more requests a second'}"
    if answer.plan.clock.unit != "s":
        change = change.replace("a second", "an iteration")
    place = pool_said(answer, where, memory) if kind == "kv" else rate_said(answer, where)
    return f"{title} {times} with {change} ({place})"


def _preemptions(answer: SizeAnswer, memory: Memory) -> str:
    first = answer.cliff.preempts
    at = answer.mean(answer.answer, "preemptions")
    if first is None:
        return "none at any size tried"
    where = size_said(answer, first, memory)
    if at:
        return f"{short(at)} per run at the answer; the last that preempts is {where}"
    return f"none at the answer; they begin at {where} ({answer.cliff.preempts_margin or 0:+.1%})"


def _table(page: Page, answer: SizeAnswer, cost: Cost | None) -> None:
    tail = _TITLES[answer.tail]
    first = {"kv": "KV tokens", "rate": "rate", "replicas": "replicas"}[answer.plan.axis.find]
    unit = "tok/s" if answer.plan.clock.unit == "s" else "tok/it"
    header = ["", first, "load", "peak KV", "preempt", tail, "p99 TPOT", unit]
    header += [PER_MILLION] if cost else []
    rows = []
    for size in shown(answer):
        rows.append(
            [
                _mark(answer, size),
                plain_size(answer, size),
                f"{answer.plan.load(size):.2f}",
                short(answer.worst(size, "peak_kv")),
                short(answer.mean(size, "preemptions")),
                short(answer.worst(size, answer.tail)),
                short(answer.worst(size, "tpot_p99")),
                short(answer.mean(size, "output_throughput_per_time")),
                *([short(cost_at(answer, size, cost), 3)] if cost else []),
            ]
        )
    page.table(header, rows)
    page.rows(cost.rows() if cost else ())
    page.line(
        f"> answer  . today  x misses an SLO  ! {tail} {TIMES_WORSE:g} times the answer's", "dim"
    )


def shown(answer: SizeAnswer) -> list[Size]:
    """A few on both sides of the answer, today's and the cliff; easiest first."""
    order = list(answer.along)[::-1]
    keep = {answer.answer, answer.edge.blocker, answer.today, answer.cliff.worse}
    keep |= {answer.cliff.preempts, answer.edge.ceiling, answer.edge.too_easy}
    axis, at = answer.plan.axis, answer.plan.axis.of(answer.answer)
    for factor in (0.5, 0.65, 0.8, 0.9, 0.955, 1.05, 1.1, 1.25, 1.5, 2.0):
        if len(keep - {None}) < _ROWS:
            keep.add(min(order, key=lambda size: abs(axis.of(size) / at - factor)))
    return [size for size in order if size in keep]


def _mark(answer: SizeAnswer, size: Size) -> str:
    worse = answer.worst(size, answer.tail) >= TIMES_WORSE * answer.cliff.at
    return (
        (">" if size == answer.answer else " ")
        + ("." if size == answer.today else " ")
        + (" " if answer.meets(size) else "x")
        + ("!" if worse else " ")
    )
