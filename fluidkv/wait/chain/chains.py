"""Chains as pytrees: what one iteration of WAIT or Nested WAIT depends on.

Arrays are NumPy's on the host: they reach JAX as arguments, so that other numbers of the same shape
compile nothing. Axes of runs, where there are several, come last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt64

from fluidkv.errors import InputError
from fluidkv.runs.batch import filled_up, power_of_two
from fluidkv.runs.checks import above_0
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import alias
from fluidkv.wait.chain.model import (
    Model,
    arrival_rates,
    clock_of,
    shapes,
    size_of,
    thresholds_of,
)
from fluidkv.wait.chain.rates import Pieces, pieces
from fluidkv.wait.model import Exact, several
from fluidkv.wait.segments import Segments

MOST_TOKENS = 2**52
"""In memory at once: so many are whole numbers in float64."""

NEVER = 2**31 - 1
"""A threshold that no queue reaches, of a segment that a chain does not have."""

OfSegment = Float[Array | np.ndarray, "segment ..."]
OfRun = Float[Array | np.ndarray, "*run"]


class Chain(eqx.Module):
    """What masses and counts have in common.

    Fields:
        threshold, span: n and stages of each segment.
        first_tokens: tokens that a prompt holds at a segment's first stage.
        boundary_tokens: tokens that it holds while it waits before a segment; 0 where it has none.
        rate: of arrivals, to each type, or the first segment, then 0.
        base, per_kv_token, per_prefill_token: of the clock.
        pieces: of the rates, where they change.
        nested: each segment is fed by the one before; False: they are types, each with arrivals.
    """

    threshold: OfSegment | Int[Array | np.ndarray, "segment ..."]
    span: Int[Array | np.ndarray, "segment ..."]
    first_tokens: OfSegment
    boundary_tokens: OfSegment
    rate: OfSegment
    base: OfRun
    per_kv_token: OfRun
    per_prefill_token: OfRun
    pieces: Pieces | None
    nested: bool = eqx.field(static=True)

    @property
    def prefills(self) -> Float[Array, "segment ..."]:
        """1 where a segment's first stage is a prefill, 0 behind a boundary."""
        return jnp.where(jnp.asarray(self.boundary_tokens) > 0, 0.0, 1.0)

    def select(self, ready: Array) -> Bool[Array, "segment ..."]:
        """Types that have reached their threshold; segments before the first that has not."""
        enough = ready >= self.threshold
        if not self.nested:
            return enough
        segment = along(ready)
        return segment < jnp.min(jnp.where(enough, len(ready), segment), axis=0)[None]

    def duration(self, kv_tokens: OfRun, prompts: OfSegment) -> Float[Array, "*run"]:
        """Of an iteration with so many tokens, and prompts at the first stage of each segment."""
        prefill = self.per_prefill_token * jnp.sum(
            prompts * (self.prefills * self.first_tokens), axis=0
        )
        return jnp.asarray(self.base) + self.per_kv_token * kv_tokens + prefill


class FluidChain(Chain):
    """Masses; `fluid_chain` makes one. Arrivals and survivors are their means.

    Fields, besides those of `Chain`, whose thresholds may be any numbers above 0 here:
        share: of the prompts that pass the segment before, those that go on into this one; 0 for
            types.
        stages: of the longest segment.
    """

    share: OfSegment
    stages: int = eqx.field(static=True)


class CountChain(Chain):
    """Counts; `count_chain` makes one. Arrivals and survivors are drawn.

    Fields, besides those of `Chain`:
        total_rate: of all arrivals; upto: of types up to each, as a share of it, infinite from the
            last one on.
        arrivals_from: the first outcome of each of the tables of arrivals.
        first_cell, bits: where a run's tables begin, and that each has 2^bits cells.
        cells: of all tables (`alias`), for a nested chain: of arrivals in an iteration of the first
            segment, full, then of the survivors into the second; of arrivals in one of the first
            two, full, then of the survivors into the third; and so on.
    """

    total_rate: OfRun
    upto: OfSegment
    arrivals_from: Int[Array | np.ndarray, "segment ..."]
    first_cell: Int[Array | np.ndarray, "*run"]
    bits: Int[Array | np.ndarray, "*run"]
    cells: UInt64[Array | np.ndarray, " cell"] | None


class FluidState(NamedTuple):
    """Between two iterations.

    Fields:
        masses: prompts at each stage of each segment; at a first stage those that wait before it.
            0 at stages that a segment does not have.
        time: the clock.

    Examples:
        >>> from fluidkv.wait import FluidState, Segments, empty, fluid_chain
        >>> chain = fluid_chain(Segments(3, (1, 3), (6, 2)), (9, 4.5), base=1, per_kv_token=0)
        >>> empty(chain).masses.tolist(), FluidState._fields
        ([[0.0, 0.0], [0.0, 0.0]], ('masses', 'time'))
    """

    masses: Float[Array, "segment stage"]
    time: Float[Array, ""]


class CountState(NamedTuple):
    """Between two iterations.

    Fields:
        queue: prompts that wait before each segment, those of the next batch among them.
        batches: that each segment has had. A batch takes exactly n prompts at a segment's first
            stage, so that each of its stages holds n prompts or none, which this says.
        time: the clock.
        iterations: done.

    Examples:
        >>> from fluidkv.wait import CountState
        >>> CountState._fields
        ('queue', 'batches', 'time', 'iterations')
    """

    queue: Int[Array, "segment ..."]
    batches: Int[Array, "segment ..."]
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
        arrived: prompts that came to the system, in all.
        completed: prompts that computed their last stage.
        outputs: output tokens emitted; a prefill emits none.
        waiting_area, area: prompts in the system, integrated over the wait and over the iteration;
            of counts expected, given them and all times.
    """

    wait: Float[Array, "*run"]
    waited: Array
    joined: Bool[Array, "segment ..."]
    kv_tokens: Float[Array, "*run"]
    held_tokens: Float[Array, "*run"]
    duration: Float[Array, "*run"]
    entered: Array
    arrived: Array
    completed: Array
    outputs: Array
    waiting_area: Float[Array, "*run"]
    area: Float[Array, "*run"]


def fluid_chain(
    model: Model,
    thresholds: Iterable[float],
    *,
    base: Exact | None = None,
    per_kv_token: Exact | None = None,
    per_prefill_token: Exact | None = None,
    rate_steps: RateSteps | None = None,
) -> FluidChain:
    """The chain of masses: `count_chain` where prompts are many and small.

    Scaled by zeta (thresholds and rates zeta times as large, tokens as quick), counts over zeta
    tend to these masses. A threshold may be any number above 0, such as the equilibrium's.

    Args:
        others: of `count_chain`.

    Raises:
        InputError: as `count_chain`.

    Source: WAIT, section 3.

    Examples:
        >>> import jax
        >>> from fluidkv.wait import PromptType, WaitSystem, fluid_chain, fluid_equilibrium, step
        >>> from fluidkv.wait import FluidState
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> chain = fluid_chain(system, fluid_equilibrium(system).per_stage)
        >>> with jax.enable_x64(True):  # 2 prompts at each stage: an iteration lasts 2
        ...     state, flows = step(chain, FluidState(np.array([[2.0, 2.0]]), np.array(0.0)))
        >>> state.masses.tolist(), state.time.item(), flows.completed.item()
        ([[2.0, 2.0]], 2.0, 2.0)
    """
    clock, size = clock_of(model, base, per_kv_token, per_prefill_token), size_of(model)
    levels = several("thresholds", thresholds, f"{size}, one for each type or segment")
    if len(levels) != size:
        raise InputError("thresholds", list(levels), f"{size}, one for each type or segment")
    common = _common(model, (1,) * size, clock, rate_steps)
    common["threshold"] = np.array([above_0("thresholds", level) for level in levels])
    share = [0, *model.thinning] if isinstance(model, Segments) else [0] * size
    stages = int(common["span"].max())
    return FluidChain(**common, share=np.array(share, np.float64), stages=stages)


def count_chain(
    model: Model,
    thresholds: Iterable[int],
    *,
    base: Exact | None = None,
    per_kv_token: Exact | None = None,
    per_prefill_token: Exact | None = None,
    rate_steps: RateSteps | None = None,
) -> CountChain:
    """The chain of counts of one system, with its tables.

    Args:
        model: `Segments` for Nested WAIT, a `WaitSystem` for WAIT.
        thresholds: n, one for each segment or type, each at least 1.
        base, per_kv_token, per_prefill_token: d0, d1 and d2 (None: 0), with `Segments` only; a
            system has its own.
        rate_steps: rates that change in time, by a common factor.

    Raises:
        InputError: as `simulate_chain`.

    Examples:
        >>> from fluidkv.wait import Segments, count_chain
        >>> chain = count_chain(Segments(3, (1, 3), (6, 2)), (9, 4), base=1, per_kv_token=0)
        >>> chain.threshold.tolist(), chain.nested
        ([9, 4], True)
    """
    clock = clock_of(model, base, per_kv_token, per_prefill_token)
    return chain_of(model, thresholds_of(model, thresholds), clock, rate_steps)


def chain_of(
    model: Model, thresholds: tuple[int, ...], clock: IterationClock, steps: RateSteps | None
) -> CountChain:
    """`count_chain`, of what was checked.

    Raises:
        InputError: numbers too large for counts of 32 bits, or for tables.
    """
    segments = shapes(model, thresholds)
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
    common = _common(model, thresholds, clock, steps)
    upto = np.cumsum(common["rate"])
    bits, firsts, cells = 1, [0] * len(segments), None
    if isinstance(model, Segments):
        means = (common["rate"][0] * durations).tolist()
        bits, firsts, cells = _tables(model, thresholds, means)
    return CountChain(
        **common,
        total_rate=upto[-1],
        upto=np.where(
            np.arange(len(upto)) < len(arrival_rates(model)) - 1, upto / upto[-1], np.inf
        ),
        arrivals_from=np.array(firsts, np.int32),
        first_cell=np.array(0, np.int32),
        bits=np.array(bits, np.int32),
        cells=cells,
    )


def beside(chains: Sequence[CountChain]) -> CountChain:
    """Chains of one kind along a last axis, filled up to the longest."""
    longest = max(len(chain.threshold) for chain in chains)
    fill = {"threshold": NEVER, "span": 1, "upto": np.inf}

    def stack(path: Any, *rows: Any) -> np.ndarray:
        if np.ndim(rows[0]):
            rows = tuple(filled_up(row, 0, longest, fill.get(path[0].name, 0)) for row in rows)
        return np.stack(rows, axis=-1)

    bare = (replace(chain, cells=None, pieces=None) for chain in chains)
    stacked = jax.tree_util.tree_map_with_path(stack, *bare)
    cells = [chain.cells for chain in chains if chain.cells is not None]
    if cells:
        firsts = np.cumsum([0, *(len(table) for table in cells[:-1])], dtype=np.int32)
        flat = np.concatenate(cells)
        flat = filled_up(flat, 0, power_of_two(len(flat)))
        stacked = replace(stacked, cells=flat, first_cell=firsts)
    return replace(stacked, pieces=chains[0].pieces)


def taken(chains: CountChain, place: Int[np.ndarray, " run"]) -> CountChain:
    """Of chains along a last axis, one a run."""
    bare = replace(chains, cells=None, pieces=None)
    columns = jax.tree.map(lambda column: jnp.asarray(column[..., place]), bare)
    return replace(columns, cells=chains.cells, pieces=chains.pieces)


def empty(chain: CountChain | FluidChain) -> Any:
    """The state of a chain, `FluidState` or `CountState`, where nobody has come yet.

    Examples:
        >>> from fluidkv.wait import Segments, count_chain, empty
        >>> chain = count_chain(Segments(3, (1, 3), (6, 2)), (9, 4), base=1, per_kv_token=0)
        >>> empty(chain).queue.tolist()
        [0, 0]
    """
    if isinstance(chain, FluidChain):
        shape = *np.shape(chain.span), chain.stages
        return FluidState(jnp.zeros(shape), jnp.zeros(()))
    none = jnp.zeros(np.shape(chain.threshold), jnp.int32)
    return CountState(none, none, jnp.zeros(none.shape[1:]), jnp.zeros(none.shape[1:], jnp.int32))


def along(values: Array) -> Int[Array, "segment ..."]:
    """The number of each segment, along the first axis."""
    return lax.broadcasted_iota(jnp.int32, (len(values), *(1,) * (values.ndim - 1)), 0)


def _common(
    model: Model, thresholds: tuple[int, ...], clock: IterationClock, steps: RateSteps | None
) -> dict[str, Any]:
    """The fields of `Chain`."""
    if steps is not None and not isinstance(steps, RateSteps):
        raise InputError("rate_steps", steps, "RateSteps or None")
    threshold, span, first_tokens, boundary_tokens = zip(*shapes(model, thresholds), strict=True)
    rates = [float(rate) for rate in arrival_rates(model)]
    return {
        "threshold": np.array(threshold, np.int32),
        "span": np.array(span, np.int32),
        "first_tokens": np.array(first_tokens, np.float64),
        "boundary_tokens": np.array(boundary_tokens, np.float64),
        "rate": np.array([*rates, *[0.0] * (len(span) - len(rates))]),
        "base": np.float64(clock.base),
        "per_kv_token": np.float64(clock.per_kv_token),
        "per_prefill_token": np.float64(clock.per_prefill_token),
        "pieces": pieces(steps),
        "nested": isinstance(model, Segments),
    }


def _tables(
    model: Segments, thresholds: tuple[int, ...], means: list[float]
) -> tuple[int, list[int], UInt64[np.ndarray, " cell"]]:
    """The bits of a column's number, first outcomes of arrivals, and the cells of all tables."""
    windows = [alias.poisson_window(mean) for mean in means]
    columns = alias.columns_for(max(*thresholds, *(size - 1 for _, size in windows)) + 1)
    tables = [alias.poisson_table(means[0], columns)]
    for n, p, mean in zip(thresholds[:-1], model.thinning, means[1:], strict=True):
        tables += [alias.binomial_table(n, p, columns), alias.poisson_table(mean, columns)]
    return columns.bit_length() - 1, [first for first, _ in windows], np.concatenate(tables)
