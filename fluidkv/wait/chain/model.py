"""What an iteration of WAIT or Nested WAIT depends on, as pytrees: chains of counts.

A segment is one of Nested WAIT's, or all stages of a type of WAIT: what has a threshold n. Arrays
are NumPy's on the host: they reach JAX as arguments, so that other numbers of the same shape
compile nothing.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt64

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.runs.batch import filled_up, power_of_two
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import alias
from fluidkv.wait.chain.rates import Pieces, pieces
from fluidkv.wait.model import Exact, WaitSystem, exact, several
from fluidkv.wait.policy import Wait
from fluidkv.wait.segments import Segments

Model = Segments | WaitSystem

MOST_TOKENS = 2**52
"""In memory at once: so many are whole numbers in float64."""

NEVER = 2**31 - 1
"""A threshold that no queue reaches, of a segment that a chain does not have."""

Reals = Float[Array | np.ndarray, "*run"]
OfSegment = Float[Array | np.ndarray, "segment *run"]
Whole = Int[Array | np.ndarray, "segment *run"]


class CountChain(eqx.Module):
    """A chain of counts; `count_chain` makes one. Axes of runs, where there are several, come last.

    Fields:
        nested: each segment is fed by the one before; False: they are types, each with arrivals.
        threshold, span: n and stages of each segment.
        first_tokens: tokens that a prompt holds at a segment's first stage.
        boundary_tokens: tokens that it holds while it waits before a segment; 0 where it has none.
        rate: of arrivals, to each type, or the first segment; total_rate: of all.
        shares: of the types up to each, of all arrivals; infinite from the last one on.
        base, per_kv_token, per_prefill_token: of the clock.
        arrivals_from: the first outcome of each of the tables of arrivals.
        first_cell, bits: where a run's tables begin, and that each has 2^bits cells.
        cells: of all tables (`alias`), for a nested chain: of arrivals in an iteration of the first
            segment, full, then of the survivors into the second; of arrivals in one of the first
            two, full, then of the survivors into the third; and so on.
        pieces: of the rates, where they change.
    """

    threshold: Whole
    span: Whole
    first_tokens: OfSegment
    boundary_tokens: OfSegment
    rate: OfSegment
    shares: OfSegment
    total_rate: Reals
    base: Reals
    per_kv_token: Reals
    per_prefill_token: Reals
    arrivals_from: Whole
    first_cell: Int[Array | np.ndarray, "*run"]
    bits: Int[Array | np.ndarray, "*run"]
    cells: UInt64[Array | np.ndarray, " cell"] | None
    pieces: Pieces | None
    nested: bool = eqx.field(static=True)

    @property
    def prefill_tokens(self) -> OfSegment:
        """Inputs that a segment's first stage computes, full: 0 behind a boundary."""
        inputs = jnp.asarray(self.threshold, float) * self.first_tokens
        return jnp.where(jnp.asarray(self.boundary_tokens) > 0, 0.0, inputs)


_SHARED = ("cells", "pieces", "nested")
"""Fields of `CountChain` without an axis of runs."""


class CountState(NamedTuple):
    """Between two iterations.

    Fields:
        queue: prompts that wait before each segment, those of the next batch among them.
        batches: that each segment has had.
        time: the clock.
        iterations: done.
    """

    queue: Int[Array, "segment *run"]
    batches: Int[Array, "segment *run"]
    time: Float[Array, "*run"]
    iterations: Int[Array, "*run"]


class Flows(NamedTuple):
    """What an iteration was.

    Fields:
        wait: time before the batch, 0 where it could be formed at once.
        waited: prompts that came to each segment in it.
        joined: whether each segment is in the batch.
        kv_tokens, held_tokens: in the batch, and in memory.
        duration: of the iteration after the wait.
        entered: prompts that came to wait before each segment during it: arrivals, and those who go
            on from the segment before.
        arrived: prompts that came, in all.
        completed: prompts that computed their last stage.
        outputs: output tokens emitted; a prefill emits none.
        waiting_area, area: prompts in the system, integrated over the wait and over the iteration;
            expected, given all counts and times.
    """

    wait: Float[Array, "*run"]
    waited: Array
    joined: Bool[Array, "segment *run"]
    kv_tokens: Float[Array, "*run"]
    held_tokens: Float[Array, "*run"]
    duration: Float[Array, "*run"]
    entered: Array
    arrived: Array
    completed: Array
    outputs: Array
    waiting_area: Float[Array, "*run"]
    area: Float[Array, "*run"]


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


def shapes(model: Model, thresholds: tuple[int, ...]) -> list[Shape]:
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


def arrival_rates(model: Model) -> list[Fraction]:
    """To the first segment, or of each type."""
    if isinstance(model, WaitSystem):
        return [each.arrival_rate for each in model.types]
    return [model.rates[0]]


def thresholds_of(model: Model, thresholds: object) -> tuple[int, ...]:
    """The thresholds, one for each type or segment.

    Raises:
        InputError: something else, or a model that is neither.

    Examples:
        >>> from fluidkv.wait import Segments, thresholds_of
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> thresholds_of(segments, [9, 4])
        (9, 4)
        >>> thresholds_of(segments, [9])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got [9]; allowed: 2, one for each type or segment
    """
    size = len(model.types) if isinstance(model, WaitSystem) else len(model)
    allowed = f"{size}, one for each type or segment"
    levels = Wait(several("thresholds", thresholds, allowed)).thresholds
    if len(levels) != size:
        raise InputError("thresholds", list(levels), allowed)
    return levels


def clock_of(
    model: Model, base: Exact | None, per_kv_token: Exact | None, per_prefill_token: Exact | None
) -> IterationClock:
    """The clock of a system, or of these coefficients, with `Segments`.

    Raises:
        InputError: a coefficient that is missing, given twice or out of range; another model.
    """
    needed = (("base", base), ("per_kv_token", per_kv_token))
    if isinstance(model, WaitSystem):
        for name, value in (*needed, ("per_prefill_token", per_prefill_token)):
            if value is not None:
                raise InputError(name, value, "None: the system has its own")
        return model.clock
    if not isinstance(model, Segments):
        raise InputError("model", model, "Segments or a WaitSystem")
    for name, value in needed:
        if value is None:
            raise InputError(name, value, "a number, with Segments")
    return IterationClock(
        float(exact("base", base, above=0)),
        float(exact("per_kv_token", per_kv_token, least=0)),
        float(exact("per_prefill_token", per_prefill_token or 0, least=0)),
    )


def numbers_of(
    model: Model, thresholds: tuple[int, ...], clock: IterationClock, steps: RateSteps | None = None
) -> CountChain:
    """One chain in numbers, with its tables.

    Raises:
        InputError: numbers too large for counts of 32 bits, or for tables.
    """
    segments = shapes(model, thresholds)
    rates = np.zeros(len(segments))
    given = [float(rate) for rate in arrival_rates(model)]
    rates[: len(given)] = given
    full = np.cumsum([each.tokens(each.span) for each in segments], dtype=np.float64)
    if full[-1] > MOST_TOKENS:
        raise InputError("thresholds", list(thresholds), f"at most {MOST_TOKENS} tokens in a batch")
    if max(thresholds) >= alias.MOST_COLUMNS:
        raise InputError("thresholds", max(thresholds), f"below {alias.MOST_COLUMNS}")
    prefill = np.cumsum([each.prefill_tokens for each in segments], dtype=np.float64)
    durations = clock.base + clock.per_kv_token * full + clock.per_prefill_token * prefill
    factor = 1.0 if steps is None else max(steps.factors)
    most = factor * float(sum(arrival_rates(model))) * float(durations[-1])
    if not alias.poisson_window(min(most, 1e9))[1] < alias.MOST_COLUMNS:
        allowed = f"at most 1e7 arrivals in an iteration of full segments, not {most:.3g}"
        raise InputError("thresholds", list(thresholds), allowed)
    upto = np.cumsum(rates)
    bits, firsts, cells = 1, [0] * len(segments), None
    if isinstance(model, Segments):
        bits, firsts, cells = _tables(model, thresholds, (rates[0] * durations).tolist())
    threshold, span, first_tokens, boundary_tokens = zip(*segments, strict=True)
    return CountChain(
        threshold=np.array(threshold, np.int32),
        span=np.array(span, np.int32),
        first_tokens=np.array(first_tokens, np.float64),
        boundary_tokens=np.array(boundary_tokens, np.float64),
        rate=rates,
        shares=np.where(np.arange(len(rates)) < len(given) - 1, upto / upto[-1], np.inf),
        total_rate=upto[-1],
        base=np.float64(clock.base),
        per_kv_token=np.float64(clock.per_kv_token),
        per_prefill_token=np.float64(clock.per_prefill_token),
        arrivals_from=np.array(firsts, np.int32),
        first_cell=np.int32(0),
        bits=np.int32(bits),
        cells=cells,
        pieces=pieces(steps),
        nested=isinstance(model, Segments),
    )


def empty(chain: CountChain) -> CountState:
    """Nobody has come yet."""
    none = jnp.zeros(chain.threshold.shape, jnp.int32)
    return CountState(none, none, jnp.zeros(none.shape[1:]), jnp.zeros(none.shape[1:], jnp.int32))


def beside(chains: Sequence[CountChain]) -> CountChain:
    """Chains of one kind along a last axis, filled up to the longest."""
    longest = max(len(chain.threshold) for chain in chains)
    fill = {"threshold": NEVER, "span": 1, "shares": np.inf}

    def column(name: str) -> np.ndarray:
        rows = [np.asarray(getattr(chain, name)) for chain in chains]
        if rows[0].ndim:
            rows = [filled_up(row, 0, longest, fill.get(name, 0)) for row in rows]
        return np.stack(rows, axis=-1)

    columns = {each.name: column(each.name) for each in fields(CountChain) if each.name not in _SHARED}
    cells = [chain.cells for chain in chains if chain.cells is not None]
    if cells:
        columns["first_cell"] = np.cumsum([0, *(len(each) for each in cells[:-1])], dtype=np.int32)
        flat = np.concatenate(cells)
        columns["cells"] = jnp.asarray(filled_up(flat, 0, power_of_two(len(flat))))
    return replace(chains[0], **columns)


def taken(chains: CountChain, place: Int[np.ndarray, " run"]) -> CountChain:
    """Of chains along a last axis, one a run."""
    names = [each.name for each in fields(CountChain) if each.name not in _SHARED]
    return replace(chains, **{name: getattr(chains, name)[..., place] for name in names})


def i32(values: Array) -> Int[Array, "..."]:
    return values.astype(jnp.int32)


def i64(values: Any) -> Int[Array, "..."]:
    return jnp.asarray(values, jnp.int64)


def f64(values: Any) -> Float[Array, "..."]:
    return jnp.asarray(values, jnp.float64)


def _tables(
    model: Segments, thresholds: tuple[int, ...], means: list[float]
) -> tuple[int, list[int], UInt64[np.ndarray, " cell"]]:
    """The bits of a column's number, first outcomes of arrivals, and the cells of all tables."""
    windows = [alias.poisson_window(mean) for mean in means]
    columns = alias.columns_for(max(*thresholds, *(size - 1 for _, size in windows)) + 1)
    tables = [_arrivals(means[0], columns)]
    for n, p, mean in zip(thresholds[:-1], model.thinning, means[1:], strict=True):
        tables += [_survivors(n, p, columns), _arrivals(mean, columns)]
    return columns.bit_length() - 1, [first for first, _ in windows], np.concatenate(tables)


@lru_cache(2**12)  # of a sweep: many chains have the same tables
def _survivors(n: int, p: Fraction, columns: int) -> UInt64[np.ndarray, " column"]:
    return alias.cells(alias.binomial_units(n, p, _bits(columns)), columns)


@lru_cache(2**12)
def _arrivals(mean: float, columns: int) -> UInt64[np.ndarray, " column"]:
    return alias.cells(alias.poisson_units(mean, _bits(columns)), columns)


def _bits(columns: int) -> int:
    return alias.UNIT_BITS + columns.bit_length() - 1
