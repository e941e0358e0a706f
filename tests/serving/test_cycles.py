"""Requests that evict each other for ever: where they may, a horizon is asked for."""

from dataclasses import replace

import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import check_fits
from fluidkv.serving.engines import ENGINES, RESTART, VIDUR_SARATHI, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Gate, Growth, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine

AT_ONCE = replace(VLLM, gate=Gate.FIRST_CHUNK, reserved_tokens=1, admits_after_eviction=True)
CYCLES = {
    # Each needs 6 of 6 tokens; whoever is further goes for the other, and starts again.
    "starts-again": (replace(RESTART, victim=Victim.MOST_COMPUTED), [1, 2], [5, 4], Limits(6)),
    # The prompt that asks has its victim's tokens taken by the victim, which is back at once.
    "most-blocks": (
        replace(AT_ONCE, victim=Victim.MOST_BLOCKS),
        *([3, 4], [3, 3], Limits(8, max_num_batched_tokens=4)),
    ),
    "asker-stays": (
        replace(AT_ONCE, victim=Victim.FEWEST_OUTPUTS, asker_stays=True),
        *([2, 3], [3, 2], Limits(7, max_num_batched_tokens=3)),
    ),
}


@pytest.mark.parametrize("name", CYCLES)
def test_two_may_evict_each_other_for_ever_so_a_horizon_is_asked_for(name):
    """Neither is served, though each fits alone; what both hold comes back again and again."""
    rules, inputs, outputs, limits = CYCLES[name]
    pair = Requests(inputs, outputs)
    engine = Engine(pair, Server(rules, limits))
    seen = set()
    while (state := _state(engine)) not in seen:
        seen.add(state)
        engine.step()
        assert engine.iteration < 100
    assert engine.done == 0
    assert rules.may_cycle
    with pytest.raises(InputError, match=r"^engine: got .* ends by itself$"):
        serve(pair, Server(rules, limits))


def _state(engine: Engine) -> tuple:
    """All that the next iteration depends on, where lots are not drawn and all have come."""
    requests = [(r.outputs, r.computed, r.blocks, r.highest) for r in engine.all]
    lists = [[r.index for r in each] for each in (engine.running, engine.waiting)]
    return str((requests, lists, engine.arrived)), engine.ratio


@pytest.mark.parametrize("rules", ENGINES.values(), ids=lambda each: each.name)
def test_of_the_engines_that_we_know_only_newcomers_ask_for_a_horizon(rules):
    assert rules.may_cycle == rules.newcomers_first


LONE = {
    "copied-back": (
        replace(VIDUR_SARATHI, gate=Gate.FIRST_CHUNK, restore=Restore.SWAP),
        *([1, 6], [3, 1], 6),
    ),
    "given": (
        replace(VLLM, growth=Growth.ONE_FREE, allocation=Allocation.ESTIMATE_THEN_BLOCKS),
        *([6], [1], 6),
    ),
}


@pytest.mark.parametrize("name", LONE)
def test_a_prompt_that_holds_all_blocks_would_wait_for_a_free_one_for_ever(name):
    """It is cut by the budget, its rest needs no block, and none is free: with one more it ends."""
    rules, inputs, outputs, memory = LONE[name]
    table, limits = Requests(inputs, outputs), Limits(memory, max_num_batched_tokens=3)
    assert not _ends(table, rules, limits)
    with pytest.raises(InputError, match=f"^capacity: got {memory}; .*: {memory + 1} blocks"):
        check_fits(table, rules, limits)
    more = replace(limits, capacity=memory + 1)
    check_fits(table, rules, more)
    assert _ends(table, rules, more)


def _ends(table: Requests, rules: EngineRules, limits: Limits) -> bool:
    engine = Engine(table, Server(rules, limits))
    while engine.done < len(table) and engine.iteration < 300:
        engine.step()
    return engine.done == len(table)


def test_a_grant_whose_prompt_is_not_cut_needs_no_free_block():
    rules, inputs, outputs, memory = LONE["given"]
    run = serve(Requests(inputs, outputs), Server(rules, Limits(memory)))
    assert run.status.item() == "DONE"
