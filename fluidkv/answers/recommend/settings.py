"""What can be turned, what is tried where nobody says, and what is refused."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fluidkv.answers.recommend.frontier import sweep
from fluidkv.answers.recommend.objective import OBJECTIVES
from fluidkv.answers.served.cases import TIMED
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.setting import Setting, engine_of, limits_of
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import CACHE
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.workload import Workload

WATERMARKS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.20)
CONSERVATIVENESS = (0.3, 0.6, 1.0, 1.3)  # of SGLang; 1 is its own
_SEQUENCES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of what the eviction-free equilibrium carries
_RAISED = (1.25, 1.5, 2.0)  # of a cap that is below that
_RATES = (1.0, 0.95, 0.9, 0.8)  # of its rate x*
_RATE_STEP = 10**6  # rates are multiples of 1/this, rounded down: x* itself is never exceeded


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

    Examples:
        >>> from fluidkv.answers import Demand, knobs
        >>> knobs(fk.engine("vllm"), Demand())
        ('watermark', 'max_num_seqs', 'admission_rate')
        >>> knobs(fk.engine("vllm"), Demand(clients=8), caching=True)
        ('watermark', 'max_num_seqs', 'clients')
    """
    own = ("watermark", "max_num_seqs", "conservativeness")
    flags = dict(rules.flags)
    return (
        *([name for name in own if name in flags] if flags else own[:2]),
        *([] if caching else ["admission_rate"]),
        *(["clients"] if demand.clients is not None else []),
    )


def check_options(
    engine: ServedEngine,
    demand: Demand,
    clock: IterationClock,
    objective: str,
    slos: Sequence[Slo],
    now: Setting,
    candidates: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse knobs that the engine does not have, and what a demand gives no meaning to."""
    available = knobs(engine.rules, demand, engine.caching)
    turned = {name: getattr(now, name) for name in now.changed(Setting(clients=now.clients))}
    tried = [(name, values) for name, values in candidates.items() if len(values)]
    for name, value in [*turned.items(), *tried]:
        if name not in available:
            why = f"{engine.rules.label}{CACHE * engine.caching} has no such flag"
            why = "no clients are given" if name == "clients" else why
            raise InputError(name, value, f"none: {why}; it has {', '.join(available)}")
    if demand.kind == "replay" and clock.unit != "s":
        raise InputError("replay", "a clock in iterations", "together with a clock in seconds")
    if objective not in OBJECTIVES:
        raise InputError("objective", objective, f"one of {', '.join(OBJECTIVES)}")
    for slo in slos:
        _check_time("slo", slo.metric, demand, clock)
    if objective == "goodput" and not bounds_of(slos):
        allowed = "together with bounds for each request, such as --slo ttft_p99=2s"
        raise InputError("objective", objective, allowed)
    _check_time("objective", objective, demand, clock)


def _check_time(argument: str, metric: str, demand: Demand, clock: IterationClock) -> None:
    """Refuse a time that this demand or this clock does not have."""
    if demand.kind == "saturated" and metric.startswith(TIMED):
        allowed = "tpot, longest_gap and rates where all requests wait at first"
        raise InputError(argument, metric, allowed)
    if metric.startswith("ttft"):
        require_prefill(clock, argument, metric)


def settings_of(
    engine: ServedEngine,
    limits: Limits,
    demand: Demand,
    workload: Workload,
    equilibrium: Equilibrium,
    now: Setting,
    candidates: Mapping[str, Sequence[Any]],
) -> tuple[Setting, ...]:
    """What is tried; refuses what is out of range."""
    rates = (
        Fraction(math.floor(equilibrium.rate * Fraction(str(share)) * _RATE_STEP), _RATE_STEP)
        for share in _RATES
    )
    # As SGLang is set: in what is set now, or in the text of the engine.
    written = dict(engine.settings).get("conservativeness", 1.0)
    set_now = written if now.conservativeness is None else now.conservativeness
    usual: dict[str, list[Any]] = {
        "watermark": list(WATERMARKS),
        "max_num_seqs": _sequences(
            max(1, limits.capacity // workload.largest_footprint),
            float(equilibrium.in_flight),
            now.max_num_seqs,
        ),
        "admission_rate": [rate for rate in rates if rate > 0],
        "conservativeness": [value for value in CONSERVATIVENESS if value != float(set_now)],
    }
    available = knobs(engine.rules, demand, engine.caching)
    usual = {name: values for name, values in usual.items() if name in available}
    settings = sweep(now, usual | dict(candidates))
    for setting in settings:
        limits_of(limits, setting)  # these refuse what is out of range
        engine_of(engine, setting)
    return settings


def _sequences(least: int, carried: float, cap: int | None) -> list[int]:
    """About what memory carries, below today's cap; and above it where it is less than that.

    Args:
        least: as many as fit if all are the longest: no cap needs to be lower.
        carried: requests that memory carries.
        cap: today's.
    """
    below = {least, *(max(least, round(carried * share)) for share in _SEQUENCES)}
    if cap is None:
        return sorted(below)
    raised = {math.ceil(cap * share) for share in _RAISED} if cap < carried else set()
    return sorted({n for n in below if n <= cap or cap < carried} | raised)
