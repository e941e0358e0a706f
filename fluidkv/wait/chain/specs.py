"""Chains that are asked for: one, or one for each of several systems, checked."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, real
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.values import one_each
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.model import Model, arrival_rates, clock_of, shapes, thresholds_of
from fluidkv.wait.model import several
from fluidkv.wait.segments import Segments

MOST_COUNT = 2**31 - 1
"""Counts are kept in 32 bits."""


class ChainSpec(NamedTuple):
    """One chain; `horizon` and `memory` are infinite where nobody asked."""

    model: Model
    thresholds: tuple[int, ...]
    clock: IterationClock
    horizon: float
    memory: float


def specs_of(options: Mapping[str, Any]) -> tuple[list[ChainSpec], bool]:
    """One for each system, and whether there are several, so that results have that dimension.

    Args:
        options: model, thresholds, base, per_kv_token, per_prefill_token, horizon and memory of
            `simulate_chain`, in that order.

    Raises:
        InputError: as `simulate_chain`.
    """
    rows, many = _rows(options["thresholds"])
    columns = {**options, "thresholds": rows}
    for name in columns:
        if _is_several(columns[name]):
            many = many or name != "thresholds"
            if not len(columns[name]):
                raise InputError(name, columns[name], "at least one")
    specs = []
    for model, row, *coefficients, horizon, memory in zip(*one_each(columns).values(), strict=True):
        clock, thresholds = clock_of(model, *coefficients), thresholds_of(model, row)
        end = inf if horizon is None else above_0("horizon", horizon)
        level = inf if memory is None else above_0("memory", memory)
        specs.append(ChainSpec(model, thresholds, clock, end, level))
    kinds = {type(spec.model).__name__ for spec in specs}
    if len(kinds) > 1:
        raise InputError("model", ", ".join(sorted(kinds)), "systems of one kind")
    return specs, many


def check_growth(spec: ChainSpec, steps: RateSteps | None, iterations: int) -> None:
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


def probability(argument: str, value: object) -> float:
    """The value as a float between 0 and 1, neither of them.

    Raises:
        InputError: something else.
    """
    found = real(value)
    if not 0 < found < 1:
        raise InputError(argument, value, "a number between 0 and 1")
    return found
