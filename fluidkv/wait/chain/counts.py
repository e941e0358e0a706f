"""Chains of counts: arrivals and the prompts that go on are drawn.

The iteration of `fluidkv.wait.runs.reference`, with prompts that nobody can tell apart before they
differ: every prompt at a stage is like every other, so that it is enough to know how many wait
before each segment and how many batches each has had. A batch takes exactly n prompts at a
segment's first stage, so that each of its stages holds n prompts or none. Who goes on from a
segment is drawn when a cohort has passed all of it: until then no decision depends on it, and each
goes on with probability p, whatever has happened.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt64

from fluidkv.errors import InputError
from fluidkv.runs.batch import filled_up, power_of_two
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.words import uniform
from fluidkv.wait.chain import draws, rates
from fluidkv.wait.chain.chain import (
    Batch,
    Chain,
    Draw,
    OfRun,
    OfSegment,
    along,
    common_fields,
    f64,
    i32,
    over_segments,
)
from fluidkv.wait.chain.model import Model, arrival_rates, clock_of, shapes, thresholds_of
from fluidkv.wait.model import Exact
from fluidkv.wait.segments import Segments

MOST_TOKENS = 2**52
"""In memory at once: so many are whole numbers in float64."""
MOST_COUNT = 2**31 - 1
"""Counts are kept in 32 bits."""
NEVER = MOST_COUNT
"""A threshold that no queue reaches, of a segment that a chain does not have."""
WAITS = 2**16
"""Place of the first word that is drawn for a wait; below are those of arrivals and survivors."""


class CountState(NamedTuple):
    """Between two iterations.

    Fields:
        queue: prompts that wait before each segment, those of the next batch among them.
        batches: that each segment has had. A batch takes exactly n prompts at a segment's first
            stage, so that each of its stages holds n prompts or none, which this says.
        time: the clock.
        iterations: done.

    Examples:
        >>> from fluidkv.wait.chain.counts import CountState
        >>> CountState._fields
        ('queue', 'batches', 'time', 'iterations')
    """

    queue: Int[Array, "segment ..."]
    batches: Int[Array, "segment ..."]
    time: Float[Array, "*run"]
    iterations: Int[Array, "*run"]

    def entered(
        self, prompts: Int[Array, "segment ..."], time: Float[Array, "*run"]
    ) -> "CountState":
        """At a later time, when so many more wait before each segment."""
        return self._replace(queue=self.queue + prompts, time=time)


class CountChain(Chain):
    """A chain of counts; `count_chain` makes one.

    Fields, besides those of `Chain`:
        total_rate: of all arrivals; upto: of types up to each, as a share of it, infinite from the
            last one on.
        arrivals_from: the first outcome of each of the tables of arrivals.
        first_cell, bits: where a run's tables begin, and that each has 2^bits cells.
        cells: of all tables (`draws`), for a nested chain: of arrivals in an iteration of the first
            segment, full, then of the survivors into the second; of arrivals in one of the first
            two, full, then of the survivors into the third; and so on.
    """

    total_rate: OfRun
    upto: OfSegment
    arrivals_from: Int[Array | np.ndarray, "segment ..."]
    first_cell: Int[Array | np.ndarray, "*run"]
    bits: Int[Array | np.ndarray, "*run"]
    cells: UInt64[Array | np.ndarray, " cell"] | None

    def empty(self) -> CountState:
        none = jnp.zeros(np.shape(self.threshold), jnp.int32)
        clock = jnp.zeros(none.shape[1:])
        return CountState(none, none, clock, clock.astype(jnp.int32))

    def prompts(self, state: CountState) -> Float[Array, "*run"]:
        stages = jnp.minimum(state.batches, self.span - 1)
        inside = f64(self.threshold) * f64(stages)  # may be more than 32 bits hold
        return jnp.sum(f64(state.queue) + inside, axis=0)

    def wait(self, state: CountState, before: Array, draw: Draw) -> tuple[Array, Array, Array]:
        if not self.nested:
            return self._race(state, before, draw)
        missing = jnp.maximum(self.threshold[0] - state.queue[0], 0)
        waited = jnp.where(along(state.queue) == 0, missing[None], 0)
        count = f64(missing)
        gaps = lax.cond(
            jnp.any(missing > 0),
            lambda: draws.gamma(count, draw, WAITS) / self.total_rate,
            lambda: jnp.zeros_like(count),
        )
        wait = jnp.where(missing > 0, rates.lasting(self.pieces, state.time, gaps), 0.0)
        rest = rates.mean_rest(self.pieces, state.time, wait)
        # The last one comes at the end.
        area = before * wait + jnp.maximum(count - 1, 0.0) * rest
        return state.queue + waited, wait, area

    def _race(self, state: CountState, before: Array, draw: Draw) -> tuple[Array, Array, Array]:
        """Arrivals one at a time, until a type has reached its threshold."""
        segment = along(state.queue)

        def lacking(ready: Int[Array, "segment ..."]) -> Bool[Array, "*run"]:
            return jnp.all(ready < self.threshold, axis=0)

        def arrival(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            ready, wait, area, place = carry
            going = lacking(ready)
            u = uniform(draw(place, 2))
            units = -jnp.log(u[0]) / self.total_rate
            gap = jnp.where(going, rates.lasting(self.pieces, state.time + wait, units), 0.0)
            kind = jnp.sum(u[1:] >= self.upto, axis=0, dtype=jnp.int32)
            came = i32(going[None] & (kind[None] == segment))
            area = area + gap * (before + f64(over_segments(ready - state.queue)))
            return ready + came, wait + gap, area, place + jnp.uint32(2)

        none = jnp.zeros_like(before)
        start = (state.queue, none, none, jnp.uint32(WAITS))
        ready, wait, area, _ = lax.while_loop(
            lambda carry: jnp.any(lacking(carry[0])), arrival, start
        )
        return ready, wait, area

    def execute(self, state: CountState, ready: Array, joined: Bool[Array, "segment ..."]) -> Batch:
        # The first `stages` stages of a segment are full: with the newcomers, or those left behind.
        stages = jnp.minimum(state.batches + i32(joined), self.span - i32(~joined))
        count, started = f64(stages), jnp.where(joined, self.threshold, 0)
        # While they are computed. Paused, the same number of stages, each one further on, holds as
        # much: a prompt keeps what it has computed.
        tokens = f64(self.threshold) * (count * self.first_tokens + count * (count - 1) / 2)
        left = ready - started
        decoding = count - self.prefills()  # stages that emit a token
        after = state._replace(
            queue=left, batches=state.batches + i32(joined), iterations=state.iterations + 1
        )
        return Batch(
            kv_tokens=jnp.sum(jnp.where(joined, tokens, 0.0), axis=0),
            held_tokens=jnp.sum(tokens + f64(left) * self.boundary_tokens, axis=0),
            outputs=jnp.sum(f64(started) * decoding, axis=0),
            started=f64(started),
            passed=jnp.where(stages == self.span, started, 0),
            after=after,
        )

    def arrive(
        self, batch: Batch, joined: Bool[Array, "segment ..."], units: Array, draw: Draw
    ) -> Int[Array, "segment ..."]:
        word, passed = draw(0, len(joined)), batch.passed > 0
        if self.cells is None:
            return draws.poisson(f64(self.rate) * units[None], uniform(word))

        # Table 2 k is of arrivals while segments 0 to k are full, 2 k - 1 of those who go on to k.
        segment = along(joined)
        depth = jnp.maximum(over_segments(i32(joined)), 1) - 1
        own = self.threshold < NEVER  # others are there for longer chains beside this one
        number = jnp.where(segment == 0, 2 * depth[None], 2 * segment - 1)
        cells, first, bits = map(jnp.asarray, (self.cells, self.first_cell, self.bits))
        drawn = draws.look_up(cells, first, bits, jnp.where(own, number, 0), word)

        def search() -> Int[Array, "*run"]:
            return draws.poisson(jnp.asarray(self.total_rate) * units, uniform(word)[0])

        if self.pieces is not None:
            arrivals = search()
        else:
            # Of full segments by table. Which way a run goes depends on itself alone.
            full = jnp.all(~joined | passed, axis=0)
            searched = lax.cond(jnp.all(full), lambda: jnp.zeros_like(depth), search)
            least = jnp.where(segment == depth[None], self.arrivals_from, 0)
            arrivals = jnp.where(full, drawn[0] + over_segments(least), searched)
        comes = jnp.concatenate([jnp.ones_like(passed[:1]), passed[:-1]]) & own
        return jnp.where(comes, jnp.where(segment == 0, arrivals[None], drawn), 0)


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
    n = thresholds_of(model, thresholds)
    if sum(segment.tokens(segment.span) for segment in shapes(model, n)) > MOST_TOKENS:
        raise InputError("thresholds", list(n), f"at most {MOST_TOKENS} tokens in a batch")
    if max(n) >= draws.MOST_COLUMNS:
        raise InputError("thresholds", max(n), f"below {draws.MOST_COLUMNS}")
    fields = common_fields(model, n, clock, rate_steps)
    upto = np.cumsum(fields["rate"])
    is_last = np.arange(len(upto)) >= len(arrival_rates(model)) - 1
    chain = CountChain(
        **fields,
        total_rate=upto[-1],
        upto=np.where(is_last, np.inf, upto / upto[-1]),
        arrivals_from=np.zeros(len(upto), np.int32),
        first_cell=np.array(0, np.int32),
        bits=np.array(1, np.int32),
        cells=None,
    )
    durations = chain.full_durations()
    most = (1.0 if rate_steps is None else max(rate_steps.factors)) * upto[-1] * durations[-1]
    if not draws.poisson_window(min(most, 1e9))[1] < draws.MOST_COLUMNS:
        allowed = f"at most 1e7 arrivals in an iteration of full segments, not {most:.3g}"
        raise InputError("thresholds", list(n), allowed)
    if not isinstance(model, Segments):
        return chain
    means = (chain.total_rate * durations).tolist()
    firsts, sizes = zip(*map(draws.poisson_window, means), strict=True)
    columns = draws.columns_for(max(*n, *(size - 1 for size in sizes)) + 1)
    tables = [draws.table(draws.poisson_units, means[0], columns=columns)]
    for batch, p, mean in zip(n[:-1], model.thinning, means[1:], strict=True):
        tables.append(draws.table(draws.binomial_units, batch, p, columns=columns))
        tables.append(draws.table(draws.poisson_units, mean, columns=columns))
    return replace(
        chain,
        arrivals_from=np.array(firsts, np.int32),
        bits=np.array(columns.bit_length() - 1, np.int32),
        cells=np.concatenate(tables),
    )


def check_growth(chain: CountChain, horizon: float, iterations: int) -> None:
    """Refuse a run in which a queue could outgrow 32 bits.

    A segment joins whenever the one before did and enough wait, so that its queue grows by no more
    than what comes in an iteration of full segments less its threshold. Random sums go beyond their
    mean m by 10 sqrt(m) with a probability below 2^-65 (see `draws.poisson_window`).

    Raises:
        InputError: a number of iterations or a horizon beyond that.
    """
    n, full = chain.threshold.astype(np.float64), chain.full_durations()[-1]
    rate = chain.rate * (1.0 if chain.pieces is None else chain.pieces.factor.max())
    come = rate * full + chain.share * np.roll(n, 1)
    done = min(float(iterations), horizon / chain.base + 1)
    grown = done * np.maximum(come - n, 0) + 10 * (come * done) ** 0.5 + 31 + n + come
    arrivals = rate.max() * (horizon + full)
    longest = min(grown.max(), arrivals + 10 * arrivals**0.5 + 31 + n.max())
    if longest > MOST_COUNT:
        name, value = ("horizon", horizon) if np.isfinite(horizon) else ("iterations", iterations)
        allowed = f"so few that no queue can pass {MOST_COUNT}; here one could reach {longest:.2g}"
        raise InputError(name, value, allowed)


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
    tables = [chain.cells for chain in chains if chain.cells is not None]
    if tables:
        firsts = np.cumsum([0, *map(len, tables[:-1])], dtype=np.int32)
        flat = np.concatenate(tables)
        flat = filled_up(flat, 0, power_of_two(len(flat)))
        stacked = replace(stacked, cells=flat, first_cell=firsts)
    return replace(stacked, pieces=chains[0].pieces)


def taken(chains: CountChain, place: Int[np.ndarray, " run"]) -> CountChain:
    """Of chains along a last axis, one a run."""
    bare = replace(chains, cells=None, pieces=None)
    columns = jax.tree.map(lambda column: jnp.asarray(column[..., place]), bare)
    return replace(columns, cells=chains.cells, pieces=chains.pieces)
