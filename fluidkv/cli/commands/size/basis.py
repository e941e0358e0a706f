"""What a size rests on: the theory beside it, the log, and what was run."""

from fluidkv.answers import SizeAnswer
from fluidkv.answers.served.rows import clock_rows, measured_table, window_rows
from fluidkv.cli.commands.size.draws import stretch_rows
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Page, Row


def theory_rows(answer: SizeAnswer) -> list[Row]:
    """The mass model's equilibrium and rates, beside the simulated answer."""
    plan, at = answer.plan, answer.answer
    carried = plan.theory.carried(answer.tokens(at))
    seconds = plan.clock.unit == "s"
    unit = "a second" if seconds else "an iteration"
    sure = "so much an engine carries that reserves it"
    if len(plan.theory.workload.classes) == 1:
        sure = "the worst cycle: below it a collapsed server comes back by itself"
    lasts = f", an iteration of {short(carried.iteration)} s" if seconds else ""
    return [
        (
            "equilibrium",
            f"{short(carried.per_iteration)} requests completed an iteration without evictions "
            f"(x*), {short(carried.in_flight)} in flight{lasts}",
        ),
        ("critical rate", f"{short(carried.rate)} {unit} at each replica; above it a queue grows"),
        (
            "at its peak",
            f"{short(carried.reserving)} {unit} if each held its peak all along: {sure}",
        ),
        ("arrivals", f"{short(answer.rate_served(at) / at.replicas)} {unit} at each replica"),
    ]


def measured(page: Page, answer: SizeAnswer) -> None:
    """The log's server, measured and simulated; nothing where there is no log."""
    if not answer.bias:
        return
    page.heading("Today's server, measured and simulated", ", at the log's own arrivals")
    measured_table(page, answer.bias)


def run_rows(answer: SizeAnswer) -> list[Row]:
    """What was run at every size, and what is not in it."""
    plan, limits = answer.plan, answer.plan.server.limits
    what = "draws" if plan.window is None else "consecutive parts of the source"
    parts = f"{counted(answer.runs, 'run')} of {len(plan.tables[0]):,} requests"
    caps = [
        f"{label} {value:,}"
        for label, value in (
            ("max_num_seqs", limits.max_num_seqs),
            ("max_num_batched_tokens", limits.max_num_batched_tokens),
        )
        if value is not None
    ]
    rows: list[Row] = [
        ("requests", f"{parts}{f' ({what})' if answer.runs > 1 else ''}, the same at every size"),
        *window_rows(plan.window),
        *stretch_rows(answer),
        *clock_rows(
            plan.clock,
            capacity=answer.answer.blocks * plan.block_size,
            running=limits.max_num_seqs,
            prefill_tokens=limits.max_num_batched_tokens,
        ),
        ("memory", f"blocks of {plan.block_size}; {', '.join(caps) or 'no caps'}"),
    ]
    if plan.axis.find == "replicas":
        rows.append(("replicas", "requests are dealt out in turn (round robin)"))
    rows.append(
        ("a run", "until every request is served; of a load near 1 a longer run waits longer")
    )
    rows.append(("not in it", "prompts that begin alike, speculative decoding, swapping"))
    return rows
