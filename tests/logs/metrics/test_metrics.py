"""Polled metrics under their usual names, in each file that they come in, say the same."""

import json
import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from tests.logs.columns import column, report_of

TIMES = (1756818490.0, 1756818491.0, 1756818492.0, 1756818493.0)
VLLM = {
    'vllm:num_requests_running{engine="0",model_name="m"}': (3, 4, 5, 4),
    'vllm:num_requests_waiting{engine="0",model_name="m"}': (0, 1, 2, 0),
    'vllm:kv_cache_usage_perc{engine="0",model_name="m"}': (0.25, 0.5, 0.75, 1.0),
    'vllm:generation_tokens_total{engine="0",model_name="m"}': (100, 130, 170, 171),
    'vllm:prompt_tokens_total{engine="0",model_name="m"}': (50, 50, 80, 80),
    'vllm:num_preemptions_total{engine="0",model_name="m"}': (7, 7, 9, 9),
    'vllm:num_requests_waiting_by_reason{engine="0",reason="deferred"}': (9, 9, 9, 9),
    'vllm:request_success_total{engine="0",finished_reason="stop"}': (1, 1, 1, 1),
}
INFO = 'vllm:cache_config_info{block_size="16",enable_prefix_caching="True",'
INFO += 'gpu_memory_utilization="0.82",num_gpu_blocks="573",num_gpu_blocks_override="None"}'


def wide(path, series=VLLM, times=TIMES):
    header = ",".join('"' + name.replace('"', '""') + '"' for name in series)
    rows = [
        ",".join(map(str, (at, *(values[i] for values in series.values()))))
        for i, at in enumerate(times)
    ]
    path.write_text("\n".join([f"Time,{header}", *rows]) + "\n")
    return path


def long(path):
    rows = [
        f"{TIMES[i]},{name.split('{')[0]},{values[i]}"
        for name, values in VLLM.items()
        for i in range(4)
    ]
    path.write_text("\n".join(["time,metric,value", *rows]) + "\n")
    return path


def ranged(path, series=VLLM, *, lines=False):
    results = [
        {
            "metric": {"__name__": name.split("{")[0], "instance": "a:8000"},
            "values": [[at, str(value)] for at, value in zip(TIMES, values, strict=True)],
        }
        for name, values in series.items()
    ]
    answers = [
        {"status": "success", "data": {"resultType": "matrix", "result": part}}
        for part in ([[one] for one in results] if lines else [results])
    ]
    path.write_text("\n".join(map(json.dumps, answers)))
    return path


def pages(path, series=VLLM, *, mark="{}"):
    text = ""
    for i, at in enumerate(TIMES):
        text += mark.format(at) + "\n# HELP vllm:num_requests_running Number of requests.\n"
        text += f"{INFO} 1.0\n"
        text += "".join(f"{name} {float(values[i])}\n" for name, values in series.items())
    path.write_text(text)
    return path


FILES = {
    "wide.csv": wide,
    "long.csv": long,
    "range.json": ranged,
    "ranges.json": lambda path: ranged(path, lines=True),
    "metrics.txt": pages,
    "stamped.txt": lambda path: pages(path, mark="# {}"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_says_the_same(tmp_path, name) -> None:
    """Tokens are counted between rows, so the first row only begins a tick."""
    log = read_log(FILES[name](tmp_path / name))
    assert log.engine == "vllm"
    assert column(log, "ends_s") == [1, 2, 3]
    assert column(log, "running") == [4, 5, 4]
    assert column(log, "waiting") == [1, 2, 0]
    assert column(log, "kv_used") == [0.5, 0.75, 1]
    assert column(log, "generated_tokens") == [30, 40, 1]
    assert column(log, "prompt_tokens") == [0, 30, 0]
    assert column(log, "preemptions") == [0, 2, 2]  # since the first row
    assert log.clock_zero_s == TIMES[0]
    assert (report_of(log).kept, report_of(log).dropped) == (4, 0)


def test_labels_of_the_cache_say_how_it_was_set(tmp_path) -> None:
    settings = read_log(pages(tmp_path / "metrics.txt")).settings
    assert (settings.capacity, settings.blocks, settings.block_size) == (573 * 16, 572, 16)
    assert (settings.prefix_caching, settings.memory_share) == (True, 0.82)


def test_sglang_names_its_pool(tmp_path) -> None:
    series = {
        "sglang:num_running_reqs": (3, 4),
        "sglang:num_queue_reqs": (0, 1),
        "sglang:num_used_tokens": (100, 200),
        "sglang:max_total_num_tokens": (400, 400),
        "sglang:gen_throughput": (50.5, 60.5),
        "sglang:token_usage": (0.25, 0.51),
    }
    log = read_log(wide(tmp_path / "m.csv", series, times=TIMES[:2]))
    assert (log.engine, log.capacity) == ("sglang", 400)
    assert column(log, "kv_used") == [0.25, 0.5]
    assert column(log, "generation_rate") == [50.5, 60.5]
    assert column(log, "generated_tokens") == [50.5, 60.5]


@pytest.mark.parametrize(
    "times",
    [
        (
            "2025-09-02 13:08:10",
            "2025-09-02 13:08:11",
            "2025-09-02 13:08:12",
            "2025-09-02 13:08:13",
        ),
        (1756818490000, 1756818491000, 1756818492000, 1756818493000),
        tuple(int(at) * 10**6 for at in TIMES),
        tuple(int(at) * 10**9 for at in TIMES),
        (0.0, 1.0, 2.0, 3.0),
    ],
)
def test_times_are_dates_or_numbers_of_any_unit(tmp_path, times) -> None:
    log = read_log(wide(tmp_path / "m.csv", times=times))
    assert column(log, "ends_s") == pytest.approx([1, 2, 3])


def test_shares_may_be_written_in_per_cent(tmp_path) -> None:
    """With the sign, as Grafana exports formatted values; or under a name that says so."""
    name = 'vllm:kv_cache_usage_perc{engine="0",model_name="m"}'
    signed = read_log(wide(tmp_path / "a.csv", VLLM | {name: ("25%", "50%", "75 %", "100%")}))
    named = {"running": (3, 4), "waiting": (0, 0), "kv_cache_pct": (25, 50)}
    assert column(signed, "kv_used") == [0.5, 0.75, 1]
    assert column(read_log(wide(tmp_path / "b.csv", named, TIMES[:2])), "kv_used") == [0.25, 0.5]


def test_rates_count_over_the_time_since_the_row_before(tmp_path) -> None:
    series = {
        "running": (3, 4, 4),
        "waiting": (0, 0, 0),
        "gpu_cache_usage_perc": (0.1, 0.2, 0.3),
        "avg_generation_throughput_toks_per_s": (10, 20, 30),
    }
    log = read_log(wide(tmp_path / "m.csv", series, times=(0.0, 2.0, 5.0)))
    assert column(log, "generated_tokens") == [20, 40, 90]
    assert column(log, "kv_used") == [0.1, 0.2, 0.3]


def test_bad_rows_are_dropped_and_reported(tmp_path) -> None:
    path = wide(tmp_path / "m.csv")
    rows = path.read_text().splitlines()
    rows.insert(2, rows[1])
    rows.insert(4, "1756818491.5,x,1,0.5,150,60,7,9,1")
    path.write_text("\n".join(rows))
    log = read_log(path)
    assert [str(reason) for reason in report_of(log).dropped_because] == [
        "1 × the time of the row before (first in line 3)",
        "1 × running: missing, negative or not a finite number (first in line 5)",
    ]
    assert column(log, "generated_tokens") == [30, 40, 1]


def two_engines(path):
    series = dict(VLLM)
    series['vllm:num_requests_running{engine="1",model_name="m"}'] = (1, 1, 1, 1)
    return wide(path, series)


def falling(path):
    name = 'vllm:generation_tokens_total{engine="0",model_name="m"}'
    return wide(path, VLLM | {name: (100, 130, 7, 8)})


def in_per_cent(path):
    """Early rows, with little in use, could pass for shares: the file is refused as a whole."""
    name = 'vllm:kv_cache_usage_perc{engine="0",model_name="m"}'
    return wide(path, VLLM | {name: (0.2, 0.9, 37.5, 80.1)})


def over_full(path):
    return wide(path, {"running": (1, 2), "kv_cache_pct": (40, 250)}, times=TIMES[:2])


def mixed(path):
    both = {"vllm:num_requests_running": (3, 4), "sglang:num_queue_reqs": (0, 1)}
    return wide(path, both, times=TIMES[:2])


@pytest.mark.parametrize(
    ("name", "write", "said"),
    [
        ("m.csv", two_engines, "one series of running: 2 are there (they differ in engine)"),
        ("m.csv", falling, "line 4: generated falls from 130 to 7"),
        ("m.csv", lambda path: wide(path, times=(1, 3, 2, 4)), "line 4: time falls from 3 to 2"),
        ("m.csv", in_per_cent, "from 0 to 1, or with %, or as kv_cache_pct (line 4: 37.5)"),
        ("m.csv", over_full, "from 0 to 100 per cent (line 3: 250)"),
        ("m.csv", mixed, "metrics of one engine (vLLM's and SGLang's are there)"),
        ("m.txt", lambda path: pages(path, mark=""), "pages of /metrics with their times"),
    ],
)
def test_contradictions_name_their_rows(tmp_path, name, write, said) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read_log(write(tmp_path / name))


def test_the_measured_log_polled_is_the_measured_log(traces_dir, tmp_path) -> None:
    """Its counters under vLLM's names, tokens counted so far: the ticks are the same."""
    whole = read_log(traces_dir / "vllm_rtx4090_llama31_8b")
    tokens = np.cumsum([0.0, *column(whole, "generated_tokens")])
    series = {
        "vllm:num_requests_running": [0.0, *column(whole, "running")],
        "vllm:num_requests_waiting": [0.0, *column(whole, "waiting")],
        "vllm:kv_cache_usage_perc": [0.0, *column(whole, "kv_used")],
        "vllm:generation_tokens_total": tokens.tolist(),
    }
    times = [0.0, *column(whole, "ends_s")]
    log = read_log(wide(tmp_path / "m.csv", series, times=times))
    for name in ("ends_s", "running", "waiting", "kv_used"):
        assert column(log, name) == column(whole, name), name
    assert column(log, "generated_tokens") == pytest.approx(column(whole, "generated_tokens"))
