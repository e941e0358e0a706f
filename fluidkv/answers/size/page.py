"""What `fluidkv size` answers, as a person reads it."""

from collections.abc import Iterable

from fluidkv.answers.served.cost import PER_MILLION
from fluidkv.answers.served.fresh import share_in, spread
from fluidkv.answers.served.rows import (
    TITLES,
    clock_rows,
    measured_table,
    short_form,
    window_rows,
)
from fluidkv.answers.size.nearly import Nearly
from fluidkv.answers.size.refusing import caps_of
from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.search import met_by_run
from fluidkv.answers.size.sizes import TIMES_WORSE, Cliff, Size
from fluidkv.answers.size.trials import NEAR_FULL, worst_of
from fluidkv.answers.size.words import (
    arrivals_text,
    bound_text,
    in_short,
    per,
    plain_size,
    pool_text,
    rate_text,
    share_text,
    size_text,
    slo_text,
    value_text,
)
from fluidkv.report.numbers import counted, percent, short
from fluidkv.report.page import Page, Row

_NOTHING = "the log has nothing that can be held against the simulation"
_ROWS = 14  # of the table; --out has all sizes
_LOOKED_FOR = {
    "kv": ("smallest KV pool", "KV tokens", "less memory", "faster arrivals"),
    "rate": ("highest rate", "rate", "faster arrivals", "less memory"),
    "replicas": ("fewest replicas", "replicas", "fewer replicas", "faster arrivals"),
}
"""What is looked for -> the answer, a column, what is harder, and what is on the other axis."""
_HARDEST = {
    "kv": "none is smaller: the largest request needs it",
    "rate": "the highest tried: take more --requests to fill memory",
    "replicas": "one is enough",
}


def say_size(page: Page, answer: SizeAnswer) -> None:
    """The answer, the cliff behind it, the theory beside it, the log, and what was run."""
    plan, engine = answer.plan, answer.plan.engine
    cache = ", with its prefix cache" if engine.caching else ""
    rules = engine.rules.label + short_form(engine.rules, engine.caching)
    of = f"{answer.name}: " if answer.name else ""
    page.verdict(in_short(answer))
    page.title(f"{of}{_LOOKED_FOR[plan.axis.find][0]}, rules of {rules}{cache}")
    page.heading("Answer")
    page.rows([*_answer_rows(answer), *_sure_rows(answer), ("bound", bound_text(answer))])
    page.line()
    _table(page, answer)
    page.heading("The cliff")
    page.rows(_cliff_rows(answer))
    page.heading("Theory", ", of the mass model, beside the simulation")
    page.rows(_theory_rows(answer))
    if answer.bias:
        page.heading("Today's server, measured and simulated", ", at the log's own arrivals")
        measured_table(page, answer.bias)
    page.heading("What was run")
    page.rows([*answer.notes, *_run_rows(answer)])


# --- the answer ---------------------------------------------------------------------------------


def _answer_rows(answer: SizeAnswer) -> list[Row]:
    plan, edge, at = answer.plan, answer.edge, answer.answer
    rows: list[Row] = [(_LOOKED_FOR[plan.axis.find][0], size_text(answer, at))]
    if answer.nearly is not None:
        rows += _draws_rows(answer, answer.nearly)
    if plan.axis.find != "kv":
        rows.append(("KV pool", f"{pool_text(answer, at)}, of each replica"))
    if plan.axis.find != "rate":
        rows.append(("arrivals", arrivals_text(answer)))
    of_which = "" if answer.nearly is None else ", by the requests that are run"
    for slo in plan.slos:
        worst = answer.worst(at, slo.metric)
        spare = percent(abs(worst / slo.bound - 1) if slo.bound else 0.0)
        text = f"{slo_text(answer, slo)}: {value_text(answer, slo.metric, worst)}"
        rows.append(("asked", f"{text}, {spare} to spare{of_which}"))
    if edge.answer == at:
        rows.append(("next", _next(answer)))
    if edge.ceiling is not None and edge.too_easy is not None:
        text = (
            f"met only up to {size_text(answer, edge.ceiling)}: {_missed(answer, edge.too_easy)}; "
            "with more memory more requests run together: a cap on running requests keeps both"
        )
        rows.append(("CAUTION", text))
    for island in edge.islands:
        span = " to ".join(size_text(answer, size) for size in dict.fromkeys(island))
        why = "chance of these requests, no size to take"
        rows.append(("not in order", f"{span} meets it, too, and others between do not: {why}"))
    if answer.today is not None and answer.meets(answer.today):
        change = plan.axis.of(at) / plan.axis.of(answer.today) - 1
        text = f"{size_text(answer, answer.today)} meets it{of_which}; the answer is {change:+.1%}"
        rows.append(("today", text))
    elif answer.today is not None:
        rows.append(("today", _missed(answer, answer.today, ": misses")))
    return rows


def _next(answer: SizeAnswer) -> str:
    edge, tried = answer.edge, f"{len(answer.along)} sizes tried"
    if edge.blocker is None:
        return f"{_HARDEST[answer.plan.axis.find]}; {tried}"
    beyond = "every one tried beyond the answer meets it"
    if edge.ceiling is not None:
        beyond = "those tried beyond the answer meet it only so far as the CAUTION says"
    return f"{_missed(answer, edge.blocker)}; {beyond} ({tried})"


def _missed(answer: SizeAnswer, size: Size, misses: str = " misses") -> str:
    parts = [
        f"{slo.metric}: {value_text(answer, slo.metric, worst)}"
        for slo in answer.plan.slos
        for worst in [answer.worst(size, slo.metric)]
        if not (worst >= slo.bound if slo.at_least else worst <= slo.bound)
    ]
    what = ", ".join(parts) or "it: not all requests are served"
    return f"{size_text(answer, size)}{misses} {what}"


def _sure_rows(answer: SizeAnswer) -> list[Row]:
    """How sure: chance of the requests, and what the simulation missed on the log."""
    rows: list[Row] = []
    if answer.runs > 1:
        sizes = [plain_size(answer, size) for size in answer.each_run() if size is not None]
        rows.append(("each run", f"by itself: {', '.join(sizes)}"))
    against = answer.against
    if against is None:
        return [*rows, ("measured", f"no measurement holds it: {answer.unheld or _NOTHING}")]
    needed = "none tried" if against.edge is None else size_text(answer, against.edge.answer)
    drawn = "" if answer.nearly is None else " and for the same draws"
    text = (
        f"{needed}, if every iteration lasts {against.bar:.1%} longer{drawn}: so far "
        "off was the simulation on this log, bias and spread together"
    )
    rows.append(("with its error", text))
    own, at = answer.plan.own_rate, answer.rate(answer.answer)
    if own is not None and abs(at / own - 1) > 0.01:
        text = f"that error was measured at {short(own)} arrivals a second; at {short(at)} nothing"
        rows.append(("", f"{text} was measured"))
    return rows


# --- fresh draws --------------------------------------------------------------------------------


def _draws_rows(answer: SizeAnswer, nearly: Nearly) -> list[Row]:
    """What holds for other draws, the worst of them, and what these requests alone would say."""
    draws = f"{nearly.draws} fresh draws of {nearly.horizon:,} requests"
    if nearly.edge is None:
        what = _draws_miss(answer, nearly, list(nearly.along)[-1])
        return [("CAUTION", f"no size tried holds for {draws}, not even {what}")]
    meet = f"all of {draws} meet it"
    if nearly.misses:
        meet = f"{draws} meet it but for at most {nearly.misses}"
    at, draws_plan = nearly.edge.answer, answer.plan.draws
    large = f" for {nearly.horizon:,} requests)"
    bounds = [
        (slo.metric, f" (bound {short(slo.bound)}{large}" * slo.is_count) for slo in nearly.slos
    ]
    rows: list[Row] = [
        ("holds for", f"{share_text(nearly)}: {meet}"),
        ("worst draw", _worst_draw(answer, nearly, at, bounds)),
    ]
    if nearly.edge.blocker is not None:
        rows.append(("next", _draws_miss(answer, nearly, nearly.edge.blocker)))
    elif draws_plan and answer.edge.answer.blocks < at.blocks == draws_plan.least:
        rows.append(("next", "none is smaller: the largest request of the draws needs it"))
    if answer.edge.answer != answer.answer:
        alone = size_text(answer, answer.edge.answer)
        rows.append(("these alone", f"{alone}, which the requests that are run would do with"))
    return rows


def _worst_draw(
    answer: SizeAnswer, nearly: Nearly, size: Size, metrics: Iterable[tuple[str, str]]
) -> str:
    """Of some metrics, with what stands behind each."""
    values = nearly.along[size]
    return ", ".join(
        f"{metric} {value_text(answer, metric, worst_of(values, metric))}{behind}"
        for metric, behind in metrics
    )


def _draws_miss(answer: SizeAnswer, nearly: Nearly, size: Size) -> str:
    """How many draws a size fails, of those that it was tried with, and the worst of them."""
    values, slos = nearly.along[size], nearly.slos
    met = met_by_run(values, slos)
    missed = [(slo.metric, "") for slo in slos if not met_by_run(values, [slo]).all()]
    worst = _worst_draw(answer, nearly, size, missed)
    count = f"missed by {int((~met).sum())} of {met.size} draws; the worst has {worst}"
    return f"{size_text(answer, size)}: {count}"


def _count_rows(answer: SizeAnswer) -> list[Row]:
    """Counts by draws, and by clocks within their error."""
    nearly, against, at = answer.nearly, answer.against, answer.answer
    if nearly is None or at not in nearly.along:
        return []
    tried = [nearly.along[at]]
    if against is not None and at in against.along:
        tried.append(against.along[at])
    counts = []
    for metric, name in (("preemptions", "preemptions"), ("peak_kv", "tokens held at most")):
        lows, highs = zip(*(spread(values[metric]) for values in tried), strict=True)
        counts.append(f"{short(min(lows))} to {short(max(highs))} {name}")
    error, slow = "", len(tried[-1]["preemptions"])
    if len(tried) > 1:
        first = f" in the first {slow} of them" * (slow < nearly.draws)
        error = f", also with its error{first}"
    return [(f"in {share_in(nearly.draws):.0%} of draws", f"{', '.join(counts)}{error}")]


# --- the cliff ----------------------------------------------------------------------------------


def _cliff_rows(answer: SizeAnswer) -> list[Row]:
    at, (*_, harder, other) = answer.answer, _LOOKED_FOR[answer.plan.axis.find]
    memory = (
        f"at most {short(answer.worst(at, 'peak_kv'))} tokens held, "
        f"{percent(answer.worst(at, 'peak_share'))} of the blocks; "
        f"{percent(answer.mean(at, 'utilisation'))} in the mean; "
        f"{percent(answer.mean(at, 'near_full'))} of the time {NEAR_FULL:.0%} or more"
    )
    load = f"{answer.plan.load(at):.2f} of what this memory carries in theory without preemptions"
    return [
        ("load", load),
        ("memory", memory),
        (harder, _beyond(answer, answer.cliff)),
        (other, _beyond(answer, answer.other)),
        ("preemptions", _preemptions(answer)),
        *_count_rows(answer),
    ]


def _beyond(answer: SizeAnswer, cliff: Cliff) -> str:
    title, worse = TITLES[cliff.metric], cliff.worse
    if worse is None or cliff.margin is None:
        return f"{title} is nowhere {TIMES_WORSE:g} times that of the answer, of what was tried"
    times = "never comes for some"
    if cliff.times is not None:
        times = f"is {short(cliff.times, 2)} times as long"
    if worse.replicas != answer.answer.replicas:
        return f"{title} {times} with {counted(worse.replicas, 'replica')}"
    change, place = f"more requests {per(answer)}", rate_text(answer, worse)
    if worse.blocks != answer.answer.blocks:
        change, place = "less memory", pool_text(answer, worse)
    return f"{title} {times} with {cliff.margin:.1%} {change} ({place})"


def _preemptions(answer: SizeAnswer) -> str:
    first, at = answer.cliff.preempts, answer.mean(answer.answer, "preemptions")
    if first is None:
        return "none at any size tried"
    where = size_text(answer, first)
    if at:
        return f"{short(at)} per run at the answer; the last that preempts is {where}"
    return f"none at the answer; they begin at {where} ({answer.cliff.preempts_margin or 0:+.1%})"


def _table(page: Page, answer: SizeAnswer) -> None:
    cost, tail, plan = answer.cost, TITLES[answer.tail], answer.plan
    unit = "tok/s" if plan.clock.unit == "s" else "tok/it"
    header = ["", _LOOKED_FOR[plan.axis.find][1], "load", "peak KV", "preempt", tail, "p99 TPOT"]
    header += [unit, *([PER_MILLION] if cost else [])]
    rows = [
        [
            _mark(answer, size),
            plain_size(answer, size),
            f"{plan.load(size):.2f}",
            short(answer.worst(size, "peak_kv")),
            short(answer.mean(size, "preemptions")),
            short(answer.worst(size, answer.tail)),
            short(answer.worst(size, "tpot_p99")),
            short(answer.mean(size, "output_throughput_per_time")),
            *([short(answer.cost_at(size), 3)] if cost else []),
        ]
        for size in _shown(answer)
    ]
    page.table(header, rows)
    page.rows(cost.rows() if cost else ())
    page.line(
        f"> answer  . today  x misses an SLO  ! {tail} {TIMES_WORSE:g} times the answer's", "dim"
    )


def _shown(answer: SizeAnswer) -> list[Size]:
    """A few on both sides of the answer, today's and the cliff; easiest first."""
    edge, order = answer.edge, list(answer.along)[::-1]
    keep = {answer.answer, edge.blocker, answer.today, answer.cliff.worse, answer.cliff.preempts}
    keep |= {edge.ceiling, edge.too_easy}
    axis, at = answer.plan.axis, answer.plan.axis.of(answer.answer)
    for factor in (0.5, 0.65, 0.8, 0.9, 0.955, 1.05, 1.1, 1.25, 1.5, 2.0):
        if len(keep - {None}) < _ROWS:
            keep.add(min(order, key=lambda size: abs(axis.of(size) / at - factor)))
    return [size for size in order if size in keep]


def _mark(answer: SizeAnswer, size: Size) -> str:
    marks = {
        ">": size == answer.answer,
        ".": size == answer.today,
        "x": not answer.meets(size),
        "!": answer.worst(size, answer.tail) >= TIMES_WORSE * answer.cliff.at,
    }
    return "".join(mark if there else " " for mark, there in marks.items())


# --- what it rests on ---------------------------------------------------------------------------


def _theory_rows(answer: SizeAnswer) -> list[Row]:
    """The mass model's equilibrium and rates, beside the simulated answer."""
    plan, unit, at = answer.plan, per(answer), answer.answer
    carried = plan.theory.carried(answer.tokens(at))
    sure = "so much an engine carries that reserves it"
    if len(plan.theory.workload.classes) == 1:
        sure = "the worst cycle: below it a collapsed server comes back by itself"
    lasts = f", an iteration of {short(carried.iteration)} s" if plan.clock.unit == "s" else ""
    equilibrium = (
        f"{short(carried.per_iteration)} requests completed an iteration without evictions "
        f"(x*), {short(carried.in_flight)} in flight{lasts}"
    )
    arrive = short(answer.rate_served(at) / at.replicas)
    return [
        ("equilibrium", equilibrium),
        ("critical rate", f"{short(carried.rate)} {unit} at each replica; above it a queue grows"),
        (
            "at its peak",
            f"{short(carried.reserving)} {unit} if each held its peak all along: {sure}",
        ),
        ("arrivals", f"{arrive} {unit} at each replica"),
    ]


def _run_rows(answer: SizeAnswer) -> list[Row]:
    """What was run at every size, and what is not in it."""
    plan, limits = answer.plan, answer.plan.limits
    what = "draws" if plan.window is None else "consecutive parts of the source"
    parts = f" ({what})" if answer.runs > 1 else ""
    runs = f"{counted(answer.runs, 'run')} of {plan.size:,} requests{parts}"
    rows: list[Row] = [
        ("requests", f"{runs}, the same at every size"),
        *window_rows(plan.window),
        *([] if answer.nearly is None else [("draws", _draws_text(answer.nearly))]),
        *clock_rows(
            plan.clock,
            capacity=answer.tokens(answer.answer),
            running=limits.max_num_seqs,
            prefill_tokens=limits.max_num_batched_tokens,
        ),
        ("memory", f"blocks of {limits.block_size}; {', '.join(caps_of(limits)) or 'no caps'}"),
    ]
    if plan.axis.find == "replicas":
        rows.append(("replicas", "requests are dealt out in turn (round robin)"))
    ends = "until every request is served; of a load near 1 a longer run waits longer"
    missing = "prompts that begin alike, speculative decoding, swapping"
    return [*rows, ("a run", ends), ("not in it", missing)]


def _draws_text(nearly: Nearly) -> str:
    """What draws are like."""
    stretch = nearly.stretch
    if stretch is None:
        anew = "its requests, weighed anew in each" if nearly.left_open else ""
        return f"{anew or 'lengths by their shares'}; Poisson arrivals"
    what = "its conversations, weighed anew in each"
    if stretch.requests < stretch.of:
        what = (
            f"those of its busiest {stretch.requests:,} requests in a row, of {stretch.of:,} "
            f"({stretch.rate:.2f} a second at the trace's own times, {stretch.rate_of_all:.2f} in "
            "all of it), weighed anew in each"
        )
    return f"{what}; arrivals: {stretch.arrivals}"
