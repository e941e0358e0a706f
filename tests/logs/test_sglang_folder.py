"""The folder of a measured SGLang run as a log: what it says, and what is missing in it."""

import json
import shutil

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from tests.logs.columns import column, ticks_of


@pytest.fixture
def copy(sglang_dir, tmp_path):
    for path in sglang_dir.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def test_the_measured_run_is_a_log(sglang_dir) -> None:
    log = read_log(sglang_dir)
    assert log.requests is not None
    assert log.ticks is not None
    assert (log.engine, log.version, log.capacity) == ("sglang", "0.5.18 (71de97b)", 87_552)
    assert len(log.requests) == 120
    assert log.requests.decode_lengths.sum() == 337_433
    assert np.array(log.requests.cached_prefix).tolist() == [36] * 120
    assert column(log, "decode_steps") == list(range(40, 8281, 40))
    assert np.max(column(log, "running")) == 68
    assert np.max(column(log, "preemptions")) == len(log.retractions) == 20
    # The file's own share has four digits; ours is tokens over the capacity.
    rows = [line.split(",") for line in (sglang_dir / "decode_log.csv").read_text().split()[1:]]
    usage = np.array([float(row[5]) for row in rows])
    assert np.abs(np.array(column(log, "kv_used")) - usage).max() <= 0.5e-4
    assert ticks_of(log).resolution_s == 1
    assert [report.dropped for report in log.reports] == [0]
    assert [each.what for each in log.missing] == ["per-request times"]


def test_what_a_replay_of_ticks_lacks_is_said_with_its_command(sglang_dir) -> None:
    with pytest.raises(InputError, match=r"per-request times.*sglang.bench_serving"):
        read_log(sglang_dir).timed()


def test_a_bad_request_is_dropped_and_reported(copy) -> None:
    rows = (copy / "requests.jsonl").read_text().splitlines()
    bad = json.loads(rows[2]) | {"cached_prefix": 388}
    rows[2] = json.dumps(bad)
    (copy / "requests.jsonl").write_text("\n".join(rows))
    log = read_log(copy)
    (report,) = log.reports
    assert (report.kept, report.dropped) == (119, 1)
    assert str(report.dropped_because[0]) == (
        "1 × cached_prefix: not from 0 to the input (first in line 3)"
    )


@pytest.mark.parametrize(
    ("line", "row", "said"),
    [
        (3, "0,80,2,0,834,0.0095,x", "line 3: preemptions: not a number"),
        (4, "1,70,3,0,1287,0.0147,0", "line 4: decode_iter is 70 after 80"),
        (4, "0,120,3,0,1287,0.0147,0", "line 4: time_s is 0 after 1"),
        (4, "1,120,-3,0,1287,0.0147,0", "line 4: running is -3"),
    ],
)
def test_a_bad_row_of_the_decode_log_names_its_line(copy, line, row, said) -> None:
    rows = (copy / "decode_log.csv").read_text().splitlines()
    rows[line - 1] = row
    (copy / "decode_log.csv").write_text("\n".join(rows))
    with pytest.raises(InputError, match=said):
        read_log(copy)


def test_a_bad_retraction_names_its_line(copy) -> None:
    (copy / "events.jsonl").write_text('{"kind": "decode"}\n{"kind": "retract"}\n')
    with pytest.raises(InputError, match="line 2: time_s: missing"):
        read_log(copy)


def test_prefill_passes_are_read_from_the_first_that_is_logged(sglang_dir, copy) -> None:
    passes = read_log(sglang_dir).prefills
    assert (len(passes), passes[0].time_s, passes[0].after_step) == (31, 65, 3360)
    assert sum(each.tokens for each in passes) == 36_552
    (copy / "events.jsonl").write_text('{"kind": "prefill", "time_s": 1, "new_tokens": -1}')
    with pytest.raises(InputError, match="line 1: new_seqs: missing"):
        read_log(copy)
