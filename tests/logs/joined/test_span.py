"""Of a server that lives longer than the benchmark, only the ticks of the benchmark count."""

import json

import numpy as np
import pytest

from fluidkv.logs import read_log
from fluidkv.logs.report import log_as_dict
from tests.logs.columns import column, ticks_of, times
from tests.logs.stdout.test_sglang_stdout import START, decode, prefill, retract
from tests.traces.results.written import Asked, vllm

REQUESTS = 60
STEPS = 20


def clock(second: int) -> str:
    return f"{16 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def write(folder, *, warm: int, first: int = 0):
    """Requests that come one a second from second 100 on, between its two lines, and stay.

    Args:
        warm: decode lines of a trial, a minute before.
        first: second of the first line after the first request came.
    """
    folder.mkdir()
    rows = "\n".join(f"{7000 + k}.5,10,30" for k in range(REQUESTS))
    (folder / "requests.csv").write_text(f"arrival_time,input_tokens,output_tokens\n{rows}\n")
    lines = [START]
    for k in range(warm):
        lines += [prefill(clock(40 + k), 1, 500, 0), decode(clock(40 + k), 1, 500, 0.0, 9.0, 0)]
        lines += [retract(clock(40 + k), 1, 0.1, 0.2)]
    for second in range(first, REQUESTS):
        lines += [decode(clock(100 + second), second, 10 * second, 0.1, 9.0, 0)] if second else []
        come = second + 1
        lines += [prefill(clock(100 + second), 1, 10, 0)] if second else []
        lines += [retract(clock(100 + second), 1, 0.1, 0.2)] if second == 30 else []
        lines += [decode(clock(100 + second), come, 10 * come, 0.1, 9.0, 0)]
    (folder / "server.log").write_text("".join(lines))
    return read_log(folder)


def test_what_came_before_the_first_request_is_left_out(tmp_path) -> None:
    alone, warmed = write(tmp_path / "a", warm=0), write(tmp_path / "b", warm=4)
    assert any("4 ticks before the first request" in note for note in warmed.notes)
    names = ("ends_s", "running", "kv_used", "preemptions", "decode_steps")
    for name in names:
        assert column(warmed, name) == column(alone, name), name
    assert column(warmed, "preemptions")[-1] == 1
    assert column(warmed, "decode_steps")[0] == STEPS
    assert warmed.retractions == alone.retractions
    assert warmed.prefills == alone.prefills
    assert times(warmed, "arrival_s") == pytest.approx(times(alone, "arrival_s"), abs=0.01)


def test_a_log_that_counts_steps_begins_with_its_first_request(tmp_path) -> None:
    """Its first line may be late: after a long prefill, or so many steps."""
    late = write(tmp_path / "late", warm=0, first=3)
    assert 0 <= times(late, "arrival_s")[0] < 1
    assert column(late, "ends_s")[0] == 3
    assert late.offset_s is not None
    middle = float(np.mean(late.offset_s))
    assert middle + times(late, "arrival_s")[0] == pytest.approx(0.0, abs=1e-6)  # of the trace


def test_a_server_that_idled_for_hours_is_laid_as_one_that_did_not(tmp_path) -> None:
    """Ticks are looked at evenly: those of the run are seen however long the idle ones last."""
    rng = np.random.default_rng(3)
    came = np.cumsum(rng.exponential(1.0, 80))
    gone = came + rng.uniform(2, 9, 80)
    path = tmp_path / "bench.json"
    asked = [
        Asked(float(a), 10, 0.5, ((float(b - a) - 0.5),)) for a, b in zip(came, gone, strict=True)
    ]
    path.write_text(json.dumps(vllm(asked)))
    found = []
    for idle in (3, 20_000):
        at = np.arange(-idle, 110 + idle) + 0.3
        running = [((came <= t) & (t < gone)).sum() for t in at]
        rows = [f"{1.7e9 + t},{n},0" for t, n in zip(at, running, strict=True)]
        (tmp_path / "metrics.csv").write_text("\n".join(["time,running,waiting", *rows]))
        log = read_log(tmp_path)
        assert log.offset_s is not None
        assert 90 < len(ticks_of(log)) < 110  # those of the run
        found.append(np.mean(log.offset_s) + log.ticks.ends_s[0] - 0.3 if log.ticks else None)
    assert found[1] == pytest.approx(found[0], abs=0.05)


def test_two_runs_with_hardly_any_load_are_not_of_one(tmp_path) -> None:
    """Any two of them differ by less than a request in the mean, so that says nothing."""
    rng = np.random.default_rng(5)
    came, others = (np.cumsum(rng.exponential(6.0, 100)) for _ in range(2))
    asked = [Asked(float(at), 10, 0.5, (2.5,)) for at in others]
    (tmp_path / "bench.json").write_text(json.dumps(vllm(asked)))
    rows = [f"{t},{((came <= t) & (t < came + 3)).sum()},0" for t in np.arange(0.3, 700)]
    (tmp_path / "metrics.csv").write_text("\n".join(["time,running,waiting", *rows]))
    log = read_log(tmp_path)
    assert log.offset_s is None
    assert any("are apart" in note for note in log.notes)


def test_what_is_said_of_a_log_is_what_its_requests_saw() -> None:
    said = log_as_dict(read_log("sample:vllm-rtx4090"))["requests"]
    assert said["ttft_p99_s"] == pytest.approx(137.4, abs=0.05)
    assert said["latency_p99_s"] == pytest.approx(153.6, abs=0.05)
    assert said["output_tokens"] / said["duration_s"] == pytest.approx(1066, abs=0.5)
