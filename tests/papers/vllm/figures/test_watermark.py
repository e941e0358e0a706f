"""The numbers behind the watermark figure, on fewer runs where they are slow."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.vllm.instances.watermark_runs import (
    CAPACITY,
    PUBLISHED,
    drawn,
    fitted_clock,
    gap_p99,
    limits,
    predicted,
    published_runs,
    totals,
)


def test_totals_are_those_of_the_records() -> None:
    """Window by window, and with a window that ends early."""
    found = totals(drawn(), [limits(0.0)])
    one = published_runs().isel(run=0)
    for name, of in (
        ("preemptions", "preempt"),
        ("outputs", "new_outputs"),
        ("prefill_tokens", "prefill_tokens"),
        ("kv_tokens", "kv_tokens"),
    ):
        # sums of integers below 2^53; means of windows are rounded
        assert getattr(found, name)[0] == pytest.approx(float(one[of].sum()), rel=1e-12)
    assert found.iterations[0] == int(one.iterations)
    assert found.output_per_s(fitted_clock())[0] == pytest.approx(11582, rel=1e-9)


def test_a_clock_changes_no_eviction_of_a_closed_population() -> None:
    """Why runs are made once: only then may a clock be laid over them afterwards."""
    rows = predicted(fitted_clock())
    timed = serve(
        drawn(),
        Server("vllm", limits(0.05), clock=fitted_clock()),
        clients=128,
        keep_requests=False,
    )
    assert int(timed.preempt.sum()) == rows[2].preemptions
    assert float(timed.time.max()) == pytest.approx(450 / rows[2].requests_per_s, rel=1e-9)


def test_fewer_clients_and_fewer_sequences_are_one_run() -> None:
    settings = [limits(max_num_seqs=60), limits(max_num_seqs=128)]
    found = totals(drawn(), settings, clients=[128, 60])
    assert found.preemptions[0] == found.preemptions[1]
    assert found.iterations[0] == found.iterations[1]


def test_the_first_row_is_met_by_the_fit() -> None:
    first = predicted(fitted_clock())[0]
    assert first.output_per_s == pytest.approx(PUBLISHED[0].output_per_s, rel=1e-9)
    assert first.itl_p99 == pytest.approx(PUBLISHED[0].itl_p99, rel=1e-6)


def test_memory_is_what_was_published_less_the_block_set_aside() -> None:
    assert limits().blocks == 16 * 2**30 // (57_344 * 16) - 1 == CAPACITY // 16 == 18_723


def test_percentile_of_gaps_is_weighted_by_tokens() -> None:
    assert gap_p99(np.array([5.0, 1.0]), np.array([1.0, 99.0])) == 1
    assert gap_p99(np.array([5.0, 1.0]), np.array([2.0, 98.0])) == 5


def test_the_page_has_the_predicted_rows() -> None:
    page = (Path(__file__).parents[4] / "docs" / "watermark.md").read_text(encoding="utf-8")
    for ours, printed in zip(predicted(fitted_clock()), PUBLISHED, strict=True):
        name = f"{printed.watermark:.2f}" if printed.watermark else "off"
        cells = (
            f"{value:,.0f}"
            for value in (
                printed.preemptions,
                ours.preemptions,
                printed.output_per_s,
                ours.output_per_s,
            )
        )
        assert f"| {name} | {' | '.join(cells)} | " in page
    one = published_runs().isel(run=0)
    assert f"{float(one.recomputed_tokens.sum() / one.preempt.sum()):,.0f} here" in page
