"""Each format: found from the content, read exactly, its oddities reported."""

import json
from pathlib import Path

import pytest

from fluidkv.traces import Trace, read_trace
from fluidkv.traces.known import format_names
from fluidkv.traces.report import LoadReport
from tests.traces.results.written import WRITTEN

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319601,3180,8
"""
MOONCAKE = """{"timestamp": 1000, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 1250.5, "input_length": 512, "output_length": 6, "hash_ids": [0]}
"""
BURSTGPT = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,GPT-4,1087,230,1317,API log
"""
BURSTGPT_3 = """\
Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5.0,s-1,43,GPT-4,472,18,490,Conversation log
45.5,s-2,2,ChatGPT,1087,230,1317,Conversation log
"""
VIDUR = """arrived_at,num_prefill_tokens,num_decode_tokens
0.0,374,44
5.8926549999999995,396,109
"""
VLLM = """{"request_id": "0", "input_toks": 7, "output_toks": 5, "arrival_time": 1787267980.0827403}
{"request_id": "1", "input_toks": 8, "output_toks": 6, "arrival_time": 1787267980.3478317}
"""
SGLANG_LOG = """{"id": 0, "arrival_s": 0.5, "input": 387, "cached_prefix": 36, "output": 1568}
{"id": 1, "arrival_s": 1.5, "input": 386, "cached_prefix": 36, "output": 1546}
"""
GENERIC = """id,prompt_tokens,completion_tokens,timestamp
a,12,3,100.5
b,13,4,101
"""
SEGMENTS = """{"arrival": 3, "prompt": [[0, 1024], [1, 32]], "output": [2, 4]}
{"arrival": 4.5, "prompt": [[0, 1024], [1, 32], [2, 4], [3, 8]], "output_length": 5}
"""
EXAMPLES = {
    "azure": (AZURE, (4808, 3180), (10, 8), (0.0, 0.0520001)),
    "mooncake": (MOONCAKE, (600, 512), (5, 6), (0.0, 0.2505)),
    "burstgpt": (BURSTGPT, (472, 1087), (18, 230), (0.0, 40.5)),
    "vidur": (VIDUR, (374, 396), (44, 109), (0.0, 5.8926549999999995)),
    "vllm-bench": (VLLM, (7, 8), (5, 6), (0.0, 0.2650914)),
    "segments": (SEGMENTS, (1056, 1068), (4, 5), (0.0, 1.5)),
    "sglang-log": (SGLANG_LOG, (387, 386), (1568, 1546), (0.0, 1.0)),
    "csv": (GENERIC, (12, 13), (3, 4), (0.0, 0.5)),
    **{name: (text, (12, 13), (3, 4), (0.0, 0.5)) for name, text in WRITTEN.items()},
    "sglang-bench-serving": (WRITTEN["sglang-bench-serving"], (12, 13), (3, 4), None),
}


def load(tmp_path: Path, text: str, **options) -> tuple[Trace, LoadReport]:
    # One name for all: detection must not lean on it.
    path = tmp_path / "trace.dat"
    path.write_text(text, encoding="utf-8", newline="")
    return read_trace(path, **options)


def test_every_format_has_an_example() -> None:
    assert set(EXAMPLES) == set(format_names())


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_format_is_read_exactly_found_or_named(tmp_path: Path, name: str, named: bool) -> None:
    text, inputs, decodes, times = EXAMPLES[name]
    trace, report = load(tmp_path, text, format=name if named else None)
    assert report.format == name
    assert (trace.input_lengths, trace.decode_lengths) == (inputs, decodes)
    assert trace.arrival_times_s == times  # exact: decimals are subtracted before they are rounded
    assert (report.read, report.kept, report.changed, report.dropped) == (2, 2, 0, 0)
    assert (report.source, trace.name) == ("trace.dat", "trace")


def test_burstgpt_with_session_columns(tmp_path: Path) -> None:
    assert load(tmp_path, BURSTGPT_3)[0] == load(tmp_path, BURSTGPT)[0]


def test_segments_say_what_prompts_share(tmp_path: Path) -> None:
    trace, _ = load(tmp_path, SEGMENTS)
    assert trace.prompt_segments == (
        ((0, 1024), (1, 32)),
        ((0, 1024), (1, 32), (2, 4), (3, 8)),
    )
    assert trace.output_segments == (2, None)
    assert load(tmp_path, MOONCAKE)[0].prompt_segments is None


def test_what_a_cache_had_of_the_prompts_of_a_log_is_one_text(tmp_path: Path) -> None:
    trace, _ = load(tmp_path, SGLANG_LOG)
    assert trace.prompt_segments == (((0, 36), (1, 351)), ((0, 36), (2, 350)))
    assert trace.output_segments == (None, None)
    all_found = SGLANG_LOG.replace('"cached_prefix": 36, "output": 1568', '"cached_prefix": 387')
    all_found = all_found.replace('"cached_prefix": 387', '"cached_prefix": 387, "output": 9')
    trace, _ = load(tmp_path, all_found)
    assert trace.prompt_segments == (((0, 387),), ((0, 36), (2, 350)))
    trace, _ = load(tmp_path, SGLANG_LOG.replace('"cached_prefix": 36', '"cached_prefix": 0'))
    assert not trace.shares_prefixes
    _, report = load(
        tmp_path,
        SGLANG_LOG.replace('"cached_prefix": 36, "output": 1546', "BAD", 1).replace(
            "BAD", '"cached_prefix": 387, "output": 1546'
        ),
    )
    assert report.dropped_because[0].what == "cached_prefix: not from 0 to the input"


def test_prompts_that_share_are_said_and_so_is_who_uses_it(tmp_path: Path) -> None:
    for name, (text, *_) in EXAMPLES.items():
        trace, report = load(tmp_path, text)
        said = {"mooncake": "hash_ids", "segments": "segments", "sglang-log": "segments"}.get(name)
        assert trace.shares_prefixes == (said is not None)
        used = f"prompts say what they share ({said}): used by prefix caches, in "
        assert any(note.startswith(used) for note in report.notes) == trace.shares_prefixes
        assert (f"  note: {used}" in report.summary()) == trace.shares_prefixes


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('"prompt": [[0, -4]], "output_length": 4', "prompt: a length that is not from 1 to"),
        ('"prompt": [[-1, 4]], "output_length": 4', "prompt: a segment below 0"),
        ('"prompt": [[0, 4, 1]], "output_length": 4', "prompt: not [segment, length] in whole"),
        ('"prompt": [[0, 0.5]], "output_length": 4', "prompt: not [segment, length] in whole"),
        ('"prompt": [], "output_length": 4', "prompt: not a list of [segment, length]"),
        ('"prompt": [[0, 4]]', "output_length: missing"),
        ('"prompt": [[0, 4]], "output": [1, 0]', "output: a length that is not from 1 to"),
        ('"prompt": [[0, 4]], "output": [1, 3], "output_length": 4', "output_length: not the"),
    ],
)
def test_a_row_of_bad_segments_is_dropped_with_its_reason(
    tmp_path: Path, row: str, why: str
) -> None:
    _, report = load(tmp_path, f'{SEGMENTS}{{"arrival": 5, {row}}}\n')
    assert (report.kept, report.dropped) == (2, 1)
    assert report.dropped_because[0].what.startswith(why)


def test_mooncake_has_prefix_blocks_and_the_others_have_none(tmp_path: Path) -> None:
    for name, (text, *_) in EXAMPLES.items():
        trace, _ = load(tmp_path, text)
        expected = (((0, 1), (0,)), 512) if name == "mooncake" else (None, None)
        assert (trace.prefix_blocks, trace.prefix_block_size) == expected


def test_named_format_overrides_the_content(tmp_path: Path) -> None:
    text = VIDUR.replace("arrived_at", "arrived_at,prompt_tokens,output_tokens")
    text = text.replace("0.0,", "0.0,1,2,").replace("95,", "95,3,4,")
    assert load(tmp_path, text)[0].input_lengths == (374, 396)
    assert load(tmp_path, text, format="csv")[0].input_lengths == (1, 3)


@pytest.mark.parametrize("name", [n for n in EXAMPLES if not EXAMPLES[n][0].startswith("{")])
def test_csv_dress_does_not_matter(tmp_path: Path, name: str) -> None:
    text = EXAMPLES[name][0]
    plain, _ = load(tmp_path, text)
    rows = [line.split(",") for line in text.splitlines()]
    dressed = {
        "crlf": text.replace("\n", "\r\n"),
        "byte order mark": "\ufeff" + text,
        "quoted": "".join(",".join(f'"{c}"' for c in row) + "\n" for row in rows),
        "blank lines": "\n\n" + text.replace("\n", "\n\n \n"),
        "blanks around cells": "".join(" , ".join(row) + "\n" for row in rows),
        "case of header": text.splitlines()[0].upper() + text[text.index("\n") :],
        "columns in another order": "".join(",".join(row[::-1]) + "\n" for row in rows),
        "further columns": "".join(",".join(["x", *row, "y"]) + "\n" for row in rows),
        "no last line end": text.rstrip("\n"),
    }
    for what, variant in dressed.items():
        trace, report = load(tmp_path, variant)
        assert trace == plain, what
        assert (report.format, report.read, report.kept) == (name, 2, 2), what


@pytest.mark.parametrize("name", ["mooncake", "vllm-bench"])
def test_json_dress_does_not_matter(tmp_path: Path, name: str) -> None:
    text = EXAMPLES[name][0]
    plain, _ = load(tmp_path, text)
    records = [json.loads(line) for line in text.splitlines()]
    dressed = {
        "crlf": text.replace("\n", "\r\n"),
        "byte order mark": "\ufeff" + text,
        "blank lines": "\n" + text.replace("\n", "\n\n \n"),
        "keys in another order": "\n".join(json.dumps(dict([*r.items()][::-1])) for r in records),
        "further keys": "\n".join(json.dumps({"x": [{}], **r}) for r in records),
    }
    for what, variant in dressed.items():
        trace, report = load(tmp_path, variant)
        assert trace == plain, what
        assert (report.format, report.read, report.kept) == (name, 2, 2), what


def test_broken_first_json_line_does_not_hide_the_format(tmp_path: Path) -> None:
    trace, report = load(tmp_path, '{"timestamp": 0, "inp\n' + MOONCAKE)
    assert (report.format, report.dropped, report.dropped_because[0].first) == (
        *("mooncake", 1),
        1,
    )
    assert len(trace) == 2


def test_azure_2024_offsets_are_subtracted(tmp_path: Path) -> None:
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-05-12 00:00:00.5+00:00,1,1\n"
        "2024-05-12T02:00:01+02:00,1,1\n"
        "2024-05-11 19:30:02.25-0430,1,1\n"
        "2024-05-12 00:00:03Z,1,1\n"
    )
    assert load(tmp_path, text)[0].arrival_times_s == (0.0, 0.5, 1.75, 2.5)


def test_failed_burstgpt_requests_are_dropped_under_their_own_reason(tmp_path: Path) -> None:
    trace, report = load(tmp_path, BURSTGPT + "50,GPT-4,300,0,300,API log\n")
    assert len(trace) == 2
    (reason,) = report.dropped_because
    assert (reason.what, reason.rows, reason.first) == (
        "Response tokens: 0, a failed request",
        *(1, 4),
    )


@pytest.mark.parametrize("total", ["491", "", "many"])
def test_burstgpt_total_that_disagrees_is_flagged_and_kept(tmp_path: Path, total: str) -> None:
    trace, report = load(tmp_path, BURSTGPT.replace(",490,", f",{total},"))
    assert trace == load(tmp_path, BURSTGPT)[0]
    assert (report.kept, report.changed) == (2, 0)
    assert [(r.rows, r.first) for r in report.flagged_because] == [(1, 2)]
    assert report.flagged_because[0].what.startswith("Total tokens: ")


def test_vidur_without_arrivals_has_none(tmp_path: Path) -> None:
    trace, report = load(tmp_path, "num_prefill_tokens,num_decode_tokens\n3772,54\n")
    assert (report.format, trace) == ("vidur", Trace((3772,), (54,)))


def test_mooncake_without_hash_ids_has_no_prefix_blocks(tmp_path: Path) -> None:
    trace, report = load(tmp_path, '{"timestamp": 0, "input_length": 5, "output_length": 6}\n')
    assert (trace, report.changed) == (Trace((5,), (6,), (0.0,)), 0)


def test_mooncake_with_hash_ids_in_some_rows_reports_the_others_as_changed(tmp_path: Path) -> None:
    extra = '{"timestamp": 2000, "input_length": 5, "output_length": 6}\n'
    trace, report = load(tmp_path, MOONCAKE + extra)
    assert trace.prefix_blocks == ((0, 1), (0,), ())
    assert (report.changed, report.changed_because[0].first) == (1, 3)


def test_mooncake_with_too_few_hash_ids_is_flagged(tmp_path: Path) -> None:
    trace, report = load(tmp_path, MOONCAKE.replace("[0, 1]", "[0]"))
    assert trace.prefix_blocks == ((0,), (0,))
    assert (report.changed, report.flagged_because[0].first) == (0, 1)


def test_arrivals_out_of_order_keep_their_order_and_are_flagged(tmp_path: Path) -> None:
    trace, report = load(tmp_path, VIDUR + "-1.5,7,8\n2,7,8\n1,7,8\n")
    assert trace.arrival_times_s == (0.0, 5.8926549999999995, -1.5, 2.0, 1.0)
    assert [(r.rows, r.first) for r in report.flagged_because] == [(2, 4)]


def test_equal_arrivals_are_in_order(tmp_path: Path) -> None:
    trace, report = load(tmp_path, VIDUR + "5.8926549999999995,7,8\n")
    assert (len(trace), report.flagged_because) == (3, ())


def test_time_zero_is_the_first_row_kept(tmp_path: Path) -> None:
    trace, _ = load(tmp_path, VIDUR.replace("374", "0") + "7.3926549999999995,1,1\n")
    assert trace.arrival_times_s == (0.0, 1.5)


def test_generic_csv_with_named_columns(tmp_path: Path) -> None:
    text = "q,in,out,when\nx,3,4,9\ny,5,6,10.25\n"
    columns = {"input_length": "IN", "decode_length": " out ", "arrival_time": "when"}
    trace, report = load(tmp_path, text, columns=columns)
    assert (report.format, trace) == ("csv", Trace((3, 5), (4, 6), (0.0, 1.25)))
    del columns["arrival_time"]
    assert load(tmp_path, text, columns=columns)[0] == Trace((3, 5), (4, 6))


def test_named_columns_settle_an_ambiguous_header(tmp_path: Path) -> None:
    text = "input_tokens,prompt_tokens,output_tokens\n1,2,3\n"
    trace, _ = load(tmp_path, text, columns={"input_length": "prompt_tokens"})
    assert trace == Trace((2,), (3,))


def test_generic_arrivals_may_be_dates_but_not_both_kinds(tmp_path: Path) -> None:
    text = GENERIC.replace("100.5", "2024-01-01 00:00:00").replace("101", "2024-01-01T00:01:00Z")
    trace, report = load(tmp_path, text + "c,1,1,5\n")
    assert trace.arrival_times_s == (0.0, 60.0)
    assert [str(r) for r in report.dropped_because] == [
        "1 × timestamp: not a date and time (first in line 4)"
    ]


def test_quoted_prompts_over_several_lines_are_one_row(tmp_path: Path) -> None:
    text = 'prompt,input_tokens,output_tokens\n"a, ""b""\nc",3,4\n"d\n\ne",5,x\n'
    trace, report = load(tmp_path, text)
    assert trace == Trace((3,), (4,))
    assert report.dropped_because[0].first == 4  # a line of the file, not a row


def test_bench_folder_gives_its_name_to_the_trace(tmp_path: Path) -> None:
    folder = tmp_path / "run.v2"
    folder.mkdir()
    (folder / "requests.jsonl").write_text(VLLM)
    trace, report = read_trace(folder)
    assert (trace.name, report.source, report.format) == ("run.v2", "run.v2", "vllm-bench")


def test_a_header_of_input_and_output_is_one_of_lengths(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("input,output\n10,20\n30,5\n")
    trace, _ = read_trace(tmp_path / "a.csv")
    assert (trace.input_lengths, trace.decode_lengths) == ((10, 30), (20, 5))


def test_input_and_output_are_texts_beside_columns_of_lengths(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("input,output,input_tokens,output_tokens\nhello,bye,10,20\n")
    trace, _ = read_trace(tmp_path / "a.csv")
    assert (trace.input_lengths, trace.decode_lengths) == ((10,), (20,))
