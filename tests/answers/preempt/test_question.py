"""`fluidkv preempt`: how its options are read, and what swapping costs.

What it prints and refuses is in `tests/cli/transcripts/preempt.txt`.
"""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from fluidkv.answers.memory import LoggedMemory
from fluidkv.answers.preempt.swapping import Prices
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.rules import Restore
from fluidkv.serving.swap import UNLIMITED
from tests.answers.replay import sglang_logs
from tests.questions.asked import answer_to

CLOCK = IterationClock(0.1, 1e-4, 2e-3)
PREEMPTS = "--class 8:10 --class 30:20 --block-size 4 --clock 0.1:1e-4:2e-3 --capacity 128"
PREEMPTS += " --rate 4 --requests 24 --seeds 2"
SLO = f"{PREEMPTS} --slo 0.5:2.5"
FEW = "--victim fewest-outputs --victim most-blocks"


def test_the_engine_comes_first_and_the_others_by_what_is_aimed_at() -> None:
    answer = answer_to("preempt", SLO)
    first, *others = answer.ranked
    attained = [answer.mean(index, "attained") for index in others]
    assert first == 0
    assert attained == sorted(attained, reverse=True)


def test_predictors_are_combined_with_victims_that_look_at_them() -> None:
    noisy = "log-normal:sigma=1+constant:tokens=4"
    line = f"{PREEMPTS} --victim longest-remaining --predictor perfect --predictor {noisy}"
    answer = answer_to("preempt", line)
    assert [(each.names["victim"], each.predictor) for each in answer.combinations] == [
        ("last-admitted", "perfect"),
        ("longest-remaining", "perfect"),
        ("last-admitted", noisy),
        ("longest-remaining", noisy),
    ]
    factors = {each.factor for each in answer.effects["longest_gap_p99"].of}
    assert factors == {"victim", "predictor"}


def test_what_needs_true_lengths_is_taken_only_where_they_are_known() -> None:
    chats = "--class 60:40:1/2 --class 150:100:1/4 --class 40:160:1/4"
    server = "--capacity 2400 --rate 10 --clock 0.02:1e-6:1e-4"
    line = f"{chats} {server} --requests 150 --victim longest-remaining"
    answer = answer_to("preempt", line)
    assert (answer.knows, answer.pick.index, answer.pick.untold) == ((1,), 0, (1,))


def test_a_trace_with_a_clock_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [f"{0.3 * n:.1f},{10 + n % 20},{5 + n % 15}" for n in range(60)]
    path.write_text("arrival_time,prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    line = f"{path} --capacity 128 --clock 0.1:1e-4:2e-3 {FEW}"
    answer = answer_to("preempt", line)
    assert (answer.demand.kind, answer.runs, answer.requests) == ("replay", 1, 60)
    assert answer.pairs == "segment"
    parts = answer_to("preempt", f"{line} --requests 20 --seeds 3")
    assert (parts.runs, parts.requests, parts.pairs) == (3, 20, "run")


def test_a_log_of_sglang_is_held_against_by_the_output_that_it_says(tmp_path: Path) -> None:
    """It has no time of a token; how long its run lasted is in its meta.json."""
    sglang_logs.write_log(tmp_path, count=60)
    meta = json.loads((tmp_path / "meta.json").read_text())
    del meta["schedule_conservativeness"]  # else it is another server than these rules are
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    answer = answer_to("preempt", f"{tmp_path} --victim fewest-outputs")
    assert list(answer.to_dict()["measured"]) == ["output_throughput_per_time"]


# --- swapping -----------------------------------------------------------------------------------


def test_a_price_has_the_sweet_spot_of_clock_and_bus() -> None:
    """No copy costs besides its tokens: to copy twice is faster from 0 tokens on, or never."""
    fast, _ = Prices(per_token=Fraction(1, 10_000), pool=60).swap(CLOCK)
    assert (fast.per_token, fast.pool, fast.sweet_spot) == (1e-4, 60, 0)
    slow, _ = Prices(per_token=Fraction(1, 100)).swap(CLOCK)
    assert slow.sweet_spot == UNLIMITED
    memory = LoggedMemory(kv_bytes=10**6)
    bus, _ = Prices(gbps=Fraction(20), host_memory=Fraction(3), memory=memory).swap(CLOCK)
    assert (bus.per_token, bus.pool) == (5e-5, 3000)


def test_swapping_with_a_price_is_compared() -> None:
    line = f"{PREEMPTS} --victim last-admitted --swap-per-token 1e-4 --swap-pool 60"
    answer = answer_to("preempt", line)
    restores = [each.restore for each in answer.combinations]
    taxes = dict(zip(restores, answer.table.recompute_tax.values, strict=True))
    assert set(taxes) == set(Restore)
    assert (taxes[Restore.SWAP] < taxes[Restore.RECOMPUTE]).all()


def test_a_profile_gives_price_and_sweet_spot(tmp_path: Path) -> None:
    path = tmp_path / "profile.csv"
    rows = [
        f"{s},{1e-9 * s**2 + 1e-5 * s + 0.02},{1e-5 * s + 0.04}" for s in range(1000, 9000, 1000)
    ]
    path.write_text("\n".join(["length,recompute_s,swap_s", *rows]) + "\n")
    prices = Prices(profile=str(path))
    swap, [(label, text)] = prices.swap(CLOCK)
    assert swap.per_token == pytest.approx(5e-6, rel=1e-6)
    assert swap.sweet_spot == pytest.approx(4472, abs=1)  # 1e-9 S^2 = 0.02
    assert (label, "sweet spot 4,472 ± 0 tokens" in text) == ("profile", True)
    assert replace(prices, sweet_spot=7).swap(CLOCK)[0].sweet_spot == 7
