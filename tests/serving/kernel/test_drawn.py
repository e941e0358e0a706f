"""The kernel equals the literal engine to the bit, under drawn rules and in what seldom meets."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pytest

from fluidkv.serving.arrays import Runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    RatioReset,
    Restore,
    Victim,
)
from fluidkv.serving.running.engine import run_batch
from fluidkv.serving.swap import Swap
from tests.serving.engine_runs import (
    assert_equal,
    blocks_left,
    limited,
    one,
    rules_of,
    runs_of,
)

Setting = tuple[EngineRules, Runs, int]
"""Rules, runs, and iterations."""


def together(seed: int, **changes: Any) -> EngineRules:
    """Drawn rules whose newcomers do not come first, without grants, but for `changes`."""
    plain = {"prefill_alone": False, "newcomers_first": False, "admits_after_eviction": False}
    asked = {"in_turn": False, "asker_stays": False, "allocation": Allocation.BY_BLOCK}
    return replace(rules_of(seed), **plain | asked | changes)


SWAPS = {"restore": Restore.SWAP, "keeps": Keeps.OUTPUTS}
COMPUTES = {"restore": Restore.RECOMPUTE, "reserved_tokens": 0}


def _slow_copies(seed: int) -> Runs:
    def slow(limits: Limits) -> Swap:
        return Swap(0.2, 3.0, sweet_spot=limits.swap.sweet_spot)

    return limited(runs_of(seed), swap=slow)


def a_ratio_estimated_exactly(seed: int) -> Setting:
    """Nothing is rounded, as nothing decays: what fits exactly is admitted."""
    nothing = Fraction(0)
    ratio = NewTokenRatio(nothing, nothing, 3, 9, RatioReset.ESTIMATE, seed % 2)
    guard = Guard.WHILE_RUNNING
    rules = together(seed, gate=Gate.RATIO, guard=guard, ratio=ratio, **COMPUTES)
    batch = limited(
        runs_of(seed, everybody=True),
        block_size=1,
        watermark=lambda limits: blocks_left(limits.watermark_blocks, limits.capacity),
        max_num_seqs=None,
        max_num_batched_tokens=None,
        admission_rate=None,
    )
    return rules, batch, 120


def a_ratio_where_outputs_are_lost(seed: int) -> Setting:
    """Who emits again what it has emitted is past the outputs that are counted."""
    share = Fraction(3, 10)
    ratio = NewTokenRatio(share, share, 3, clip=5 + seed % 5)
    lost = Keeps.NOTHING
    return together(seed, gate=Gate.RATIO, keeps=lost, ratio=ratio, **COMPUTES), runs_of(seed), 120


def the_asker_stays_among_equals(seed: int) -> Setting:
    stays = {"in_turn": True, "asker_stays": True}
    return together(seed, victim=Victim.COST_AWARE, **stays), runs_of(seed), 120


def the_asker_stays_beside_newcomers(seed: int) -> Setting:
    """Who is copied back is a newcomer in an iteration that decodes."""
    stays = {"in_turn": True, "asker_stays": True, "prefill_alone": True}
    return together(seed, gate=Gate.FULL_INPUT, **stays, **SWAPS), _slow_copies(seed), 120


def tokens_run_out_in_turn(seed: int) -> Setting:
    victim = list(Victim)[seed % len(Victim)]
    rules = together(seed, victim=victim, in_turn=True, growth=Growth.ONE_FREE)
    return rules, limited(runs_of(seed), max_num_batched_tokens=5), 120


def copies_share_a_bus(seed: int) -> Setting:
    return together(seed, gate=Gate.FIRST_CHUNK, **SWAPS), _slow_copies(seed), 120


def in_turn_while_copies_come(seed: int) -> Setting:
    return together(seed, in_turn=True, **SWAPS), _slow_copies(seed), 120


def too_little_memory(seed: int) -> Setting:
    batch = limited(
        runs_of(seed),
        capacity=lambda limits: max(limits.blocks // 3, 1) * limits.block_size,
        watermark=0.0,
    )
    batch = batch._replace(start=[()] * len(batch.tables))
    return together(seed, gate=Gate.FIRST_CHUNK), batch, 60


def a_horizon_comes_early(seed: int) -> Setting:
    return rules_of(seed), runs_of(seed), 9 + seed % 7


SELDOM: list[Callable[[int], Setting]] = [
    a_ratio_estimated_exactly,
    a_ratio_where_outputs_are_lost,
    the_asker_stays_among_equals,
    the_asker_stays_beside_newcomers,
    tokens_run_out_in_turn,
    copies_share_a_bus,
    in_turn_while_copies_come,
    too_little_memory,
    a_horizon_comes_early,
]


def somebody_comes_while_another_is_copied() -> Setting:
    """The third comes at every time of the first two's copies: an idle clock goes to whoever is
    sooner."""
    times = [[0, 0, 2.5 * run] for run in range(60)]
    batches = [one([5, 5, 2], [7, 6, 2], blocks=14, block_size=1, arrival=each) for each in times]
    batch = Runs._make(list(chain.from_iterable(column)) for column in zip(*batches, strict=True))
    return replace(VLLM, **SWAPS), limited(batch, swap=Swap(0.0, 50.0)), 120


def gaps_that_fall_for_longer_than_any_answer() -> Setting:
    """Each iteration admits one, whose prompt is shorter than the one before."""
    batch = one(np.arange(220, 20, -1), np.full(200, 6), blocks=3000, block_size=1)
    batch = batch._replace(clocks=[IterationClock(1.0, 0.01, 1.0)])
    return VLLM, limited(batch, admission_rate=1), 250


BY_HAND = [somebody_comes_while_another_is_copied, gaps_that_fall_for_longer_than_any_answer]


def settings(count: int, few: int) -> Iterator[Setting]:
    """Those of the test below."""
    yield from (make() for make in BY_HAND)
    for place, make in enumerate(SELDOM):
        yield from (make(1000 * place + seed) for seed in range(few))
    yield from ((rules_of(seed), runs_of(seed), 150) for seed in range(count))


@pytest.mark.parametrize(
    ("count", "few"),
    [(30, 10), pytest.param(500, 50, marks=pytest.mark.thorough)],  # 24 runs each
    ids=["some", "thousands"],
)
def test_kernel_equals_the_literal_engine(count: int, few: int) -> None:
    evictions = 0
    for place, (rules, batch, iterations) in enumerate(settings(count, few)):
        how: dict[str, Any] = {"iterations": iterations}
        how |= {"jumps": place % 3 > 0, "every": 7 if place % 4 == 0 else 1}
        kernel = run_batch(rules, batch, **how)
        assert_equal(kernel, run_batch(rules, batch, **how, literally=True))
        if how["every"] == 1:
            evictions += kernel.counts[..., COUNTS.index("preempt")].sum()
    assert evictions > 10_000
