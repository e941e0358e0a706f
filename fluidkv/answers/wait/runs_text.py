"""The runs of `fluidkv wait` as a person reads them: a table, who is ahead, and what to mind."""

from fluidkv.answers.wait import words as words
from fluidkv.answers.wait.ahead import ahead, mean
from fluidkv.answers.wait.runs import Comparison, PolicyRuns
from fluidkv.answers.wait.study import WaitAnswer
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Page
from fluidkv.serving.clock import FREE_PREFILL

_COLUMNS = ("policy", "tokens", "latency", "p99", "TTFT", "p99", "evicted", "peak", "left")
_WIDE = 10**6


def say_runs(page: Page, answer: WaitAnswer, runs: Comparison) -> None:
    """The table, one line that says who is ahead, and notes."""
    seeds = len(runs.prompts)
    what = f"{counted(seeds, 'run')} of {sum(runs.prompts) / seeds:,.0f} prompts"
    page.heading(f"Sampled: {what}, time {words.time(runs.duration, answer.unit)} each")
    table = [_cells(each, first_tokens=answer.first_tokens) for each in runs.policies]
    page.table(_COLUMNS, table)
    if len(runs.policies) > 1:
        page.paragraph(ahead(runs))
    room, balance = words.tokens(answer.capacity), short(answer.equilibrium.throughput)
    silent = [row[:4] + row[6:] for row in table] if not answer.first_tokens else table
    none = " -: no prompt completed." if any("-" in row for row in silent) else ""
    if not answer.first_tokens:
        none += f" TTFT -: {FREE_PREFILL}."
    elif any(sum(each.evictions) for each in runs.policies if each.name.startswith("FCFS")):
        none += " TTFT: under FCFS without the evicted."
    page.paragraph(
        f"Second halves, means over runs. Tokens: output {words.per(answer.unit)}, of completed "
        f"prompts; in balance {balance}. Peak: of {room}. Left: prompts not done at the end.{none}"
    )
    if runs.short_for_all:
        page.paragraph(
            "CAUTION: these runs are too short for any policy to settle, and show the start; "
            "--run-time makes them longer.",
        )
    elif runs.short:
        page.paragraph(
            "CAUTION: these runs are too short for the decode time of this policy's slowest "
            "prompts, and show its start; --run-time makes them longer.",
        )


def _cells(each: PolicyRuns, *, first_tokens: bool) -> tuple[str, ...]:
    numbers = (
        each.throughput,
        each.latency_mean,
        each.latency_p99,
        each.ttft_mean if first_tokens else (),
        each.ttft_p99 if first_tokens else (),
        each.evictions,
    )
    cells = [_cell(mean(values)) for values in numbers]
    name = each.name.replace("running", "run")
    return (name, *cells, f"{max(each.peak_memory):,}", _cell(mean(each.left)))


def _cell(value: float) -> str:
    """At most nine characters, for 80 columns."""
    return f"{value:.3g}" if abs(value) >= _WIDE else short(value)
