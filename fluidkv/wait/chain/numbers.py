"""What an iteration of counts depends on: the segments, their numbers and their tables.

A segment is one of Nested WAIT's, or all stages of a type of WAIT: what has a threshold n. Its
batch takes exactly n prompts at its first stage, so that each of its stages holds n prompts or
none: how many batches it has had says which.
"""

from fractions import Fraction
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt64

from fluidkv.errors import InputError
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import alias
from fluidkv.wait.chain.rates import Pieces, pieces
from fluidkv.wait.model import WaitSystem
from fluidkv.wait.segments import Segments

MOST_TOKENS = 2**52
"""In memory at once: so many are whole numbers in float64."""


class Form(NamedTuple):
    """What is compiled in.

    Fields:
        nested: each segment is fed by the one before; False: they are types, each with arrivals.
        varying: rates change in time.
        timed: the clock is set at every iteration. False: what was waited for is counted, and the
            time that it took drawn for many iterations at once, which has the same law.
        columns: of a table; 0: no tables.
    """

    nested: bool
    varying: bool
    timed: bool
    columns: int


class Numbers(NamedTuple):
    """Numbers of a run, as arrays.

    Fields:
        threshold, span: n and stages of each segment.
        first_tokens: tokens that a prompt holds at a segment's first stage.
        boundary_tokens: tokens that it holds while it waits before a segment; 0 where it has none.
        prefill_tokens: inputs that its first stage computes, full: 0 behind the first segment.
        rate: of arrivals, to the first segment (one) or of each type.
        base, per_kv_token, per_prefill_token: of the clock.
        tables: flat; for a nested chain first the survivors into segments 2, 3, ..., then arrivals
            in an iteration of the first k segments, full, for k = 1, 2, ...
        arrivals_from: the first outcome of each of the tables of arrivals.
        pieces: of the rates, where they change.
    """

    threshold: Int[Array, "segment 1"]
    span: Int[Array, "segment 1"]
    first_tokens: Float[Array, "segment 1"]
    boundary_tokens: Float[Array, "segment 1"]
    prefill_tokens: Float[Array, "segment 1"]
    rate: Float[Array, "source 1"]
    base: Float[Array, ""]
    per_kv_token: Float[Array, ""]
    per_prefill_token: Float[Array, ""]
    tables: UInt64[Array, " cell"]
    arrivals_from: Int[Array, " segment"]
    pieces: Pieces | None


class Shape(NamedTuple):
    """A segment in whole numbers, from which the literal chain and the compiled one are made."""

    threshold: int
    span: int
    first_tokens: int
    boundary_tokens: int

    @property
    def prefill_tokens(self) -> int:
        """Inputs that its first stage computes, full; segments behind a boundary have none."""
        return 0 if self.boundary_tokens else self.threshold * self.first_tokens

    def tokens(self, stages: int) -> int:
        """What the first `stages` stages hold, full, while they are computed."""
        return self.threshold * (stages * self.first_tokens + stages * (stages - 1) // 2)


def shapes(model: Segments | WaitSystem, thresholds: tuple[int, ...]) -> list[Shape]:
    """One a segment or type."""
    if isinstance(model, WaitSystem):
        return [
            Shape(n, each.stages, each.input_length, 0)
            for n, each in zip(thresholds, model.types, strict=True)
        ]
    return [
        Shape(n, span, model.input_length + start, boundary)
        for n, span, start, boundary in zip(
            thresholds, model.spans, model.starts, (0, *model.boundary_tokens), strict=True
        )
    ]


def arrival_rates(model: Segments | WaitSystem) -> list[Fraction]:
    """To the first segment, or of each type."""
    if isinstance(model, WaitSystem):
        return [each.arrival_rate for each in model.types]
    return [model.rates[0]]


def numbers_of(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    clock: IterationClock,
    steps: RateSteps | None,
    *,
    timed: bool,
) -> tuple[Form, Numbers]:
    """Arrays, and what is compiled in. Call it under `in_float64`.

    Raises:
        InputError: numbers too large for counts of 32 bits, or for tables.
    """
    each = shapes(model, thresholds)
    rates = arrival_rates(model)
    nested = not isinstance(model, WaitSystem)
    full = np.cumsum([segment.tokens(segment.span) for segment in each], dtype=np.float64)
    if full[-1] > MOST_TOKENS:
        raise InputError("thresholds", list(thresholds), f"at most {MOST_TOKENS} tokens in a batch")
    if max(thresholds) >= alias.MOST_COLUMNS:
        raise InputError("thresholds", max(thresholds), f"below {alias.MOST_COLUMNS}")
    factor = 1.0 if steps is None else max(steps.factors)
    prefill = np.cumsum([segment.prefill_tokens for segment in each], dtype=np.float64)
    durations = clock.base + clock.per_kv_token * full + clock.per_prefill_token * prefill
    most = factor * float(sum(rates)) * float(durations[-1])
    if not alias.poisson_window(min(most, 1e9))[1] < alias.MOST_COLUMNS:
        allowed = f"at most 1e7 arrivals in an iteration of full segments, not {most:.3g}"
        raise InputError("thresholds", list(thresholds), allowed)
    means = float(rates[0]) * durations
    tables, columns, firsts = np.zeros(2, np.uint64), 0, [0] * len(each)
    if nested:
        tables, columns, firsts = _tables(model, thresholds, means.tolist())

    def column(values: list[int], kind: type) -> Array:
        return jnp.asarray(np.array(values, kind)[:, None])

    numbers = Numbers(
        column([segment.threshold for segment in each], np.int32),
        column([segment.span for segment in each], np.int32),
        column([segment.first_tokens for segment in each], np.float64),
        column([segment.boundary_tokens for segment in each], np.float64),
        column([segment.prefill_tokens for segment in each], np.float64),
        jnp.asarray(np.array([float(rate) for rate in rates])[:, None]),
        jnp.asarray(np.float64(clock.base)),
        jnp.asarray(np.float64(clock.per_kv_token)),
        jnp.asarray(np.float64(clock.per_prefill_token)),
        jnp.asarray(tables),
        jnp.asarray(np.array(firsts, np.int32)),
        None if steps is None else pieces(steps),
    )
    return Form(nested, steps is not None, timed or not nested, columns), numbers


def _tables(
    model: Segments, thresholds: tuple[int, ...], means: list[float]
) -> tuple[UInt64[np.ndarray, " cell"], int, list[int]]:
    windows = [alias.poisson_window(mean) for mean in means]
    widest = max(*thresholds, *(size - 1 for _, size in windows)) + 1
    columns = alias.columns_for(widest)
    bits = alias.UNIT_BITS + columns.bit_length() - 1
    units = [
        alias.binomial_units(n, p, bits)
        for n, p in zip(thresholds[:-1], model.thinning, strict=True)
    ] + [alias.poisson_units(mean, bits) for mean in means]
    table = np.concatenate([alias.cells(each, columns) for each in units])
    return table, columns, [first for first, _ in windows]
