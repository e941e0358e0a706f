"""The part of the answer that is played: a policy beside first come, first served.

All of them serve the same prompts, from an empty server; what is measured is the second half. In
units of the paper: tokens count when their prompt completes, and the first token is that of stage 1
(`fluidkv.wait.runs.stages`).

Source: WAIT, sections 2.5 and 6.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import xarray as xr

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.measuring import (
    Span,
    completed_outputs,
    peak,
    served,
    statistics,
    times,
    total,
)
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import NO_HORIZON, largest_request
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.model import WaitSystem
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.arrivals import poisson_prompts
from fluidkv.wait.runs.run import run_policy
from fluidkv.wait.runs.stages import as_prompts, engine_requests, fcfs
from fluidkv.wait.theory.fluid import fluid_equilibrium

STAGES, ITERATIONS = 240_000, 4_500
"""Of all runs of a policy, at most, where nobody says how long: some three seconds in all."""

MOST = 40
"""Times that work are not begun: a minute or two."""

_SHORTEST = 4  # lifetimes of the slowest prompt; the first two fill the server and are not measured
_PROMPTS = 20  # come in each run at least, on average


@dataclass(frozen=True)
class PolicyRuns(Record):
    """What a policy did in the second half of its runs; each field but the name has one by seed.

    Fields:
        name: of the policy.
        throughput: output tokens of completed prompts, per unit of time.
        latency_mean, latency_p99: from arrival to last token, of prompts that completed.
        ttft_mean, ttft_p99: from arrival to first token, of prompts that had it; under FCFS without
            those that were evicted, unless they emit one token only.
        evictions: in the whole run.
        peak_memory: most tokens held, in the whole run.
        left: prompts that had come and were not done at the end.
        NaN where nobody completed, or nobody had a token.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12))
        >>> own = fk.wait_study(system, 12, seeds=2, duration=50).runs.policies[0]
        >>> own.name, own.evictions, own.peak_memory, own.left
        ('WAIT', (0, 0), (12, 12), (6, 20))
    """

    name: str
    throughput: tuple[float, ...]
    latency_mean: tuple[float, ...]
    latency_p99: tuple[float, ...]
    ttft_mean: tuple[float, ...]
    ttft_p99: tuple[float, ...]
    evictions: tuple[int, ...]
    peak_memory: tuple[int, ...]
    left: tuple[int, ...]


@dataclass(frozen=True)
class Comparison(Record):
    """Policies on the same arrivals; sampled.

    Fields:
        duration: time that each run lasts.
        prompts: that came, for each seed.
        short: whether runs end before four times the mean decode time of the slowest prompt under
            the policy: what was measured is then partly its start.
        short_for_all: likewise of a prompt that is in every iteration, as under FCFS, with
            iterations as in balance: what was measured is then the start of every policy.
        policies: WAIT or Nested WAIT, FCFS with newcomers first, FCFS with running prompts first.
            The latter two are missing where the capacity cannot hold one of the prompts.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12))
        >>> found = fk.wait_study(system, 12, seeds=2, duration=50).runs
        >>> [each.name for each in found.policies], found.prompts, found.short
        (['WAIT', 'FCFS, new first', 'FCFS, running first'], (90, 96), False)
    """

    duration: float
    prompts: tuple[int, ...]
    short: bool
    short_for_all: bool
    policies: tuple[PolicyRuns, ...]


def played_policies(
    system: WaitSystem,
    policy: Policy,
    *,
    capacity: int,
    longest: Fraction,
    most_time: Fraction,
    seeds: int,
    duration: Fraction | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Run a policy and both baselines on Poisson arrivals of a system.

    Args:
        system: types and clock; its load is below 1.
        policy: thresholds by type, or segments.
        capacity: M, whole tokens.
        longest: mean decode time of the slowest prompt under the policy.
        most_time: no run lasts longer, where `duration` is None and enough prompts come.
        seeds: runs of each; seed i is i.
        duration: of each run; None: as long as `STAGES` and `ITERATIONS` allow.
        on_progress: told what is run.

    Raises:
        InputError: a duration in which nobody comes, or whose runs are more work than `MOST` times
            that of runs for which nobody says how long; a capacity that the baselines' engine
            cannot count.
    """
    tell = on_progress or (lambda _: None)
    time = _duration(system, most_time, seeds) if duration is None else duration
    require_work(system, time, seeds)
    Limits(capacity)  # refused before anything is run
    until = float(time)
    try:
        tables = [poisson_prompts(system, rng=seed, horizon=until) for seed in range(seeds)]
    except InputError as error:  # of `horizon`, which is another time here
        raise InputError("duration", until, error.allowed) from None
    tell(f"{policy.label}: {sum(map(len, tables)):,} prompts")
    stages = sum(int(table.output_length.sum()) + len(table) for table in tables)
    own = run_policy(
        tables,
        policy,
        clock=system.clock,
        capacity=capacity,
        horizon=until,
        backend="reference" if stages <= 2 * STAGES else "auto",
    )
    rows = [_measured(policy.label, own, until)]
    for new_first, name in ((True, "FCFS, new first"), (False, "FCFS, running first")):
        tell(f"{name}: {sum(map(len, tables)):,} prompts")
        run = _fcfs(tables, system, capacity, until, new_first=new_first)
        if run is not None:
            rows.append(_measured(name, as_prompts(run), until))
    return Comparison(
        duration=until,
        prompts=tuple(len(table) for table in tables),
        short=until < _SHORTEST * longest,
        short_for_all=until < _SHORTEST * _least_decode_time(system),
        policies=tuple(rows),
    )


def require_work(system: WaitSystem, time: Fraction, seeds: int) -> None:
    """Refuse runs that nobody would wait for.

    Raises:
        InputError: as `played_policies`.
    """
    most = MOST * _affordable(system, seeds)
    if time > most:
        prompts = seeds * most * system.arrival_rate
        allowed = (
            f"at most {_down(most)} with these rates, outputs and seeds "
            f"({_down(prompts)} prompts on average)"
        )
        raise InputError("duration", int(time) if time.denominator == 1 else float(time), allowed)


def _duration(system: WaitSystem, most_time: Fraction, seeds: int) -> Fraction:
    return max(_PROMPTS / system.arrival_rate, min(_affordable(system, seeds), most_time))


def _affordable(system: WaitSystem, seeds: int) -> Fraction:
    """The time that `STAGES` and `ITERATIONS` allow each run; who is alone is in few iterations."""
    stages = Fraction(sum(each.arrival_rate * each.stages for each in system.types))
    iterations = min(1 / fluid_equilibrium(system).iteration_time, stages)  # per unit of time
    return min(STAGES / stages, ITERATIONS / iterations) / seeds


def _down(value: Fraction) -> str:
    """Three digits, rounded down."""
    digits = Decimal(value.numerator) / Decimal(value.denominator)
    with localcontext(prec=3, rounding=ROUND_FLOOR):
        return f"{float(+digits):,.3g}" if digits < 1000 else f"{int(+digits):,}"


def _least_decode_time(system: WaitSystem) -> Fraction:
    longest = max(each.output_length for each in system.types)
    return longest * fluid_equilibrium(system).iteration_time


def _fcfs(
    tables: list[Requests], system: WaitSystem, capacity: int, until: float, *, new_first: bool
) -> xr.Dataset | None:
    """Runs up to the time, or longer; None where a prompt does not fit the engine.

    The engine ends after iterations, not at a time, so they are doubled until they reach it.
    """
    rules, limits = fcfs(new_first=new_first), Limits(capacity)
    prompts = [engine_requests(table) for table in tables]
    for table in prompts:
        _, needed, available = largest_request(rules, limits, table)
        if needed > available:
            return None
    iteration = fluid_equilibrium(system).iteration_time
    stages = max(int(table.output_length.sum()) for table in prompts)  # an idle server jumps
    iterations = min(math.ceil(until / float(iteration)), stages) + 1
    most = min(math.ceil(until / float(system.base)) + 1, NO_HORIZON)
    while True:
        run = serve(
            prompts, Server(rules, limits, clock=system.clock), iterations=min(iterations, most)
        )
        ended = run.time.max("window").values >= until
        if (ended | (run.status.values == "DONE")).all() or iterations >= most:
            return run
        iterations *= 2


def _measured(name: str, run: xr.Dataset, until: float) -> PolicyRuns:
    whole, half = Span(0.0, until), Span(until / 2, until, by="event")
    latency = statistics(times(run, "latency", half))
    ttft = statistics(times(run, "ttft", half))
    columns = (
        completed_outputs(run, half) / (until - until / 2),
        latency["mean"],
        latency["p99"],
        ttft["mean"],
        ttft["p99"],
        total(run, "preempt", whole).astype(int),
        peak(run, "used_blocks", whole).astype(int),
        run.requests - served(run, whole).sum("request"),
    )
    return PolicyRuns(name, *(tuple(column.values.tolist()) for column in columns))
