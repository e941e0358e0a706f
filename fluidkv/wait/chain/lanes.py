"""Chains side by side: the numbers of some runs, each of its own chain, in arrays of one shape."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from fluidkv.runs.batch import power_of_two
from fluidkv.runs.rates import RateSteps
from fluidkv.wait.chain.numbers import NEVER, Numbers, OneChain, Shape
from fluidkv.wait.chain.rates import pieces


class Lanes(NamedTuple):
    """Which runs there are: lane j is run j % runs of chain j // runs.

    Fields:
        chains: at least one, all of one form.
        runs: of each.
        steps: of the rates, where they change.
    """

    chains: Sequence[OneChain]
    runs: int
    steps: RateSteps | None

    @property
    def size(self) -> int:
        """Lanes in all."""
        return len(self.chains) * self.runs

    @property
    def segments(self) -> int:
        """Of the longest chain."""
        return max(len(chain.shapes) for chain in self.chains)

    def chain_of(self, lane: Int[np.ndarray, " lane"]) -> Int[np.ndarray, " lane"]:
        """The chain of each lane; beyond the last one, it."""
        return np.minimum(lane // self.runs, len(self.chains) - 1)

    def run_of(self, lane: Int[np.ndarray, " lane"]) -> Int[np.ndarray, " lane"]:
        """The number of each lane's run, which its random numbers depend on."""
        return lane - self.chain_of(lane) * self.runs

    def cells(self, size: int) -> int:
        """Room for the tables of any `size` lanes one after the other: a power of two."""
        if len(self.chains) == 1:
            return _cells(self.chains[0])
        firsts = np.arange(0, self.size, size)
        ends = self.chain_of(firsts + size - 1) + 1
        until = np.concatenate([[0], np.cumsum([_cells(chain) for chain in self.chains])])
        return power_of_two(int((until[ends] - until[self.chain_of(firsts)]).max()), 2)


def numbers_of(lanes: Lanes, lane: Int[np.ndarray, " lane"], cells: int) -> Numbers:
    """The numbers of some lanes, in order. Call it under `in_float64`.

    Args:
        lane: one after the other; each is itself the last axis, which a single chain does not need.
        cells: length of the tables, at least what these lanes have.
    """
    which = lanes.chain_of(lane)
    some = lanes.chains[which[0] : which[-1] + 1]
    place = which - which[0] if len(lanes.chains) > 1 else np.zeros(1, np.int64)
    sources = max(len(chain.rates) for chain in lanes.chains)

    def each(read: Callable[[OneChain], float], kind: type) -> Array:
        return jnp.asarray(np.array([read(chain) for chain in some], kind)[place])

    def segment(read: Callable[[Shape], int], kind: type, fill: int = 0) -> Array:
        rows = [[read(shape) for shape in chain.shapes] for chain in some]
        return jnp.asarray(_padded(rows, lanes.segments, fill).astype(kind)[:, place])

    rates = _padded([chain.rates for chain in some], sources, 0.0)
    shares = np.cumsum(rates, axis=0) / rates.sum(axis=0)
    shares[[len(chain.rates) - 1 for chain in some], np.arange(len(some))] = np.inf
    shares = np.where(np.isinf(np.maximum.accumulate(shares)), np.inf, shares)[:-1]
    sizes = [_cells(chain) for chain in some]
    tables = np.zeros(cells, np.uint64)
    flat = [table for chain in some for table in chain.tables]
    if flat:
        tables[: sum(sizes)] = np.concatenate(flat)
    firsts = np.cumsum([0, *sizes[:-1]])
    starts = [chain.arrivals_from for chain in some]
    return Numbers(
        segments=each(lambda chain: len(chain.shapes), np.int32),
        threshold=segment(lambda shape: shape.threshold, np.int32, NEVER),
        span=segment(lambda shape: shape.span, np.int32, 1),
        first_tokens=segment(lambda shape: shape.first_tokens, np.float64),
        boundary_tokens=segment(lambda shape: shape.boundary_tokens, np.float64),
        prefill_tokens=segment(lambda shape: shape.prefill_tokens, np.float64),
        rate=jnp.asarray(rates[:, place]),
        total_rate=jnp.asarray(rates.sum(axis=0)[place]),
        shares=jnp.asarray(shares[:, place]),
        base=each(lambda chain: chain.clock.base, np.float64),
        per_kv_token=each(lambda chain: chain.clock.per_kv_token, np.float64),
        per_prefill_token=each(lambda chain: chain.clock.per_prefill_token, np.float64),
        horizon=each(lambda chain: chain.horizon, np.float64),
        level=each(lambda chain: chain.level, np.float64),
        first_cell=jnp.asarray(firsts.astype(np.int32)[place]),
        columns=each(lambda chain: chain.columns, np.int32),
        shift=each(lambda chain: 33 - chain.columns.bit_length(), np.uint32),
        tables=jnp.asarray(tables),
        arrivals_from=jnp.asarray(_padded(starts, lanes.segments, 0).astype(np.int32)[:, place]),
        pieces=None if lanes.steps is None else pieces(lanes.steps),
    )


def _cells(chain: OneChain) -> int:
    """Of its tables; room for one where it has none."""
    return max(2, sum(table.size for table in chain.tables))


def _padded(rows: Sequence[Sequence[float]], size: int, fill: float) -> np.ndarray:
    """(place, chain)."""
    found = np.full((size, len(rows)), fill, np.float64)
    for column, row in enumerate(rows):
        found[: len(row), column] = row
    return found
