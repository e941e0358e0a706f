"""Bounds that no size meets, refused in one line: which, and the best that any size reaches."""

from collections.abc import Mapping, Sequence

from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.sizes import Size
from fluidkv.answers.size.trials import Values
from fluidkv.errors import InputError

_EASIEST = {
    "kv": ("no KV pool", "with memory for all requests"),
    "rate": ("no rate", "with requests that come one at a time, nearly"),
    "replicas": ("no number of replicas", "with the most replicas tried"),
}


def refuse(plan: Plan, tried: Mapping[Size, Values]) -> InputError:
    """The error for what no size on the grid meets."""
    easiest = plan.axis.harder_first(list(tried))[-1]
    nothing, alone = _EASIEST[plan.axis.find]
    for slo in plan.slos:
        if not any(_met(slo, values) for values in tried.values()):
            found = _worst(slo, tried[easiest])
            best = min(_worst(slo, values) for values in tried.values())
            if slo.at_least:
                best = max(_worst(slo, values) for values in tried.values())
            other = f"; the best of {len(tried)} tried has {best:.4g}" if best != found else ""
            return InputError(
                "slo",
                _said(slo, plan),
                f"{'at most' if slo.at_least else 'at least'} {best:.4g} here: {nothing} meets "
                f"{_said(slo, plan)}; {alone} it is {found:.4g}{other}; {_limit(plan)} the limit",
            )
    missed = [slo for slo in plan.slos if not _met(slo, tried[easiest])]
    return InputError(
        "slo",
        ", ".join(_said(slo, plan) for slo in plan.slos),
        f"bounds that one size meets together: each is met by some of the {len(tried)} sizes "
        f"tried, all by none; {alone}, {', '.join(_said(slo, plan) for slo in missed)} is missed",
    )


def _met(slo: Slo, values: Values) -> bool:
    return bool(slo.met(values[slo.metric][None])[0]) and not values["unfinished"].any()


def _worst(slo: Slo, values: Values) -> float:
    column = values[slo.metric]
    return float(column.min() if slo.at_least else column.max())


def _said(slo: Slo, plan: Plan) -> str:
    timed = slo.metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    return f"{slo.metric}={slo.bound:g}{'s' * (timed and plan.clock.unit == 's')}"


def _limit(plan: Plan) -> str:
    """What besides memory, or load, can be the limit."""
    limits = plan.server.limits
    caps: Sequence[str] = [
        f"{name} {value:,}"
        for name, value in (
            ("max_num_seqs", limits.max_num_seqs),
            ("max_num_batched_tokens", limits.max_num_batched_tokens),
        )
        if value is not None
    ]
    return " and ".join(["the clock", *caps]) + (" are" if caps else " is")
