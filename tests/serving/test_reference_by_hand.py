"""What the literal engine records, by hand: clocks, times of requests, memory, reservations.

Every other engine is compared with this one, so a slip here would be a slip everywhere.
"""

from dataclasses import replace
from fractions import Fraction

import pytest

from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import SGLANG, TRTLLM_NO_EVICT, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, NewTokenRatio, RatioReset
from fluidkv.serving.stepped import Engine
from tests.serving.by_hand import engine, share

ESTIMATE = replace(SGLANG, ratio=NewTokenRatio(reset=RatioReset.ESTIMATE, ahead=20))


# -------------------------------------------------------------------------------------- memory


def test_the_cache_is_of_all_that_run_not_only_of_those_that_compute():
    """Caches of 3 and 4; a budget of 1 lets the first alone compute: 4 + 4."""
    made = engine(VLLM, [3, 4], [9, 9], Limits(100, max_num_batched_tokens=1), start=(1, 1))
    counts = made.step()
    assert (counts["sched_reqs"], counts["kv_tokens"]) == (1, 8)


def test_a_prefill_alone_holds_all_its_blocks_from_its_first_chunk():
    """A prompt of 8 in chunks of 3, 3 and 2: blocks for 8 throughout; vLLM takes 3, 6, 8."""
    limits = Limits(100, max_num_batched_tokens=3)
    rows = {
        rules.name: [
            (row["tokens"], row["used_blocks"]) for row in _three_iterations(rules, limits)
        ]
        for rules in (SGLANG, VLLM)
    }
    assert rows == {"sglang": [(3, 8), (3, 8), (2, 8)], "vllm": [(3, 3), (3, 6), (2, 8)]}


def _three_iterations(rules: EngineRules, limits: Limits) -> list[dict[str, int]]:
    made = engine(rules, [8], [4], limits)
    return [made.step() for _ in range(3)]


@pytest.mark.parametrize(
    ("capacity", "watermark", "admitted"), [(13, 0.25, 2), (12, 0.25, 1), (12, 0.0, 2)]
)
def test_reserving_the_peak_leaves_the_watermark_free(capacity, watermark, admitted):
    """Peaks of 2 + 4 - 1 = 5 each, and int(14 / 4) = int(13 / 4) = 3 blocks left free: 13 in all.

    The first enters whatever the watermark is: nothing runs yet.
    """
    limits = Limits(capacity, watermark=watermark)
    made = engine(TRTLLM_NO_EVICT, [2, 2], [4, 4], limits)
    assert made.step()["admit_new"] == admitted


# --------------------------------------------------------------------------- new-token ratio


@pytest.mark.parametrize(("capacity", "admitted"), [(12, 1), (8, 0)])
def test_the_ratio_gate_counts_a_length_in_whole_blocks(capacity, admitted):
    """5 tokens are 2 blocks of 4, and 2 outputs may come: 10. Without rounding, 7."""
    made = engine(SGLANG, [5], [2], Limits(capacity, block_size=4))
    assert made.step()["admit_new"] == admitted


def test_the_ratio_is_at_its_start_again_once_nothing_runs():
    """A prefill and three decodes, each a step down from 7/10; the next request comes at 9."""
    made = engine(SGLANG, [1, 1], [4, 4], Limits(100), arrival=[0.0, 9.0])
    shares = []
    for _ in range(6):
        made.step()
        shares.append(share(made))
    start, step = Fraction(7, 10), Fraction(602, 600_000)
    assert shares == [start, start - step, start - 2 * step, start - 3 * step, start, start]


@pytest.mark.parametrize(
    ("most", "ratio"), [([50, 48, 50], Fraction(1, 2)), ([10, 10, 10], Fraction(1))], ids=str
)
def test_the_estimate_is_of_outputs_so_far_and_twenty_ahead_at_most_one(most, ratio):
    """Caches of 3 + 4, 3 + 3 and 3 + 1; 8 + 7 + 5 = 20 of 19 are asked, so the last one goes.

    Who stays has 5 and 4 outputs: (5 + 20 + 4 + 20) / (50 + 48) = 1/2; of 10 each, 49/20 > 1.
    """
    made = engine(ESTIMATE, [3] * 3, [9] * 3, Limits(19), start=(5, 4, 2), max_output=most)
    assert made.step()["preempt"] == 1
    assert share(made) == ratio


# ----------------------------------------------------------------------------- times of requests


def test_the_longest_gap_may_be_the_first():
    """Iterations last 1 and 1 for each prompt token; a prompt of 9 comes between two decodes.

    Tokens of the first request: at 1 + 1 = 2, at 2 + (1 + 9) = 12, at 13. Gaps: 10, then 1.
    """
    clock = IterationClock(1.0, per_prefill_token=1.0)
    made = engine(VLLM, [1, 9], [3, 1], Limits(100), arrival=[0.0, 2.0], clock=clock)
    ends = []
    for _ in range(3):
        made.step()
        ends.append(made.now)
    assert ends == [2.0, 12.0, 13.0]
    first = made.all[0]
    assert (first.first_token_at, first.last_token_at, first.longest_gap) == (2.0, 13.0, 10.0)


def test_a_request_is_admitted_at_its_first_admission():
    """M = 7. The second comes at 1 and has two outputs at 3; then 5 + 4 are asked, and it goes.

    The first is done at 4, so the second is admitted again then; its third output comes at 5.
    """
    made = engine(VLLM, [2, 2], [4, 4], Limits(7), arrival=[0.0, 1.0])
    rows = [made.step() for _ in range(5)]
    assert [row["preempt"] for row in rows] == [0, 0, 0, 1, 0]
    assert [row["admit_new"] for row in rows] == [1, 1, 0, 0, 0]
    assert [row["admit_resumed"] for row in rows] == [0, 0, 0, 0, 1]
    second = made.all[1]
    assert (second.admitted_at, second.first_token_at, second.last_token_at) == (1.0, 2.0, 5.0)
    assert second.longest_gap == 2.0


# --------------------------------------------------------------------------------------- the clock


def test_an_idle_clock_waits_for_the_next_request_only_while_nobody_waits():
    """A third of an admission an iteration: 0 waits from 0 to 2 ticks, though 1 comes at 100."""
    limits = Limits(10, admission_rate=Fraction(1, 3))
    clock = IterationClock(0.5)
    made = engine(VLLM, [1, 1], [1, 1], limits, arrival=[0.0, 100.0], clock=clock)
    ends = []
    for _ in range(4):
        made.step()
        ends.append(made.now)
    assert made.all[0].admitted_at == 1.0
    assert ends == [0.5, 1.0, 1.5, 100.0]


# ----------------------------------------------------------------------------------------- stuck


def test_a_run_is_not_stuck_while_somebody_comes():
    """The first never fits in 5 tokens; the second comes at 3, with the fourth iteration."""
    made = engine(VLLM, [9, 1], [1, 1], Limits(5), arrival=[0.0, 3.0])
    assert [_stuck_after_a_step(made) for _ in range(5)] == [False] * 3 + [True] * 2


def test_a_closed_population_comes_no_more_once_it_is_stuck():
    """One client: the second request would come when the first is done."""
    made = engine(VLLM, [9, 1], [1, 1], Limits(5), clients=1)
    assert _stuck_after_a_step(made)
    assert made.arrived == 1


def _stuck_after_a_step(made: Engine) -> bool:
    made.step()
    return made.stuck
