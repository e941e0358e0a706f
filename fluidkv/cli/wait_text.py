"""The answer of `fluidkv wait`, as a person reads it in a terminal of 80 columns."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction

from rich.console import Console

from fluidkv.cli.wait_source import Load
from fluidkv.wait.answer.nested import NestedAnswer
from fluidkv.wait.answer.runs import Comparison
from fluidkv.wait.answer.study import WaitAnswer
from fluidkv.wait.model import Exact, PromptType
from fluidkv.wait.theory.boundary_queue import Eta
from fluidkv.wait.theory.sensitivity import Sensitivity

_LABEL, _WIDTH = 13, 80
_SHOWN = 5  # types or segments named in a row
_MOVERS = 3
_PARAMETERS = {
    "arrival_rate": "rate",
    "input_length": "input",
    "output_length": "output",
    "base": "d0",
    "per_kv_token": "d1",
}
Row = tuple[str, str]


def print_answer(answer: WaitAnswer, load: Load, console: Console) -> None:
    """What can be served, the thresholds and their memory, and the runs."""
    types = len(answer.system.types)
    kinds = f"{types} prompt {'type' if types == 1 else 'types'}"
    title = f"{load.name + ': ' if load.name else ''}{kinds}, {_tokens(answer.capacity)}"
    console.print(f"[bold]{title}[/bold]", soft_wrap=True)
    _rows(console, [*_source(load), *_fluid(answer, load)])
    if answer.nested is None:
        _heading(console, "WAIT: outputs are known when prompts come")
        _rows(console, [*_thresholds(answer, load), *_verdict(answer), *_promised(answer, load)])
    else:
        _heading(console, "Nested WAIT: outputs are not known")
        _rows(console, [*_segments(answer, answer.nested, load), *_verdict(answer)])
    if answer.runs is not None:
        _comparison(console, answer, answer.runs, load)


# --- what can be served -------------------------------------------------------------------------


def _source(load: Load) -> list[Row]:
    if load.binned is None or load.rate is None:
        return []
    found = load.binned
    rows = [("read", load.read)] if load.read else []
    bins = f"{load.bins} {'bin' if load.bins == 1 else 'bins'} of equal {load.cut}"
    errors = (
        f"outputs in {bins}: load {_signed(found.token_rate_error)}, mean output "
        f"{_signed(found.output_error)}, mean input {_signed(found.input_error)} against the "
        f"workload itself; {float(found.dearer):.0%} of prompts cost more than their type"
    )
    return [
        *rows,
        ("rate", f"{_short(load.rate)} prompts a second ({load.rate_from})"),
        ("binned", errors),
    ]


def _fluid(answer: WaitAnswer, load: Load) -> list[Row]:
    fluid, rho = answer.equilibrium, answer.system.load
    each = _per(load)
    room = "yes, at every rate: memory costs no time"
    if answer.most_rate is not None:
        most = f"{_short(answer.system.arrival_rate)} of at most {_short(answer.most_rate)}"
        room = f"yes: load {_short(rho)}, below 1; {most} prompts {each}"
    return [
        ("can keep up", room),
        (
            "in balance",
            f"an iteration lasts {_time(fluid.iteration_time, load)} and holds M* = "
            f"{_tokens(fluid.memory)}; {_short(fluid.throughput)} output tokens {each}",
        ),
        ("per stage", _named(answer.system.types, map(_short, fluid.per_stage))),
        ("moves M*", _movers(answer)),
    ]


def _movers(answer: WaitAnswer) -> str:
    top = answer.sensitivities.by_elasticity("memory")[:_MOVERS]
    parts = [f"{_parameter(row, answer)} {float(row.memory.elasticity):+.3g}%" for row in top]
    return f"most, for each +1%: {', '.join(parts)}"


def _parameter(row: Sensitivity, answer: WaitAnswer) -> str:
    name = _PARAMETERS[row.parameter]
    if row.type_index is None or len(answer.system.types) == 1:
        return name
    return f"{name} of {_label(answer.system.types[row.type_index])}"


# --- thresholds ---------------------------------------------------------------------------------


def _thresholds(answer: WaitAnswer, load: Load) -> list[Row]:
    types, chosen = answer.system.types, answer.chosen
    kind = "the least whole thresholds"
    if answer.given is not None:
        kind = "your thresholds, which carry the load"
    elif chosen is answer.with_slack and chosen.thresholds != answer.least.thresholds:
        kind = "the least whole thresholds with slack"
    rows = [
        ("let in", _named(types, (f"{n:,}" for n in chosen.thresholds))),
        ("", f"at once, when so many wait: {kind}"),
        ("memory", f"at most {_tokens(chosen.memory)}, for ever"),
    ]
    tight = [each for each, strict in zip(types, chosen.strict, strict=True) if not strict]
    if tight:
        names = _listed([_label(each) for each in tight])
        more = answer.with_slack
        rows.append(
            (
                "no slack",
                f"for {names}: the queue grows like the square root of time; "
                f"thresholds with slack hold {_tokens(more.memory)}",
            )
        )
    elif answer.given is None and answer.least.thresholds != chosen.thresholds:
        rows.append(("", f"without slack {_tokens(answer.least.memory)} do"))
    rows.append(("time inside", _inside(answer, load)))
    return rows


def _inside(answer: WaitAnswer, load: Load) -> str:
    place = max(range(len(answer.system.types)), key=lambda j: answer.latency_at_least[j])
    time = _time(answer.latency_at_least[place], load)
    label = _label(answer.system.types[place])
    return f"{time} from prefill to last token for {label}, the slowest: output x n / rate"


def _promised(answer: WaitAnswer, load: Load) -> list[Row]:
    """Theorem 1, where it says more than that a throughput is not negative."""
    bound = answer.bound
    if bound is None or bound.throughput_gap >= answer.equilibrium.throughput:
        return []
    share = bound.throughput_gap / float(answer.equilibrium.throughput)
    worst = max(each.latency for each in bound.types)
    return [
        (
            "promised",
            f"up to time {_time(answer.horizon, load)}: throughput at most "
            f"{_percent(share)} below balance, mean latency at most {_number(worst)}{_unit(load)} "
            "(Theorem 1)",
        )
    ]


def _segments(answer: WaitAnswer, nested: NestedAnswer, load: Load) -> list[Row]:
    plan = nested.chosen
    bound, segments = plan.bound, plan.segments
    ends = [f"to {end:,}" for end in segments.ends]
    named = [f"{end}: {n:,}" for end, n in zip(ends, plan.thresholds, strict=True)]
    rows = [
        ("let in", f"{plan.thresholds[0]:,} at once, when so many wait"),
        ("go on", f"output {_listed(named)}"),
        ("", "when so many are at the start of a segment; who waits keeps its KV cache"),
        (
            "memory",
            f"{bound.capacity:,} tokens: batch {_short(bound.batch)}, waiting "
            f"{_short(bound.queue)}, tail {_number(float(bound.tail.mid()))}",
        ),
        (
            "",
            f"overflow in {bound.batches:,} iterations with probability of at most "
            f"{_short(nested.delta)}",
        ),
    ]
    if bound.etas:
        rows.append(("eta", _listed([_eta(each) for each in bound.etas])))
    rows += [
        ("segments", _saved(nested)),
        ("if known", f"WAIT with slack holds {_tokens(answer.with_slack.memory)} at most"),
    ]
    inside = _time(plan.latency_at_least, load)
    return [*rows, ("time inside", f"{inside} at least for the longest output, on average")]


def _eta(each: Eta) -> str:
    return "cannot grow" if each.ball is None else f"{float(each.ball.mid()):.4g}"


def _saved(nested: NestedAnswer) -> str:
    number, plan = len(nested.chosen.segments), nested.plan
    if nested.best is None:
        least = min(nested.designs, key=lambda design: design.total)
        return f"yours: {number}; {least.count} can do with {least.total:,.0f} tokens"
    possible = len(plan.segments)
    if number == possible and nested.best.thresholds == plan.thresholds:
        return f"{number}, one for each output length, are best"
    share = 1 - nested.best.bound.capacity / plan.bound.capacity
    return (
        f"{number} of {possible} output lengths: {_percent(share)} less memory than the "
        f"{plan.bound.capacity:,} tokens of a segment for each"
    )


# --- does it fit --------------------------------------------------------------------------------


def _verdict(answer: WaitAnswer) -> list[Row]:
    reason = answer.reason
    if reason is None:
        if answer.nested is not None and answer.nested.delta_at_capacity is not None:
            chance = answer.nested.delta_at_capacity
            return [("fits", f"yes; this capacity overflows with probability <= {chance:.3g}")]
        return [("fits", f"yes, {_tokens(answer.capacity)} suffice")]
    rows = [("fits", f"NO: {reason}")]
    return [*rows, ("would help", "; ".join(_remedies(answer)))]


def _remedies(answer: WaitAnswer) -> list[str]:
    nested = answer.nested
    if nested is None:
        parts = [f"{_tokens(answer.least.memory)}"]
        factor = answer.rate_factor
        if factor is None:
            total = sum((each.lifetime_cost for each in answer.system.types), Fraction(0))
            parts.append(
                f"fewer types or shorter outputs: one prompt of each type at every stage holds "
                f"{_tokens(total)}, at any rate"
            )
        elif factor:
            parts.append(f"{_short(factor)} times these rates")
        return parts
    parts = [_tokens(nested.chosen.bound.capacity)]
    if nested.best is None:
        best = min(nested.designs, key=lambda design: design.total)
        if best.total < nested.chosen.bound.capacity:
            parts.append(f"{best.count} segments, which need {best.total:,.0f} tokens")
    if nested.lower_rates is not None:
        which = " with the best segments" if nested.best is None else ""
        parts.append(f"{_short(nested.lower_rates)} times these rates{which}")
    else:
        parts.append("of lower rates, down to 1/20 of these, none that was tried")
    if nested.delta_at_capacity is not None:
        parts.append(f"--delta {nested.delta_at_capacity:.3g}, which this capacity grants")
    return parts


# --- runs ---------------------------------------------------------------------------------------


def _comparison(console: Console, answer: WaitAnswer, runs: Comparison, load: Load) -> None:
    seeds = len(runs.prompts)
    prompts = sum(runs.prompts) / seeds
    what = f"{seeds} {'run' if seeds == 1 else 'runs'} of {prompts:,.0f} prompts"
    _heading(console, f"Sampled: {what}, time {_number(runs.duration)}{_unit(load)} each")
    columns = ("policy", "tokens", "latency", "p99", "TTFT", "p99", "evicted", "peak", "left")
    table: list[tuple[str, ...]] = [columns]
    for each in runs.policies:
        numbers = (
            each.throughput,
            each.latency_mean,
            each.latency_p99,
            each.ttft_mean,
            each.ttft_p99,
            each.evictions,
        )
        cells = [_cell(_mean(values)) for values in numbers]
        name = each.name.replace("running", "run")
        cells += [f"{max(each.peak_memory):,}", _cell(_mean(each.left))]
        table.append((name, *cells))
    widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
    for row in table:
        cells = [f"{text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True)]
        console.print(f"{row[0]:<{widths[0]}}  {' '.join(cells)}".rstrip(), soft_wrap=True)
    notes = [
        f"Second halves, means over runs. Tokens: output {_per(load)}, of completed prompts; "
        f"in balance {_short(answer.equilibrium.throughput)}. Peak: of {_tokens(answer.capacity)}. "
        "Left: prompts not done at the end."
    ]
    if runs.short:
        notes.append(
            "CAUTION: these runs are too short for the time that this policy keeps its slowest "
            "prompts inside, and show its start; --run-time makes them longer."
        )
    for note in notes:
        for line in textwrap.wrap(note, _WIDTH):
            console.print(line, soft_wrap=True)


def _mean(values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else math.nan


def _cell(value: float) -> str:
    return "-" if math.isnan(value) else _number(value)


# --- words --------------------------------------------------------------------------------------


def _heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]", soft_wrap=True)


def _rows(console: Console, rows: Iterable[Row]) -> None:
    for name, text in rows:
        lines = textwrap.wrap(text, _WIDTH - _LABEL) or [""]
        for place, line in enumerate(lines):
            console.print(f"{name if not place else '':<{_LABEL}}{line}", soft_wrap=True)


def _named(types: Sequence[PromptType], values: Iterable[str]) -> str:
    return _listed([f"{v} of {_label(t)}" for t, v in zip(types, values, strict=True)])


def _listed(words: Sequence[str]) -> str:
    """The first few; how many more there are."""
    more = len(words) - _SHOWN
    if more <= 1:
        return ", ".join(words)
    return f"{', '.join(words[:_SHOWN])}, {more} more"


def _label(each: PromptType) -> str:
    return f"{each.input_length}:{each.output_length}"


def _tokens(value: Exact) -> str:
    return f"{_short(value)} KV tokens"


def _per(load: Load) -> str:
    return "a second" if load.unit == "s" else "per unit of time"


def _unit(load: Load) -> str:
    return f" {load.unit}" if load.unit else ""


def _time(value: Exact, load: Load) -> str:
    return f"{_short(value)}{_unit(load)}"


def _signed(value: Fraction) -> str:
    return f"{float(value):+.1%}"


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 1e-3 else f"{100 * share:.1g}%"


def _short(value: Exact) -> str:
    """Whole numbers in full, others to four digits."""
    if value.denominator == 1 and abs(value) < 10**15:
        return f"{value.numerator:,}"
    return _number(float(value))


def _number(value: float) -> str:
    if value != 0 and not 1e-4 <= abs(value) < 1e12:
        return f"{value:.4g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
