"""Several policies on the same prompts in the same memory: one table.

WAIT and Nested WAIT run in this room, engines in `fluidkv.serving.run`, on the same arrivals. All
hold l + k tokens while stage k of a prompt is computed, and all are measured alike: flows between
two times, prompts by when they came. So a policy is not better off because it holds prompts back
until the run ends: who is not served counts with the time that it has waited so far.

`fluidkv.answers.wait.runs` asks for another `Span`, and its latencies are not to be set beside
these: a prompt belongs there to the half of the run in which it completed.

Source: WAIT, sections 2.5 (metrics) and 6 (what is compared).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import dataset
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
from fluidkv.runs.values import one_each
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.run import run_policy
from fluidkv.wait.runs.stages import as_prompts, engine_requests

MEASURES = {
    "throughput": ("output tokens of the prompts that completed", "token / time"),
    "offered": ("output tokens of the prompts that came", "token / time"),
    "latency_mean": ("from arrival to last token, or so far, mean", "time"),
    "latency_p99": ("from arrival to last token, or so far, 99th percentile", "time"),
    "unfinished": ("share of the prompts not served by the end", "1"),
    "evictions": ("evictions for each prompt that came", "1"),
    "recompute_tax": ("share of the computed tokens that were computed before", "1"),
    "peak": ("most tokens held, over the capacity", "1"),
}
"""What `compare_policies` measures -> (what it is, unit).

>>> from fluidkv.wait import MEASURES
>>> len(MEASURES), MEASURES["evictions"]  # what it is, unit
(8, ('evictions for each prompt that came', '1'))
"""


@dataclass(frozen=True)
class Served:
    """An engine and its caps, as a policy among others.

    Args:
        rules: a name out of `fluidkv.serving.engines.ENGINES`, or rules; for Congestion's, `LPF` of
            `fluidkv.wait.runs.stages`.
        watermark, admission_rate, max_num_seqs: as `Limits`.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.serving import IterationClock
        >>> from fluidkv.wait import Served, compare_policies
        >>> table = Requests([3] * 40, [2] * 40, arrival=np.arange(40))
        >>> with_caps = {"vllm": Served("vllm"), "one": Served("vllm", max_num_seqs=1)}
        >>> options = {"clock": IterationClock(1), "capacity": 20, "window": (5, 30)}
        >>> found = compare_policies(table, with_caps, **options)
        >>> found.throughput.values[:, 0].tolist()  # 2 tokens per unit of time come
        [2.0, 0.72]
    """

    rules: str | EngineRules
    watermark: float = 0.0
    admission_rate: Fraction | int | None = None
    max_num_seqs: int | None = None


@dataclass(frozen=True)
class Unlimited:
    """WAIT or Nested WAIT without a limit on memory: its `peak` may be above 1, and says how far.

    Args:
        policy: which one.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.serving import IterationClock
        >>> from fluidkv.wait import Unlimited, Wait, compare_policies
        >>> table = Requests([3] * 40, [2] * 40, arrival=np.arange(40))
        >>> options = {"clock": IterationClock(1), "capacity": 20, "window": (5, 30)}
        >>> found = compare_policies(table, {"WAIT": Unlimited(Wait([2]))}, **options)
        >>> found.peak.values.tolist()  # 2 (3 + 4 + 5) tokens of 20
        [[1.2]]
    """

    policy: Wait | NestedWait


Contender = Wait | NestedWait | Unlimited | Served
"""What `compare_policies` compares."""


def compare_policies(
    requests: Requests | Sequence[Requests],
    contenders: Mapping[str, Contender | Sequence[Contender | None]],
    *,
    clock: IterationClock,
    capacity: int | Sequence[int],
    window: tuple[float, float] | Sequence[tuple[float, float]],
) -> xr.Dataset:
    """Run every policy on every table of prompts, up to the last arrival, and measure all alike.

    `requests`, `capacity`, `window` and each contender are one for all runs or one for each.

    Args:
        requests: prompts; `output_length` is the paper's l'. Let them come for some time after the
            window, so that prompts of its end may be served.
        contenders: name -> policy; None in a sequence: not in this run, measured as NaN.
        clock: in seconds, without a term for pairs; the paper's has none for prefill, either.
        capacity: M, tokens.
        window: (first, last) time; flows are counted from first to last, and prompts are those
            that came from first to before last.

    Returns:
        The `MEASURES`, with dimensions policy (a coordinate with the names) and run. Where a run is
        overloaded, latencies grow with its length and are no property of the policy.

    Raises:
        InputError: no contender, a clock that does not fit, numbers of runs that differ, a window
            that is empty or not before the last arrival, or what the engines refuse.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.serving import IterationClock
        >>> table = Requests([3] * 40, [2] * 40, arrival=np.arange(40))
        >>> options = {"clock": IterationClock(1), "capacity": 20, "window": (5, 30)}
        >>> policies = {"one": fk.wait.Wait([1]), "two": fk.wait.Wait([2])}
        >>> found = fk.compare_policies(table, policies, **options)
        >>> found.latency_mean.values[:, 0].tolist()  # to wait for a second takes longer
        [3.0, 5.0]
    """
    _check_clock(clock)
    if not contenders:
        raise InputError("contenders", contenders, "at least one policy")
    single = isinstance(window[0], int | float)
    every = one_each(
        {
            "requests": requests,
            "capacity": capacity,
            "window": [window] if single else list(window),
            **contenders,
        }
    )
    tables, capacities, windows = (every.pop(n) for n in ("requests", "capacity", "window"))
    for table, (first, last) in zip(tables, windows, strict=True):
        if not 0 <= first < last <= table.arrival[-1]:
            end = f"the last arrival, {table.arrival[-1]:g}"
            raise InputError("window", (first, last), f"0 <= first < last <= {end}")
    found = np.full((len(MEASURES), len(every), len(tables)), np.nan)
    names = list(every)
    for batch in _batches(every, len(tables)):
        rows, places = [names.index(name) for name, _ in batch], [run for _, run in batch]
        own, rooms = ([column[run] for run in places] for column in (tables, capacities))
        runs = _run([every[name][run] for name, run in batch], own, rooms, clock)
        found[:, rows, places] = _measured(runs, own, rooms, [windows[run] for run in places])
    return dataset(
        {
            name: (("policy", "run"), found[place], unit.replace("time", clock.unit), title)
            for place, (name, (title, unit)) in enumerate(MEASURES.items())
        },
        {"policy": ("policy", names, "1", "policy")},
        unit=clock.unit,
    )


def _batches(every: dict[str, list[Contender | None]], size: int) -> list[list[tuple[str, int]]]:
    """What runs together: all of WAIT, and each set of engine rules."""
    groups: dict[EngineRules | None, list[tuple[str, int]]] = {}
    for name, column in every.items():
        for run in range(size):
            one = column[run]
            if one is not None:
                key = engine(one.rules) if isinstance(one, Served) else None
                groups.setdefault(key, []).append((name, run))
    return list(groups.values())


def _run(
    policies: list[Contender | None],
    own: list[Requests],
    rooms: list[int],
    clock: IterationClock,
) -> xr.Dataset:
    """The runs of a batch, each until its last arrival at least."""
    engines = [one for one in policies if isinstance(one, Served)]
    if not engines:
        return run_policy(
            own,
            [_policy(one) for one in policies],
            clock=clock,
            capacity=[
                None if isinstance(one, Unlimited) else room
                for one, room in zip(policies, rooms, strict=True)
            ],
            horizon=[table.arrival[-1].item() for table in own],
        )
    limits = [
        Limits(
            room,
            max_num_seqs=one.max_num_seqs,
            watermark=one.watermark,
            admission_rate=one.admission_rate,
        )
        for one, room in zip(engines, rooms, strict=True)
    ]
    # an iteration lasts d0 at least, so that these reach the last arrival
    most = max(math.ceil(table.arrival[-1] / clock.base) for table in own) + 1
    longer = {id(table): engine_requests(table) for table in own}
    prompts, rules = [longer[id(table)] for table in own], engine(engines[0].rules)
    return as_prompts(serve(prompts, Server(rules, limits, clock=clock), iterations=most))


def _policy(one: Contender | None) -> Policy:
    assert isinstance(one, Wait | NestedWait | Unlimited)  # what `_batches` put together
    return one.policy if isinstance(one, Unlimited) else one


def _measured(
    run: xr.Dataset, tables: list[Requests], rooms: list[int], windows: list[tuple[float, float]]
) -> np.ndarray:
    """(measure, run), in the order of `MEASURES`."""
    last_arrivals = [table.arrival[-1] for table in tables]
    first, last, end = (
        xr.DataArray(np.array(column, float), dims="run")
        for column in (*zip(*windows, strict=True), last_arrivals)
    )
    span = Span(first, last, unserved="so far", end=end)
    came = span.arrives(run)
    latency = statistics(times(run, "latency", span))
    tokens, prompts = total(run, "tokens", span), came.sum("request")
    found = {
        "throughput": completed_outputs(run, span) / (last - first),
        "offered": run.output_length.where(came, 0).sum("request") / (last - first),
        "latency_mean": latency["mean"],
        "latency_p99": latency["p99"],
        "unfinished": 1 - (served(run, span) & came).sum("request") / prompts,
        "evictions": total(run, "preempt", span) / prompts,
        "recompute_tax": total(run, "recomputed_tokens", span) / tokens.where(tokens > 0, 1),
        "peak": peak(run, "used_blocks", span) / rooms,
    }
    return np.stack([found[name].values for name in MEASURES])


def _check_clock(clock: IterationClock) -> None:
    if not isinstance(clock, IterationClock) or clock.unit != "s" or not clock.by_tokens_alone:
        raise InputError("clock", clock, "an IterationClock in seconds, of d0, d1 and d2 alone")
