"""Rules and numbers drawn outside of Hypothesis, which takes twenty times as long to draw."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    Ranges,
    RatioReset,
    Requeue,
    Restore,
    Victim,
)
from fluidkv.serving.running.engine import run_batch
from tests.serving.engine_runs import assert_equal, drawn, one

Setting = tuple[EngineRules, RunArrays, int]
"""Rules, runs, and iterations."""

RUNS = 24
GATES = {
    "together": list(Gate),
    "alone": [Gate.FULL_INPUT, Gate.PEAK, Gate.RATIO],
    "newcomers": [Gate.FIRST_CHUNK, Gate.FULL_INPUT],
}


def rules_of(seed: int) -> EngineRules:
    """Every answer is drawn."""
    rng = np.random.default_rng(seed)

    def any_of(values: Any) -> Any:
        return list(values)[rng.integers(len(values))]

    order = any_of(["together", *GATES])
    allocation = any_of([Allocation.BY_BLOCK] * 3 + list(Allocation))
    by_block = allocation is Allocation.BY_BLOCK
    in_turn = order != "newcomers" and rng.random() < 0.5
    restore = any_of([Restore.RECOMPUTE, *Restore])
    least, start = sorted(Fraction(int(tenths), 10) for tenths in rng.integers(0, 10, 2))
    reset, steps, clip, ahead = any_of(RatioReset), *(int(rng.integers(1, n)) for n in (20, 12, 5))
    return EngineRules(
        "drawn",
        "",
        victim=any_of(Victim),
        keeps=any_of(Keeps) if restore is Restore.RECOMPUTE else Keeps.OUTPUTS,
        requeue=any_of(Requeue),
        growth=any_of(Growth),
        gate=any_of(GATES[order]) if by_block else Gate.FULL_INPUT,
        guard=any_of(Guard),
        reserved_tokens=int(rng.integers(0, 3)),
        admits_after_eviction=order != "newcomers" and rng.random() < 0.5,
        prefill_alone=order == "alone",
        newcomers_first=order == "newcomers",
        ratio=NewTokenRatio(start, least, steps, clip, reset, ahead - 1),
        restore=restore,
        allocation=allocation,
        in_turn=in_turn,
        asker_stays=in_turn and rng.random() < 0.5,
        ranges=Ranges((0.15, 0.5), tokens=int(rng.integers(1, 6))),
    )


def runs_of(seed: int, runs: int = RUNS) -> RunArrays:
    """Of each the first request runs at the start, or none does."""
    rng, arrays = np.random.default_rng(seed), drawn(seed, runs=runs)
    return arrays._replace(
        start=np.minimum(rng.integers(0, 9, (runs, 1)), arrays.output_length[:, :1] - 1),
        copying=np.full((runs, 2), rng.choice([0.0, 0.1])),
        pool=rng.integers(0, 40, runs),
        sweet_spot=rng.integers(0, 12, runs),
        shared=rng.integers(0, 2, runs) > 0,
        more_outputs=rng.integers(1, 6, runs),
    )


def together(seed: int, **changes: Any) -> EngineRules:
    """Drawn rules whose newcomers do not come first, without grants, but for `changes`."""
    plain = {"prefill_alone": False, "newcomers_first": False, "admits_after_eviction": False}
    asked = {"in_turn": False, "asker_stays": False, "allocation": Allocation.BY_BLOCK}
    return replace(rules_of(seed), **plain | asked | changes)


SWAPS = {"restore": Restore.SWAP, "keeps": Keeps.OUTPUTS}
COMPUTES = {"restore": Restore.RECOMPUTE, "reserved_tokens": 0}


def _slow_copies(seed: int) -> RunArrays:
    arrays, slow = runs_of(seed), np.tile([0.2, 3.0], (RUNS, 1))
    return arrays._replace(copying=slow, pool=np.full(RUNS, UNLIMITED), shared=np.ones(RUNS, bool))


def a_ratio_estimated_exactly(seed: int) -> Setting:
    """Nothing is rounded, as nothing decays: what fits exactly is admitted."""
    nothing = Fraction(0)
    ratio = NewTokenRatio(nothing, nothing, 3, 9, RatioReset.ESTIMATE, seed % 2)
    guard = Guard.WHILE_RUNNING
    rules = together(seed, gate=Gate.RATIO, guard=guard, ratio=ratio, **COMPUTES)
    arrays = runs_of(seed)
    blocks = arrays.blocks * arrays.block_size
    everybody = {"requests": np.full(RUNS, 14), "rate": np.tile([0, 1], (RUNS, 1))}
    without = {name: np.full(RUNS, UNLIMITED) for name in ("budget", "sequences")}
    arrays = arrays._replace(blocks=blocks, block_size=np.ones(RUNS, int), **everybody, **without)
    return rules, arrays, 120


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
    return rules, runs_of(seed)._replace(budget=np.full(RUNS, 5)), 120


def copies_share_a_bus(seed: int) -> Setting:
    return together(seed, gate=Gate.FIRST_CHUNK, **SWAPS), _slow_copies(seed), 120


def in_turn_while_copies_come(seed: int) -> Setting:
    return together(seed, in_turn=True, **SWAPS), _slow_copies(seed), 120


def too_little_memory(seed: int) -> Setting:
    arrays = runs_of(seed)
    none = {"watermark_blocks": np.zeros(RUNS, int), "start": np.zeros((RUNS, 0), int)}
    arrays = arrays._replace(blocks=np.maximum(arrays.blocks // 3, 1), **none)
    return together(seed, gate=Gate.FIRST_CHUNK), arrays, 60


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
    runs = 60
    arrays = one(np.array([5, 5, 2]), np.array([7, 6, 2]), blocks=14, block_size=1)
    arrays = RunArrays(*(np.repeat(column, runs, axis=0) for column in arrays))
    arrival = np.zeros((runs, 3))
    arrival[:, 2] = np.arange(runs) * 2.5
    arrays = arrays._replace(arrival=arrival, copying=np.tile([0.0, 50.0], (runs, 1)))
    return replace(VLLM, **SWAPS), arrays, 120


def gaps_that_fall_for_longer_than_any_answer() -> Setting:
    """Each iteration admits one, whose prompt is shorter than the one before."""
    arrays = one(np.arange(220, 20, -1), np.full(200, 6), blocks=3000, block_size=1)
    clock = np.array([[1.0, 0.01, 1.0, 0.0, 0.0, 0.0, 1.0]])
    return VLLM, arrays._replace(clock=clock, rate=np.array([[1, 1]])), 250


BY_HAND = [somebody_comes_while_another_is_copied, gaps_that_fall_for_longer_than_any_answer]


def settings(count: int, few: int) -> Iterator[Setting]:
    """Those of the tests below."""
    yield from (make() for make in BY_HAND)
    for place, make in enumerate(SELDOM):
        yield from (make(1000 * place + seed) for seed in range(few))
    yield from ((rules_of(seed), runs_of(seed), 150) for seed in range(count))


@pytest.mark.thorough
def test_drawn_rules_and_what_seldom_meets() -> None:
    evictions = 0
    for rules, arrays, iterations in settings(20, 10):
        found = run_batch(rules, arrays, jumps=True, iterations=iterations)
        assert_equal(
            found, run_batch(rules, arrays, jumps=True, iterations=iterations, literally=True)
        )
        evictions += found.counts[..., COUNTS.index("preempt")].sum()
    assert evictions > 10_000
