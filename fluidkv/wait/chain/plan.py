"""What `simulate_chain` is asked to run, checked: one chain, or one for each of several systems."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, count, instance
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.values import one_each
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.chains import CountChain, beside, chain_of
from fluidkv.wait.chain.model import Model, arrival_rates, clock_of, shapes, thresholds_of
from fluidkv.wait.model import several
from fluidkv.wait.segments import Segments

MOST_SEED = 2**63 - 1
MOST_RUNS = 2**31 - 1
MOST_COUNT = 2**31 - 1
"""Counts are kept in 32 bits."""
NO_HORIZON = 2**31 - 1
"""Iterations of a run that ends at a time."""

CHAIN_RECORDS = {
    "queue": ("prompts before each segment, before any wait", "request"),
    "wait": ("time waited before the batch", "time"),
    "waited": ("arrivals to each segment during the wait", "request"),
    "joined": ("segments in the batch", "1"),
    "kv_tokens": ("tokens in the batch", "token"),
    "held_tokens": ("tokens in memory", "token"),
    "entered": ("prompts that came to wait before each segment during the iteration", "request"),
    "time": ("the clock after the iteration", "time"),
}
"""What `simulate_chain` can record of each iteration -> (what it is, unit).

>>> from fluidkv.wait import CHAIN_RECORDS
>>> sorted(CHAIN_RECORDS)
['entered', 'held_tokens', 'joined', 'kv_tokens', 'queue', 'time', 'wait', 'waited']
>>> CHAIN_RECORDS["joined"]
('segments in the batch', '1')
"""


class ChainSpec(NamedTuple):
    """One chain; `horizon` and `memory` are infinite where nobody asked."""

    model: Model
    thresholds: tuple[int, ...]
    clock: IterationClock
    horizon: float
    memory: float


class Plan(NamedTuple):
    """What is run.

    Fields:
        specs: the chains, all of one kind.
        chains: they as arrays, along a last axis.
        many: whether they are of several systems, so that results have that dimension.
        runs: of each chain.
        iterations: at most.
        seed: of all random numbers.
        record: names out of `CHAIN_RECORDS`.
        timed: whether the clock is set at every iteration. False: what was waited for is counted,
            and the time that it took drawn for many iterations at once, which has the same law.
    """

    specs: Sequence[ChainSpec]
    chains: CountChain
    many: bool
    runs: int
    iterations: int
    seed: int
    record: tuple[str, ...]
    timed: bool

    def column(self, name: str) -> Float[np.ndarray, " chain"]:
        """A number of each chain, "horizon" or "memory"."""
        return np.array([getattr(spec, name) for spec in self.specs])


def plan_of(
    options: Mapping[str, Any],
    *,
    runs: int,
    iterations: int | None,
    seed: int,
    rate_steps: RateSteps | None,
    record: Iterable[str],
) -> Plan:
    """A plan of one chain for each system.

    Args:
        options: model, thresholds, base, per_kv_token, per_prefill_token, horizon and memory, in
            that order: one for all chains or one for each.
        others: of `simulate_chain`.

    Raises:
        InputError: as `simulate_chain`.
    """
    rows, many = _rows(options["thresholds"])
    many = many or any(_is_several(options[name]) for name in options if name != "thresholds")
    specs = []
    for model, row, base, per_kv, per_prefill, horizon, memory in zip(
        *one_each({**options, "thresholds": rows}).values(), strict=True
    ):
        clock, thresholds = clock_of(model, base, per_kv, per_prefill), thresholds_of(model, row)
        end = inf if horizon is None else above_0("horizon", horizon)
        level = inf if memory is None else above_0("memory", memory)
        specs.append(ChainSpec(model, thresholds, clock, end, level))
    kinds = {type(spec.model).__name__ for spec in specs}
    if len(kinds) > 1:
        raise InputError("model", ", ".join(sorted(kinds)), "systems of one kind")
    if rate_steps is not None:
        instance("rate_steps", rate_steps, RateSteps, "RateSteps or None")
    names, timed = _names(record), options["horizon"] is not None
    if iterations is None and not timed:
        raise InputError("iterations", None, "a number, where there is no horizon")
    limit = NO_HORIZON if iterations is None else count("iterations", iterations, most=NO_HORIZON)
    runs, seed = count("runs", runs, most=MOST_RUNS), count("seed", seed, least=0, most=MOST_SEED)
    for spec in specs:
        _check_growth(spec, rate_steps, limit)
    chains = beside(
        [chain_of(spec.model, spec.thresholds, spec.clock, rate_steps) for spec in specs]
    )
    # Where nobody looks at the clock before the end, times are drawn for many iterations at once.
    timed = timed or options["memory"] is not None or rate_steps is not None or bool(names)
    return Plan(specs, chains, many, runs, limit, seed, names, timed or not chains.nested)


def _check_growth(spec: ChainSpec, steps: RateSteps | None, iterations: int) -> None:
    """Refuse a run in which a queue could outgrow 32 bits.

    A segment joins whenever the one before did and enough wait, so that its queue grows by no more
    than what comes in an iteration of full segments less its threshold. Random sums go beyond their
    mean m by 10 sqrt(m) with a probability below 2^-65 (see `alias.poisson_window`).

    Raises:
        InputError: a number of iterations or a horizon beyond that.
    """
    model, thresholds, clock, horizon, _ = spec
    segments, rates = shapes(model, thresholds), [float(rate) for rate in arrival_rates(model)]
    factor = 1.0 if steps is None else max(steps.factors)
    held = sum(segment.tokens(segment.span) for segment in segments)
    full = clock.duration(held, sum(segment.prefill_tokens for segment in segments))
    come = [factor * rate * full for rate in rates]
    if isinstance(model, Segments):
        come += [n * float(p) for n, p in zip(thresholds[:-1], model.thinning, strict=True)]
    done = float(min(iterations, horizon / clock.base + 1))
    by_iterations = max(
        done * max(mean - n, 0) + 10 * (mean * done) ** 0.5 + 31 + n + mean
        for mean, n in zip(come, thresholds, strict=True)
    )
    arrivals = factor * max(rates) * (horizon + full)
    by_time = arrivals + 10 * arrivals**0.5 + 31 + max(thresholds) if isfinite(horizon) else inf
    longest = min(by_iterations, by_time)
    if longest > MOST_COUNT:
        name, value = ("horizon", horizon) if isfinite(horizon) else ("iterations", iterations)
        allowed = f"so few that no queue can pass {MOST_COUNT}; here one could reach {longest:.2g}"
        raise InputError(name, value, allowed)


def _names(record: Iterable[str]) -> tuple[str, ...]:
    allowed = f"names out of {', '.join(CHAIN_RECORDS)}"
    names = several("record", record, allowed)
    for name in names:
        if not isinstance(name, str) or name not in CHAIN_RECORDS:
            raise InputError("record", name, allowed)
    return tuple(dict.fromkeys(names))


def _rows(thresholds: Any) -> tuple[list[tuple[Any, ...]], bool]:
    """One row, or one for each system (then True); zeros at its end stand for no segment."""
    allowed = "one for each segment or type"
    rows = several("thresholds", thresholds, allowed)
    if not rows or not isinstance(rows[0], Iterable):
        return [rows], False
    stripped = []
    for row in rows:
        values = list(several("thresholds", row, allowed))
        while len(values) > 1 and values[-1] == 0:
            values.pop()
        stripped.append(tuple(values))
    return stripped, True


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
