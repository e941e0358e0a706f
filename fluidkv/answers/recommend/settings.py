"""What can be turned, by which flags, what is tried where nobody says, and what is refused."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from fluidkv.answers.compare.plan import Setup
from fluidkv.answers.recommend.records import OBJECTIVES
from fluidkv.answers.served.cases import TIMED
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.goodput import bounds_of
from fluidkv.answers.served.setting import KNOBS, Setting, engine_of
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium
from fluidkv.serving.clock import require_prefill
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import CACHE
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.versions import FIRST_WITH_FLAG, numbers_of
from fluidkv.workload import Workload

WATERMARKS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.20)
CONSERVATIVENESS = (0.3, 0.6, 1.0, 1.3)  # of SGLang; 1 is its own
_SEQUENCES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of what the eviction-free equilibrium carries
_RAISED = (1.25, 1.5, 2.0)  # of a cap that is below that
_RATES = (1.0, 0.95, 0.9, 0.8)  # of its rate x*
_RATE_STEP = 10**6  # rates are multiples of 1/this, rounded down: x* itself is never exceeded


def objectives_of(setup: Setup) -> tuple[str, ...]:
    """Throughput, preemptions, tails. A clock on which prefill costs nothing has no TTFT."""
    seconds = setup.clock.unit == "s"
    throughput = "output_throughput_per_time" if seconds else "output_throughput"
    if setup.demand.kind == "saturated":
        return (throughput, "preemptions", "longest_gap_p99")
    first = ("ttft_p99",) if setup.clock.prefills else ()
    return (throughput, "preemptions", *first, "latency_p99")


def knobs(rules: EngineRules, demand: Demand, caching: bool = False) -> tuple[str, ...]:
    """What can be turned: what the engine has flags for, all of it in a model without flags.

    A rate limit stands in front of the engine; runs with a cache have none. Clients can be limited
    where they are given.

    Examples:
        >>> from fluidkv.answers import Demand
        >>> from fluidkv.answers.recommend.settings import knobs
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
    setup: Setup,
    objective: str,
    slos: Sequence[Slo],
    candidates: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse knobs that the engine does not have, and what a demand gives no meaning to."""
    demand, clock, now = setup.demand, setup.clock, setup.now
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
    if objective == "goodput" and not bounds_of(slos):
        allowed = "together with bounds for each request, such as --slo ttft_p99=2s"
        raise InputError("objective", objective, allowed)
    for argument, metric in [*(("slo", slo.metric) for slo in slos), ("objective", objective)]:
        if demand.kind == "saturated" and metric.startswith(TIMED):
            allowed = "tpot, longest_gap and rates where all requests wait at first"
            raise InputError(argument, metric, allowed)
        if metric.startswith("ttft"):
            require_prefill(clock, argument, metric)


def settings_of(
    engine: ServedEngine,
    setup: Setup,
    workload: Workload,
    equilibrium: Equilibrium,
    candidates: Mapping[str, Sequence[Any]],
) -> tuple[Setting, ...]:
    """What is tried, as it is set now first; refuses what is out of range."""
    now, rate = setup.now, equilibrium.rate
    rates = (
        Fraction(math.floor(rate * Fraction(str(share)) * _RATE_STEP), _RATE_STEP)
        for share in _RATES
    )
    # As SGLang is set: in what is set now, or in the text of the engine.
    written = dict(engine.settings).get("conservativeness", 1.0)
    today = float(written if now.conservativeness is None else now.conservativeness)
    least = max(1, setup.capacity // workload.largest_footprint)
    usual: dict[str, list[Any]] = {
        "watermark": list(WATERMARKS),
        "max_num_seqs": _sequences(least, float(equilibrium.in_flight), now.max_num_seqs),
        "admission_rate": [rate for rate in rates if rate > 0],
        "conservativeness": [value for value in CONSERVATIVENESS if value != today],
    }
    available = knobs(engine.rules, setup.demand, engine.caching)
    usual = {name: values for name, values in usual.items() if name in available}
    settings = sweep(now, usual | dict(candidates))
    for setting in settings:
        replace(setup, now=setting).limits(engine_of(engine, setting))  # refuses what is wrong
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


IN_PAIRS = ("watermark", "max_num_seqs", "conservativeness")
"""Knobs of the engine itself, tried together, two at a time."""


def sweep(now: Setting, candidates: Mapping[str, Iterable[Any]]) -> tuple[Setting, ...]:
    """What to try: as it is now, first; each knob alone; the engine's own in pairs.

    Args:
        now: as the server is set.
        candidates: knob -> values to try.

    Returns:
        Settings without repetition.
    """
    values = {name: list(candidates.get(name, ())) for name in KNOBS}
    found = [now]
    for name, tried in values.items():
        found += [replace(now, **{name: value}) for value in tried]
    for one, other in combinations(IN_PAIRS, 2):
        both = product(values[one], values[other])
        found += [replace(now, **{one: a, other: b}) for a, b in both]
    return tuple(dict.fromkeys(found))


# --- how a setting is set ------------------------------------------------------------------------


IN_FRONT = ("admission_rate", "clients")
"""Knobs that no engine has a flag for: a rate limiter, or the clients themselves."""


def flags_of(rules: EngineRules, setting: Setting, now: Setting) -> tuple[tuple[str, str], ...]:
    """(flag, value) for what differs from now and has a flag in this engine."""
    known = dict(rules.flags)
    return tuple(
        (known[name], _spelled(getattr(setting, name)))
        for name in setting.changed(now)
        if name in known
    )


def needs_of(
    rules: EngineRules, setting: Setting, now: Setting, version: str | None
) -> tuple[tuple[str, str], ...]:
    """(flag, first version with it) for the flags that an older server lacks.

    Args:
        version: of the server, "0.19.0"; None, or one that is no list of numbers: not known.
    """
    there = numbers_of(version)
    return tuple(
        (flag, first)
        for flag, _ in flags_of(rules, setting, now)
        for known, first in FIRST_WITH_FLAG.items()
        if known == (rules.name, flag) and there and there < numbers_of(first)
    )


def without_flag(rules: EngineRules, setting: Setting, now: Setting) -> tuple[str, ...]:
    """Knobs that differ from now and have no flag in this engine."""
    return tuple(name for name in setting.changed(now) if name not in dict(rules.flags))


def of_the_engine(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Settings that differ from the first in nothing that stands in front of the engine."""
    return tuple(i for i, s in enumerate(settings) if not set(s.changed(settings[0])) & {*IN_FRONT})


def at_hand(
    rules: EngineRules, settings: Sequence[Setting], version: str | None
) -> tuple[int, ...]:
    """Of those, the ones that a version has all flags for."""
    return tuple(
        i for i in of_the_engine(settings) if not needs_of(rules, settings[i], settings[0], version)
    )


def _spelled(value: float | int | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
