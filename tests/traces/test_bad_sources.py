"""A source that is no trace gets one line: the argument, its value and what is allowed."""

import gzip
import os
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.traces import read_trace
from fluidkv.traces.known import format_names
from tests.traces.test_formats import AZURE, GENERIC, MOONCAKE, VIDUR, VLLM

# The first bytes of any PNG file.
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01"
HEADER = b"input_length,output_length\n"

CONTENTS = {
    "empty": (b"", "this file is empty"),
    "byte order mark only": (b"\xef\xbb\xbf", "this file is empty"),
    "blank lines": (b"\n \r\n\n", "this file is empty"),
    "picture": (PNG, "not UTF-8"),
    "null bytes": (HEADER + b"1,\x002\n", "binary"),
    "null bytes at the end": (HEADER + b"1,2\n" * 10_000 + b"\x00", "binary"),
    "latin-1": (HEADER + "1,é\n".encode("latin-1"), "not UTF-8"),
    "utf-16": ("input_length,output_length\n1,2\n".encode("utf-16"), "not UTF-8"),
    "gzip": (gzip.compress(HEADER), "gzip"),
    "zip": (b"PK\x03\x04\x14\x00", "zip"),
    "header only": (HEADER, "no rows"),
    "header only, no line end": (HEADER.strip(), "no rows"),
    "unknown columns": (b"a,b\n1,2\n", "found: a, b"),
    "one known column": (b"input_length,b\n1,2\n", "found: input_length, b"),
    "prose": (b"Hello.\nThis is a letter.\n", "found: Hello."),
    "numbers without header": (b"1,2\n3,4\n", "found: 1, 2"),
    "broken header": (b'"input_length"x,output_length\n1,2\n', "found: none"),
    "many long columns": (b",".join([b"x" * 500] * 50) + b"\n", "..."),
    "column of words": (HEADER + b"x,1\ny,2\n", "2 × input_length: not a number"),
    "no length left": (HEADER + b"0,1\n1,-1\n", "2 rows dropped"),
    "json array": (b'[{"timestamp": 0}]', "JSON array"),
    "json array over lines": (b'[\n{"timestamp": 0}\n]', "JSON array"),
    "json array, cut": (b"[\n", "JSON array"),
    "settings": (b"[section]\nname = 1\n", "found: [section]"),
    "one json object over lines": (b'{\n"timestamp": 0\n}', "found: timestamp"),
    "json with other keys": (b'{"a": 1, "b": 2}\n', "found: a, b"),
    "only line cut off": (MOONCAKE.encode()[:40], "found: none"),
    "needed column twice": (b"input_length,output_length,output_length\n1,2,3\n", "choice among"),
}


def refusal(source: object, **options) -> InputError:
    with pytest.raises(InputError) as error:
        read_trace(source, **options)  # type: ignore[arg-type]
    message = str(error.value)
    assert "\n" not in message
    assert "allowed: " in message
    return error.value


@pytest.mark.parametrize("what", CONTENTS)
def test_unusable_content_is_refused(tmp_path: Path, what: str) -> None:
    content, explanation = CONTENTS[what]
    path = tmp_path / "t"
    path.write_bytes(content)
    error = refusal(path)
    assert error.argument == ("columns" if what == "needed column twice" else "source")
    assert explanation in str(error)
    if error.argument == "source":
        assert error.value == str(path)
    assert len(str(error)) < 700  # bounded, however long the header


def test_truncated_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(MOONCAKE[:-20])
    trace, report = read_trace(path)
    assert (len(trace), report.dropped) == (1, 1)
    assert str(report.dropped_because[0]) == "1 × not valid JSON (first in line 2)"


@pytest.mark.parametrize(
    ("format", "text"),
    [("azure", VIDUR), ("vidur", AZURE), ("burstgpt", GENERIC), ("csv", AZURE), ("csv", MOONCAKE)],
)
def test_wrong_columns_for_the_named_format(tmp_path: Path, format: str, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    error = refusal(path, format=format)
    assert error.argument == "source"
    assert "(found: " in str(error)


@pytest.mark.parametrize(("format", "text"), [("mooncake", VLLM), ("mooncake", AZURE)])
def test_records_without_the_keys_of_the_named_format(
    tmp_path: Path, format: str, text: str
) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    assert f"usable row of format {format}" in str(refusal(path, format=format))


def test_needed_column_twice_is_refused_and_another_is_not(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(AZURE.replace("GeneratedTokens", "ContextTokens,GeneratedTokens"))
    assert "stands 2 times" in str(refusal(path, format="azure"))
    path.write_text("x,x,input_length,output_length\n,,1,2\n")
    assert read_trace(path).trace.input_lengths == (1,)


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path / "missing", format="parquet")
    assert (error.argument, error.value) == ("format", "parquet")
    assert f"one of {', '.join(format_names())}" in str(error)


@pytest.mark.parametrize("source", [None, 3, b"t.csv", ["t.csv"]])
def test_source_that_is_no_path_is_refused(source: object) -> None:
    assert refusal(source).argument == "source"


@pytest.mark.parametrize("name", ["missing.csv", "no/such/folder.csv", "a\0b", "x" * 300])
def test_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / name).argument == "source"


def test_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert (error.argument, error.value) == ("source", str(tmp_path))
    assert "requests.jsonl" in str(error)


def test_folder_is_refused_for_formats_of_files(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text(VLLM)
    assert refusal(tmp_path, format="azure").argument == "format"
    assert len(read_trace(tmp_path, format="vllm-bench").trace) == 2


def test_a_name_reaches_no_report_raw(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b]0;title\x07\u202e\udcff[x].csv"
    path.write_text(GENERIC + "c,0,0,0\n")
    trace, report = read_trace(path)
    shown = [trace.name, trace.workload().name, report.summary().replace("\n", "")]
    assert all(text.isprintable() for text in shown)
    assert trace.name == "a\\x1b]0;title\\x07\\u202e\\udcff[x]"


@pytest.mark.parametrize("text", ["\x1b]0;title\x07,b\n1,2\n", '{"\x9b2J": 1}\n'])
def test_a_header_reaches_no_refusal_raw(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    assert str(refusal(path)).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "regular file" in str(refusal(tmp_path / "pipe"))


def test_forbidden_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    path.write_text(AZURE)

    def forbidden(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)  # root may open a file of mode 000
    assert "Permission denied" in str(refusal(path))


@pytest.mark.parametrize(
    "columns",
    [
        {"input": "prompt_tokens"},
        {"input_length": "no such column"},
        {"input_length": 3},
        {"input_length": "timestamp", "decode_length": "timestamp"},
        "prompt_tokens",
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, columns: object) -> None:
    path = tmp_path / "t"
    path.write_text(GENERIC)
    assert refusal(path, columns=columns).argument == "columns"


def test_columns_are_refused_for_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(AZURE)
    columns = {"input_length": "ContextTokens"}
    assert refusal(path, format="azure", columns=columns).argument == "columns"
