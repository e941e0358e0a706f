"""What an iteration of counts depends on: the segments, their numbers and their tables.

A segment is one of Nested WAIT's, or all stages of a type of WAIT: what has a threshold n. Its
batch takes exactly n prompts at its first stage, so that each of its stages holds n prompts or
none: how many batches it has had says which.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int, UInt32, UInt64

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import alias
from fluidkv.wait.chain.rates import Pieces
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
    """

    nested: bool
    varying: bool
    timed: bool


class Numbers(NamedTuple):
    """Numbers of some runs as arrays, the last axis of length 1 where all have the same.

    Segments that a run does not have come last, with `NEVER` as their threshold.

    Fields:
        segments: how many there are.
        threshold, span: n and stages of each segment.
        first_tokens: tokens that a prompt holds at a segment's first stage.
        boundary_tokens: tokens that it holds while it waits before a segment; 0 where it has none.
        prefill_tokens: inputs that its first stage computes, full: 0 behind the first segment.
        rate: of arrivals, to the first segment (one) or of each type.
        total_rate: of all; shares: of the first types together, of it, for all types but the last.
        base, per_kv_token, per_prefill_token: of the clock.
        horizon: where a run ends; level: of memory, that is watched.
        first_cell, columns, shift: where a run's tables begin, how wide each is, and how many bits
            of a half word do not say the column.
        tables: flat; for a nested chain first the survivors into segments 2, 3, ..., then arrivals
            in an iteration of the first k segments, full, for k = 1, 2, ...
        arrivals_from: the first outcome of each of the tables of arrivals.
        pieces: of the rates, where they change.
    """

    segments: Int[Array, " run"]
    threshold: Int[Array, "segment run"]
    span: Int[Array, "segment run"]
    first_tokens: Float[Array, "segment run"]
    boundary_tokens: Float[Array, "segment run"]
    prefill_tokens: Float[Array, "segment run"]
    rate: Float[Array, "source run"]
    total_rate: Float[Array, " run"]
    shares: Float[Array, "source run"]
    base: Float[Array, " run"]
    per_kv_token: Float[Array, " run"]
    per_prefill_token: Float[Array, " run"]
    horizon: Float[Array, " run"]
    level: Float[Array, " run"]
    first_cell: Int[Array, " run"]
    columns: Int[Array, " run"]
    shift: UInt32[Array, " run"]
    tables: UInt64[Array, " cell"]
    arrivals_from: Int[Array, "segment run"]
    pieces: Pieces | None


NEVER = 2**31 - 1
"""A threshold that no queue reaches."""


class OneChain(NamedTuple):
    """What `Numbers` has of one chain, before it stands beside others; `tables` table by table."""

    shapes: tuple["Shape", ...]
    rates: tuple[float, ...]
    clock: IterationClock
    horizon: float
    level: float
    tables: tuple[UInt64[np.ndarray, " column"], ...]
    arrivals_from: tuple[int, ...]

    @property
    def columns(self) -> int:
        """Of each table; 2 where there are none."""
        return self.tables[0].size if self.tables else 2


class Shape(NamedTuple):
    """A segment in whole numbers, from which the literal chain and the compiled one are made.

    Examples:
        >>> from fluidkv.wait import Shape
        >>> shape = Shape(threshold=9, span=2, first_tokens=3, boundary_tokens=0)
        >>> shape.tokens(2)  # 9 prompts with 3 tokens each, 9 with 4
        63
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def shapes(model: Segments | WaitSystem, thresholds: tuple[int, ...]) -> list[Shape]:
    """One a segment or type.

    Examples:
        >>> from fluidkv.wait import Segments, shapes
        >>> first, second = shapes(Segments(3, ends=(1, 3), rates=(3, 1)), (9, 4))
        >>> second.first_tokens, second.boundary_tokens  # 3 + 2 in its first stage, 3 + 1 before it
        (5, 4)
    """
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


def chain_of(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    clock: IterationClock,
    steps: RateSteps | None,
    horizon: float,
    level: float,
) -> OneChain:
    """One chain in numbers, with its tables.

    Raises:
        InputError: numbers too large for counts of 32 bits, or for tables.
    """
    each = shapes(model, thresholds)
    rates = [float(rate) for rate in arrival_rates(model)]
    full = np.cumsum([segment.tokens(segment.span) for segment in each], dtype=np.float64)
    if full[-1] > MOST_TOKENS:
        raise InputError("thresholds", list(thresholds), f"at most {MOST_TOKENS} tokens in a batch")
    if max(thresholds) >= alias.MOST_COLUMNS:
        raise InputError("thresholds", max(thresholds), f"below {alias.MOST_COLUMNS}")
    factor = 1.0 if steps is None else max(steps.factors)
    prefill = np.cumsum([segment.prefill_tokens for segment in each], dtype=np.float64)
    durations = clock.base + clock.per_kv_token * full + clock.per_prefill_token * prefill
    most = factor * float(sum(arrival_rates(model))) * float(durations[-1])
    if not alias.poisson_window(min(most, 1e9))[1] < alias.MOST_COLUMNS:
        allowed = f"at most 1e7 arrivals in an iteration of full segments, not {most:.3g}"
        raise InputError("thresholds", list(thresholds), allowed)
    tables, firsts = (), [0] * len(each)
    if isinstance(model, Segments):
        tables, firsts = _tables(model, thresholds, (rates[0] * durations).tolist())
    return OneChain(tuple(each), tuple(rates), clock, horizon, level, tables, tuple(firsts))


def _tables(
    model: Segments, thresholds: tuple[int, ...], means: list[float]
) -> tuple[tuple[UInt64[np.ndarray, " column"], ...], list[int]]:
    windows = [alias.poisson_window(mean) for mean in means]
    widest = max(*thresholds, *(size - 1 for _, size in windows)) + 1
    columns = alias.columns_for(widest)
    survivors = [
        _survivors(n, p, columns) for n, p in zip(thresholds[:-1], model.thinning, strict=True)
    ]
    arrivals = [_arrivals(mean, columns) for mean in means]
    return (*survivors, *arrivals), [first for first, _ in windows]


@lru_cache(2**12)  # of a sweep: many chains have the same tables
def _survivors(n: int, p: Fraction, columns: int) -> UInt64[np.ndarray, " column"]:
    return alias.cells(alias.binomial_units(n, p, _bits(columns)), columns)


@lru_cache(2**12)
def _arrivals(mean: float, columns: int) -> UInt64[np.ndarray, " column"]:
    return alias.cells(alias.poisson_units(mean, _bits(columns)), columns)


def _bits(columns: int) -> int:
    return alias.UNIT_BITS + columns.bit_length() - 1
