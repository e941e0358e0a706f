"""What can be turned, what is tried where nobody says, and what is refused."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fluidkv.answers.recommend.frontier import sweep
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.engines import CACHE
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.workload import Workload

WATERMARKS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.20)
_SEQUENCES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of what the eviction-free equilibrium carries
_RATES = (1.0, 0.95, 0.9, 0.8)  # of its rate x*
_RATE_STEP = 10**6  # rates are multiples of 1/this, rounded down: x* itself is never exceeded

TIMED = ("ttft", "latency")  # metrics that need arrival times


def objectives_of(demand: Demand, clock: IterationClock) -> tuple[str, ...]:
    """Throughput, preemptions, tails. A clock on which prefill costs nothing has no TTFT."""
    throughput = "output_throughput_per_time" if clock.unit == "s" else "output_throughput"
    if demand.kind == "saturated":
        return (throughput, "preemptions", "longest_gap_p99")
    first = ("ttft_p99",) if clock.prefills else ()
    return (throughput, "preemptions", *first, "latency_p99")


def knobs(rules: EngineRules, demand: Demand, caching: bool = False) -> tuple[str, ...]:
    """What can be turned: what the engine has flags for, all of it in a model without flags.

    A rate limit stands in front of the engine; runs with a cache have none. Clients can be limited
    where they are given.
    """
    own = [name for name in ("watermark", "max_num_seqs") if name in dict(rules.flags)]
    return (
        *(own if rules.flags else ("watermark", "max_num_seqs")),
        *([] if caching else ["admission_rate"]),
        *(["clients"] if demand.clients is not None else []),
    )


def check_options(
    rules: EngineRules,
    demand: Demand,
    caching: bool,
    clock: IterationClock,
    slos: Sequence[Slo],
    now: Setting,
    candidates: Mapping[str, Sequence[Any]] | None,
) -> None:
    """Refuse knobs that the engine does not have, and what a demand gives no meaning to."""
    there = knobs(rules, demand, caching)
    turned = {name: getattr(now, name) for name in now.changed(Setting(clients=now.clients))}
    tried = [(name, values) for name, values in (candidates or {}).items() if len(values)]
    for name, value in [*turned.items(), *tried]:
        if name not in there:
            no_flag = f"{rules.label}{CACHE * caching} has no such flag"
            why = "no clients are given" if name == "clients" else no_flag
            raise InputError(name, value, f"none: {why}; it has {', '.join(there)}")
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
    for slo in slos:
        if demand.kind == "saturated" and slo.metric.startswith(TIMED):
            raise InputError(
                "slo", slo.metric, "tpot, longest_gap and rates where all requests wait at first"
            )
        if slo.metric.startswith("ttft"):
            require_prefill(clock, "slo", slo.metric)


def settings_of(
    rules: EngineRules,
    limits: Limits,
    demand: Demand,
    caching: bool,
    workload: Workload,
    equilibrium: Equilibrium,
    now: Setting,
    candidates: Mapping[str, Sequence[Any]] | None,
) -> tuple[Setting, ...]:
    """What is tried; refuses what is out of range."""
    usual = _usual(rules, limits, demand, caching, workload, equilibrium, now)
    settings = sweep(now, usual | dict(candidates or {}))
    for setting in settings:
        limits_of(limits, setting)  # refuses what is out of range
    return settings


def _usual(
    rules: EngineRules,
    limits: Limits,
    demand: Demand,
    caching: bool,
    workload: Workload,
    equilibrium: Equilibrium,
    now: Setting,
) -> dict[str, list[Any]]:
    carried = float(equilibrium.in_flight)
    # As many as fit if all are the longest: no cap needs to be lower.
    least = max(1, limits.capacity // workload.largest_footprint)
    sequences = {least, *(max(least, round(carried * share)) for share in _SEQUENCES)}
    rates = [
        Fraction(math.floor(equilibrium.rate * Fraction(str(share)) * _RATE_STEP), _RATE_STEP)
        for share in _RATES
    ]
    usual = {
        "watermark": list(WATERMARKS),
        "max_num_seqs": sorted(n for n in sequences if n <= (now.max_num_seqs or n)),
        "admission_rate": [rate for rate in rates if rate > 0],
    }
    return {name: values for name, values in usual.items() if name in knobs(rules, demand, caching)}
