"""Several policies on the same prompts in the same memory, measured alike.

WAIT and Nested WAIT run in `fluidkv.wait.runs`, engines in `fluidkv.serving.run`, on the same
arrivals. All hold l + k tokens while stage k of a prompt is computed: flows are counted between two
times, prompts by when they came. So a policy is not better off because it holds prompts back until
the run ends: a prompt that is not served counts with the time that it has waited so far.

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
from jaxtyping import Float

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
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.run import run_policy
from fluidkv.wait.runs.stages import as_prompts, engine_requests


@dataclass(frozen=True)
class Served:
    """An engine and its caps, as a policy among others.

    Args:
        rules: a name out of `fluidkv.serving.engines.ENGINES`, or rules; for Congestion's, `LPF` of
            `fluidkv.wait.runs.stages`.
        watermark, admission_rate: as `Limits`.
    """

    rules: str | EngineRules
    watermark: float = 0.0
    admission_rate: Fraction | int | None = None


@dataclass(frozen=True)
class Unlimited:
    """WAIT or Nested WAIT without a limit on memory: its peak may be above 1, and says how far."""

    policy: Wait | NestedWait


Contender = Wait | NestedWait | Unlimited | Served
Measured = dict[str, Float[np.ndarray, "policy run"]]


def compare_policies(
    tables: Sequence[Requests],
    contenders: Mapping[str, Sequence[Contender | None]],
    *,
    clock: IterationClock,
    capacity: int,
    windows: Sequence[tuple[float, float]],
) -> Measured:
    """Run every policy on every table of prompts, up to the last arrival, and measure all alike.

    Args:
        tables: prompts of each run; `output_length` is the paper's l'. Let them come for some time
            after the window, so that prompts of its end may be served.
        contenders: name -> policy of each run; None: not in this run, measured as NaN.
        clock: in seconds, without a term for pairs; the paper's has none for prefill, either.
        capacity: M, tokens.
        windows: (first, last) time of each run, the last not after its last arrival; flows are
            counted from first to last, and prompts are those that came from first to before last.

    Returns:
        Of each policy, in the order of the contenders, and each run: `throughput` and `offered`,
        output tokens of the prompts that completed and that came, over time; `latency_mean` and
        `latency_p99`, from arrival to last token, or so far; `unfinished`, the share of prompts not
        served by the end; `evictions` for each prompt that came; `recompute_tax`, the share of the
        computed tokens that were computed before; `peak`, most tokens held, over the capacity.
        Where a run is overloaded, latencies grow with its length and are no property of the policy.

    Examples:
        >>> from fluidkv_papers.wait.instances.compared import Served, compare_policies
        >>> table = fk.Requests([3] * 40, [2] * 40, arrival=np.arange(40))
        >>> policies = {"one": [fk.wait.Wait([1])], "two": [fk.wait.Wait([2])]}
        >>> setting = {"clock": fk.IterationClock(1), "capacity": 20, "windows": [(5, 30)]}
        >>> measured = compare_policies([table], policies | {"vllm": [Served("vllm")]}, **setting)
        >>> measured["latency_mean"].tolist()  # to wait for a second takes longer
        [[3.0], [5.0], [3.0]]
    """
    names = list(contenders)
    values: Measured = {}
    for batch in _batches(contenders, len(tables)):
        rows, runs = [names.index(name) for name, _ in batch], [run for _, run in batch]
        policies = [policy for name, run in batch if (policy := contenders[name][run])]
        batch_tables = [tables[run] for run in runs]
        dataset = _run(policies, batch_tables, capacity, clock)
        measures = _measures(dataset, batch_tables, [windows[run] for run in runs])
        for name, measure in measures.items():
            values.setdefault(name, np.full((len(names), len(tables)), np.nan))
            values[name][rows, runs] = measure / capacity if name == "peak" else measure
    return values


def _batches(
    contenders: Mapping[str, Sequence[Contender | None]], runs: int
) -> list[list[tuple[str, int]]]:
    """What runs together, as (name, run): all of WAIT, and each set of engine rules."""
    groups: dict[EngineRules | None, list[tuple[str, int]]] = {}
    for name, policies in contenders.items():
        for run in range(runs):
            policy = policies[run]
            if policy is not None:
                key = engine(policy.rules) if isinstance(policy, Served) else None
                groups.setdefault(key, []).append((name, run))
    return list(groups.values())


def _run(
    policies: list[Contender],
    tables: list[Requests],
    capacity: int,
    clock: IterationClock,
) -> xr.Dataset:
    """The runs of a batch, each until its last arrival at least."""
    engines = [policy for policy in policies if isinstance(policy, Served)]
    waits = [policy for policy in policies if not isinstance(policy, Served)]
    if waits:
        return run_policy(
            tables,
            [policy.policy if isinstance(policy, Unlimited) else policy for policy in waits],
            clock=clock,
            capacity=[None if isinstance(policy, Unlimited) else capacity for policy in waits],
            horizon=[table.arrival[-1].item() for table in tables],
        )
    limits = [
        Limits(capacity, watermark=policy.watermark, admission_rate=policy.admission_rate)
        for policy in engines
    ]
    # an iteration lasts d0 at least, so that these reach the last arrival
    most = max(math.ceil(table.arrival[-1] / clock.base) for table in tables) + 1
    longer = {id(table): engine_requests(table) for table in tables}
    prompts, rules = [longer[id(table)] for table in tables], engine(engines[0].rules)
    return as_prompts(serve(prompts, Server(rules, limits, clock=clock), iterations=most))


def _measures(
    run: xr.Dataset, tables: list[Requests], windows: list[tuple[float, float]]
) -> dict[str, np.ndarray]:
    """Of each run of a dataset; the peak in tokens."""
    last_arrivals = [table.arrival[-1] for table in tables]
    first, last, end = (
        xr.DataArray(np.array(column, float), dims="run")
        for column in (*zip(*windows, strict=True), last_arrivals)
    )
    span = Span(first, last, unserved="so far", end=end)
    came = span.arrives(run)
    latency = statistics(times(run, "latency", span))
    tokens, prompts = total(run, "tokens", span), came.sum("request")
    measures = {
        "throughput": completed_outputs(run, span) / (last - first),
        "offered": run.output_length.where(came, 0).sum("request") / (last - first),
        "latency_mean": latency["mean"],
        "latency_p99": latency["p99"],
        "unfinished": 1 - (served(run, span) & came).sum("request") / prompts,
        "evictions": total(run, "preempt", span) / prompts,
        "recompute_tax": total(run, "recomputed_tokens", span) / tokens.where(tokens > 0, 1),
        "peak": peak(run, "used_blocks", span),
    }
    return {name: measure.values for name, measure in measures.items()}
