"""The log of a vLLM run on one clock: how its two files lie to each other, and bad lines."""

import json
import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log

LOG = "vllm_rtx4090_llama31_8b"
HEADER = "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct"
ORIGIN = 1000.0  # of the requests' clock, on that of the ticks

# id, input, output, queued, scheduled, first, last; seconds on the clock of the ticks
ROWS = [
    (7, 3, 0.2, 0.3, 0.5, 2.4),
    (11, 2, 0.6, 0.6, 1.5, 2.5),
    (13, 1, 1.1, 1.2, 2.9, 2.9),
]
TICKS = ["1,7,1,1,0,50", "2,11,2,2,1,100", "3,13,3,0,0,0"]


def row_of(values, **changed) -> str:
    inputs, outputs, *times = values
    names = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")
    record = {"input_toks": inputs, "output_toks": outputs, "arrival_time": 5e8 + times[0]}
    record |= {name: ORIGIN + time for name, time in zip(names, times, strict=True)}
    return json.dumps(record | changed)


def write(folder, rows=None, ticks=None, header=HEADER):
    rows = [row_of(row) for row in ROWS] if rows is None else rows
    (folder / "requests.jsonl").write_text("\n".join(rows), encoding="utf-8")
    lines = [header, *(TICKS if ticks is None else ticks)]
    (folder / "timeseries.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_both_files_are_laid_on_one_clock(tmp_path):
    """Prompts of 7, 11, 13 tokens at 0.5, 1.5 and 2.9 s: ticks of 1 s fit for 0.9 to 1.4 s."""
    log = read_log(write(tmp_path))
    assert log.offset_s is not None
    low, high = log.offset_s
    # first tokens at 0.5, 1.5, 2.9 have to stay within (0, 1], (1, 2] and (2, 3]
    assert (low, high) == pytest.approx((ORIGIN - 0.1, ORIGIN + 0.5), abs=1e-9)
    assert log.unmatched_ticks == 0
    shift = ORIGIN - (low + high) / 2
    log = log.timed()
    assert log.first_token_s == pytest.approx(np.array([0.5, 1.5, 2.9]) + shift)
    # the wall clock's 5e8 s are known to 6e-8 s in a double
    assert log.arrival_s == pytest.approx(log.queued_s, rel=0, abs=2e-7)
    assert log.generated_tokens.tolist() == [1, 2, 3]
    assert log.kv_used.tolist() == [0.5, 1, 0]
    assert (log.report.read, log.report.kept) == (3, 3)


def test_a_request_that_is_dropped_leaves_one_tick_unmatched(tmp_path):
    rows = [row_of(ROWS[0]), row_of(ROWS[1], output_toks=0), row_of(ROWS[2])]
    log = read_log(write(tmp_path, rows))
    (report,) = log.reports
    assert log.requests is not None
    assert (report.dropped, log.unmatched_ticks, len(log.requests)) == (1, 1, 2)
    assert report.dropped_because[0].what == "output_toks: zero or negative"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"first_token_ts": None}, "first_token_ts: empty"),
        ({"queued_ts": "soon"}, "queued_ts: not a number"),
        ({"last_token_ts": ORIGIN}, "last_token_ts: before first_token_ts"),
        ({"scheduled_ts": ORIGIN}, "scheduled_ts: before queued_ts"),
        ({"input_toks": -7}, "input_toks: zero or negative"),
    ],
)
def test_bad_requests_are_dropped_with_their_reason(tmp_path, changed, why):
    rows = [row_of(ROWS[0]), row_of(ROWS[1]), row_of(ROWS[2], **changed)]
    (report,) = read_log(write(tmp_path, rows)).reports
    assert [(r.what, r.rows, r.first) for r in report.dropped_because] == [(why, 1, 3)]


@pytest.mark.parametrize(
    ("ticks", "message"),
    [
        (["1,7,1,1,0,50", "2,11,x,2,1,100"], "line 3: gen_throughput: not a number"),
        (["1,7,1,1,0,50", "2,11,2,nan,1,100"], "line 3: running: not a finite number"),
        (["1,7,1,1,0,50", "2,11,2,2,1"], "line 3: fewer cells than the header"),
        (["1,7,1,1,0,50", "2,11,2,-2,1,100"], "line 3: running is -2"),
        (["2,7,1,1,0,50", "1,11,2,2,1,100"], "line 3: 1 after 2"),
        (["1,7,1,1,0,50", "1,11,2,2,1,100"], "line 3: 1 after 1"),
        (["1,7,1,1,0,50"], "at least two ticks (found 1)"),
        (
            ["1,8,1,1,0,50", "2,11,2,2,1,100", "3,13,3,0,0,0"],
            "(1 ticks not: those that end at 1 s",
        ),
    ],
)
def test_bad_ticks_get_one_line(tmp_path, ticks, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read_log(write(tmp_path, ticks=ticks))


def test_missing_files_and_columns_get_one_line(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_log(tmp_path)
    write(tmp_path, header="t,walking")
    with pytest.raises(InputError, match="prompt_throughput"):
        read_log(tmp_path)
    write(tmp_path, rows=["{}"])
    with pytest.raises(InputError, match="at least one request with all times"):
        read_log(tmp_path)


def test_without_a_capacity_there_are_no_tokens_in_the_cache(tmp_path):
    log = read_log(write(tmp_path))
    assert log.capacity is None
    with pytest.raises(InputError, match="capacity: got None"):
        log.timed().clock_arrays()
    (tmp_path / "meta.json").write_text('{"kv_cache": {"num_kv_tokens": 200}}', encoding="utf-8")
    arrays = read_log(tmp_path).timed().clock_arrays()
    assert arrays["kv_tokens"].tolist() == [100, 200, 0]


def test_the_measured_log_counts_each_prompt_at_its_first_token_and_each_output_once(traces_dir):
    """Every tick's prompt tokens are those of the first tokens in it, to the token."""
    log = read_log(traces_dir / LOG)
    assert log.unmatched_ticks == 0
    assert log.offset_s is not None
    assert 0 < log.offset_s[1] - log.offset_s[0] < 0.1
    log = log.timed()
    tick = np.searchsorted(log.tick_ends_s, log.first_token_s)
    prompts = np.bincount(tick, log.input_lengths, minlength=len(log.tick_ends_s))
    assert prompts.tolist() == log.prompt_tokens.tolist()
    assert log.generated_tokens.sum() == log.decode_lengths.sum() == 195_753
    assert (log.report.kept, log.capacity) == (300, 41_408)


def test_arrays_cannot_be_written(traces_dir):
    log = read_log(traces_dir / LOG).timed()
    with pytest.raises(ValueError, match="read-only"):
        log.running[0] = 1


@pytest.mark.parametrize("cell", ["1e999999999", "1e400", "9" * 400, "nan", "１"])
def test_a_counter_that_is_no_number_names_its_line(tmp_path, cell) -> None:
    ticks = [TICKS[0], f"2,11,{cell},2,1,100", TICKS[2]]
    with pytest.raises(InputError, match="line 3"):
        read_log(write(tmp_path, ticks=ticks))
