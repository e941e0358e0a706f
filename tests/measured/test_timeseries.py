"""What `fluidkv study --measured` reads and refuses."""

import os
from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.measured import Timeseries, read_timeseries
from tests.measured.series import of_columns

HEADER = "t,running,waiting,gen_throughput\n"


def _write(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def real(traces_dir: Path) -> Timeseries:
    return read_timeseries(traces_dir / "vllm_rtx4090_llama31_8b" / "timeseries.csv")


def test_measured_log_loses_no_row(real: Timeseries) -> None:
    assert real.report is not None
    assert (real.report.rows_read, real.report.rows_kept) == (184, 184)
    assert not real.report.dropped
    assert real.kv_cache_pct is not None
    assert real.kv_cache_pct[0] == 13.22


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    series = read_timeseries(
        _write(tmp_path, "host,waiting,gen_throughput,t,running\na,3,100,0,4\nb,5,120,1,6\n")
    )
    assert series.t_s.tolist() == [0, 1]
    assert series.running.tolist() == [4, 6]
    assert series.waiting.tolist() == [3, 5]
    assert series.gen_throughput.tolist() == [100, 120]
    assert series.kv_cache_pct is None


def test_names_of_engine_gauges_are_understood(tmp_path: Path) -> None:
    series = read_timeseries(
        _write(
            tmp_path,
            "\ufeffTime, vllm:num_requests_running,vllm:num_requests_waiting,"
            "vllm:avg_generation_throughput_toks_per_s,vllm:kv_cache_usage_perc\n0,4,3,100,0.25\n",
        )
    )
    assert series.running.tolist() == [4]
    assert series.kv_cache_pct is not None
    assert series.kv_cache_pct.tolist() == [25]  # that gauge is a fraction


def test_our_own_name_wins_over_an_alias(tmp_path: Path) -> None:
    text = "timestamp,t,num_requests_running,running,waiting,gen_throughput\n99,1,88,2,3,4\n"
    series = read_timeseries(_write(tmp_path, text))
    assert (series.t_s[0], series.running[0]) == (1, 2)


def test_bad_rows_are_dropped_and_counted(tmp_path: Path) -> None:
    body = "0,1,1,1\n1,x,1,1\n2,1,nan,1\n3,-1,1,1\n4,1\n\n5,1,1,1\n5,2,2,2\n6,1,1,1\n"
    series = read_timeseries(_write(tmp_path, HEADER + body))
    assert series.t_s.tolist() == [0, 5, 6]
    assert series.report is not None
    assert (series.report.rows_read, series.report.rows_kept) == (8, 3)
    assert dict(series.report.dropped) == {
        "a cell that is missing, negative or not a finite number": 4,
        "the same time as the row before": 1,
    }


def test_unreadable_kv_cell_is_counted_as_changed(tmp_path: Path) -> None:
    text = "t,running,waiting,gen_throughput,kv_cache_pct\n0,1,1,1,50\n1,1,1,1,\n"
    series = read_timeseries(_write(tmp_path, text))
    assert series.report is not None
    assert series.report.changed == (("kv_cache_pct unreadable, set to NaN", 1),)
    assert series.kv_cache_pct is not None
    assert np.isnan(series.kv_cache_pct).tolist() == [False, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (HEADER.encode(), "a header only"),
        (b"t,running\n0,1\n", "waiting .*gen_throughput"),
        (b"a,b,c\n1,2,3\n", r"missing columns t \(or t_s"),
        (HEADER.encode() + b"0,a,b,c\n", "1 rows with a cell"),
        (HEADER.encode() + b"5,1,1,1\n4,1,1,1\n", "line 3: t falls from 5 to 4"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not UTF-8 text"),
        (b"t,running\0waiting\n", "a binary file"),
        (HEADER.encode() + b"0,1,1," + b"9" * 200_000, "1 rows with broken quotes"),
        (HEADER.encode() + b'0,1,1,"1\n1,1,1,1\n', "quotes close .line 2: unexpected end"),
    ],
)
def test_bad_file_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^measured: got .*{message}"):
        read_timeseries(path)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("absent.csv", "a file that exists"),
        (".", "an uncompressed"),
        ("nul\0byte", "a file that exists"),
    ],
)
def test_unreadable_path_is_one_clear_line(tmp_path: Path, name: str, allowed: str) -> None:
    with pytest.raises(InputError, match=rf"^measured: got .* allowed: {allowed}"):
        read_timeseries(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    "columns",
    [
        ([], [], [], []),
        ([0, 1], [1], [1, 1], [1, 1]),
        ([0, 0], [1, 1], [1, 1], [1, 1]),
        ([0, 1], [1, np.inf], [1, 1], [1, 1]),
    ],
)
def test_series_made_in_memory_is_validated(columns: tuple[list[float], ...]) -> None:
    with pytest.raises(InputError):
        of_columns(*columns)


@pytest.mark.parametrize(
    "cell", ["1e999", "9" * 5000, "1e13", "1e-300", "1_0", "１", "infinity", "0x1", "+-1"]
)
def test_a_cell_that_no_counter_has_costs_its_row(tmp_path: Path, cell: str) -> None:
    series = read_timeseries(_write(tmp_path, f"{HEADER}0,1,1,1\n1,{cell},1,1\n2,1,1,1\n"))
    assert series.t_s.tolist() == [0, 2]


def test_a_line_ends_where_a_csv_file_has_it_end(tmp_path: Path) -> None:
    text = "t,running,waiting,gen_throughput,what\n0,1,1,1,a\x0bb\u2028c\x1cd\n1,1,1,1,e\n"
    series = read_timeseries(_write(tmp_path, text))
    assert series.report is not None
    assert (series.report.rows_read, series.report.rows_kept) == (2, 2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        read_timeseries(tmp_path / "pipe")
