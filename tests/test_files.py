"""Files appear together or not at all."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.files import require_writable, sweep, write_together


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def before_move(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], object]) -> None:
    """Have something happen just before the move with this number."""
    moves, real = [], os.replace

    def replace(*arguments) -> None:
        moves.append(arguments)
        if len(moves) == number:
            act()
        real(*arguments)

    monkeypatch.setattr(os, "replace", replace)


def test_files_are_written_into_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "new"
    write_together(folder, {"a.txt": b"one", "b.txt": b"two"})
    assert content(folder) == {"a.txt": "one", "b.txt": "two"}


@pytest.mark.skipif(os.name != "posix", reason="modes")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_mode_that_the_user_gives_to_new_ones(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        write_together(tmp_path, {"a": b"one"})
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_stop_while_writing_leaves_the_old_files_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failure: BaseException
) -> None:
    write_together(tmp_path, {"a": b"old", "b": b"old"})

    def fails(*_: object) -> bytes:
        raise failure

    with pytest.raises(type(failure)):
        write_together(tmp_path, {"a": b"new"}, {"b": fails})
    assert content(tmp_path) == {"a": "old", "b": "old"}


def test_a_failure_takes_the_new_folders_away_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_):
        raise OSError("full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="full"):
        write_together(tmp_path / "deep" / "new", {"a": b"one"})
    assert list(tmp_path.iterdir()) == []


def test_a_move_that_fails_takes_the_others_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails() -> None:
        raise PermissionError(1, "Operation not permitted")

    write_together(tmp_path, {"a": b"old", "c": b"old"})
    before_move(monkeypatch, 3, fails)
    with pytest.raises(PermissionError):
        write_together(tmp_path, {"a": b"new", "b": b"new", "c": b"new"})
    assert content(tmp_path) == {"a": "old", "c": "old"}


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_moves_waits_for_the_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: signal.Signals
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    write_together(tmp_path, {"a": b"old", "b": b"old"})
    before_move(monkeypatch, 2, lambda: signal.raise_signal(number))
    before = signal.signal(number, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            write_together(tmp_path, {"a": b"new", "b": b"new"})
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)
    assert content(tmp_path) == {"a": "new", "b": "new"}


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_found_before_anything_moves(tmp_path: Path, kind: str) -> None:
    if kind == "pipe" and not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir() if kind == "folder" else os.mkfifo(tmp_path / "b")
    both, one = {"a": b"new", "b": b"new"}, {"a": b"new"}
    for contents, amended in ((both, {}), (one, {"b": lambda _: b""})):
        with pytest.raises(OSError, match="b stands there and is no file"):
            write_together(tmp_path, contents, amended)
    with pytest.raises(InputError, match="b stands there and is no file"):
        require_writable("--out", tmp_path, ["a", "b"])
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_writers_of_one_file_lose_nothing_of_each_other(tmp_path: Path) -> None:
    def add(letter: str) -> None:
        def slowly(present: bytes | None) -> bytes:
            time.sleep(0.01)
            return (present or b"") + letter.encode()

        write_together(tmp_path, {letter: b""}, {"all": slowly})

    threads = [threading.Thread(target=add, args=(letter,)) for letter in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((tmp_path / "all").read_text()) == list("abcdefgh")
    assert set(content(tmp_path)) == {*"abcdefgh", "all"}


def test_many_may_look_at_one_new_folder_and_write_into_it(tmp_path: Path) -> None:
    failed: list[Exception] = []

    def go(name: str, folder: Path, start: threading.Barrier) -> None:
        start.wait()
        try:
            require_writable("--out", folder, [name])
            write_together(folder, {name: b""})
        except Exception as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for turn in range(20):
            folder, start = tmp_path / str(turn) / "new", threading.Barrier(4)
            threads = [threading.Thread(target=go, args=(n, folder, start)) for n in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            assert sorted(content(folder)) == list("abcd")
    finally:
        sys.setswitchinterval(before)


def test_a_folder_that_goes_before_it_is_locked_is_entered_again(tmp_path, monkeypatch) -> None:
    """Who wrote into the next one without a lock could have its parts swept away as left over."""
    tries: list[Path] = []

    def gone_at_first(path, flags, *more, **options):
        if path == tmp_path:
            tries.append(path)
            if len(tries) == 1:
                raise FileNotFoundError
        return opened(path, flags, *more, **options)

    opened = os.open
    monkeypatch.setattr(os, "open", gone_at_first)
    write_together(tmp_path, {"a": b""})
    assert len(tries) == 2
    assert content(tmp_path).keys() == {"a"}


@pytest.mark.skipif(os.name != "posix", reason="locks of folders")
def test_who_looks_does_not_disturb_who_waits_to_write(tmp_path: Path) -> None:
    import fcntl

    written: list[bool] = []
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        writer = threading.Thread(
            target=lambda: written.append(write_together(tmp_path, {"a": b"one"}) is None)
        )
        writer.start()
        time.sleep(0.1)  # to wait for the lock
        require_writable("--out", tmp_path)
    finally:
        os.close(descriptor)
    writer.join()
    assert written == [True]
    assert content(tmp_path) == {"a": "one"}


_KILLED = """
import os, signal, sys
from pathlib import Path
from fluidkv.files import write_together
def stop(_): print(flush=True); signal.pause()
write_together(Path(sys.argv[1]), {"a": b"new"}, {"b": stop})
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_what_a_killed_writer_left_is_removed_and_what_a_live_one_has_is_not(
    tmp_path: Path,
) -> None:
    def hidden() -> list[str]:
        return [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]

    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        waiting = threading.Thread(target=write_together, args=(tmp_path, {"b": b"mine"}))
        waiting.start()
        time.sleep(0.1)
        assert len(hidden()) == 1
        writer.kill()
    waiting.join()
    assert content(tmp_path) == {"b": "mine"}


def test_a_process_that_ends_at_once_can_take_back_what_it_began(tmp_path: Path) -> None:
    def ends(_: object) -> bytes:
        assert (tmp_path / "new").exists()
        sweep()
        assert list(tmp_path.iterdir()) == []
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_together(tmp_path / "new" / "deep", {"a": b"one"}, {"b": ends})


def test_looking_whether_a_folder_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    require_writable("--out", tmp_path / "deep" / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0byte", "a" * 300])
def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match=r"^--out: got .* allowed: a folder that can be written"):
        require_writable("--out", Path(f"{tmp_path}/{name}"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
