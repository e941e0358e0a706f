"""The measured log that ships with the package: found by name, and the log that it claims to be."""

import json
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.logs.meta import read_settings
from fluidkv.traces import read_trace, sample_path
from fluidkv.traces.samples.shipped import sample_names

SAMPLE = "sample:vllm-rtx4090"
ORIGIN = "vllm_rtx4090_llama31_8b"


def test_a_sample_is_read_as_a_log_folder() -> None:
    trace, report = read_trace(SAMPLE)
    assert (len(trace), report.format, report.source, trace.name) == (
        300,
        "vllm-bench",
        *[SAMPLE] * 2,
    )
    assert read_settings(sample_path(SAMPLE)).capacity == 41_408


@pytest.mark.parametrize("name", sample_names())
def test_each_sample_says_where_it_is_from_and_under_what_licence(name: str) -> None:
    folder = sample_path(name)
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["source"]
    holder = meta["license"].removeprefix("MIT, ").split(";")[0]
    assert holder in (folder / "LICENSE").read_text()


def test_the_sample_is_the_log_that_it_was_taken_from(traces_dir: Path) -> None:
    folder, origin = sample_path(SAMPLE), traces_dir / ORIGIN
    for name in ("requests.jsonl", "timeseries.csv"):
        assert (folder / name).read_bytes() == (origin / name).read_bytes()
    assert read_settings(folder) == read_settings(origin)
    kept, whole = (json.loads((place / "meta.json").read_text()) for place in (folder, origin))
    assert _is_part(
        kept | {"source": None, "license": None}, whole | {"source": None, "license": None}
    )


def _is_part(part: object, whole: object) -> bool:
    """Whether all that one value says the other says too."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(value, whole[key]) for key, value in part.items())
    return part == whole


def test_a_part_with_another_value_is_no_part() -> None:
    assert not _is_part({"a": {"b": 1}}, {"a": {"b": 2}})
    assert not _is_part({"c": None}, {})


def test_an_unknown_sample_is_told_which_there_are() -> None:
    near = r"source: got 'sample:h100'; allowed: a file, or sample:vllm-rtx4090 \(the nearest\)$"
    with pytest.raises(InputError, match=near):
        read_trace("sample:h100")
    with pytest.raises(InputError, match=r"allowed: a file, or one of sample:vllm-rtx4090$"):
        sample_path("sample:zzzzzzzzzzzzzzzzzzzz")


def test_another_source_stays_as_it_is(tmp_path: Path) -> None:
    assert sample_path("requests.csv") == Path("requests.csv")
    assert sample_path(tmp_path) == tmp_path
    assert sample_path("\0") == Path("\0")


def test_a_real_file_of_that_name_is_meant_before_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(SAMPLE).write_text("isl,osl\n1,2\n")
    assert sample_path(SAMPLE) == Path(SAMPLE)
    assert len(read_trace(SAMPLE).trace) == 1
