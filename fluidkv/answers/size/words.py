"""A size that was tried, a bound, and the answer in words."""

import math

from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.nearly import Nearly
from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.sizes import Size
from fluidkv.report.numbers import counted, short


def plain_size(answer: SizeAnswer, size: Size) -> str:
    """What is looked for, as a cell of a table."""
    value = answer.plan.value(size)
    return short(value) if answer.plan.axis.find == "rate" else f"{value:,}"


def size_text(answer: SizeAnswer, size: Size) -> str:
    """What is looked for."""
    find = answer.plan.axis.find
    if find == "kv":
        return pool_text(answer, size)
    return rate_text(answer, size) if find == "rate" else counted(size.replicas, "replica")


def pool_text(answer: SizeAnswer, size: Size) -> str:
    """Its KV memory, of each replica."""
    tokens = answer.tokens(size)
    blocks = f"{size.blocks:,} blocks" if answer.plan.limits.block_size > 1 else ""
    parts = ", ".join(filter(None, (blocks, answer.memory.in_bytes(tokens))))
    return f"{tokens:,} tokens" + (f" ({parts})" if parts else "")


def rate_text(answer: SizeAnswer, size: Size) -> str:
    """Its arrivals, at all replicas together."""
    rate = short(answer.rate(size))
    return f"{rate} {'request' if rate == '1' else 'requests'} {per(answer)}"


def per(answer: SizeAnswer) -> str:
    """The unit of a rate."""
    return "a second" if answer.plan.clock.unit == "s" else "an iteration"


def arrivals_text(answer: SizeAnswer) -> str:
    """How requests come, at the answer."""
    plan, rate = answer.plan, rate_text(answer, answer.answer)
    if plan.own_rate is None:
        return f"Poisson, {rate}"
    if plan.busier != 1:
        busy = short(answer.rate_served(answer.answer))
        rate += f" in the mean of all, {busy} in the busiest part, which is served"
    if abs(plan.rate / plan.own_rate - 1) < 1e-9:
        return f"the source's own times, {rate}"
    return f"the source's own times, {plan.rate / plan.own_rate:.4g} times as fast: {rate}"


def slo_text(answer: SizeAnswer, slo: Slo, requests: int = 0) -> str:
    """A bound; of a count also in how many requests, if that is named."""
    sign, many = ">=" if slo.at_least else "<=", f" in {requests:,} requests"
    bound = f"{slo.metric} {sign} {slo.bound:g}{unit_of(answer, slo.metric)}"
    return bound + many * (requests > 0 and slo.is_count)


def unit_of(answer: SizeAnswer, metric: str) -> str:
    """The unit of a metric, with a space before it; none of a count."""
    timed = metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    return " s" if timed and answer.plan.clock.unit == "s" else ""


def value_text(answer: SizeAnswer, metric: str, value: float) -> str:
    """A value of a metric with its unit."""
    return f"{short(value)}{unit_of(answer, metric)}"


# --- the answer ---------------------------------------------------------------------------------


def in_short(answer: SizeAnswer) -> str:
    """The size, what it meets and how often, and the size if the simulation is as far off as on
    the log.
    """
    plan, nearly = answer.plan, answer.nearly
    slos = [slo_text(answer, slo) for slo in plan.slos]
    rate = "" if plan.axis.find == "rate" else f" at {rate_text(answer, answer.answer)}"
    sure = "; not held to a measurement"
    if answer.against is not None:
        edge = answer.against.edge
        needed = "none tried" if edge is None else plain_size(answer, edge.answer)
        sure = f"; {needed} if iterations last {answer.against.bar:.1%} longer"
    held = ", by the requests that are run alone"
    if nearly is not None and nearly.edge is not None:
        slos = [slo_text(answer, slo, nearly.horizon) for slo in nearly.slos]
        held = f", {'on' if nearly.left_open else 'in'} {share_text(nearly)}"
    size = size_text(answer, answer.answer)
    meets = "meets" if size.startswith("1 ") else "meet"
    return f"{size} {meets} {' and '.join(slos)}{rate}{held}{sure}"


def share_text(nearly: Nearly) -> str:
    """How many others meet it: draws, or days of a log, of which that is an estimate."""
    others = "draws like it" if not nearly.left_open else "other days (estimated)"
    return f"{nearly.share:.0%} of {others}"


def bound_text(answer: SizeAnswer) -> str:
    """The throughput that memory and computing allow, beside arrivals; which of them binds."""
    at, bounds = answer.answer, answer.bounds
    each = "s" if answer.plan.clock.unit == "s" else "iteration"
    computing = ""
    if math.isfinite(bounds.compute):
        computing = f", computing alone {short(bounds.compute)}"
    binds = {"target": "what is asked binds first"}.get(answer.binds, f"{answer.binds} binds")
    return (
        f"memory carries at most {short(bounds.memory)} requests/{each} at each replica (KV tokens "
        f"over the mean of tokens held x time held){computing}; "
        f"{short(answer.rate_served(at) / at.replicas)} arrive: {binds}"
    )
