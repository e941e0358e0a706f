"""WAIT and Nested WAIT by counts alone, for thousands of runs: random numbers are drawn inside.

Equal in law to the policy run prompt by prompt (`fluidkv.wait.runs.reference`) where memory
suffices. See `step` for an iteration.

Many chains go side by side in one compilation, padded to the longest. Each has the counts of a
call for it alone, and its times up to rounding.

Latency of single prompts is not tracked; by Little's law its mean is the mean number in the system
over the rate of arrivals.

Source: WAIT, Algorithms 1 and 2.
"""

from collections.abc import Iterable, Sequence

import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import Said, said_columns
from fluidkv.runs.batch import Progress
from fluidkv.runs.rates import RateSteps
from fluidkv.wait.chain.dataset import NAMES, dataset_of
from fluidkv.wait.chain.model import Model
from fluidkv.wait.chain.plan import plan_of
from fluidkv.wait.chain.runs import run_chains
from fluidkv.wait.model import Exact


def simulate_chain(
    model: Model | Sequence[Model],
    thresholds: Iterable[int] | Iterable[Iterable[int]],
    *,
    base: Exact | Sequence[Exact] | None = None,
    per_kv_token: Exact | Sequence[Exact] | None = None,
    per_prefill_token: Exact | Sequence[Exact] | None = None,
    runs: int = 1,
    iterations: int | None = None,
    horizon: float | Sequence[float] | None = None,
    seed: int = 0,
    rate_steps: RateSteps | None = None,
    memory: float | Sequence[float] | None = None,
    record: Iterable[str] = (),
    coords: Said | None = None,
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Run a chain of counts from the empty system, many times; or many chains, each so often.

    `model`, `thresholds`, the coefficients, `horizon` and `memory` are one for all chains or one
    for each. With one of several, results have a dimension `system`.

    Args:
        model: `Segments` for Nested WAIT; outputs end where segments end, at no stage between. A
            `WaitSystem` for WAIT: each type a segment by itself, its length known.
        thresholds: n, one for each segment or type, each at least 1; or (system, segment), where
            rows may be of different lengths or end in zeros.
        base, per_kv_token: d0 and d1, with `Segments` only; a system has its own.
        per_prefill_token: d2, likewise; None: 0.
        runs: of each chain; run i depends on `seed` and i alone, so that chains share their luck.
        iterations: each run does so many, at most.
        horizon: a run goes on as long as its clock is before it, looked at before the wait; its
            last iteration may start after it, when it had to wait. (In `run_policy` none does.)
        seed: of all random numbers, below 2^63.
        rate_steps: rates that change in time, by a common factor: which share of prompts goes on
            from a segment stays. (Run single prompts for shares that change.)
        memory: a level, tokens; `exceeded` says when it was first exceeded. Nothing is evicted.
        record: names out of `CHAIN_RECORDS`, of every iteration of every run.
        coords: name -> a value for each system, or (values, units, what it is).
        on_progress: called now and then, maybe from another thread, with the iterations done and
            the runs ended.

    Returns:
        A dataset with dimensions (system,) run, (iteration,) segment, as `dataset_of` says.

    Raises:
        InputError: a number outside of what is said here, neither `iterations` nor `horizon`, a
            clock that is missing or given twice, thresholds of 2^16 or more, 1e7 arrivals or more
            in an iteration, a run in which a queue could outgrow 32 bits; numbers of systems that
            differ, or systems of both kinds.

    Source: WAIT, Algorithms 1 and 2.

    Examples:
        >>> from fluidkv.wait import Segments, simulate_chain
        >>> segments = Segments(3, ends=(1, 3), rates=(6, 2))
        >>> clock = {"base": 1, "per_kv_token": Fraction(1, 600)}
        >>> found = simulate_chain(segments, (9, 4), **clock, runs=128, horizon=30)
        >>> best = 6 * 1 + 2 * 2  # tokens per unit of time
        >>> float((found.output_tokens / found.time).mean().round(1)), best
        (8.7, 10)
    """
    options = {
        "model": model,
        "thresholds": thresholds,
        "base": base,
        "per_kv_token": per_kv_token,
        "per_prefill_token": per_prefill_token,
        "horizon": horizon,
        "memory": memory,
    }
    plan = plan_of(
        options, runs=runs, iterations=iterations, seed=seed, rate_steps=rate_steps, record=record
    )
    if coords and not plan.many:
        raise InputError("coords", dict(coords), "None, for one system")
    columns = said_columns(coords, "system", len(plan.specs), NAMES)
    return dataset_of(plan, run_chains(plan, on_progress), columns)
