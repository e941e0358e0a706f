"""A log of our own SGLang scheduler comes back; a measured one is predicted from its first half."""

import json
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.replay.errors import SeriesError
from fluidkv.answers.replay.result import tables
from fluidkv.answers.replay.rows import step_rows
from fluidkv.errors import InputError
from fluidkv.logs.read import read_log
from fluidkv.serving.clock_fit.steps import StepFit, fit_steps
from tests.answers.replay.sglang_logs import CAPACITY, CLOCK, SHARED, write_log


def error(errors, name) -> SeriesError:
    found = errors[name]
    assert isinstance(found, SeriesError)
    return found


@pytest.mark.parametrize("half", ["first", "second"])
def test_a_log_of_our_own_comes_back(tmp_path, half) -> None:
    run = write_log(tmp_path)
    found = replay_log(tmp_path, fit=half)
    assert isinstance(found.fit, StepFit)
    assert found.engine == "sglang"
    assert [p.name for p in found.predictions] == ["sglang+cache", "sglang"]
    # From some 15 times in whole seconds.
    full = 0.9 * CAPACITY
    step, known = (c.base + c.per_kv_token * full for c in (found.fit.clock, CLOCK))
    assert step == pytest.approx(known, rel=0.15)
    assert found.main.duration_s == pytest.approx(run.now, rel=0.15)
    assert found.preemptions_counted
    assert found.preemptions_seen > 3
    assert abs(found.main.preemptions - found.preemptions_seen) <= 2
    for errors in (found.main.errors, found.baseline_errors):
        assert errors["latency"] is errors["generated"] is None
    ours, theirs = (error(e, "running") for e in (found.main.errors, found.baseline_errors))
    assert ours.rmse < theirs.rmse
    assert found.duration_s == 51.0  # the median of what meta.json says of repeats


def test_with_its_own_clock_the_counts_are_exact(tmp_path, monkeypatch) -> None:
    import fluidkv.answers.replay.replay as module

    run = write_log(tmp_path)

    def exact(rows, *, half=None) -> StepFit:
        return replace(fit_steps(rows, half=half), clock=CLOCK)

    monkeypatch.setattr(module, "fit_steps", exact)
    found = replay_log(tmp_path)
    assert found.main.duration_s == pytest.approx(run.now, rel=1e-9)
    assert found.main.preemptions == found.preemptions_seen
    # the first request computes what all begin with, too
    assert found.recomputed_logged == found.main.recomputed_tokens + SHARED
    # The first request comes somewhere in the first second, so a row may show a neighbour's state.
    off = np.abs(found.main.account.running - found.measured.running)
    assert np.median(off) <= 1


@pytest.mark.parametrize("logged_from", [0, 3, 10_000])
def test_prefill_before_the_first_line_is_that_of_who_came(tmp_path, logged_from) -> None:
    write_log(tmp_path)
    whole, _ = step_rows(read_log(tmp_path), CAPACITY)
    write_log(tmp_path, logged_from=logged_from)
    rows, again = step_rows(read_log(tmp_path), CAPACITY)
    assert rows.used[0]
    near = rows.used & (rows.ends_s < 10)
    # who came within the second of a row may be prefilled after it
    assert np.abs(rows.prefill_tokens - whole.prefill_tokens)[near].max() <= 12 * (60 - SHARED)
    assert (again is None) == (logged_from == 10_000)
    assert rows.used.all() == (logged_from < 10_000)


def test_what_is_not_logged_is_null_in_json_and_empty_in_tables(tmp_path) -> None:
    write_log(tmp_path)
    found = replay_log(tmp_path)
    answer = found.to_dict()
    assert json.dumps(answer, allow_nan=False)
    assert answer["clock"]["residual_rms"] is None
    assert answer["measured"]["repeats"]["preemptions"] == [3.0, 4.0]
    assert "nan" not in "".join(tables(found).values())
    assert found.to_xarray().latency.sel(account="measured").isnull().all()


def test_repeats_that_are_no_numbers_are_refused(tmp_path) -> None:
    write_log(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text())
    for bad in ({"retractions": ["x"]}, [1, 2]):
        (tmp_path / "meta.json").write_text(json.dumps(meta | {"repeats_of_this_run": bad}))
        with pytest.raises(InputError, match="repeats_of_this_run"):
            replay_log(tmp_path)


def test_the_measured_run_meets_its_targets(sglang_replay) -> None:
    """Retractions within 25 % of 20, running within 5 % of 68, and 285 s within 5 %."""
    real = sglang_replay
    assert (real.fitted, round(real.middle_s, 1)) == ("first", 91.4)
    main, plain = real.predictions
    assert (real.preemptions_seen, main.preemptions, plain.preemptions) == (20, 20, 29)
    assert (main.account.running.max(), real.measured.running.max()) == (69, 68)
    assert round(main.duration_s, 1) == 292.7
    assert abs(main.duration_s / 285.2 - 1) < 0.05
    assert (main.recomputed_tokens, real.recomputed_logged) == (21_758, 21_459)
    assert real.repeats.recomputed_tokens == (21452, 20276, 20270, 20272)


def test_the_measured_run_is_predicted_as_the_docs_say(sglang_replay) -> None:
    real = sglang_replay
    errors, baseline = real.main.errors, real.baseline_errors
    off = [round(error(errors, name).rmse, 1) for name in ("running", "waiting")]
    assert off == [2.8, 3.1]
    assert round(error(baseline, "running").rmse, 1) == 22.1
    assert round(100 * error(errors, "kv_used").rmse, 1) == 4.4
    clock = real.fit.clock
    assert round(1e3 * clock.base, 2) == 9.5
    assert round(1e9 * clock.per_kv_token) == 184
    assert round(1e6 * clock.per_prefill_token) == 86
    assert round(real.fit.rms_s, 2) == 0.15


@pytest.mark.thorough
def test_settings_of_the_engine_stand_above_the_logs(tmp_path) -> None:
    write_log(tmp_path)
    logged = replay_log(tmp_path)
    asked = replay_log(tmp_path, engine="sglang+cache:conservativeness=5")
    assert logged.options is not None
    assert asked.options is not None
    assert (logged.options.conservativeness, asked.options.conservativeness) == (0.2, 5)
    assert asked.main.preemptions < logged.main.preemptions
    other = replay_log(tmp_path, engine="vllm+cache")
    assert other.options is None
    assert [p.name for p in other.predictions] == ["vllm+cache", "vllm", "vllm-0.11+cache"]


def test_a_log_is_answered_by_the_rules_of_its_version(traces_dir):
    """Published of this server without a tree: 0 retractions, 54 running, 275.6 s."""
    folder = traces_dir / "sglang_rtx4090_qwen3_4b"
    found = replay_log(folder, engine="sglang+cache:radix=false")
    assert found.note.startswith("sglang-0.5.18: the rules of sglang 0.5.23; but requests")
    assert found.main.preemptions == 0
    assert found.main.account.running.max() == pytest.approx(54, abs=1)
    assert found.main.duration_s == pytest.approx(275.6, rel=0.02)
