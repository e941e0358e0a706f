"""What is written reads back equal, to the last bit of a time; and a file is whole or absent."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given

from fluidkv.errors import InputError
from fluidkv.traces import Trace, read_trace, write_mooncake, write_vidur
from tests.traces.strategies import traces

WRITERS = [write_mooncake, write_vidur]
TRACE = Trace((5, 6), (7, 8), (0.0, 0.1), ((0,), (0, 3)), 512)


# 0.001 is 1.0 ms, but 0.001 * 1000 / 1000 is luck; 5e-324 is the least double.
@example(Trace((1, 1, 1, 1), (1, 1, 1, 1), (0.0, 0.001, 5e-324, 8.283)))
@given(traces())
def test_mooncake_round_trip_is_exact(tmp_path_factory, trace: Trace) -> None:
    path = tmp_path_factory.mktemp("m") / "t"
    assert write_mooncake(trace, path) == ()
    again, report = read_trace(path)
    assert again == trace
    assert (report.format, report.read, report.changed) == ("mooncake", len(trace), 0)


@given(traces(with_blocks=False))
def test_vidur_round_trip_is_exact_without_prefix_blocks(tmp_path_factory, trace: Trace) -> None:
    path = tmp_path_factory.mktemp("v") / "t"
    assert write_vidur(trace, path) == ()
    again, report = read_trace(path)
    assert again == trace
    assert (report.format, report.read, report.changed) == ("vidur", len(trace), 0)


@pytest.mark.thorough
@given(traces(with_blocks=True))
def test_vidur_says_that_it_leaves_prefix_blocks_out(tmp_path_factory, trace: Trace) -> None:
    path = tmp_path_factory.mktemp("v") / "t"
    assert write_vidur(trace, path) == ("prefix_blocks", "prefix_block_size")
    again = read_trace(path).trace
    assert again == Trace(trace.input_lengths, trace.decode_lengths, trace.arrival_times_s)


def test_mooncake_text_is_what_other_tools_expect(tmp_path: Path) -> None:
    write_mooncake(TRACE, tmp_path / "t")
    assert (tmp_path / "t").read_text() == (
        '{"timestamp": 0, "input_length": 5, "output_length": 7, "hash_ids": [0]}\n'
        '{"timestamp": 100, "input_length": 6, "output_length": 8, "hash_ids": [0, 3]}\n'
    )


def test_vidur_text_is_what_other_tools_expect(tmp_path: Path) -> None:
    write_vidur(TRACE, tmp_path / "t")
    assert (tmp_path / "t").read_text() == (
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,5,7\n0.1,6,8\n"
    )


@pytest.mark.parametrize("write", WRITERS)
def test_trace_without_arrival_times_is_refused(tmp_path: Path, write: Callable) -> None:
    with pytest.raises(InputError, match=r"^arrival_times_s: "):
        write(Trace((1,), (1,)), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_mooncake_refuses_another_block_size(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^prefix_block_size: "):
        write_mooncake(Trace((1,), (1,), (0.0,), ((0,),), 16), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", ["", "no/such/folder/t", "file/t", "x" * 300, "a\0b"])
def test_path_that_cannot_be_written_is_refused(tmp_path: Path, write: Callable, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"^path: "):
        write(TRACE, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_device_is_refused_and_stays(tmp_path: Path) -> None:
    null = Path("/dev/null")
    if not null.is_char_device():
        pytest.skip("no /dev/null on this system")
    with pytest.raises(InputError):
        write_vidur(TRACE, null)
    assert null.is_char_device()


@pytest.mark.parametrize("write", WRITERS)
def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    path.write_text("old")

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        write(TRACE, path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"t": "old"}


@pytest.mark.parametrize("write", WRITERS)
def test_existing_file_is_replaced_through_a_link(tmp_path: Path, write: Callable) -> None:
    path, link = tmp_path / "t", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    write(TRACE, link)
    assert link.is_symlink()
    assert read_trace(path).trace.input_lengths == (5, 6)
