"""Committed numbers of the figures of other papers, against what must hold of them."""

import numpy as np
import pytest

from tests.papers.committed import committed


def test_price_paths_have_the_regrets_that_are_proved() -> None:
    data, pairs = committed("tokenpd_price_paths"), 32
    assert data["alternating.netted.regret"][-1] == -pairs / 2
    assert data["alternating.wanted.regret"][-1] == pairs / 2
    assert (data["alternating.netted.price"] == data["alternating.wanted.price"]).all()
    assert data["idle_then_busy.netted.used"].tolist() == [0] * pairs + [2] * pairs
    # S is -32 in the middle and 0 in the end; doubles round exp(-4) to a part in 10^15.
    assert abs(data["idle_then_busy.netted.price"].min() / np.exp(-4) - 1) < 1e-14
    assert data["idle_then_busy.netted.price"][-1] == 1


def test_no_watermark_ends_preemptions_and_a_rate_does() -> None:
    data = committed("watermark")
    assert data["preemptions_seed_0"][[0, 2, 4]].tolist() == [1077, 368, 253]
    by_size = np.array([data[f"preemptions_{name}"] for name in ("least", "mean", "most")])
    assert (np.diff(by_size, axis=0) >= 0).all()
    assert by_size.min() > 100
    assert (data["rate_preemptions"] == 0).any()
    assert data["gain_most"][0] == data["gain_least"][0] == 0
    for name in ("preemptions", "gain"):  # seeds 0 to 3 are among the draws on record
        own = data[f"{name}_seed_0"][[0, 2, 4, 6, 7]]
        # per cent; six digits of tokens/s are on record
        assert (data[f"recorded_{name}_least"] <= own + 1e-2).all()
        assert (own <= data[f"recorded_{name}_most"] + 1e-2).all()


def test_shares_of_outputs_add_up_and_long_ones_cost_more_than_they_are() -> None:
    data = committed("wait_figure_15")
    sums = [data["share"].sum(), data["cost"].sum()]
    assert sums == pytest.approx([1, 1], abs=1e-12)
    late = data["output"] > 300
    assert data["share"][late].sum() < 0.5 < data["cost"][late].sum()
    # A bin of ten outputs: its prompts' mean lies in it.
    mean = (data["share"] * (data["output"] - 4.5)).sum()
    assert abs(mean - data["mean"]) <= 4.5


@pytest.mark.parametrize("number", [16, 17, 18])
def test_the_bound_over_segments_is_the_sum_of_its_terms(number: int) -> None:
    data = committed(f"wait_figure_{number}")
    for panel in "01":
        terms = sum(data[f"{panel}.{name}"] for name in ("batch", "queue", "tail"))
        np.testing.assert_allclose(data[f"{panel}.total"], terms, rtol=1e-12)
        finite = data[f"{panel}.total"] >= 0
        assert (data[f"{panel}.tightened"] <= data[f"{panel}.total"])[finite].all()


def test_figure_17_has_more_tail_with_less_delta_and_more_than_the_batch_at_18() -> None:
    data = committed("wait_figure_17")
    assert data["0.count"][0] == 5  # not defined below
    assert (data["1.tail"] >= data["0.tail"]).all()
    (at,) = np.flatnonzero(data["0.count"] == 18)
    assert data["0.tail"][at] > data["0.batch"][at]


def test_measured_logs_have_the_numbers_that_pages_state() -> None:
    """docs/replay.md: 3.2 %, 12.8 % and 6.6 % of the time in the second half; the periods."""
    data = committed("replay_measured")
    errors = [f"{name}_latency_error" for name in ("main", "plain", "baseline")]
    assert [round(100 * data[name], 1) for name in errors] == [1.2, 4.9, 2.6]
    assert [round(100 * data[f"{name}_in_half"], 1) for name in errors] == [3.2, 12.8, 6.6]
    off = np.abs(data["main_latency_s"] / data["measured_latency_s"] - 1)
    assert np.median(off) == data["main_latency_error"]
    data = committed("measured_log")
    assert round(data["predicted_in_flight"], 2) == 34.39
    assert round(data["predicted_period_s"] * data["iterations_per_s"], 1) == 657.8
    data = committed("sglang_run")
    assert (data["measured_preemptions"], data["predicted_preemptions"]) == (20, 20)
    assert data["measured_preempted_s"].size == data["predicted_preempted_s"].size == 20
    assert data["measured_running"].max() == 68
