"""What is on record of measured runs is what is published, and what our engines give."""

import json
from dataclasses import astuple, replace

import numpy as np
import pytest

from fluidkv.answers.replay.source import read_source
from fluidkv.serving.clock import IterationClock
from fluidkv_papers.measured.instances import fixed_lengths, sglang_study
from fluidkv_papers.measured.instances.one_class_runs import (
    ROWS,
    SGLANG,
    SGLANG_LESS,
    SGLANG_OWN,
    clock,
    served,
)
from fluidkv_papers.measured.instances.sglang_published import REPEATS, SETTINGS
from fluidkv_papers.measured.instances.sglang_study import (
    DRAWS,
    MOVED_S,
    SPREADS,
    drawn,
    fitted,
    outcome,
    recorded,
    retractions,
    slower,
    until,
)

_DIGITS = 1e-5  # six are on record


@pytest.fixture(scope="module")
def source(sglang_dir):
    return read_source(sglang_dir)


def _same(ours, kept) -> None:
    assert (ours.study, ours.draw) == (kept.study, kept.draw)
    assert astuple(ours)[2:] == pytest.approx(astuple(kept)[2:], rel=_DIGITS)


def test_the_record_has_every_study() -> None:
    sizes = {study: len(runs) for study, runs in recorded().items()}
    draws = [f"clock {k}" for k in SPREADS] + [f"moved {size:g} s" for size in MOVED_S]
    assert {study for study, size in sizes.items() if size == DRAWS} == set(draws)
    assert sum(sizes.values()) == 5 + DRAWS * len(draws) + len(SETTINGS)
    assert len(retractions("measured")) == len(retractions("predicted")) == 20


def test_runs_on_record_are_computed_again(source) -> None:
    fit = fitted(source)
    run, ours = outcome(source, fit.clock, "fit first half of the log")
    _same(run, recorded()[run.study][0])
    assert [astuple(one) for one in ours] == [
        pytest.approx(astuple(one), rel=_DIGITS) for one in retractions("predicted")
    ]
    for study, spread in (("clock 3", 3),):
        clock_drawn = drawn(fit, spread, 1)
        _same(outcome(source, clock_drawn, study, 1)[0], recorded()[study][1])
    setting = SETTINGS[7]
    name = f"setting {setting.measured.name}"
    found = outcome(source, slower(fit.clock, setting.slower), name, setting=setting)[0]
    _same(found, recorded()[name][0])


@pytest.mark.parametrize(("end_s", "wall_s"), [(16, 328.3), (28, 287.5), (36, 306.5), (44, 299.5)])
def test_short_parts_give_counts_and_not_the_duration(source, end_s, wall_s) -> None:
    """What docs/measured.md says of parts that begin with the run."""
    run, _ = outcome(source, until(source, end_s).clock, "")
    assert 18 <= run.retractions <= 21
    assert run.running in (69, 70)
    assert run.wall_s == pytest.approx(wall_s, abs=0.05)


def test_without_a_tree_the_ratio_for_those_who_run_gives_what_is_measured(
    source, monkeypatch
) -> None:
    """Only this differs from 0.5.23's rule; measured are 54 running, no retraction, 275.6 s."""
    (setting,) = (each for each in SETTINGS if not each.tree)
    monkeypatch.setattr(sglang_study, "reserves_in_full", lambda _: False)
    run, _ = outcome(source, fitted(source).clock, "", setting=setting)
    assert (run.retractions, run.running) == (0, 55)
    assert run.wall_s == pytest.approx(280.0, abs=0.05)


@pytest.mark.thorough
def test_every_run_on_record_is_computed_again(sglang_dir) -> None:
    kept = [run for runs in recorded().values() for run in runs]
    for ours, one in zip(sglang_study.computed(sglang_dir), kept, strict=True):
        _same(ours, one)


def test_retractions_on_record_are_those_of_the_log(source) -> None:
    logged = [(r.time_s, r.ratio_before, r.ratio_after) for r in source.log.retractions]
    assert logged == [astuple(one) for one in retractions("measured")]


def test_repeats_are_those_of_the_log(sglang_dir) -> None:
    said = json.loads((sglang_dir / "meta.json").read_text())["repeats_of_this_run"]
    assert sorted(said["retractions"]) == sorted(run.retractions for run in REPEATS)
    walls = [run.wall_s for run in REPEATS]
    assert (min(said["wall_s"]), max(said["wall_s"])) == (min(walls), max(walls))
    assert sorted(said["recomputed_tokens"]) == sorted(run.recomputed for run in REPEATS)


def _json(traces_dir) -> dict:
    return json.loads((traces_dir / "one_class_engines.json").read_text())


def test_one_class_is_what_is_published(traces_dir) -> None:
    rows = _json(traces_dir)["three_engines"]["rows"]
    ours = {(row.name.split(",")[0].split()[0], row.preemptions, row.capacity) for row in ROWS}
    # vLLM's table gives the pool with the block that is set aside, or the usable blocks
    theirs = set()
    for row in rows:
        capacity = row["kv_tokens"] - 16 * row["engine"].startswith("vLLM")
        theirs.add((row["engine"].split()[0], row["preemptions"], capacity))
    assert ours == theirs
    rates = {round(row["out_tok_s"]) for row in rows if "out_tok_s" in row}
    assert rates <= {round(row.output_per_s or 0) for row in ROWS}


@pytest.mark.parametrize("step_s", [0.001, 0.2])
def test_counts_of_one_class_by_other_clocks(step_s: float) -> None:
    """What docs/measured.md says: any clock, but for SGLang, whose requests come in passes."""
    by = IterationClock(step_s, step_s / 1e6, step_s / 1e3)
    for row in ROWS:
        if not row.engine.startswith("sglang"):
            assert served(row, by).preemptions == row.preemptions
    if step_s == 0.001:
        found = [served(row, by).preemptions for row in (SGLANG_OWN, SGLANG_LESS)]
        assert found == [2, 0]
    in_one_pass = replace(SGLANG, passes=(32,))
    assert (served(in_one_pass, by).preemptions, served(in_one_pass, by).running) == (3, 32)


def test_the_clock_of_the_first_start_gives_its_duration() -> None:
    assert served(ROWS[0], clock()).duration_s == pytest.approx(25.118, rel=1e-9)


def test_fixed_lengths_are_what_is_published(traces_dir) -> None:
    rows = _json(traces_dir)["vllm010_fixed_lengths"]["rows"]
    ours = {(row.test, row.at): row for row in fixed_lengths.published()}
    assert len(ours) == len(rows) == 24
    for row in rows:
        one = ours[int(row["test"].split()[1][0]), row["log"][0][0]]
        assert (one.prompts, *one.shape) == (row["num_prompts"], row["in"], row["out"])
        assert one.duration_s == row["duration_s"]
        assert one.output_per_s == row["out_tok_s"]
        assert one.ttft_p99 == pytest.approx(row["p99_ttft_ms"] / 1e3, rel=1e-4)
        full = [(line[3], line[5]) for line in row["log"] if line[4] > 0 and line[5] >= 95]
        assert list(one.full) == full
    sizes = _json(traces_dir)["vllm010_fixed_lengths"]["about"]["kv_tokens"]
    stated = {text.replace(",", "") for texts in sizes.values() for text in texts}
    logged = {str(s.logged) for s in fixed_lengths.SERVERS.values() if s.logged}
    assert logged <= stated


def test_the_earliest_run_of_each_test_is_fitted() -> None:
    for row, ours in fixed_lengths.recorded():
        first = fixed_lengths.of_test(row.test)[0]
        if row.at == first.at:
            assert ours.duration_s == pytest.approx(row.duration_s, rel=1e-5)
        assert np.isfinite(ours.ttft_p99)


@pytest.mark.parametrize("test", [7])
def test_a_test_on_record_is_computed_again(test: int) -> None:
    kept = {(row.test, row.at): ours for row, ours in fixed_lengths.recorded()}
    clock_of = fixed_lengths.fitted(fixed_lengths.of_test(test)[0])
    for row in fixed_lengths.of_test(test):
        ours = fixed_lengths.predicted(row, clock_of)
        one = kept[row.test, row.at]
        assert astuple(ours)[2:] == pytest.approx(astuple(one)[2:], rel=_DIGITS)


@pytest.mark.thorough
@pytest.mark.parametrize("test", [1, 2, 4, 5, 6, 8])
def test_every_test_on_record_is_computed_again(test: int) -> None:
    test_a_test_on_record_is_computed_again(test)
