"""Files appear together or not at all."""

import os
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.files import require_writable, write_together


def test_files_are_written_into_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "new"
    write_together(folder, {"a.txt": b"one", "b.txt": b"two"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "a.txt": b"one",
        "b.txt": b"two",
    }
    assert (folder / "a.txt").stat().st_mode & 0o777 == 0o644


def test_a_stop_while_writing_leaves_the_old_files_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_together(tmp_path, {"a": b"old", "b": b"old"})
    opened, real = [], os.fdopen

    def second_fails(*arguments):
        opened.append(arguments)
        if len(opened) == 2:
            os.close(arguments[0])
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(os, "fdopen", second_fails)
    with pytest.raises(KeyboardInterrupt):
        write_together(tmp_path, {"a": b"new", "b": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a": b"old",
        "b": b"old",
    }


def test_a_failure_takes_the_new_folders_away_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_):
        raise OSError("full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="full"):
        write_together(tmp_path / "deep" / "new", {"a": b"one"})
    assert list(tmp_path.iterdir()) == []


def test_looking_whether_a_folder_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    require_writable("--out", tmp_path / "deep" / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0byte", "a" * 300])
def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match=r"^--out: got .* allowed: a folder that can be written"):
        require_writable("--out", Path(f"{tmp_path}/{name}"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
