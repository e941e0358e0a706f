"""SGLang's own lines, in the forms of its versions: ticks, retractions, capacity and arguments."""

import re

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs.stdout.sglang import read_sglang_stdout
from tests.logs.columns import column, report_of, ticks_of

START = """\
[2026-09-13 16:04:00] server_args=ServerArgs(model_path='Qwen/Qwen3-4B', context_length=None, \
mem_fraction_static=0.85, max_running_requests=None, chunked_prefill_size=2048, \
schedule_policy='fcfs', schedule_conservativeness=0.3, page_size=16, disable_radix_cache=True, \
decode_log_interval=20)
[2026-09-13 16:05:00] max_total_num_tokens=87552, chunked_prefill_size=1024, \
max_prefill_tokens=16384, max_running_requests=2048, context_len=40960, available_gpu_mem=1.9 GB
"""


def decode(clock, running, tokens, usage, rate, queue, *, words="Decode batch.", rank=""):
    return (
        f"[2026-09-13 {clock}{rank}] {words} #running-req: {running}, #token: {tokens}, token "
        f"usage: {usage:.2f}, cuda graph: True, gen throughput (token/s): {rate:.2f}, "
        f"#queue-req: {queue},\n"
    )


def prefill(clock, seqs, new, cached):
    return (
        f"[2026-09-13 {clock}] Prefill batch. #new-seq: {seqs}, #new-token: {new}, #cached-token: "
        f"{cached}, token usage: 0.97, #running-req: 62, #queue-req: 16\n"
    )


def retract(clock, requests, before, after, gained=""):
    return (
        f"[2026-09-13 {clock}] KV cache pool is full. Retract requests. #retracted_reqs: "
        f"{requests}, {gained}#new_token_ratio: {before:.4f} -> {after:.4f}\n"
    )


def read(tmp_path, text):
    path = tmp_path / "server.log"
    path.write_text(text, encoding="utf-8")
    return read_sglang_stdout(path)


def test_a_log_says_ticks_capacity_and_arguments(tmp_path) -> None:
    body = [
        decode("16:06:06", 66, 84642, 0.97, 2574.67, 11),
        prefill("16:06:06", 2, 704, 36),
        prefill("16:06:07", 1, 100, 36),
        decode("16:06:07", 68, 87282, 1.0, 2529.33, 9, words="Decode batch,", rank=" TP0"),
        decode("16:06:07", 62, 87001, 0.99, 2467.25, 18, words="Decode batch [124],"),
    ]
    log = read(tmp_path, START + "".join(body))
    settings = log.settings
    assert (log.engine, log.capacity, settings.block_size) == ("sglang", 87_552, 16)
    assert settings.blocks == 87_552 // 16
    assert (settings.max_num_seqs, settings.max_num_batched_tokens) == (2048, 1024)
    assert (settings.conservativeness, settings.memory_share) == (0.3, 0.85)
    assert (settings.prefix_caching, settings.policy) == (False, "fcfs")
    assert (settings.max_model_len, settings.model) == (40_960, "Qwen/Qwen3-4B")
    assert column(log, "decode_steps") == [20, 40, 60]
    assert column(log, "ends_s") == [0, 1, 1]
    assert ticks_of(log).spread_s().tolist() == [0.5, 1.25, 1.75]
    assert column(log, "running") == [66, 68, 62]
    assert column(log, "waiting") == [11, 9, 18]
    assert column(log, "kv_used") == pytest.approx(np.array([84642, 87282, 87001]) / 87_552)
    assert column(log, "generation_rate") == [2574.67, 2529.33, 2467.25]
    assert ticks_of(log).generated_tokens is None  # a rate, over a time that no line says
    assert column(log, "prompt_tokens") == [0, 804, 0]
    assert column(log, "preemptions") == [0, 0, 0]  # all are logged: none seen is none


def test_retractions_of_every_form_are_read_where_they_stand(tmp_path) -> None:
    body = [
        decode("16:06:06", 66, 84642, 0.97, 2574.67, 11),
        retract("16:06:07", 1, 0.098, 0.3487, "#new_tokens_gained: 646, "),
        retract("16:06:07", 2, 0.3397, 0.353),
        decode("16:06:08", 62, 87001, 0.99, 2467.25, 18),
        "[2026-09-13 16:06:09] decode out of memory happened, #retracted_reqs: 3, "
        "#new_token_ratio: 0.3000 -> 0.4000\n",
        decode("16:06:10", 60, 87001, 0.99, 2467.25, 18),
        "[2026-09-13 16:06:10] Testing retraction. #retracted_reqs: 1, #new_tokens_gained: 7\n",
        decode("16:06:11", 60, 87001, 0.99, 2467.25, 18),
    ]
    log = read(tmp_path, "".join(body))
    assert column(log, "preemptions") == [0, 3, 6, 7]
    said = [(r.time_s, r.after_step, r.requests, r.tokens_gained) for r in log.retractions]
    assert said == [(1, 40, 1, 646), (1, 40, 2, None), (3, 80, 3, None), (4, 120, 1, 7)]
    ratios = [(r.ratio_before, r.ratio_after) for r in log.retractions]
    assert ratios == [(0.098, 0.3487), (0.3397, 0.353), (0.3, 0.4), (None, None)]


def test_without_a_start_the_share_is_the_line_s_own(tmp_path) -> None:
    body = decode("16:06:06", 6, 84, 0.97, 2.5, 1) + decode("16:06:07", 6, 84, 0.98, 2.5, 1)
    log = read(tmp_path, body)
    assert log.capacity is None
    assert column(log, "kv_used") == [0.97, 0.98]
    assert any("40 steps a line" in note for note in log.notes)


def test_the_start_of_a_server_alone_gives_its_settings(tmp_path) -> None:
    log = read(tmp_path, START)
    assert log.ticks is None
    assert (log.capacity, log.settings.conservativeness) == (87_552, 0.3)
    assert any("no two lines of a decode batch" in note for note in log.notes)


def test_hybrid_models_name_their_full_tokens(tmp_path) -> None:
    line = (
        "[2026-04-18 23:02:1{}] Decode batch, #running-req: 1, #full token: 500, full token usage: "
        "0.36, mamba num: 2, mamba usage: 0.03, cuda graph: True, gen throughput (token/s): 55.5, "
        "#queue-req: 0\n"
    )
    capacity = "[2026-04-18 23:00:00] max_total_num_tokens=1000, context_len=9\n"
    log = read(tmp_path, capacity + line.format(5) + line.format(6))
    assert column(log, "kv_used") == [0.5, 0.5]


def test_data_parallel_engines_are_added_up(tmp_path) -> None:
    body = "".join(
        decode(f"16:06:0{s}", 3 + e, 100, 0.2 + 0.2 * e, 50, e, rank=f" DP{e} TP0")
        for s in (1, 5)
        for e in (0, 1)
    )
    log = read(tmp_path, body)
    assert column(log, "running") == [7, 7]
    assert column(log, "kv_used") == pytest.approx([0.3, 0.3])


def test_a_line_that_is_cut_off_is_dropped_and_reported(tmp_path) -> None:
    body = [decode(f"16:06:0{s}", 3, 100, 0.2, 50, 0) for s in (1, 2, 3)]
    body[1] = body[1][:90] + "\n"
    log = read(tmp_path, "".join(body))
    (reason,) = report_of(log).dropped_because
    assert str(reason) == "1 × decode line: no queue (first in line 2)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (decode("16:06:06", 6, 84, 0.97, 2.5, 1), "two lines of a decode batch (found 1)"),
        (
            decode("16:06:06", 6, 84, 0.97, 2.5, 1) + decode("16:06:05", 6, 84, 0.97, 2.5, 1),
            "times that do not fall (line 2",
        ),
    ],
)
def test_what_is_no_log_gets_one_line(tmp_path, text, said) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read(tmp_path, text)


def test_the_measured_run_printed_as_sglang_prints_it_is_the_folder_s_log(
    sglang_dir, tmp_path
) -> None:
    """decode_log.csv and events.jsonl, as lines of a server: both readers say the same."""
    from fluidkv.logs import read_log

    folder = read_log(sglang_dir)
    ticks = {name: column(folder, name) for name in _SAME}
    lines = ["[2026-09-13 16:05:00] max_total_num_tokens=87552, chunked_prefill_size=2048\n"]
    left = list(folder.retractions)
    for row in range(len(ticks["running"])):
        while left and (left[0].after_step or 0) < ticks["decode_steps"][row]:
            one = left.pop(0)
            gained = f"#new_tokens_gained: {one.tokens_gained:.0f}, "
            lines.append(retract(_clock(one.time_s), 1, one.ratio_before, one.ratio_after, gained))
        tokens = round(ticks["kv_used"][row] * 87_552)
        lines.append(
            decode(
                _clock(ticks["ends_s"][row]),
                int(ticks["running"][row]),
                tokens,
                ticks["kv_used"][row],
                1000.0,
                int(ticks["waiting"][row]),
            )
        )
    log = read(tmp_path, "".join(lines))
    for name in _SAME:
        assert column(log, name) == ticks[name], name
    assert [(r.after_step, r.ratio_after) for r in log.retractions] == [
        (r.after_step, r.ratio_after) for r in folder.retractions
    ]


def _clock(at_s: float) -> str:
    minutes, seconds = divmod(5 * 60 + 27 + int(at_s), 60)
    return f"16:{minutes:02d}:{seconds:02d}"


_SAME = ("running", "waiting", "kv_used", "preemptions", "decode_steps", "ends_s")


def test_a_retraction_that_each_rank_prints_is_one(tmp_path) -> None:
    """TP ranks schedule in lockstep: all warn of a retraction, one prints statistics."""
    line = retract("16:06:07", 2, 0.098, 0.3487).replace("]", "{}]", 1)
    body = [
        line.format(" DP0 TP1"),  # cut off at its top: no line of statistics yet
        line.format(" DP0 TP0"),
        decode("16:06:08", 66, 84642, 0.97, 2574.67, 11, rank=" DP0 TP0"),
        decode("16:06:08", 60, 84642, 0.97, 2574.67, 11, rank=" DP1 TP2"),
        line.format(" DP0 TP1"),
        line.format(" DP1 TP3"),
        line.format(" DP0 TP0"),
        line.format(" DP1 TP2"),
        decode("16:06:12", 66, 84642, 0.97, 2574.67, 11, rank=" DP0 TP0"),
        decode("16:06:12", 60, 84642, 0.97, 2574.67, 11, rank=" DP1 TP2"),
    ]
    log = read(tmp_path, "".join(body))
    assert column(log, "preemptions") == [2, 6]
    assert column(log, "running") == [126, 126]
    assert sum(each.requests for each in log.retractions) == 6


def test_statistics_that_each_stage_prints_are_read_once(tmp_path) -> None:
    body = [
        decode(at, 66, 84642, 0.97, 2574.67, 11, rank=f" PP{stage} TP{2 * stage}")
        for at in ("16:06:07", "16:06:09", "16:06:11")
        for stage in (0, 1)
    ]
    log = read(tmp_path, "".join(body))
    assert column(log, "running") == [66, 66, 66]
    assert column(log, "decode_steps") == [40, 80, 120]


def test_engines_have_pools_apart(tmp_path) -> None:
    """Each scheduler says the size of its own pool; tokens are those of all."""
    body = [
        decode(at, 60, tokens, 0.5, 9.0, 0, rank=rank)
        for at in ("16:06:07", "16:06:09")
        for rank, tokens in ((" DP0 TP0", 40_000), (" DP1 TP1", 20_000))
    ]
    log = read(tmp_path, START + "".join(body))
    assert log.capacity == 2 * 87_552
    assert log.settings.blocks == 2 * 87_552 // 16
    assert column(log, "kv_used") == pytest.approx([60_000 / (2 * 87_552)] * 2)
