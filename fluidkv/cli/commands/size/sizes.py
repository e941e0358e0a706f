"""A size that was tried, in words: memory, a rate or replicas."""

from fluidkv.answers import Size, SizeAnswer, Slo
from fluidkv.answers.memory import Memory
from fluidkv.report.numbers import counted, short


def plain_size(answer: SizeAnswer, size: Size) -> str:
    """What is looked for, as a cell of a table."""
    find = answer.plan.axis.find
    if find == "kv":
        return f"{answer.tokens(size):,}"
    return short(answer.rate(size)) if find == "rate" else f"{size.replicas}"


def size_said(answer: SizeAnswer, size: Size, memory: Memory) -> str:
    """What is looked for."""
    find = answer.plan.axis.find
    if find == "kv":
        return pool_said(answer, size, memory)
    return rate_said(answer, size) if find == "rate" else counted(size.replicas, "replica")


def pool_said(answer: SizeAnswer, size: Size, memory: Memory) -> str:
    """Its KV memory, of each replica."""
    tokens = answer.tokens(size)
    parts = []
    if answer.plan.block_size > 1:
        parts.append(f"{size.blocks:,} blocks")
    if memory.in_bytes(tokens):
        parts.append(memory.in_bytes(tokens))
    return f"{tokens:,} tokens" + (f" ({', '.join(parts)})" if parts else "")


def rate_said(answer: SizeAnswer, size: Size) -> str:
    """Its arrivals, at all replicas together."""
    each = "a second" if answer.plan.clock.unit == "s" else "an iteration"
    rate = short(answer.rate(size))
    return f"{rate} {'request' if rate == '1' else 'requests'} {each}"


def arrivals_said(answer: SizeAnswer) -> str:
    """How requests come, at the answer."""
    plan = answer.plan
    rate = rate_said(answer, answer.answer)
    if plan.own_rate is None:
        return f"Poisson, {rate}"
    if plan.busier != 1:
        busy = short(answer.rate_served(answer.answer))
        rate += f" in the mean of all, {busy} in the busiest part, which is served"
    if abs(plan.rate / plan.own_rate - 1) < 1e-9:
        return f"the source's own times, {rate}"
    return f"the source's own times, {plan.rate / plan.own_rate:.4g} times as fast: {rate}"


def slo_said(answer: SizeAnswer, slo: Slo, requests: int = 0) -> str:
    """A bound; of a count also in how many requests, if that is given."""
    sign, unit = ">=" if slo.at_least else "<=", unit_of(answer, slo.metric)
    many = f" in {requests:,} requests" if requests and slo.is_count else ""
    return f"{slo.metric} {sign} {slo.bound:g}{unit}{many}"


def unit_of(answer: SizeAnswer, metric: str) -> str:
    """The unit of a metric, with a space before it; none of a count."""
    timed = metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    return " s" if timed and answer.plan.clock.unit == "s" else ""
