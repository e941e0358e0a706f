"""A bad row is dropped, counted under its reason with its line, and never mended in silence."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.traces import Trace, read_trace
from fluidkv.traces.report import LoadReport
from tests.traces.test_formats import AZURE, BURSTGPT, GENERIC, MOONCAKE, SEGMENTS, VIDUR, VLLM

GOOD = Trace((5, 6), (7, 8))


def load_csv(tmp_path: Path, *rows: str) -> tuple[Trace, LoadReport]:
    path = tmp_path / "t"
    path.write_text("\n".join(["input_length,output_length", "5,7", *rows, "6,8"]) + "\n")
    return read_trace(path)


def load_json(tmp_path: Path, *rows: str) -> tuple[Trace, LoadReport]:
    path = tmp_path / "t"
    first, last = (
        json.dumps({"timestamp": t, "input_length": i, "output_length": d, "hash_ids": [0]})
        for t, i, d in ((0, 5, 7), (1000, 6, 8))
    )
    path.write_text("\n".join([first, *rows, last]) + "\n")
    return read_trace(path)


LENGTHS = [
    ("0", "zero or negative"),
    ("-3", "zero or negative"),
    ("-1e400", "zero or negative"),
    ("7.5", "not a whole number"),
    ("1e-400", "not a whole number"),
    ("1e400", "more than 100000000 tokens"),
    ("9" * 30, "more than 100000000 tokens"),
    ("9" * 5000, "more than 100000000 tokens"),
    ("1e999999999", "more than 100000000 tokens"),
    ("100000001", "more than 100000000 tokens"),
]
TEXTS = [
    ("nan", "not a finite number"),
    ("-Infinity", "not a finite number"),
    ("", "empty"),
    ("  ", "empty"),
    ("twelve", "not a number"),
    ("1_000", "not a number"),
    ("0x10", "not a number"),
    ("1 000", "not a number"),
    ("12 tokens", "not a number"),
    ("１２", "not a number"),
    ("9" * 100_000 + "x", "not a number"),
    ("1e9999999999999999999", "number out of range"),
]


@pytest.mark.parametrize(("cell", "reason"), LENGTHS + TEXTS)
@pytest.mark.parametrize("column", ["input_length", "output_length"])
def test_bad_length_in_csv_is_dropped(tmp_path: Path, column: str, cell: str, reason: str) -> None:
    row = f"{cell},9" if column == "input_length" else f"9,{cell}"
    trace, report = load_csv(tmp_path, row)
    assert trace == GOOD
    assert (report.read, report.kept, report.dropped, report.changed) == (3, 2, 1, 0)
    (found,) = report.dropped_because
    assert (found.what, found.rows, found.first) == (f"{column}: {reason}", 1, 3)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((value, reason) for value, reason in LENGTHS if len(value) < 4000),
        *((json.dumps(text), reason) for text, reason in TEXTS),
        ("NaN", "not a finite number"),
        ("Infinity", "not a finite number"),
        ("true", "not a number"),
        ("[3]", "not a number"),
        ("null", "empty"),
    ],
)
def test_bad_length_in_json_is_dropped(tmp_path: Path, value: str, reason: str) -> None:
    row = f'{{"timestamp": 1, "input_length": {value}, "output_length": 9, "hash_ids": []}}'
    trace, report = load_json(tmp_path, row)
    assert (trace.input_lengths, trace.decode_lengths) == ((5, 6), (7, 8))
    assert (report.read, report.dropped, report.changed) == (3, 1, 0)
    assert [(r.what, r.first) for r in report.dropped_because] == [(f"input_length: {reason}", 2)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"timestamp": 1, "output_length": 9}', "input_length: missing"),
        ('{"input_length": 1, "output_length": 9}', "timestamp: missing"),
        ('{"timestamp": "soon", "input_length": 1, "output_length": 9}', "timestamp: not a number"),
        (
            '{"timestamp": 1e400, "input_length": 1, "output_length": 9}',
            "timestamp: more than 1000000000000 seconds, not a time in this unit",
        ),
        (
            '{"timestamp": 1, "input_length": 1, "output_length": 9, "hash_ids": 3}',
            "hash_ids: not a list of integers of at least 0",
        ),
        (
            '{"timestamp": 1, "input_length": 1, "output_length": 9, "hash_ids": [1, -1]}',
            "hash_ids: not a list of integers of at least 0",
        ),
        ('{"timestamp": 1, "input_length": 1, "input_length": 2}', "a key stands twice"),
        ("[1, 2, 3]", "not a JSON object"),
        ("17", "not a JSON object"),
        ('{"timestamp": 1, "input_le', "not valid JSON"),
        ('{"timestamp": 1, "input_length": 1e9999999999999999999}', "not valid JSON"),
        ('{"timestamp": 1, "input_length": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"timestamp": ' + "[" * 100_000, "not valid JSON"),
        ("timestamp,input_length", "not valid JSON"),
    ],
)
def test_bad_json_row_is_dropped(tmp_path: Path, row: str, reason: str) -> None:
    trace, report = load_json(tmp_path, row)
    assert trace.input_lengths == (5, 6)
    assert [(r.what, r.rows, r.first) for r in report.dropped_because] == [(reason, 1, 2)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("9", "fewer cells than the header"),
        (",", "input_length: empty"),
        (" , ", "input_length: empty"),
        ("9,9,9", "more cells than the header"),
        ("1,234,9", "more cells than the header"),
        ('"9,9', "broken quotes"),
        ('"9"9,9', "broken quotes"),
    ],
)
def test_bad_csv_row_is_dropped(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "t"
    # Last in the file: an open quote can take no other row with it.
    path.write_text(f"input_length,output_length\n5,7\n6,8\n{row}")
    trace, report = read_trace(path)
    assert trace == GOOD
    assert [(r.what, r.first) for r in report.dropped_because] == [(reason, 4)]


def test_quote_that_swallows_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text('input_length,output_length\n5,7\n"6,8\n' + "9,9\n" * 3)
    with pytest.raises(InputError, match="line 3: ") as error:
        read_trace(path)
    assert error.value.argument == "source"


@pytest.mark.parametrize(
    "stamp",
    ["", "yesterday", "2023-13-01 00:00:00", "2023-11-16", "1700000000", "2023-11-16 18:17"],
)
def test_bad_azure_timestamp_is_dropped(tmp_path: Path, stamp: str) -> None:
    path = tmp_path / "t"
    header = "TIMESTAMP,ContextTokens,GeneratedTokens"
    path.write_text(f"{header}\n{stamp},1,1\n2023-11-16 18:15:46.6805900,374,44\n")
    trace, report = read_trace(path)
    assert trace == Trace((374,), (44,), (0.0,))
    assert report.dropped_because[0].what.startswith("TIMESTAMP: ")


def test_milliseconds_since_1970_are_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n1700000000000,1,1\n0,2,2\n")
    assert read_trace(path).trace == Trace((2,), (2,), (0.0,))


@pytest.mark.parametrize("cell", ["12.0", "12.", "1.2e1", "+12.000"])
def test_whole_number_written_as_decimal_is_kept_as_changed(tmp_path: Path, cell: str) -> None:
    trace, report = load_csv(tmp_path, f"{cell},9")
    assert trace.input_lengths == (5, 12, 6)
    assert (report.kept, report.changed, report.dropped) == (3, 1, 0)
    (reason,) = report.changed_because
    assert (reason.rows, reason.first) == (1, 3)
    assert reason.what.startswith("input_length: ")


@pytest.mark.parametrize("cell", ["12", " 12 ", "+12", "012", "000000000012"])
def test_integer_is_kept_unchanged(tmp_path: Path, cell: str) -> None:
    trace, report = load_csv(tmp_path, f"{cell},9")
    assert (trace.input_lengths, report.changed) == ((5, 12, 6), 0)


def test_a_row_with_two_changes_is_one_changed_row(tmp_path: Path) -> None:
    _, report = load_csv(tmp_path, "12.0,9.0")
    assert (report.changed, len(report.changed_because)) == (1, 2)


def test_the_longest_length_is_a_length(tmp_path: Path) -> None:
    assert load_csv(tmp_path, "100000000,9")[0].input_lengths == (5, 100_000_000, 6)


def test_reasons_are_counted_apart_and_the_frequent_come_first(tmp_path: Path) -> None:
    _, report = load_csv(tmp_path, "0,9", "9,x", "", "9,y", "9,")
    assert [str(reason) for reason in report.dropped_because] == [
        "2 × output_length: not a number (first in line 4)",
        "1 × input_length: zero or negative (first in line 3)",
        "1 × output_length: empty (first in line 7)",
    ]


@given(st.lists(st.sampled_from(["1,2", "3.0,4", "0,1", "x,1", "1", "", '"', "1,2,3"])))
def test_report_adds_up_for_any_mix_of_rows(tmp_path_factory, rows: list[str]) -> None:
    rows = [row for row in rows if row != '"'] + [row for row in rows if row == '"'][:1]
    path = tmp_path_factory.mktemp("mix") / "t"
    path.write_text("\n".join(["input_length,output_length", "9,9", *rows]))
    trace, report = read_trace(path)
    kept = 1 + rows.count("1,2") + rows.count("3.0,4")
    assert (len(trace), report.kept) == (kept, kept)
    assert report.read == 1 + sum(row != "" for row in rows)
    assert report.changed == rows.count("3.0,4")
    assert report.dropped == sum(reason.rows for reason in report.dropped_because)


# Where each format keeps its time; 10**999999999 is more than a context of `decimal` can hold.
TIMES = {
    "azure": ("2023-11-16 18:17:04.0319601", AZURE),
    "burstgpt": ("45.5", BURSTGPT),
    "csv": ("101", GENERIC),
    "mooncake": ("1250.5", MOONCAKE),
    "segments": ("4.5", SEGMENTS),
    "vidur": ("5.8926549999999995", VIDUR),
    "vllm-bench": ("1787267980.3478317", VLLM),
}


@pytest.mark.parametrize("format", TIMES)
@pytest.mark.parametrize("time", ["1e999999999", "-1e999999999", "9e999999999999999999"])
def test_a_time_without_end_costs_its_row_alone(tmp_path: Path, format: str, time: str) -> None:
    written, text = TIMES[format]
    assert text.count(written) == 1
    path = tmp_path / "t"
    path.write_text(text.replace(written, time))
    trace, report = read_trace(path, format=format)
    assert (len(trace), report.dropped) == (1, 1)


def test_a_time_next_to_nothing_is_nothing(tmp_path: Path) -> None:
    trace, report = load_json(
        tmp_path, '{"timestamp": 1e-999999999, "input_length": 1, "output_length": 1}'
    )
    assert report.dropped == 0
    assert trace.arrival_times_s == (0, 0, 1)


@pytest.mark.parametrize("blocks", ["[1e999]", "[NaN]", "[" * 50_000, "[" + "9" * 5000 + "]"])
def test_block_ids_that_are_none_cost_their_row(tmp_path: Path, blocks: str) -> None:
    row = f'{{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": {blocks}}}'
    trace, report = load_json(tmp_path, row)
    assert (len(trace), report.dropped) == (2, 1)
