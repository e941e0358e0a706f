"""Bounds that no size meets, refused in one line: which, and the best that any size reaches."""

from collections.abc import Mapping

from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.plan import Plan
from fluidkv.answers.size.search import meets
from fluidkv.answers.size.sizes import Size
from fluidkv.answers.size.trials import Values, worst_of
from fluidkv.errors import InputError
from fluidkv.serving.limits import Limits

_EASIEST = {
    "kv": ("no KV pool", "with memory for all requests"),
    "rate": ("no rate", "with requests that come one at a time, nearly"),
    "replicas": ("no number of replicas", "with the most replicas tried"),
}


def refuse(plan: Plan, tried: Mapping[Size, Values]) -> InputError:
    """The error for what no size on the grid meets."""
    easiest = tried[plan.axis.harder_first(list(tried))[-1]]
    nothing, alone = _EASIEST[plan.axis.find]
    for slo in plan.slos:
        if not any(meets(values, [slo]) for values in tried.values()):
            at = worst_of(easiest, slo.metric)
            reached = [worst_of(values, slo.metric) for values in tried.values()]
            best = max(reached) if slo.at_least else min(reached)
            other = f"; the best of {len(tried)} tried has {best:.4g}" if best != at else ""
            caps = caps_of(plan.limits)
            limit = " and ".join(["the clock", *caps]) + (" are" if caps else " is")
            return InputError(
                "slo",
                _text(slo, plan),
                f"{'at most' if slo.at_least else 'at least'} {best:.4g} here: {nothing} meets "
                f"{_text(slo, plan)}; {alone} it is {at:.4g}{other}; {limit} the limit",
            )
    missed = [slo for slo in plan.slos if not meets(easiest, [slo])]
    return InputError(
        "slo",
        ", ".join(_text(slo, plan) for slo in plan.slos),
        f"bounds that one size meets together: each is met by some of the {len(tried)} sizes "
        f"tried, all by none; {alone}, {', '.join(_text(slo, plan) for slo in missed)} is missed",
    )


def caps_of(limits: Limits) -> list[str]:
    """What besides memory, or load, can be the limit."""
    names = ("max_num_seqs", "max_num_batched_tokens")
    caps = [(name, getattr(limits, name)) for name in names]
    return [f"{name} {value:,}" for name, value in caps if value is not None]


def _text(slo: Slo, plan: Plan) -> str:
    timed = slo.metric.startswith(("ttft", "tpot", "latency", "longest_gap"))
    return f"{slo.metric}={slo.bound:g}{'s' * (timed and plan.clock.unit == 's')}"
