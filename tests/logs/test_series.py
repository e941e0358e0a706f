"""Counters of any log become the series that `study --measured` measures."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log, read_series, series_of
from fluidkv.measured import read_timeseries
from tests.logs.columns import column
from tests.logs.stdout.test_sglang_stdout import decode
from tests.logs.stdout.test_vllm_stdout import v1


def test_a_csv_of_counters_is_read_row_by_row_as_before(traces_dir) -> None:
    path = traces_dir / "vllm_rtx4090_llama31_8b" / "timeseries.csv"
    ours, theirs = read_series(path), read_timeseries(path)
    assert ours.report == theirs.report
    assert np.array_equal(ours.t_s, theirs.t_s)


def test_a_log_folder_gives_the_series_of_its_ticks(traces_dir) -> None:
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    ours, theirs = read_series(folder), read_timeseries(folder / "timeseries.csv")
    for name in ("running", "waiting", "gen_throughput"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name
    assert ours.kv_cache_pct == pytest.approx(theirs.kv_cache_pct)


def test_a_server_s_output_gives_its_series(tmp_path) -> None:
    path = tmp_path / "server.log"
    path.write_text("".join(v1(f"13:08:{s}", 1, 90.5, 3, 1, 40) for s in (10, 20, 30)))
    series = read_series(path)
    assert series.gen_throughput.tolist() == [90.5] * 3
    assert series.t_s.tolist() == [0.5, 10.5, 20.5]  # the middle of the seconds that are written
    assert series.report is not None
    assert series.report.rows_kept == 3


def test_rows_of_one_second_lie_evenly_in_it(tmp_path) -> None:
    path = tmp_path / "server.log"
    rows = [decode(f"16:06:0{s}", 3, 100, 0.2, 50, 0) for s in (1, 1, 2)]
    path.write_text("".join(rows))
    assert read_series(path).t_s.tolist() == [0.25, 0.75, 1.5]


def test_a_decode_log_has_a_token_a_step_for_each_that_runs(sglang_dir) -> None:
    log = read_log(sglang_dir)
    series = series_of(log)
    tokens = series.gen_throughput * np.diff(series.t_s, prepend=2 * series.t_s[0] - series.t_s[1])
    assert tokens == pytest.approx(40 * np.array(column(log, "running")))
    assert read_series(sglang_dir / "decode_log.csv").t_s.tolist() == series.t_s.tolist()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nowhere", None, "no such file"),
        ("a.csv", "t,running\n0,1\n1,1\n", "missing columns waiting"),
        ("trace.csv", "input_tokens,output_tokens\n3,4\n", "no ticks in it"),
        ("text.log", "hello\n", "missing columns"),
    ],
)
def test_what_is_no_series_gets_one_line(tmp_path, name, text, said) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_series(tmp_path / name)
    assert caught.value.argument == "measured"
