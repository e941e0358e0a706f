"""Several policies on the same prompts in the same memory: one table.

WAIT and Nested WAIT run in this room, engines in `fluidkv.serving.run`, on the same arrivals. All
hold l + k tokens while stage k of a prompt is computed, and all are measured alike: flows between
two times, prompts by when they came. So a policy is not better off because it holds prompts back
until the run ends: who is not served counts with the time that it has waited so far.

`fluidkv.answers.wait.runs` measures otherwise, and its latencies are not to be set beside these: a
prompt belongs there to the half of the run in which it completed, and who did not complete has no
latency; here it belongs to the window in which it came. It also measures first tokens.

Source: WAIT, sections 2.5 (metrics) and 6 (what is compared).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import RESTART, engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.baselines import engine_requests
from fluidkv.wait.runs.run import run_policy

LPF = replace(RESTART, name="lpf", reserved_tokens=0)
"""The memory dynamics of Congestion on prompts of this room: least progressed evicted first.

`restart` holds l0 + 1 + j tokens at stage j = 0..l1 - 1, one of them reserved for the next token. A
prompt (l, l') holds l + k at stage k = 0..l'. With l0 = l - 1 and l1 = l' + 1 these are the same,
iteration by iteration; without the reserve l0 is l, so that l = 1 needs no request without input.
"""

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
"""What `compare` measures -> (what it is, unit)."""


@dataclass(frozen=True)
class Served:
    """An engine and its caps, as a policy among others.

    Args:
        rules: a name out of `fluidkv.serving.engines.ENGINES`, or rules; `LPF` for Congestion's.
        watermark, admission_rate, max_num_seqs: as `Limits`.
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
    """

    policy: Wait | NestedWait


Contender = Wait | NestedWait | Unlimited | Served


def compare(
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
        clock: in seconds, without a term for prefill: the paper's has none.
        capacity: M, tokens.
        window: (first, last) time; flows are counted from first to last, and prompts are those
            that came from first to before last.

    Returns:
        The `MEASURES`, with dimensions policy (a coordinate with the names) and run. Where a run is
        overloaded, latencies grow with its length and are no property of the policy.

    Raises:
        InputError: no contender, a clock that does not fit, numbers of runs that differ, a window
            that is empty or not before the last arrival, or what the engines refuse.
    """
    _check_clock(clock)
    if not contenders:
        raise InputError("contenders", contenders, "at least one policy")
    columns: dict[str, list[Any]] = {
        "requests": _column(requests, Requests),
        "capacity": _column(capacity, int | np.integer),
        "window": [window] if isinstance(window[0], int | float) else list(window),
        **{name: _column(value, Contender) for name, value in contenders.items()},
    }
    size = max(map(len, columns.values()))
    for name, column in columns.items():
        if len(column) not in (1, size):
            raise InputError(name, f"{len(column)} of them", f"1, or {size} as the other arguments")
    every = {name: col * size if len(col) == 1 else col for name, col in columns.items()}
    tables, capacities, windows = (every.pop(n) for n in ("requests", "capacity", "window"))
    for table, (first, last) in zip(tables, windows, strict=True):
        if not 0 <= first < last <= table.arrival[-1]:
            end = f"the last arrival, {table.arrival[-1]:g}"
            raise InputError("window", (first, last), f"0 <= first < last <= {end}")
    found = np.full((len(every), size, len(MEASURES)), np.nan)
    names = list(every)
    for batch in _batches(every, size):
        values = _run(batch, every, tables, capacities, clock)
        for (name, run), one in zip(batch, values, strict=True):
            found[names.index(name), run] = _measured(
                one, tables[run], capacities[run], windows[run]
            )
    return xr.Dataset(
        {
            name: (
                ("policy", "run"),
                found[..., place],
                {"long_name": title, "units": unit.replace("time", clock.unit)},
            )
            for place, (name, (title, unit)) in enumerate(MEASURES.items())
        },
        coords={"policy": names},
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
    batch: list[tuple[str, int]],
    every: dict[str, list[Contender | None]],
    tables: list[Requests],
    capacities: list[int],
    clock: IterationClock,
) -> list[xr.Dataset]:
    """The runs of a batch, each until its last arrival at least."""
    policies = [every[name][run] for name, run in batch]
    own = [tables[run] for _, run in batch]
    rooms = [capacities[run] for _, run in batch]
    served = [one for one in policies if isinstance(one, Served)]
    if not served:
        runs = run_policy(
            own,
            [_policy(one) for one in policies],
            clock=clock,
            capacity=[
                None if isinstance(one, Unlimited) else room
                for one, room in zip(policies, rooms, strict=True)
            ],
            horizon=[table.arrival[-1].item() for table in own],
        )
    else:
        limits = [
            Limits(
                room,
                max_num_seqs=one.max_num_seqs,
                watermark=one.watermark,
                admission_rate=one.admission_rate,
            )
            for one, room in zip(served, rooms, strict=True)
        ]
        # an iteration lasts d0 at least, so that these reach the last arrival
        most = max(math.ceil(table.arrival[-1] / clock.base) for table in own) + 1
        longer = {id(table): engine_requests(table) for table in own}
        runs = serve(
            [longer[id(table)] for table in own],
            engine(served[0].rules),
            limits,
            clock=clock,
            iterations=most,
        )
    return [runs.isel(run=place) for place in range(len(batch))]


def _policy(one: Contender | None) -> Policy:
    assert isinstance(one, Wait | NestedWait | Unlimited)  # what `_batches` put together
    return one.policy if isinstance(one, Unlimited) else one


def _measured(
    run: xr.Dataset, table: Requests, capacity: int, window: tuple[float, float]
) -> list[float]:
    """In the order of `MEASURES`."""
    first, last = window
    end, size = table.arrival[-1], len(table)
    time = run.time.values
    within = (time > first) & (time <= last)
    done = run.finished.values[:size] & (run.last_token.values[:size] <= end)
    left = np.where(done, run.last_token.values[:size], np.inf)
    came = (table.arrival >= first) & (table.arrival < last)
    completed = (left > first) & (left <= last)
    latency = (np.minimum(left, end) - table.arrival)[came]
    tokens = run.tokens.values[within].sum()
    used = run.used_blocks.values[time <= end]
    return [
        table.output_length[completed].sum() / (last - first),
        table.output_length[came].sum() / (last - first),
        latency.mean(),
        float(np.quantile(latency, 0.99)),
        1 - done[came].mean(),
        run.preempt.values[within].sum() / came.sum(),
        run.recomputed_tokens.values[within].sum() / tokens if tokens else 0.0,
        used.max(initial=0) / capacity,
    ]


def _column(value: Any, kind: Any) -> list[Any]:
    return [value] if isinstance(value, kind) else list(value)


def _check_clock(clock: IterationClock) -> None:
    if not isinstance(clock, IterationClock) or clock.unit != "s" or clock.per_prefill_token:
        raise InputError("clock", clock, "an IterationClock in seconds, without a prefill term")
