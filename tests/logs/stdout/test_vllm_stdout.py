"""vLLM's own lines, in the forms of its versions: ticks, capacity, flags and preemptions."""

import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.logs.stdout.vllm import read_vllm_stdout
from tests.logs.columns import column, report_of, ticks_of

START = """\
(APIServer pid=7) INFO 09-02 13:07:01 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=7) INFO 09-02 13:07:01 [utils.py:233] non-default args: {'model': 'a/b', \
'max_model_len': 8192, 'gpu_memory_utilization': 0.8, 'enable_prefix_caching': False, \
'max_num_batched_tokens': 4096, 'max_num_seqs': 32, 'block_size': 32}
(EngineCore_DP0 pid=8) INFO 09-02 13:07:30 [kv_cache_utils.py:1286] GPU KV cache size: 41,408 tokens
(EngineCore_DP0 pid=8) INFO 09-02 13:07:30 [kv_cache_utils.py:1286] Maximum concurrency for 8,192 \
tokens per request: 5.05x
"""


def v1(
    clock, prompt, generated, running, waiting, kv, *, engine="Engine 000: ", more="", day="09-02"
):
    return (
        f"(APIServer pid=7) INFO {day} {clock} [loggers.py:123] {engine}Avg prompt throughput: "
        f"{prompt} tokens/s, Avg generation throughput: {generated} tokens/s, Running: {running} "
        f"reqs, Waiting: {waiting} reqs, {more}GPU KV cache usage: {kv}%, Prefix cache hit rate: "
        "0.0%\n"
    )


def v0(clock, prompt, generated, running, swapped, pending, kv):
    return (
        f"INFO 11-16 {clock} metrics.py:449] Avg prompt throughput: {prompt} tokens/s, Avg "
        f"generation throughput: {generated} tokens/s, Running: {running} reqs, Swapped: {swapped} "
        f"reqs, Pending: {pending} reqs, GPU KV cache usage: {kv}%, CPU KV cache usage: 0.0%.\n"
    )


def read(tmp_path, text):
    path = tmp_path / "server.log"
    path.write_text(text, encoding="utf-8")
    return read_vllm_stdout(path)


def test_a_v1_log_says_ticks_capacity_and_flags(tmp_path) -> None:
    body = [
        v1("13:08:10", 33.6, 91.5, 14, 0, 2.1),
        v1("13:08:20", 100.0, 200.0, 24, 3, 92.1),
        v1("13:08:30", 0.0, 150.0, 20, 0, 80.0),
    ]
    log = read(tmp_path, START + "".join(body))
    settings = log.settings
    assert (log.engine, log.version, log.capacity) == ("vllm", "0.11.0", 41_408)
    assert (settings.block_size, settings.blocks) == (32, 1293)  # 1,294 less the null block
    assert (settings.max_num_seqs, settings.max_num_batched_tokens) == (32, 4096)
    assert (settings.max_model_len, settings.prefix_caching) == (8192, False)
    assert (settings.memory_share, settings.model) == (0.8, "a/b")
    assert column(log, "ends_s") == [0, 10, 20]
    assert column(log, "running") == [14, 24, 20]
    assert column(log, "waiting") == [0, 3, 0]
    assert column(log, "kv_used") == pytest.approx([0.021, 0.921, 0.8])
    assert column(log, "generated_tokens") == pytest.approx([915, 2000, 1500])
    assert column(log, "prompt_tokens") == pytest.approx([336, 1000, 0])
    assert ticks_of(log).preemptions is None  # older ones do not log them: none seen is not none
    assert (report_of(log).read, report_of(log).dropped) == (3, 0)


def test_colours_and_a_zone_in_front_are_read(tmp_path) -> None:
    body = v1("13:08:10", 1, 2, 3, 0, 4), v1("13:08:20", 1, 2, 3, 0, 4)
    stamped = "".join(
        f"2025-09-02T11:08:{10 * i}.500000002Z \x1b[32m{line.rstrip()}\x1b[0m\n"
        for i, line in enumerate(body, start=1)
    )
    log = read(tmp_path, stamped)
    assert log.clock_zero_s == 1756811290.5
    assert column(log, "ends_s") == [0, 10]
    assert ticks_of(log).resolution_s == 1  # nothing between whole seconds of the first


def test_a_pause_in_which_v1_prints_nothing_is_not_counted(tmp_path) -> None:
    clocks = ("13:08:10", "13:08:20", "13:18:20", "13:18:30")
    log = read(tmp_path, "".join(v1(clock, 0, 100, 5, 0, 9) for clock in clocks))
    assert column(log, "generated_tokens") == pytest.approx([1000] * 4)


def test_v0_counts_the_pause_swapped_requests_and_preemptions(tmp_path) -> None:
    warned = (
        "WARNING 11-16 10:38:01 scheduler.py:1481] Sequence group 4 is preempted by PreemptionMode."
        "RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end "
        "performance. total_num_cumulative_preemption=51\n"
    )
    blocks = "INFO 11-16 10:37:01 gpu_executor.py:122] # GPU blocks: 2588, # CPU blocks: 512\n"
    body = [
        v0("10:37:50", 10, 20, 3, 0, 13, 1.5),
        v0("10:38:00", 10, 20, 3, 2, 13, 1.5),
        warned,
        v0("10:38:40", 10, 20, 3, 0, 1, 1.5),
    ]
    log = read(tmp_path, blocks + "".join(body))
    assert column(log, "waiting") == [13, 15, 1]
    assert column(log, "generated_tokens")[1:] == pytest.approx([200, 800])
    assert column(log, "preemptions") == [0, 0, 51]
    assert (log.capacity, log.settings.blocks) == (2588 * 16, 2588)  # V0 has no null block
    assert any("50th preemption" in note for note in log.notes)
    assert any("block size: 16" in note for note in log.notes)


def test_preemptions_since_the_line_before_are_added_up(tmp_path) -> None:
    body = [
        v1("13:08:10", 1, 2, 3, 0, 4),
        v1("13:08:20", 1, 2, 3, 5, 4, more="Deferred: 2 reqs, Preemptions: 4, "),
        v1("13:08:30", 1, 2, 3, 5, 4),
        v1("13:08:40", 1, 2, 3, 5, 4, more="Preemptions: 1, "),
    ]
    log = read(tmp_path, "".join(body))
    assert column(log, "preemptions") == [0, 4, 4, 5]
    assert column(log, "waiting") == [0, 5, 5, 5]  # the deferred are among them


def test_several_engines_are_added_up_and_an_idle_one_has_nothing(tmp_path) -> None:
    sizes = "".join(
        f"(EngineCore_DP{i} pid=8) INFO 09-02 13:07:30 [k.py:1] GPU KV cache size: {n} tokens\n"
        for i, n in enumerate(("1,000", "1,100"))
    )
    body = [
        v1("13:08:10", 1, 2, 3, 1, 40),
        v1("13:08:10", 1, 5, 4, 0, 60, engine="Engine 001: "),
        v1("13:08:20", 1, 2, 3, 0, 40),
        v1("13:08:30", 1, 2, 3, 1, 40),
        v1("13:08:31", 1, 5, 4, 0, 60, engine="Engine 001: "),
    ]
    log = read(tmp_path, sizes + "".join(body))
    assert column(log, "running") == [7, 3, 7]
    assert column(log, "waiting") == [1, 0, 1]
    assert column(log, "kv_used") == pytest.approx([0.5, 0.2, 0.5])
    assert column(log, "generation_rate") == [7, 2, 7]
    assert log.capacity == 2100
    assert any("2 engines" in note for note in log.notes)


def test_ranks_of_one_engine_name_one_pool(tmp_path) -> None:
    size = "INFO 09-02 13:07:30 [k.py:1] GPU KV cache size: {} tokens\n"
    body = v1("13:08:10", 1, 2, 3, 1, 40) + v1("13:08:20", 1, 2, 3, 1, 40)
    assert read(tmp_path, 4 * size.format("2,640,144") + body).capacity == 2_640_144
    log = read(tmp_path, size.format("2,640,144") + size.format("2,640,000") + body)
    assert log.capacity == 2_640_000
    assert any("2,640,000, 2,640,144" in note for note in log.notes)


def test_the_start_of_a_server_alone_gives_its_settings(tmp_path) -> None:
    log = read(tmp_path, START)
    assert log.ticks is None
    assert (log.capacity, log.settings.max_num_seqs) == (41_408, 32)
    assert any("no two lines of statistics" in note for note in log.notes)
    assert read_log(tmp_path / "server.log").capacity == 41_408


def test_a_year_ends(tmp_path) -> None:
    body = v1("23:59:55", 1, 2, 3, 1, 40, day="12-31") + v1("00:00:05", 1, 2, 3, 1, 40, day="01-01")
    assert column(read(tmp_path, body), "ends_s") == [0, 10]


def test_a_line_that_is_cut_off_is_dropped_and_reported(tmp_path) -> None:
    body = [v1(f"13:08:{s}", 1, 2, 3, 1, 40) for s in (10, 20, 30)]
    body[1] = body[1][:150] + "\n"
    log = read(tmp_path, "".join(body))
    assert (report_of(log).kept, report_of(log).dropped) == (2, 1)
    assert str(report_of(log).dropped_because[0]).endswith("(first in line 2)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (v1("13:08:10", 1, 2, 3, 1, 40), "two lines of statistics (found 1)"),
        ("nothing\n", "two lines of statistics (found 0)"),
        (
            v1("13:08:10", 1, 2, 3, 1, 40) + v1("13:08:00", 1, 2, 3, 1, 40),
            "times that do not fall (line 2: -10 s after 0 s)",
        ),
    ],
)
def test_what_is_no_log_gets_one_line(tmp_path, text, said) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read(tmp_path, text)


def test_what_was_printed_comes_back(tmp_path) -> None:
    """Drawn counters, printed as vLLM prints them, are read as they were, to the last digit."""
    rng = np.random.default_rng(1)
    for case in range(20):
        rows = int(rng.integers(2, 30))
        drawn = [np.round(rng.uniform(0, 9000, rows), 1), np.round(rng.uniform(0, 3000, rows), 1)]
        counts = rng.integers(0, 300, (2, rows))
        kv = np.round(rng.uniform(0, 100, rows), 1)
        text = "".join(
            v1(f"{1 + i // 360:02d}:{i // 6 % 60:02d}:{i % 6}5", *values)
            for i, values in enumerate(zip(*drawn, *counts, kv, strict=True))
        )
        (tmp_path / f"{case}").mkdir()
        log = read(tmp_path / f"{case}", text)
        assert column(log, "generation_rate") == drawn[1].tolist()
        assert [column(log, "running"), column(log, "waiting")] == counts.tolist()
        assert column(log, "kv_used") == pytest.approx(kv / 100)
        assert column(log, "prompt_tokens") == pytest.approx(drawn[0] * 10)


@pytest.mark.parametrize(
    ("cores", "capacity"),
    [
        # Ranks of one engine share blocks: as many as the smallest has; engines have pools apart.
        ((("_DP0", 41_392), ("_DP0", 41_408), ("_DP1", 41_424)), 41_392 + 41_424),
        ((("", 41_408),), 2 * 41_408),  # newer lines may not name the engine: it is of each
    ],
)
def test_pools_of_two_engines(tmp_path, cores, capacity) -> None:
    start = "".join(
        f"(EngineCore{core} pid=8) INFO 09-02 13:07:30 [k.py:1] "
        f"GPU KV cache size: {size:,} tokens\n"
        for core, size in cores
    )
    body = "".join(
        v1(at, 1, 5, 4, 0, 40, engine=f"Engine {engine:03d}: ")
        for at in ("13:08:10", "13:08:20")
        for engine in (0, 1)
    )
    assert read(tmp_path, start + body).capacity == capacity
