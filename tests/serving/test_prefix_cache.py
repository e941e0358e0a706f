"""A preempted request finds the beginning of itself that nobody took."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import RESTART, VLLM, VLLM_0_11
from fluidkv.serving.limits import Limits
from fluidkv.serving.prefix_cache import CachingEngine, serve_caching
from fluidkv.serving.run import serve

CLOCK = IterationClock(1.0, 0.0, 0.1)


def tables(least: int = 1, most: int = 12):
    pair = st.tuples(st.integers(1, 20), st.integers(1, 20))
    return st.lists(pair, min_size=least, max_size=most).map(
        lambda rows: Requests(*(np.array(column) for column in zip(*rows, strict=True)))
    )


def test_by_hand_the_beginning_survives() -> None:
    """Two requests of 4 tokens in 6 blocks of 2; both want a fourth block when none is left.

    Request 1 is evicted with 3 blocks and 6 tokens computed. Request 0 then takes one of them, the
    one that held its last two tokens. Once request 0 is done (4 + 6 - 1 tokens, 5 blocks) request 1
    finds its first block (a second one was taken, too) and computes the rest.
    """
    engine = CachingEngine(Requests([4, 4], [6, 6]), VLLM, Limits(12, 2), CLOCK)
    while engine.all[1].evictions == 0:
        engine.step()
    assert engine.all[1].outputs == 3
    assert sorted(engine._cached) == [(1, 0), (1, 1)]
    while engine.done < 2:
        engine.step()
    assert engine.all[1].evictions == 1
    assert engine.reused_tokens == 2


@given(tables(), st.integers(1, 4), st.integers(0, 30))
def test_ample_memory_leaves_nothing_to_find(table, block_size, spare) -> None:
    need = sum(-(-int(n) // block_size) for n in table.input_length + table.output_length)
    limits = Limits((need + spare) * block_size, block_size)
    cached, plain = (
        serve_caching(table, "vllm", limits, CLOCK),
        serve(table, "vllm", limits, clock=CLOCK, backend="reference"),
    )
    assert cached.reused_tokens.item() == 0
    assert cached.drop_vars("reused_tokens").equals(plain)


@given(tables(), st.integers(1, 4), st.integers(0, 20), st.integers(1, 9), st.booleans())
def test_contents_and_counts_agree_at_every_step(table, block_size, spare, budget, gate) -> None:
    largest = int((table.input_length + table.output_length).max())
    limits = Limits((-(-largest // block_size) + spare) * block_size, block_size, None, budget)
    engine = CachingEngine(table, VLLM if gate else VLLM_0_11, limits, CLOCK)
    computed = again = 0
    for _ in range(5000):
        counts = engine.step()
        computed += counts["tokens"]
        again += counts["recomputed_tokens"]
        held = [block for blocks in engine._held for block in blocks]
        assert sorted([*held, *engine._line]) == list(range(limits.blocks))
        assert len(engine._line) == engine.free
        assert {p: b for b, p in engine._line.items() if p is not None} == engine._cached
        assert all(len(engine._held[r.index]) == r.blocks for r in engine.all)
        if engine.done == len(table):
            break
    assert engine.done == len(table)
    # Every token but a request's last is computed once; what was lost, found or computed again.
    once = int((table.input_length + table.output_length - 1).sum())
    assert computed == once + again


def test_what_is_not_modelled_is_refused() -> None:
    table = Requests([2], [2])
    with pytest.raises(InputError, match="engine"):
        CachingEngine(table, RESTART, Limits(20), CLOCK)
    with pytest.raises(InputError, match="admission_rate"):
        CachingEngine(table, VLLM, Limits(20, admission_rate=1), CLOCK)
    with pytest.raises(InputError, match="capacity"):
        serve_caching(Requests([20], [20]), "vllm", Limits(20), CLOCK)
