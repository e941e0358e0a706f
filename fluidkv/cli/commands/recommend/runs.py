"""What was run for a recommendation, and what is not in it, as a person reads it."""

from fluidkv.answers.recommend import Recommendation
from fluidkv.answers.served.paired import CONFIDENCE
from fluidkv.answers.served.rows import arrivals_text, clock_rows, max_tokens_rows, window_rows
from fluidkv.report.numbers import counted, short
from fluidkv.report.page import Row


def simulated_rows(found: Recommendation) -> list[Row]:
    """What was run, for how long, on which clock, and what is not in it."""
    rows: list[Row] = [
        ("arrivals", arrivals_text(found.plan.demand, found.plan.clock.unit)),
        ("runs", _runs(found)),
        *window_rows(found.plan.window),
        ("horizon", _horizon(found)),
        *clock_rows(
            found.plan.clock,
            capacity=found.plan.limits.capacity,
            running=found.plan.limits.max_num_seqs,
            prefill_tokens=found.plan.limits.max_num_batched_tokens,
        ),
        ("memory", _memory(found)),
        *([("noise", _noise(found))] if len(found.settings) > 1 else []),
    ]
    if found.unfinished:
        rows.append(("CAUTION", _unfinished(found)))
    missing = "speculative decoding, swapping, scheduling cost"
    if not found.plan.caching:
        missing = f"prefix caching, {missing}"
    elif not any(found.plan.prompts):
        missing = f"prompts that begin alike, {missing}"
    else:
        rows.append(("prompts", "begin alike as the trace says"))
    if found.free_prefill:
        missing += "; time for prefill, so that computing again costs nothing in throughput"
    rows.append(("not in it", missing))
    rows += max_tokens_rows(found.plan.rules, found.plan.demand)
    if len({setting.clients for setting in found.settings}) > 1:
        rows.append(("", "with fewer clients: those who then wait outside are in no latency"))
    return rows


def _runs(found: Recommendation) -> str:
    count, window = len(found.settings), found.plan.window
    what = "draw" if window is None else "run"
    parts = f"{counted(found.runs, what)} of {found.requests:,} requests"
    if window is not None and window.whole:
        parts = f"all {found.requests:,} requests of the {'log' if found.bias else 'trace'}"
    if count == 1:
        return f"as it is now x {parts}"
    said = f"{count} settings x {parts}; the same requests in every setting"
    if found.ran.left_out:
        said += f"; {found.ran.left_out} pairs of knobs not run: other values are better alone"
    return said


def _horizon(found: Recommendation) -> str:
    if found.iterations is None:
        return "until every request is served; start and end are in the numbers"
    return f"{found.iterations:,} iterations, of which the first {found.warm_up:,} do not count"


def _memory(found: Recommendation) -> str:
    limits = found.plan.limits
    budget = limits.max_num_batched_tokens
    tokens = "no limit on tokens per iteration" if budget is None else f"{budget:,} tokens at most"
    unused = limits.capacity - limits.blocks * limits.block_size
    left = f", {unused:,} {'token' if unused == 1 else 'tokens'} unused" if unused else ""
    return (
        f"{limits.blocks:,} blocks of {limits.block_size}{left}; {tokens}; carries "
        f"{short(found.plan.equilibrium.in_flight)} requests without eviction"
    )


def _noise(found: Recommendation) -> str:
    if found.runs == 1:
        return "one run of each setting: +- is from its four parts, which are not independent"
    return (
        f"+- is {CONFIDENCE:.0%} for one pair of settings, not for all at once; "
        "the best of many looks better than it is"
    )


def _unfinished(found: Recommendation) -> str:
    if found.iterations is None:
        return f"{found.unfinished} runs ended with requests that can never be admitted"
    return f"{found.unfinished} runs ran out of work before the horizon: take more --requests"
