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
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import Said, said_columns
from fluidkv.runs.batch import Progress
from fluidkv.runs.checks import count
from fluidkv.runs.rates import RateSteps
from fluidkv.wait.chain.chains import chain_of
from fluidkv.wait.chain.dataset import NAMES, dataset_of
from fluidkv.wait.chain.model import Model
from fluidkv.wait.chain.runs import CHAIN_RECORDS, Plan, run_chains
from fluidkv.wait.chain.specs import check_growth, specs_of
from fluidkv.wait.model import Exact, several
from fluidkv.wait.segments import Segments

MOST_SEED = 2**63 - 1
MOST_RUNS = 2**31 - 1

NO_HORIZON = 2**31 - 1
"""Iterations of a run that ends at a time."""


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
    specs, many = specs_of(
        {
            "model": model,
            "thresholds": thresholds,
            "base": base,
            "per_kv_token": per_kv_token,
            "per_prefill_token": per_prefill_token,
            "horizon": horizon,
            "memory": memory,
        }
    )
    if coords and not many:
        raise InputError("coords", dict(coords), "None, for one system")
    columns = said_columns(coords, "system", len(specs), NAMES)
    names, limit = _names(record), _limit(iterations, horizon)
    runs, seed = count("runs", runs, most=MOST_RUNS), count("seed", seed, least=0, most=MOST_SEED)
    if rate_steps is not None and not isinstance(rate_steps, RateSteps):
        raise InputError("rate_steps", rate_steps, "RateSteps or None")
    for spec in specs:
        check_growth(spec, rate_steps, limit)
    # Where nobody looks at the clock before the end, times are drawn for many iterations at once.
    looks = horizon is not None or memory is not None or rate_steps is not None or bool(names)
    plan = Plan(
        chains=[chain_of(*spec[:3], rate_steps) for spec in specs],
        horizon=np.array([spec.horizon for spec in specs]),
        level=np.array([spec.memory for spec in specs]),
        runs=runs,
        iterations=limit,
        seed=seed,
        record=names,
        timed=looks or not isinstance(specs[0].model, Segments),
    )
    run = run_chains(plan, on_progress)
    return dataset_of(specs, plan, run, columns if many else None)


def _limit(iterations: int | None, horizon: Any) -> int:
    if iterations is not None:
        return count("iterations", iterations, most=NO_HORIZON)
    if horizon is None:
        raise InputError("iterations", None, "a number, where there is no horizon")
    return NO_HORIZON


def _names(record: Iterable[str]) -> tuple[str, ...]:
    allowed = f"names out of {', '.join(CHAIN_RECORDS)}"
    names = several("record", record, allowed)
    for name in names:
        if not isinstance(name, str) or name not in CHAIN_RECORDS:
            raise InputError("record", name, allowed)
    return tuple(dict.fromkeys(names))
