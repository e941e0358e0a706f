"""CacheOPT's scheduler: invariants on drawn runs, and what it is with every part left out."""

import random
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.swap import Swap
from fluidkv_papers.cacheopt.scheduler.engine import CacheOptEngine
from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
from fluidkv_papers.cacheopt.scheduler.settings import (
    NOTHING,
    Ahead,
    CacheOpt,
    Overdue,
    Place,
    Selection,
    Weights,
)
from tests.papers.cacheopt.scheduler.slots import SlotMemory


def drawn_requests(draw: random.Random) -> Requests:
    number = draw.randint(1, 14)
    inputs = [draw.randint(1, 20) for _ in range(number)]
    outputs = [draw.randint(1, 16) for _ in range(number)]
    predicted = [max(1, out + draw.randint(-6, 6)) for out in outputs]
    return Requests(
        np.array(inputs),
        np.array(outputs),
        arrival=np.sort([draw.uniform(0, 12) for _ in range(number)]),
        predicted_output=np.array(predicted),
        estimated_output=np.array([max(1, p + draw.randint(-2, 8)) for p in predicted]),
        ttft_slo=np.array([draw.choice([0.5, 3.0, 20.0, np.inf]) for _ in range(number)]),
        tbt_slo=np.array([draw.choice([0.1, 1.5, 4.0, np.inf]) for _ in range(number)]),
    )


def drawn_settings(draw: random.Random) -> CacheOpt:
    return CacheOpt(
        buffer=draw.randint(0, 3),
        embeds=draw.random() < 0.8,
        slack=draw.choice([0.0, 1.0]),
        iterations_ahead=draw.randint(0, 3),
        reserved_blocks=draw.randint(0, 3),
        hands_on=draw.random() < 0.8,
        preempted_are_critical=draw.random() < 0.5,
        beyond_budget=draw.random() < 0.5,
        selection=draw.choice([Selection.BY_SLACK] * 3 + [Selection.FIRST_COME]),
        overdue=draw.choice(list(Overdue)),
        weights=draw.choice(list(Weights)),
        ahead=draw.choice(list(Ahead)),
        place=draw.choice(list(Place)),
        restore=draw.choice(list(Restore)),
        victim=draw.choice([Victim.LOOSEST_OBJECTIVE, Victim.LAST_ADMITTED, Victim.MOST_BLOCKS]),
    )


def drawn_limits(draw: random.Random, settings: CacheOpt, requests: Requests) -> Limits:
    """Room for the largest request, and not for many of them."""
    size = draw.choice([1, 2, 4])
    longest = int((requests.input_length + requests.output_length).max())
    least = -(-longest // size) + 1 + settings.reserved_blocks
    return Limits(
        (least + draw.randint(0, 30 // size)) * size,
        block_size=size,
        max_num_seqs=draw.choice([None, None, 3]),
        max_num_batched_tokens=draw.choice([None, 64]),
        swap=Swap(
            per_token=draw.choice([0.0, 0.05]),
            per_copy=draw.choice([0.0, 0.3]),
            pool=draw.choice([None, 20]),
            sweet_spot=draw.choice([0, 10]),
            shared=draw.random() < 0.5,
        ),
    )


def drawn_run(seed: int) -> tuple[Requests, CacheOpt, Limits, IterationClock]:
    draw = random.Random(seed)
    requests, settings = drawn_requests(draw), drawn_settings(draw)
    clock = draw.choice([IterationClock.iterations(), IterationClock(0.5, 0.01, 0.02)])
    return requests, settings, drawn_limits(draw, settings, requests), clock


def check_run(seed: int, iterations: int = 4000) -> CacheOptEngine:
    """All finish; no slot ever has two users or is lost; counted memory decides the same."""
    given = drawn_run(seed)
    literal, counted = CacheOptEngine(*given), CacheOptEngine(*given)
    limits = given[2]
    room = limits.blocks * limits.block_size, given[1].reserved_blocks * limits.block_size
    literal.server.memory = memory = cast(Any, SlotMemory(*room))
    emitted = np.zeros(len(given[0]), int)
    while literal.done < len(literal.all):
        assert literal.iteration < iterations, f"seed {seed} does not end"
        assert not literal.stuck
        counts = literal.step()
        assert counted.step() == counts
        assert not memory.overlaps()
        assert not memory.lost()
        assert set(memory.holders) == {request.index for request in literal.server.running}
        for request in literal.server.running:
            assert request.computed <= memory.allocated(request.index)
        outputs = np.array([request.outputs for request in literal.all])
        assert (outputs - emitted).sum() == counts["new_outputs"]
        emitted = outputs
    assert (emitted == given[0].output_length).all()
    assert memory.pool + memory.reserve == given[2].blocks * given[2].block_size
    return literal


@pytest.mark.parametrize("seed", range(50))
def test_all_are_served_and_no_slot_has_two_users(seed: int) -> None:
    check_run(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(20))
def test_all_are_served_and_no_slot_has_two_users_in_many_runs(part: int) -> None:
    for seed in range(1000 + part * 200, 1200 + part * 200):
        check_run(seed)


def test_the_drawn_runs_embed_push_out_hand_on_and_use_the_reservation() -> None:
    seen = dict.fromkeys(SEEN, 0)
    for seed in range(40):
        requests, settings, limits, clock = drawn_run(seed)
        found = serve_cacheopt(requests, settings, limits, clock=clock)
        for name in seen:
            seen[name] += int(found[name].sum())
    assert min(seen.values()) > 3, seen


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("truth", [True, False])
def test_with_every_part_left_out_it_is_the_engine_of_estimates_row_by_row(
    seed: int, truth: bool
) -> None:
    """Whole estimates in vLLM's order, past them block by block; with estimates of 1, vLLM."""
    draw = random.Random(seed)
    table = drawn_requests(draw)
    if truth:
        table = Requests(table.input_length, table.output_length, arrival=table.arrival)
    limits = replace(drawn_limits(draw, NOTHING, table), max_num_batched_tokens=None)
    clock = draw.choice([None, IterationClock(0.5, 0.01, 0.02)])
    restore = draw.choice(list(Restore))
    rules = replace(engine("vllm"), allocation=Allocation.ESTIMATE_THEN_BLOCKS, restore=restore)
    theirs = serve(table, Server(rules, limits, clock=clock, backend="reference"))
    ours = serve_cacheopt(table, replace(NOTHING, restore=restore), limits, clock=clock)
    for name in theirs.data_vars:
        assert np.array_equal(ours[name], theirs[name], equal_nan=name in FLOATS), name
    if truth:
        assert int(ours.preempt.sum()) == 0


SEEN = ("preempt", "copied_tokens", "embedded", "pushed_out", "handed_on", "reserved_blocks")
FLOATS = {"time", "arrival", "admitted", "first_token", "last_token", "longest_gap", "halted"}
