"""Restart beside resume: what is counted, what it is held against, and what the words say."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments import keeping as keeps
from fluidkv_papers.congestion.experiments.a100 import workload
from fluidkv_papers.congestion.figures import restart_resume
from tests.papers.committed import committed

_SMOOTH = keeps.Kept(1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 64.0, np.ones(1))
"""A run without eviction whose inputs are twice as long as its outputs."""


def test_best_is_memory_over_what_a_request_holds_in_its_life() -> None:
    held = sum(10 + 1 + j for j in range(64))
    classes = workload((64,), 10)
    memory = keeps.capacity(classes)
    assert memory == round(300 * held / 64)
    assert keeps.best("restart", classes) == pytest.approx(memory / held, rel=1e-15)
    # In vLLM the token of this iteration is the last that it holds.
    assert keeps.best("vllm", classes) == pytest.approx(memory / (held - 64), rel=1e-15)


def test_synchronized_cycle_of_short_inputs_has_half_of_the_rate() -> None:
    one = [float(keeps.synchronized((length,), 1)) for length in (10, 100, 1000)]
    assert one[0] > one[1] > one[2] > 0.5
    assert one[2] == pytest.approx(0.5, abs=2e-3)  # (l1 + 3) / (2 (l1 + 1))


def test_the_cycle_prefills_what_it_admits() -> None:
    """Where M / (l0+1) = 68 requests are admitted, M / (l0+l1) = 5 complete."""
    assert keeps.again_in_cycle(4) == Fraction(68 * 4, 5 * 64) - Fraction(4, 64)


@pytest.mark.parametrize("per_prefill_s", [0.0, 1e-4])
def test_without_eviction_nothing_is_lost_in_seconds(per_prefill_s: float) -> None:
    share = keeps.share_in_seconds(_SMOOTH, 2.0, 256, per_prefill_s=per_prefill_s)
    assert share == pytest.approx(1, rel=1e-15)


def test_in_seconds_lost_iterations_count_in_full_only_where_prefill_is_free() -> None:
    half = replace(_SMOOTH, rate=0.5)
    assert keeps.share_in_seconds(half, 2.0, 256, per_prefill_s=0.0) == pytest.approx(0.5)
    assert 0.5 < keeps.share_in_seconds(half, 2.0, 256, per_prefill_s=1e-4) < 1
    twice = replace(_SMOOTH, prefill=4.0)
    assert keeps.share_in_seconds(twice, 2.0, 256, per_prefill_s=1.0) == pytest.approx(
        0.5, abs=0.01
    )


def test_seconds_are_those_of_an_iteration_with_full_memory() -> None:
    """M / (l0 + l1/2) requests emit one output each while the clock runs d0 + d1 M."""
    prompt, output = 512, 256
    batch = a100.CAPACITY / (prompt + output / 2)
    iteration_s = a100.BASE_S + a100.PER_KV_TOKEN_S * a100.CAPACITY
    lost = replace(_SMOOTH, prefill=3.0)
    smooth_s = iteration_s / batch + 1e-4 * 2.0
    share = keeps.share_in_seconds(lost, 2.0, output, per_prefill_s=1e-4)
    assert share == pytest.approx(smooth_s / (iteration_s / batch + 1e-4 * 3.0), rel=1e-12)


def test_longer_requests_of_the_same_shape_give_the_same_ratios() -> None:
    """Only input over output matters, up to whole requests."""
    for engine in keeps.ENGINES:
        (short,) = keeps.runs(engine, (64,), (64,))
        (long,) = keeps.runs(engine, (128,), (128,), 128)
        assert long.rate == pytest.approx(short.rate, abs=0.02)
        # One request is a larger part of what an iteration of the longer ones adds.
        assert long.prefill == pytest.approx(short.prefill, rel=0.1)
        assert long.period == pytest.approx(2 * short.period, rel=0.05)


def test_the_period_of_a_sine_is_found() -> None:
    n = np.arange(768)
    assert keeps.strongest_period(5 + np.sin(2 * np.pi * n / 64)) == 64


def test_the_page_has_the_shares_in_seconds() -> None:
    page = Path(__file__).parents[4] / "docs" / "experiments.md"
    rows = re.findall(r"^\| ([\d/]+) \| ([\d.| ]+) \|$", page.read_text(encoding="utf-8"), re.M)
    assert [ratio for ratio, _ in rows] == ["1/16", "1/4", "1", "4"]
    data = committed(restart_resume.FIGURE)
    for ratio, cells in rows:
        i = data["ratio"].tolist().index(float(Fraction(ratio)))
        columns = [f"{e}.seconds.{n}" for e in ("vllm", "restart") for n in (256, 1024)]
        assert cells.split(" | ") == [f"{data[c][i]:.2f}" for c in columns]
