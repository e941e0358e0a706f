"""The tables of docs/measured.md have the numbers on record."""

from collections import Counter
from pathlib import Path

import pytest

from fluidkv_papers.measured.instances import fixed_lengths
from fluidkv_papers.measured.instances.one_class_runs import ROWS, clock, served
from fluidkv_papers.measured.instances.sglang_published import REPEATS, SETTINGS
from fluidkv_papers.measured.instances.sglang_study import SECOND, recorded

_PAGE = (Path(__file__).parents[3] / "docs/measured.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.measured.name)
def test_other_settings(setting) -> None:
    there, (ours,) = setting.measured, recorded()[f"setting {setting.measured.name}"]
    digits = 2 if there.ttft_p99 < 1 else 1
    cells = (
        f"{ours.retractions} ({there.retractions})",
        f"{ours.running}, {ours.waiting} ({there.running}, {there.waiting})",
        f"{ours.wall_s:.1f} ({there.wall_s:.1f})",
        f"{ours.ttft_p99:.{digits}f} ({there.ttft_p99:.{digits}f})",
    )
    assert f"| {' | '.join(cells)} |" in _PAGE


@pytest.mark.parametrize("study", [each for each in recorded() if each.startswith("fit ")])
def test_clocks_of_parts(study: str) -> None:
    (run,) = recorded()[study]
    per_token = "not told" if study == SECOND else f"{1e9 * run.per_kv_token:.0f}"
    cells = (
        f"{1e3 * run.base:.2f}",
        per_token,
        f"{1e6 * run.per_prefill_token:.0f}",
        f"{run.retractions}",
        f"{run.running}",
        f"{run.wall_s:.1f} s",
    )
    assert f"| {' | '.join(cells)} |" in _PAGE


@pytest.mark.parametrize("study", ["clock 1", "clock 3", "moved 0.1 s"])
def test_draws(study: str) -> None:
    counts = Counter(run.retractions for run in recorded()[study])
    assert f"| {', '.join(f'{k}: {n}' for k, n in sorted(counts.items()))} |" in _PAGE


def test_all_draws_run_69_and_last_289_to_297_s() -> None:
    draws = [run for runs in recorded().values() if len(runs) > 1 for run in runs]
    assert {run.running for run in draws} == {69}
    assert (round(min(r.wall_s for r in draws)), round(max(r.wall_s for r in draws))) == (289, 297)
    assert "At most 69 run in all of them, and the duration stays within 289 and 297 s" in _PAGE


def test_the_run_itself() -> None:
    (ours,) = recorded()["fit first half of the log"]
    waits, tails = sorted(run.ttft_p99 for run in REPEATS), sorted(r.tpot_p99 for r in REPEATS)
    for cells in (
        f"{ours.recomputed:,} | 20,270 to 21,452",
        f"{ours.ttft_p99:.1f} s | {waits[0]:.1f} to {waits[-1]:.1f} s",
        f"{1e3 * ours.tpot_p50:.1f} ms | 24.0 to 24.1 ms",
        f"{1e3 * ours.tpot_p99:.1f} ms | {1e3 * tails[0]:.1f} to {1e3 * tails[-1]:.1f} ms",
        f"{ours.latency_p99:.1f} s | 240.6 to 243.1 s",
    ):
        assert f"| {cells} |" in _PAGE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_one_class(row) -> None:
    ours = served(row, clock())
    running = f"{ours.running}" + (f" ({row.running})" if row.running else "")
    cells = f"{ours.preemptions} ({row.preemptions}) | {running} | {ours.duration_s:.2f} ("
    assert f"| {row.capacity:,} | {cells}{row.duration_s:.2f})" in _PAGE


def test_how_wide_ours_is_while_memory_is_full() -> None:
    ranges = {(row.test, row.shape): (ours.least, ours.most) for row, ours in _full()}
    assert ranges[1, (4096, 4096)] == (49, 99)
    assert ranges[2, (7168, 1024)] == (54, 62)
    assert [(ours.least, ours.most) for row, ours in _full() if row.test == 4][:2] == [(43, 89)] * 2


def _full() -> list[tuple[fixed_lengths.Row, fixed_lengths.Predicted]]:
    return [(row, ours) for row, ours in fixed_lengths.recorded() if row.full]
