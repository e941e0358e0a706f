"""A log of our own engine comes back; a real log is predicted, with errors that are stated."""

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.answers import replay_log
from fluidkv.answers.replay.errors import RelativeError, SeriesError, relative_error, series_error
from fluidkv.answers.replay.result import tables
from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock_fit.fit import ClockFit
from fluidkv.serving.limits import Limits
from tests.answers.replay.logs import CLOCK, LIMITS, write_log

REAL = "vllm_rtx4090_llama31_8b"


def relative(errors, name="latency") -> RelativeError:
    found = errors[name]
    assert isinstance(found, RelativeError)
    return found


def median_error(errors, name="latency") -> float:
    return relative(errors, name).median_relative


@pytest.fixture(scope="module")
def real(traces_dir):
    return replay_log(traces_dir / REAL)


@pytest.fixture
def known_clock(monkeypatch):
    """Everything but the fit: with the clock that wrote the log, its own run must come back."""
    import fluidkv.answers.replay.replay as module

    fit = module.fit_clock

    def exact(points, *, half=None) -> ClockFit:
        found = fit(points, half=half)
        return ClockFit(
            **{
                name: getattr(found, name)
                for name in ("standard_error", "unseen", "residuals", "kv_tokens", "dropped")
            },
            clock=CLOCK,
        )

    monkeypatch.setattr(module, "fit_clock", exact)


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("half", ["first", "second"])
def test_with_its_own_clock_a_log_comes_back_exactly(tmp_path, known_clock, caching, half) -> None:
    write_log(tmp_path, caching=caching)
    found = replay_log(tmp_path, fit=half)
    assert found.limits == LIMITS
    assert found.main.caching is caching
    assert found.main.preemptions > 10
    # The two files' clocks are known against each other to some 15 ms, less than an iteration: a
    # tick next to the end of one may show the state before it, or have its tokens.
    off = {
        name: np.abs(getattr(found.main.account, name) - getattr(found.measured, name))
        for name in ("running", "waiting", "kv_used", "generated")
    }
    assert (off["running"] == 0).mean() > 0.8
    assert (off["waiting"] == 0).mean() > 0.8
    assert (off["kv_used"] <= 0.5e-4 + 1e-12).mean() > 0.5  # kv_cache_pct has two digits
    assert off["generated"].max() <= found.measured.running.max()
    # Seconds since 1970 are kept to some 2e-7 s.
    for name in ("latency", "ttft", "tpot"):
        assert median_error(found.main.errors, name) < 1e-6
    assert found.preemptions_seen <= found.main.preemptions


def test_a_fitted_clock_predicts_the_half_that_it_did_not_see(tmp_path) -> None:
    """From five ticks of some forty iterations; the second half has none with prefill."""
    write_log(tmp_path)
    found = replay_log(tmp_path, fit="first")
    kv = 0.95 * LIMITS.capacity
    fitted = found.fit.clock.base + found.fit.clock.per_kv_token * kv
    # a tick cuts an iteration at both ends: two in forty
    assert fitted == pytest.approx(CLOCK.base + CLOCK.per_kv_token * kv, rel=2 / 40)
    error = median_error(found.main.errors)
    assert error < 2 / 40  # what is off in an iteration is off in a latency
    assert error < median_error(found.baseline_errors)


def test_halves_are_told_apart(real) -> None:
    errors, fitted = real.main.errors, real.main.errors_fitted
    assert (real.fitted, real.predicted, real.middle_s) == ("first", "second", 92)
    assert errors["running"].ticks + fitted["running"].ticks == 184
    assert errors["latency"].requests + fitted["latency"].requests == 300
    assert [p.name for p in real.predictions] == ["vllm+cache", "vllm", "vllm-0.11+cache"]
    assert real.limits.blocks == 2587


def test_the_real_log_is_predicted_as_the_docs_say(real) -> None:
    """Recorded from this log; docs/replay.md states them."""
    main, plain, _ = real.predictions
    assert round(100 * median_error(main.errors), 1) == 1.2
    assert round(100 * median_error(plain.errors), 1) == 4.9
    assert round(100 * median_error(real.baseline_errors), 1) == 2.6
    of = (main.errors, plain.errors, real.baseline_errors)
    after = [relative(errors).median_in_half for errors in of]
    assert [round(100 * (share or 0), 1) for share in after] == [3.2, 12.8, 6.6]
    assert round(main.errors["running"].rmse, 1) == 3.5
    assert round(real.baseline_errors["running"].rmse, 1) == 7.7
    assert (main.preemptions, plain.preemptions, real.preemptions_seen) == (199, 190, 99)
    assert round(real.swing.period_s, 1) == 21.2
    assert round(main.swing.period_s, 1) == 20.7
    assert real.swing.window_s == (20, 149)
    assert real.swing_predicted.window_s == main.swing_predicted.window_s == (93, 166)
    swings = (real.swing_predicted, main.swing_predicted)
    assert [(round(s.period_s, 1), round(s.p_value, 2)) for s in swings] == [
        (19.7, 0.14),
        (20.9, 0.16),
    ]


def test_an_error_is_a_share_of_the_time_after_the_split(real) -> None:
    """Recomputed from the stamps: 158 requests finish after 92 s, and 71 s of 119 lie before."""
    log, main = real.log, real.main.account
    late = log.last_token_s > 92
    assert (int(late.sum()), log.arrival_s.max() < 30) == (158, True)
    after = log.last_token_s[late] - np.maximum(log.arrival_s[late], 92)
    whole = log.last_token_s[late] - log.arrival_s[late]
    assert (round(whole.mean()), round((whole - after).mean())) == (119, 71)
    off = np.abs(main.last_token_s[late] - log.last_token_s[late])
    found = relative(real.main.errors)
    assert found.requests == found.requests_in_half == 158
    # both divide the same seconds; only the order of the operations differs
    assert found.median_in_half == pytest.approx(np.median(off / after), rel=1e-9)
    assert found.seconds_in_half == pytest.approx(after.mean(), rel=1e-9)
    assert found.median_relative == pytest.approx(np.median(off / whole), rel=1e-9)
    first = relative(real.main.errors, "ttft")
    assert first.requests_in_half == int((log.first_token_s > 92).sum()) < 158


def test_all_of_a_first_half_is_in_it(tmp_path) -> None:
    write_log(tmp_path)
    errors = replay_log(tmp_path, fit="second").main.errors
    for name in ("latency", "ttft", "tpot"):
        found = relative(errors, name)
        assert found.median_in_half == found.median_relative
        assert found.requests_in_half == found.requests


def test_a_log_that_is_cut_off_is_refused(tmp_path) -> None:
    write_log(tmp_path)
    ticks, requests = tmp_path / "timeseries.csv", tmp_path / "requests.jsonl"
    lines, rows = ticks.read_text().splitlines(), requests.read_text()
    ticks.write_text("\n".join(lines[:-4]) + "\n")
    with pytest.raises(InputError, match=r"ticks to the end of the run: they stop at \d+\.0 s"):
        replay_log(tmp_path)
    ticks.write_text("\n".join(lines) + "\n")
    requests.write_text(rows[: len(rows) // 2])
    with pytest.raises(InputError, match=r"line 3\d of requests.jsonl is broken"):
        replay_log(tmp_path)


def test_what_prefill_costs_may_not_be_seen(tmp_path, capsys, known_clock) -> None:
    from fluidkv.answers.replay.page import say_replay
    from fluidkv.report.page import Page

    write_log(tmp_path)
    found = replay_log(tmp_path)
    unseen = replace(found, fit=replace(found.fit, unseen=("per_prefill_token",)))
    say_replay(Page(), unseen)
    shown = " ".join(capsys.readouterr().out.split())
    assert "nothing for each of prefill" in shown
    assert "they do not tell what prefill costs" in shown


def test_given_blocks_have_to_make_up_the_capacity(tmp_path) -> None:
    write_log(tmp_path)
    with pytest.raises(InputError, match=r"2,560 tokens are 365 blocks of 7 and 5 tokens") as bad:
        replay_log(tmp_path, block_size=7)
    assert bad.value.argument == "block_size"
    with pytest.raises(InputError, match=r"2,570 tokens are 160 blocks of 16 and 10") as bad:
        replay_log(tmp_path, capacity=2570)
    assert bad.value.argument == "capacity"


def test_prompts_of_the_log_are_counted_whole(real) -> None:
    """So the log does not say what its prefix cache served."""
    assert real.log.prompt_tokens.sum() == real.log.input_lengths.sum()


def test_the_gauge_of_the_log_counts_one_block_less_than_the_pool(real) -> None:
    """Every percentage is a whole number of 2,587 blocks, rounded to two digits; not of 2,588."""
    shown = 100 * real.log.kv_used

    def told(blocks: int) -> np.ndarray:
        whole = np.round(shown * blocks / 100)
        return np.abs(100 * whole / blocks - shown) <= 0.005 + 1e-9  # half of the last digit

    assert told(2587).all()
    assert not told(2588).all()


def test_dataset_tables_and_json_agree(real) -> None:
    data, answer = real.to_xarray(), real.to_dict()
    assert data.sizes == {"account": 5, "tick": 184, "request": 300}
    second = data.half == "predicted"
    off = data.running.sel(account="vllm+cache") - data.running.sel(account="measured")
    rmse = float(np.sqrt((off[second] ** 2).mean()))
    assert rmse == pytest.approx(answer["predictions"][0]["errors"]["running"]["rmse"], rel=1e-12)
    ticks = tables(real)["ticks.csv"].splitlines()
    assert len(ticks) == 185
    assert ticks[0].startswith("time_s,running_measured,running_vllm+cache,")
    assert len(tables(real)["requests.csv"].splitlines()) == 301


def test_errors_by_hand() -> None:
    ours, theirs = np.array([1.0, 3.0, 9.0]), np.array([2.0, 2.0, 0.0])
    inside = np.array([True, True, False])
    assert series_error(ours, theirs, inside) == SeriesError(2, 2.0, 1.0, 1.0, 0.0, None)
    share = np.array([1.0, 0.5, 0.0])
    assert relative_error(ours, theirs, ~inside, share) is None  # a time of 0 has no relative error
    ours, theirs = np.array([1.0, 3.0, 5.0]), np.array([2.0, 2.0, 4.0])
    found = relative_error(ours, theirs, np.ones(3, bool), share)
    assert isinstance(found, RelativeError)
    assert (found.requests, found.measured_mean, found.predicted_mean) == (3, 8 / 3, 3.0)
    assert (found.median_relative, found.p95_relative) == (0.5, 0.5)
    # of 1 of 2 s and 1 of 1 s; the third has no part in the half
    assert (found.requests_in_half, found.seconds_in_half, found.median_in_half) == (2, 1.5, 0.75)
    assert found.bias == pytest.approx(0.125)
    assert found.correlation == pytest.approx(0.8660254)


def test_options_stand_above_meta_json(tmp_path) -> None:
    write_log(tmp_path)
    found = replay_log(tmp_path, engine="vllm-0.11", capacity=3200, max_num_seqs=9)
    assert (found.limits.capacity, found.limits.max_num_seqs) == (3200, 9)
    assert found.main.rules.name == "vllm-0.11"
    assert found.main.account.running.max() == 9
    (tmp_path / "meta.json").unlink()
    with pytest.raises(InputError, match=r"capacity.*blocks are not of 16"):
        replay_log(tmp_path)
    with pytest.raises(InputError, match="capacity"):
        replay_log(tmp_path, block_size=16)
    assert replay_log(tmp_path, block_size=8, capacity=2560).limits.blocks == 320
    assert replay_log(tmp_path, capacity=2560).limits.blocks == 160  # vLLM's own size


def test_a_cache_by_name_is_there_whatever_the_log_says(tmp_path) -> None:
    write_log(tmp_path, caching=False)
    names = [each.name for each in replay_log(tmp_path, engine="vllm+cache").predictions]
    assert names == ["vllm+cache", "vllm", "vllm-0.11+cache"]
    assert replay_log(tmp_path, engine="vllm").main.name == "vllm"
    with pytest.raises(InputError, match=r"^engine: got 'restart\+cache'; allowed: vllm\+cache, "):
        replay_log(tmp_path, engine="restart+cache")


def test_sglang_with_its_cache_is_its_own_scheduler_beside_the_short_form(tmp_path) -> None:
    write_log(tmp_path, caching=True)
    found = replay_log(tmp_path, engine="sglang+cache")
    assert [(p.name, p.caching) for p in found.predictions] == [
        ("sglang+cache", True),
        ("sglang", False),
    ]
    assert found.main.duration_s != found.predictions[1].duration_s


def test_a_run_that_gets_stuck_is_refused(tmp_path) -> None:
    """SGLang admits by 4,096 outputs at most; the long request outgrows the memory."""
    table = Requests([10] * 9, [50] * 8 + [5000], arrival=np.arange(9.0))
    write_log(tmp_path, table=table, limits=Limits(6400, 16, 64, 2048))
    allowed = r"memory in which sglang .* serves all: it gets stuck after 8 of 9 requests"
    with pytest.raises(InputError, match=f"^capacity: got 4608; allowed: {allowed}"):
        replay_log(tmp_path, engine="sglang+cache", capacity=4608)


def test_other_engines_have_no_cache(tmp_path) -> None:
    write_log(tmp_path, caching=True)
    found = replay_log(tmp_path, engine="trtllm-no-evict")
    assert [p.name for p in found.predictions] == ["trtllm-no-evict"]
    assert found.main.preemptions == 0
