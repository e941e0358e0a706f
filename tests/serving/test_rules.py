"""One test a rule of each engine, by hand. What real records show is in test_records.py."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.serving.engines import (
    RESTART,
    SGLANG,
    TRTLLM_MAX_UTILIZATION,
    TRTLLM_NO_EVICT,
    VIDUR_SARATHI,
    VLLM,
    VLLM_0_11,
)
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import EngineRules, NewTokenRatio
from fluidkv.serving.stepped import Engine
from tests.serving.by_hand import engine, indices, share

# ------------------------------------------------------------------------------------- SGLang


def test_sglang_retracts_the_fewest_outputs():
    """Three hold 3+4, 3+1 and 3+2 tokens of 17 with their next one asked: 8+5+6 = 19 > 17."""
    made = engine(SGLANG, [3, 3, 3], [9, 9, 9], 17, start=(5, 2, 3))
    assert made.step()["preempt"] == 1
    assert (indices(made.running), indices(made.waiting)) == ([0, 2], [1])


@pytest.mark.parametrize(
    ("inputs", "victim"), [([3, 5, 4], 1), ([5, 3, 4], 0), ([4, 4, 4], 2)], ids=str
)
def test_sglang_breaks_a_tie_by_the_longest_prompt_then_the_last_admitted(inputs, victim):
    made = engine(SGLANG, inputs, [9, 9, 9], sum(inputs) + 3 * 1, start=(2, 2, 2))
    made.step()
    assert indices(made.waiting) == [victim]


def test_sglang_retracts_until_all_that_is_asked_fits():
    """Five ask for 4 tokens each, 20 in 15: two go, the last admitted first."""
    made = engine(SGLANG, [2] * 5, [9] * 5, 15, start=(2,) * 5)
    assert made.step()["preempt"] == 2
    assert (indices(made.running), indices(made.waiting)) == ([0, 1, 2], [4, 3])


def test_sglang_keeps_the_outputs_and_computes_them_again():
    made = engine(SGLANG, [3, 3], [4, 4], 9, start=(2, 2))
    assert made.step()["preempt"] == 1
    [waiting] = made.waiting
    assert (waiting.outputs, waiting.computed, waiting.blocks) == (2, 0, 0)
    counts = [made.step() for _ in range(2)][-1]
    assert (counts["admit_resumed"], counts["tokens"], counts["recomputed_tokens"]) == (1, 5, 4)
    assert made.all[1].outputs == 3


def test_sglang_queues_again_at_the_tail():
    """Behind what waits already; vLLM at its head."""
    queues = {rules.name: _queue_after_an_eviction(rules) for rules in (SGLANG, VLLM)}
    assert queues == {"sglang": [2, 3, 1], "vllm": [1, 2, 3]}


def _queue_after_an_eviction(rules: EngineRules) -> list[int]:
    made = engine(rules, [3, 3, 9, 9], [9, 9, 4, 4], 12, start=(4, 3))
    assert made.step()["preempt"] == 1
    return indices(made.waiting)


def test_sglang_ratio_decays_from_7_10_to_98_1000_over_600_decodes():
    made = engine(SGLANG, [1], [1000], 2000)
    assert share(made) == Fraction(7, 10)
    made.step()  # the prefill: no decode, no decay
    assert share(made) == Fraction(7, 10)
    shares = []
    for _ in range(650):
        made.step()
        shares.append(share(made))
    steps = [Fraction(7, 10) - k * Fraction(602, 600_000) for k in range(1, 600)]
    assert shares[:599] == steps
    assert set(shares[599:]) == {Fraction(98, 1000)}


def test_sglang_ratio_is_reset_by_a_retraction():
    made = engine(SGLANG, [3, 3], [40, 40], 46, start=(1, 1))
    while not (counts := made.step())["preempt"]:
        assert share(made) < Fraction(7, 10)
    assert counts["running"] == 1
    assert share(made) == Fraction(7, 10)


@pytest.mark.parametrize(("capacity", "admitted"), [(27, 1), (26, 0)])
def test_sglang_reserves_a_share_of_the_outputs_of_who_runs(capacity, admitted):
    """One holds 4 + 0 tokens and may emit 20 more: 0.7 * 20 = 14. The next needs 5 + 4 = 9."""
    made = engine(SGLANG, [4, 5], [21, 1], capacity, start=(1,), max_output=[21, 4])
    assert made.step()["admit_new"] == admitted


@pytest.mark.parametrize(("capacity", "admitted"), [(18, 2), (17, 1)])
def test_sglang_reserves_all_outputs_of_who_enters_in_the_same_iteration(capacity, admitted):
    """5 + 4 for each of two: a share of 0.7 for the first one would come to 16.8."""
    made = engine(SGLANG, [5, 5], [4, 4], capacity)
    assert made.step()["admit_new"] == admitted


@pytest.mark.parametrize(("capacity", "admitted"), [(16, 2), (15, 1)])
def test_sglang_reserves_at_most_the_clip(capacity, admitted):
    """5 + 3 each, though 50 may come."""
    rules = replace(SGLANG, ratio=NewTokenRatio(clip=3))
    assert engine(rules, [5, 5], [50, 50], capacity).step()["admit_new"] == admitted


def test_sglang_prefills_alone():
    made = engine(SGLANG, [3, 4], [9, 9], 100, start=(2,))
    counts = made.step()
    assert (counts["sched_reqs"], counts["tokens"], made.all[0].outputs) == (1, 4, 2)
    assert made.step()["sched_reqs"] == 2
    together = engine(VLLM, [3, 4], [9, 9], 100, start=(2,)).step()
    assert (together["sched_reqs"], together["tokens"]) == (2, 5)


def test_sglang_evicts_only_in_iterations_that_admit_nobody():
    """Three decodes ask for three of two free tokens; a prompt of 1 with one output goes first."""
    made = engine(SGLANG, [3, 3, 3, 1], [9, 9, 9, 1], 15, start=(3, 2, 2))
    made.batch.runs[0].ratio = 0
    first, second = made.step(), made.step()
    assert (first["admit_new"], first["preempt"]) == (1, 0)
    assert (second["admit_new"], second["preempt"]) == (0, 1)


# ------------------------------------------------------------------------------ TensorRT-LLM


def test_max_utilization_pauses_the_last_started():
    """Whatever it has emitted: 2 + 6 + 7 tokens are asked of 14."""
    made = engine(TRTLLM_MAX_UTILIZATION, [1, 1, 1], [9, 9, 9], 14, start=(1, 5, 6))
    assert made.step()["preempt"] == 1
    assert (indices(made.running), indices(made.waiting)) == ([0, 1], [2])
    assert made.waiting[0].outputs == 6


lengths = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


@given(lengths=lengths, spare=st.integers(0, 9), budget=st.integers(1, 12))
def test_max_utilization_admits_nobody_in_an_iteration_that_pauses(lengths, spare, budget):
    """Not that it could: at the head stands who was paused last, for what does not fit."""
    inputs, outputs = (list(column) for column in zip(*lengths, strict=True))
    capacity = max(i + o - 1 for i, o in lengths) + spare
    caps = {"max_num_batched_tokens": budget}
    made = engine(TRTLLM_MAX_UTILIZATION, inputs, outputs, capacity, **caps)
    for _ in range(60):
        paused, entered = _evicted_and_entered(made)
        assert not (paused and entered)


@pytest.mark.parametrize(("capacity", "together"), [(10, 2), (9, 1)])
def test_no_evict_reserves_the_input_and_the_maximum_output(capacity, together):
    """2 + 4 - 1 tokens each: the last token is never stored."""
    made = engine(TRTLLM_NO_EVICT, [2, 2], [1, 1], capacity, max_output=[4, 4])
    assert made.step()["admit_new"] == together
    assert engine(VLLM, [2, 2], [1, 1], capacity, max_output=[4, 4]).step()["admit_new"] == 2


@given(
    lengths=lengths,
    spare=st.integers(0, 30),
    block_size=st.integers(1, 5),
    budget=st.integers(1, 12),
)
def test_no_evict_never_evicts(lengths, spare, block_size, budget):
    inputs, outputs = (list(column) for column in zip(*lengths, strict=True))
    capacity = max(-(-(i + o - 1) // block_size) for i, o in lengths) * block_size + spare
    made = engine(
        TRTLLM_NO_EVICT,
        inputs,
        outputs,
        capacity,
        block_size=block_size,
        max_num_batched_tokens=budget,
    )
    while made.done < len(lengths):
        counts = made.step()
        assert counts["preempt"] == 0
        assert counts["sched_reqs"] > 0  # or it would never end


# ---------------------------------------------------------------------------------- restart


def stages(made: Engine) -> tuple[int, ...]:
    """(x0, x1, x2): running requests by outputs emitted."""
    counted = Counter(request.outputs for request in made.running)
    return tuple(counted[stage] for stage in range(3))


def memory(x: tuple[int, ...]) -> int:
    """Of l0 = 2: a request at stage j holds 3 + j tokens."""
    return sum(count * (3 + stage) for stage, count in enumerate(x))


def test_restart_is_the_trace_of_example_1():
    """Congestion, Example 1: M = 24, l0 = 2, l1 = 3, X = (1, 1, 2), Q = 8, A = 5, then 0.

    The paper starts with memory that nobody fills, though eight wait; so admission is capped until
    its X stands.
    """
    arrival = [0.0] * 12 + [1.0] * 5
    inputs, outputs = [2] * 17, [3] * 17
    made = engine(RESTART, inputs, outputs, 24, start=(2, 2, 1), arrival=arrival, max_num_seqs=4)
    counts = made.step()
    assert (counts["preempt"], counts["running"], counts["waiting"]) == (0, 4, 8)
    assert (counts["completed"], stages(made)) == (2, (0, 1, 1))
    assert memory((0, 1, 1)) == 9

    made.batch.runs[0].sequences = UNLIMITED
    counts = made.step()
    assert (counts["preempt"], counts["admit_new"], counts["waiting"]) == (0, 5, 8)
    assert counts["used_blocks"] == memory((5, 1, 1)) == 24
    assert (counts["completed"], stages(made)) == (1, (0, 5, 1))
    assert memory((0, 5, 1)) == 25

    counts = made.step()  # one of the five goes, and comes in again: 4 and 1 of them, and one
    assert (counts["preempt"], counts["admit_resumed"], counts["waiting"]) == (1, 1, 8)
    assert counts["used_blocks"] == memory((1, 4, 1)) == 24


def test_restart_loses_all_progress_and_queues_at_the_head():
    """Least progressed first; of equals the last admitted."""
    made = engine(RESTART, [2, 2, 2, 2], [9] * 4, 14, start=(4, 2, 2))
    counts = made.step()
    assert counts["preempt"] == 1
    assert (indices(made.running), indices(made.waiting)) == ([0, 1], [2, 3])
    assert (made.all[2].outputs, made.all[2].computed) == (0, 0)


# ------------------------------------------------------------------------------------ vllm-0.11


def test_vllm_0_11_admits_a_chunk_only_to_evict_it_again():
    """M = 6, budget 4. The first holds 1, 2, 3, 4 tokens; the other has a prompt of 5.

    Its chunk of 3 fits beside 1 and beside 3, and both times the next chunk or the first one's next
    token does not. With the gate of 0.33 it waits until the first is done.
    """
    old, new = (
        engine(rules, [1, 5], [4, 1], 6, max_num_batched_tokens=4) for rules in (VLLM_0_11, VLLM)
    )
    assert [_evicted_and_entered(old) for _ in range(6)] == [
        *((0, 2), (1, 0), (0, 1), (1, 0), (0, 1), (0, 0)),
    ]
    assert (old.all[1].evictions, old.done) == (2, 2)
    assert [_evicted_and_entered(new) for _ in range(6)] == [
        *((0, 2), (1, 0), (0, 0), (0, 0), (0, 1), (0, 0)),
    ]
    assert (new.all[1].evictions, new.done) == (1, 2)


def _evicted_and_entered(made: Engine) -> tuple[int, int]:
    counts = made.step()
    return counts["preempt"], counts["admit_new"] + counts["admit_resumed"]


# ------------------------------------------------------------------------------ vidur-sarathi


def test_vidur_admits_in_an_iteration_that_evicted():
    """The smallest case: one block of 2, a prompt of 1, two outputs.

    Its second token needs no block, but no block is free, so it goes; and as memory is empty then,
    it is back at once, with both tokens to compute. With admission after evictions off, it waits.
    """
    on, off = (
        engine(replace(VIDUR_SARATHI, admits_after_eviction=admits), [1], [2], 2, block_size=2)
        for admits in (VIDUR_SARATHI.admits_after_eviction, False)
    )
    assert [_evicted_and_entered(on) for _ in range(2)] == [(0, 1), (1, 1)]
    assert (on.done, on.all[0].last_token_at) == (1, 2.0)
    assert [_evicted_and_entered(off) for _ in range(3)] == [(0, 1), (1, 0), (0, 1)]
    assert (off.done, off.all[0].last_token_at) == (1, 3.0)


@given(
    lengths=lengths,
    blocks=st.integers(2, 12),
    block_size=st.integers(1, 5),
    budget=st.integers(1, 12),
    spared=st.integers(0, 2),
)
def test_vidur_admits_nobody_after_an_eviction_under_a_watermark(
    lengths, blocks, block_size, budget, spared
):
    """Nor with blocks of 1: why records of Vidur, whose watermark is 1 %, do not show the rule.

    At the head stands who was evicted last. Where it asked for blocks, it goes on lacking one once
    its own are free. Where it asked for none, at most its own are free: it needs them all, and the
    watermark keeps some. With blocks of 1 everyone asks for some.
    """
    inputs, outputs = (list(column) for column in zip(*lengths, strict=True))
    spared = min(spared, blocks - 1) if block_size == 1 else min(1 + spared, blocks - 1)
    caps = {"block_size": block_size, "max_num_batched_tokens": budget}
    watermark = (spared + 0.5) / (blocks + 1)  # int(watermark (blocks + 1)) = spared
    capacity = blocks * block_size
    made = engine(VIDUR_SARATHI, inputs, outputs, capacity, watermark=watermark, **caps)
    assert made.limits.watermark_blocks == spared
    for _ in range(60):
        evicted, entered = _evicted_and_entered(made)
        assert not (evicted and entered)


# --------------------------------------------------------------------------------- rate limit


rates = st.builds(Fraction, st.integers(1, 40), st.integers(1, 12))


@given(rate=rates, capacity=st.integers(5, 60), rules=st.sampled_from([RESTART, VLLM, SGLANG]))
def test_any_window_admits_fewer_than_one_more_than_its_permits(rate, capacity, rules):
    """Congestion, section 5.1; memory that blocks for a while does not save permits up."""
    made = engine(rules, [2] * 80, [3] * 80, capacity, admission_rate=rate)
    entered = [sum(_evicted_and_entered(made)[1:]) for _ in range(30)]
    for first in range(30):
        for last in range(first, 30):
            width = last - first + 1
            assert sum(entered[first : last + 1]) < 1 + width * rate


@given(rate=rates)
def test_with_room_the_permits_are_all_used(rate):
    """floor(n x*) have entered after n iterations."""
    made = engine(VLLM, [1] * 900, [1] * 900, 10_000, admission_rate=rate)
    entered = 0
    for n in range(1, 21):
        entered += made.step()["admit_new"]
        assert entered == rate * n // 1


def test_a_permit_that_is_not_used_lapses():
    made = engine(VLLM, [1] * 9, [1] * 9, 10, arrival=[5.0] * 9, admission_rate=2)
    assert [made.step()["admit_new"] for _ in range(10)] == [0] * 5 + [2, 2, 2, 2, 1]
