"""What sizing found in one sentence; what binds there, and what it costs."""

import math
from typing import Any

from fluidkv.answers import Size, SizeAnswer
from fluidkv.answers.memory import Memory
from fluidkv.answers.served.cost import Cost
from fluidkv.cli.commands.size.draws import share_said
from fluidkv.cli.commands.size.sizes import plain_size, rate_said, size_said, slo_said
from fluidkv.report.numbers import short


def in_short(answer: SizeAnswer, memory: Memory) -> str:
    """The size, what it meets and how often, and the size if the simulation is as far off as on
    the log.
    """
    plan = answer.plan
    slos = [slo_said(answer, slo) for slo in plan.slos]
    rate = "" if plan.axis.find == "rate" else f" at {rate_said(answer, answer.answer)}"
    sure = "; not held to a measurement"
    if answer.against is not None:
        bar = answer.against.edge
        found = "none tried" if bar is None else plain_size(answer, bar.answer)
        sure = f"; {found} if iterations last {answer.against.bar:.1%} longer"
    size, nearly = size_said(answer, answer.answer, memory), answer.nearly
    held = ", by the requests that are run alone"
    if nearly is not None and nearly.edge is not None:
        slos = [slo_said(answer, slo, nearly.horizon) for slo in plan.slos_of_draws]
        held = f", {'on' if nearly.left_open else 'in'} {share_said(nearly)}"
    meets = "meets" if size.startswith("1 ") else "meet"
    return f"{size} {meets} {' and '.join(slos)}{rate}{held}{sure}"


def bound_said(answer: SizeAnswer) -> str:
    """The throughput that memory and computing allow, beside arrivals; which of them binds."""
    bounds, each = answer.bounds, "s" if answer.plan.clock.unit == "s" else "iteration"
    parts = [
        f"memory carries at most {short(bounds.memory)} requests/{each} at each replica (KV tokens "
        "over the mean of tokens held x time held)"
    ]
    if math.isfinite(bounds.compute):
        parts.append(f"computing alone {short(bounds.compute)}")
    arrive = short(answer.rate_served(answer.answer) / answer.answer.replicas)
    binds = {"target": "what is asked binds first"}.get(answer.binds, f"{answer.binds} binds")
    return f"{', '.join(parts)}; {arrive} arrive: {binds}"


def costs(answer: SizeAnswer, cost: Cost | None) -> dict[str, Any]:
    """For JSON: of a million output tokens, at the answer and as it is today."""
    if cost is None:
        return {}
    at = {"answer": answer.answer} | ({"today": answer.today} if answer.today else {})
    return cost.values(**{name: cost_at(answer, size, cost) for name, size in at.items()})


def cost_at(answer: SizeAnswer, size: Size, cost: Cost) -> float:
    speed = answer.mean(size, "output_throughput_per_time")
    return cost.per_million(speed, size.replicas)
