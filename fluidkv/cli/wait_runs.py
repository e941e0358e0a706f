"""The runs of `fluidkv wait` as a person reads them: a table, who is ahead, and what to mind."""

from rich.console import Console

from fluidkv.answers.wait.ahead import ahead, mean
from fluidkv.answers.wait.runs import Comparison, PolicyRuns
from fluidkv.answers.wait.study import WaitAnswer
from fluidkv.cli import wait_words as words
from fluidkv.cli.wait_source import Load

_COLUMNS = ("policy", "tokens", "latency", "p99", "TTFT", "p99", "evicted", "peak", "left")
_WIDE = 10**6


def print_runs(answer: WaitAnswer, runs: Comparison, load: Load, console: Console) -> None:
    """The table, one line that says who is ahead, and notes."""
    seeds = len(runs.prompts)
    prompts = sum(runs.prompts) / seeds
    what = f"{seeds} {'run' if seeds == 1 else 'runs'} of {prompts:,.0f} prompts"
    lasts = f"time {words.number(runs.duration)}{words.unit(load)} each"
    words.heading(console, f"Sampled: {what}, {lasts}")
    table = [_COLUMNS, *map(_cells, runs.policies)]
    widths = [max(len(row[k]) for row in table) for k in range(len(_COLUMNS))]
    for row in table:
        cells = [f"{text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True)]
        console.print(f"{row[0]:<{widths[0]}}  {' '.join(cells)}".rstrip(), soft_wrap=True)
    if len(runs.policies) > 1:
        words.paragraph(console, ahead(runs))
    room, balance = words.tokens(answer.capacity), words.short(answer.equilibrium.throughput)
    none = " -: no prompt completed." if any("-" in row for row in table[1:]) else ""
    if any(sum(each.evictions) for each in runs.policies if each.name.startswith("FCFS")):
        none += " TTFT: under FCFS without the evicted."
    words.paragraph(
        console,
        f"Second halves, means over runs. Tokens: output {words.per(load)}, of completed prompts; "
        f"in balance {balance}. Peak: of {room}. Left: prompts not done at the end.{none}",
    )
    if runs.short_for_all:
        words.paragraph(
            console,
            "CAUTION: these runs are too short for any policy to settle, and show the start; "
            "--run-time makes them longer.",
        )
    elif runs.short:
        words.paragraph(
            console,
            "CAUTION: these runs are too short for the decode time of this policy's slowest "
            "prompts, and show its start; --run-time makes them longer.",
        )


def _cells(each: PolicyRuns) -> tuple[str, ...]:
    numbers = (
        each.throughput,
        each.latency_mean,
        each.latency_p99,
        each.ttft_mean,
        each.ttft_p99,
        each.evictions,
    )
    cells = [_cell(mean(values)) for values in numbers]
    name = each.name.replace("running", "run")
    return (name, *cells, f"{max(each.peak_memory):,}", _cell(mean(each.left)))


def _cell(value: float) -> str:
    """At most nine characters, for 80 columns."""
    return f"{value:.3g}" if abs(value) >= _WIDE else words.number(value)
