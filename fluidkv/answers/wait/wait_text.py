"""The answer of `fluidkv wait`, as a person reads it."""

from fractions import Fraction

from fluidkv.answers.served.rows import clock_rows
from fluidkv.answers.wait import words as words
from fluidkv.answers.wait.ahead import best_fcfs, mean
from fluidkv.answers.wait.load import Load
from fluidkv.answers.wait.nested import NestedAnswer, SegmentPlan
from fluidkv.answers.wait.runs_text import say_runs
from fluidkv.answers.wait.study import WaitAnswer
from fluidkv.errors import InputError
from fluidkv.report.numbers import (
    at_least,
    at_most,
    chance_at_most,
    counted,
    listed,
    percent,
    percent_at_most,
    short,
    signed,
)
from fluidkv.report.page import Page, Row
from fluidkv.wait.theory.boundary_queue import Eta
from fluidkv.wait.theory.sensitivity import Sensitivity

_MOVERS = 3
_PARAMETERS = {
    "arrival_rate": "rate",
    "input_length": "input",
    "output_length": "output",
    "base": "d0",
    "per_kv_token": "d1",
    "per_prefill_token": "d2",
}


def say_wait(page: Page, answer: WaitAnswer) -> None:
    """What can be served, the thresholds and their memory, and the runs."""
    load = answer.load or Load(answer.system)
    kinds = counted(len(answer.system.types), "prompt type")
    title = f"{load.name + ': ' if load.name else ''}{kinds}, {words.tokens(answer.capacity)}"
    page.verdict(_in_short(answer))
    page.title(title)
    page.rows([*_source(load), *_clock(load, answer.capacity), *_fluid(answer)])
    if answer.nested is None:
        page.heading("WAIT: outputs are known when prompts come")
        page.paragraph(_not_for_wait(answer))
        page.rows([*_thresholds(answer), *_verdict(answer), *_promised(answer)])
    else:
        page.heading("Nested WAIT: outputs are not known")
        page.paragraph(_not_for_wait(answer))
        page.rows([*_segments(answer, answer.nested), *_verdict(answer)])
    if answer.runs is not None:
        say_runs(page, answer, answer.runs)
    elif answer.not_simulated is not None:
        page.line()
        page.paragraph(f"not simulated: {_not_simulated(answer.not_simulated)}")


def _in_short(answer: WaitAnswer) -> str:
    """Whether memory suffices, what it has to hold, and how sure that is."""
    if answer.nested is None:
        holds, sure = words.tokens_at_most(answer.chosen.memory), "always"
    else:
        plan = answer.nested.chosen
        holds, sure = words.tokens(plan.bound.capacity), _overflow(plan, answer.nested.delta)
    policy = "WAIT" if answer.nested is None else "Nested WAIT"
    fits = "Fits" if answer.fits else "Does not fit"
    return (
        f"{fits} into {words.tokens(answer.capacity)}: {policy} holds at most {holds}, {sure}, "
        f"at a load of {short(answer.system.load)}"
    )


# --- what can be served -------------------------------------------------------------------------


def _source(load: Load) -> list[Row]:
    if load.binned is None or load.rate is None or load.load_error is None:
        return []
    found = load.binned
    rows = [("read", load.read)] if load.read else []
    number = load.bins or 0
    bins = f"{counted(number, 'bin')} of equal {load.cut}"
    if len(found.types) < number:
        empty = f", {number - len(found.types)} bins empty" if load.cut == "width" else ""
        bins = f"{bins} ({len(found.types)} types{empty})"
    errors = (
        f"outputs in {bins}: load {signed(load.load_error)}, "
        f"mean output {signed(found.output_error)}, "
        f"mean input {signed(found.input_error)} against the workload itself; "
        f"{float(found.dearer):.0%} of prompts cost more than their type"
    )
    return [
        *rows,
        (
            "rate",
            f"{short(load.rate)} prompt{'' if load.rate == 1 else 's'} per second "
            f"({load.rate_from})",
        ),
        ("binned", errors),
    ]


def _clock(load: Load, capacity: Fraction) -> list[Row]:
    """A clock in seconds, and what of it is left out."""
    clock = load.clock
    if clock is None or clock.unit != "s":
        return []
    rows = clock_rows(clock, capacity=float(capacity)) if clock.name else []
    left_out = "left out: WAIT has no term"
    if clock.per_prefill_pair:
        rows.append(("", f"attention of prompts to themselves, D3, is {left_out}"))
    if clock.per_request or clock.experts:
        rows.append(("", f"what requests and experts cost besides is {left_out}"))
    return rows


def _fluid(answer: WaitAnswer) -> list[Row]:
    fluid, rho = answer.equilibrium, answer.system.load
    each = words.per(answer.unit)
    room = "yes: memory costs no time, and only the capacity limits the rates"
    if answer.most_rate is not None:
        rate, most = short(answer.system.arrival_rate), at_least(answer.most_rate)
        room = f"yes: load {short(rho)}, below 1; {rate} prompts {each}, below {most}"
    if not answer.fluid_fits:
        room = (
            f"NO: a batch of {short(answer.capacity)} tokens does less work than comes; "
            f"under any policy at least M* = {at_most(fluid.memory)} tokens are needed"
        )
    return [
        ("can keep up", room),
        (
            "in balance",
            f"an iteration lasts {words.time(fluid.iteration_time, answer.unit)} and holds M* = "
            f"{words.tokens(fluid.memory)}; {short(fluid.throughput)} output tokens {each}",
        ),
        ("per stage", words.of_types(answer.system.types, map(short, fluid.per_stage))),
        ("sensitivity", _movers(answer)),
    ]


def _movers(answer: WaitAnswer) -> str:
    top = answer.sensitivities.by_elasticity("memory")[:_MOVERS]
    parts = [f"{_parameter(row, answer)} {float(row.memory.elasticity):+.3g}%" for row in top]
    return f"of M*, most for each +1%: {', '.join(parts)}"


def _parameter(row: Sensitivity, answer: WaitAnswer) -> str:
    name = _PARAMETERS[row.parameter]
    if row.type_index is None or len(answer.system.types) == 1:
        return name
    return f"{name} of {words.label(answer.system.types[row.type_index])}"


# --- thresholds ---------------------------------------------------------------------------------


def _thresholds(answer: WaitAnswer) -> list[Row]:
    types, chosen = answer.system.types, answer.chosen
    kind = "the least whole thresholds"
    if answer.given is not None:
        kind = "your thresholds, which carry the load"
    elif chosen is answer.with_slack and chosen.thresholds != answer.least.thresholds:
        kind = "the least whole thresholds with slack"
    rows: list[Row] = [
        ("let in", words.named(types, (f"{n:,}" for n in chosen.thresholds))),
        ("", f"at once, when so many wait: {kind}"),
        ("memory", f"at most {words.tokens_at_most(chosen.memory)}, always"),
    ]
    tight = [each for each, strict in zip(types, chosen.strict, strict=True) if not strict]
    if tight:
        names = listed([words.label(each) for each in tight])
        more = answer.with_slack
        rows.append(
            (
                "no slack",
                f"for {names}: the queue grows like the square root of time; "
                f"thresholds with slack hold {words.tokens(more.memory)}",
            )
        )
    elif answer.given is None and answer.least.thresholds != chosen.thresholds:
        rows.append(("", f"without slack {words.tokens(answer.least.memory)} do"))
    rows.append(("decode time", _inside(answer)))
    return rows


def _inside(answer: WaitAnswer) -> str:
    place = max(range(len(answer.system.types)), key=lambda j: answer.latency_at_least[j])
    time = words.time(answer.latency_at_least[place], answer.unit)
    label = words.label(answer.system.types[place])
    return (
        f"{time} on average from prefill to last token, for {label}, the slowest: output x n / rate"
    )


def _promised(answer: WaitAnswer) -> list[Row]:
    """Theorem 1, where it says more than that a throughput is not negative."""
    bound = answer.bound
    if bound is None or bound.throughput_gap >= answer.equilibrium.throughput:
        return []
    share = bound.throughput_gap / float(answer.equilibrium.throughput)
    worst = max(each.latency for each in bound.types)
    return [
        (
            "promised",
            f"on average, up to time {words.time(answer.horizon, answer.unit)}: throughput at most "
            f"{percent_at_most(share)} below balance, mean time at most "
            f"{words.time(at_most(worst), answer.unit)} for the slowest type (our constants for "
            "Theorem 1)",
        )
    ]


def _segments(answer: WaitAnswer, nested: NestedAnswer) -> list[Row]:
    plan = nested.chosen
    bound, segments = plan.bound, plan.segments
    ends = [f"to {end:,}" for end in segments.ends]
    named = [f"{end}: {n:,}" for end, n in zip(ends, plan.thresholds, strict=True)]
    rows = [
        ("let in", f"{plan.thresholds[0]:,} at once, when so many wait"),
        ("go on", f"output {listed(named)}"),
        (
            "",
            "when so many are at the start of a segment, which is a range of output lengths; a "
            "prompt that waits there keeps its KV cache",
        ),
        (
            "memory",
            f"{bound.capacity:,} tokens: batch {short(bound.batch)}, waiting "
            f"{short(bound.queue)}, tail {short(float(bound.tail.mid()))}",
        ),
        ("", _overflow(plan, nested.delta)),
    ]
    if bound.etas:
        rows.append(("eta", listed([_eta(each) for each in bound.etas])))
    rows += [
        ("segments", _saved(nested)),
        (
            "if known",
            f"WAIT with slack holds {words.tokens_at_most(answer.with_slack.memory)} at most",
        ),
    ]
    inside = words.time(at_least(plan.latency_at_least), answer.unit)
    return [*rows, ("decode time", f"at least {inside} on average, for the longest output")]


def _overflow(plan: SegmentPlan, delta: Fraction) -> str:
    if plan.bound.tail == 0:
        return "never more, whatever comes"
    chance = at_most(delta)
    return f"more in {plan.bound.batches:,} iterations with a probability of at most {chance}"


def _eta(each: Eta) -> str:
    return "cannot grow" if each.ball is None else f"{float(each.ball.mid()):.4g}"


def _saved(nested: NestedAnswer) -> str:
    number, plan = len(nested.chosen.segments), nested.plan
    if nested.best is None:
        least = min(nested.designs, key=lambda design: design.total)
        return f"yours: {number}; {least.count} can do with {at_most(least.total)} tokens"
    possible = len(plan.segments)
    if number == possible and nested.best.thresholds == plan.thresholds:
        each = "one for each output length, "
        return f"{number}, {each if number > 1 else ''}the best found"
    share = 1 - nested.best.bound.capacity / plan.bound.capacity
    return (
        f"{number} of {possible} output lengths: {percent(share)} less memory than the "
        f"{plan.bound.capacity:,} tokens of a segment for each"
    )


# --- does it fit --------------------------------------------------------------------------------


def _verdict(answer: WaitAnswer) -> list[Row]:
    reason = answer.reason
    if reason is None:
        if answer.nested is not None and answer.nested.delta_at_capacity is not None:
            chance = answer.nested.delta_at_capacity
            if chance == 0:
                return [("fits", "yes: memory never exceeds this capacity")]
            most = chance_at_most(chance)
            return [("fits", f"yes; this capacity overflows with probability <= {most}")]
        return [("fits", f"yes, {words.tokens(answer.capacity)} suffice")]
    rows = [("fits", f"NO: {reason}")]
    label = "it needs" if answer.not_for_wait else "would help"
    return [*rows, (label, "; ".join(_remedies(answer)))]


def _remedies(answer: WaitAnswer) -> list[str]:
    nested = answer.nested
    if nested is None:
        parts = [words.tokens_at_most(answer.least.memory)]
        factor = answer.rate_factor
        if factor is None:
            total = sum((each.lifetime_cost for each in answer.system.types), Fraction(0))
            parts.append(
                f"fewer types or shorter outputs: one prompt of each type at every stage holds "
                f"{words.tokens(total)}, at any rate"
            )
        elif factor:
            parts.append(f"{short(factor)} times these rates")
        return parts
    parts = [words.tokens(nested.chosen.bound.capacity)]
    if nested.best is None:
        best = min(nested.designs, key=lambda design: design.total)
        if best.total < nested.chosen.bound.capacity:
            parts.append(f"{best.count} segments, which need {at_most(best.total)} tokens")
    if answer.not_for_wait:  # lower rates would only bring fewer prompts
        return parts
    if nested.lower_rates is not None:
        which = " with the best segments" if nested.best is None else ""
        parts.append(f"{short(nested.lower_rates)} times these rates{which}")
    else:
        parts.append("of lower rates, down to 1/20 of these, none that was tried")
    granted = nested.delta_at_capacity
    if granted is not None and float(chance_at_most(granted)) < 1:
        parts.append(f"--delta {chance_at_most(granted)}, which this capacity grants")
    return parts


def _not_for_wait(answer: WaitAnswer) -> str:
    """Where so few prompts come that thresholds of 1 are far too many; else nothing."""
    if not answer.not_for_wait:
        return ""
    few = f"{float(answer.come_in_an_iteration):.1g}"
    come = f"{few} prompts of a type come in an iteration"
    if answer.nested is not None:
        come = f"{few} prompts come to a segment in an iteration"
    kind = "WAIT" if answer.nested is None else "Nested WAIT"
    text = (
        f"{kind} is not for this load: {come}, and a threshold is at least 1. The load itself "
        f"fits (M* = {at_most(answer.equilibrium.memory)})."
    )
    runs = answer.runs
    if runs is None or len(runs.policies) < 2:
        return text
    own, best = runs.policies[0], best_fcfs(runs)
    late = not mean(own.latency_mean) <= mean(best.latency_mean)  # or nobody completes
    if late and not any(best.evictions) and any(best.throughput):
        return f"{text} In these runs FCFS evicts nobody and is faster."
    return text


def _not_simulated(error: InputError) -> str:
    return f"{error.argument} {error.value}; allowed: {error.allowed}"
