"""What was run to compare preemption rules, and what is not in it."""

from fluidkv.answers.preempt.result import PreemptAnswer
from fluidkv.answers.preempt.rules import USE_PREDICTIONS
from fluidkv.answers.served.rows import common_rows, max_tokens_rows, missing_rows
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Row
from fluidkv.serving.rules import Restore, Victim


def rows_of_runs(answer: PreemptAnswer) -> list[Row]:
    """Arrivals, runs, clock, memory, swapping, objectives, and what is missing."""
    one = "draw" if answer.window is None else "run"
    each = f"of {answer.requests:,} requests, until all are served"
    noise = "± is from the four parts of the one run, which are not independent"
    rows = common_rows(
        answer.demand,
        answer.window,
        answer.clock,
        f"{counted(answer.runs, one)} {each}",
        [("noise", noise)] if answer.pairs == "segment" else [],
        saturated="; their TTFT says nothing",
        capacity=answer.limits.capacity,
        running=answer.limits.max_num_seqs,
        prefill_tokens=answer.limits.max_num_batched_tokens,
    )
    return [
        *rows,
        ("memory", _memory(answer)),
        ("swapping", _swapping(answer)),
        *_objectives(answer),
        *_missing(answer),
    ]


def _memory(answer: PreemptAnswer) -> str:
    limits = answer.limits
    parts = [f"{limits.blocks:,} blocks of {limits.block_size}"]
    if limits.max_num_seqs is not None:
        parts.append(f"{limits.max_num_seqs:,} requests at most")
    if limits.max_num_batched_tokens is not None:
        parts.append(f"{limits.max_num_batched_tokens:,} tokens an iteration at most")
    return "; ".join(parts)


def _swapping(answer: PreemptAnswer) -> str:
    swap = answer.limits.swap
    if {each.restore for each in answer.combinations} == {Restore.RECOMPUTE}:
        return "none; --swap-per-token or --swap-gbps gives it a price, and compares it"
    pool = "no limit" if swap.pool is None else f"{swap.pool:,} tokens"
    unit = "s" if answer.clock.unit == "s" else "iterations"
    bus = "one copy after the other" if swap.shared else "each copy as if alone"
    never = swap.sweet_spot >= answer.limits.capacity
    spot = "recomputing is cheaper at every length" if never else f"from {swap.sweet_spot:,} tokens"
    return (
        f"{short(swap.per_token, 3)} {unit} a token each way, {bus}; host pool: {pool}; cheaper: "
        f"{spot}"
    )


def _objectives(answer: PreemptAnswer) -> list[Row]:
    bounds, times = answer.objectives, answer.times
    if bounds is None:
        return []
    if bounds.scale is None:
        parts = [
            f"{name} {value:g}"
            for name, value in (("TTFT", bounds.ttft), ("TBT", bounds.tbt))
            if value is not None
        ]
        return [("objectives", ", ".join(parts))]
    low, high = bounds.scale
    scale = f"{low:g}" if low == high else f"{low:g} to {high:g}, drawn for each request,"
    assert times is not None  # of a scale
    first = "" if times.ttft != times.ttft else f"TTFT {short(times.ttft, 3)}, "
    return [
        (
            "objectives",
            f"{scale} times the means over what is compared: {first}TBT {short(times.tbt, 3)}; "
            "TTFT's times the chunks of a long prompt",
        )
    ]


def _missing(answer: PreemptAnswer) -> list[Row]:
    victims = {each.victim for each in answer.combinations}
    rows = missing_rows("speculative decoding, scheduling cost", caching=False, shared=False)
    if Victim.LEAST_URGENT in victims:
        rows.append(("", "priorities: all requests have one, so that the latest to come goes"))
    if Victim.COST_AWARE in victims:
        most = answer.demand.max_tokens or "the true output length; --max-tokens says others"
        rows.append(("", f"cost-aware reads max_tokens, here {most}"))
    if victims & USE_PREDICTIONS and {c.predictor for c in answer.combinations} == {"perfect"}:
        rows.append(("", "predicted lengths are the true ones; --predictor says others"))
    if Victim.LOOSEST_OBJECTIVE in victims and answer.objectives is None:
        rows.append(("", "objectives: loosest-objective orders by what is left without --slo"))
    return rows + max_tokens_rows(answer.engine, answer.demand)
