"""Files that appear whole and together, or not at all.

They are written into a hidden folder within the folder, which is locked meanwhile, and moved out of
it at the end. What a killed writer left there, the next one removes. A signal that stops the
process waits until the moves are done; only SIGKILL between two of them could leave some.
"""

import errno
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from fluidkv.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows: no locks there
    fcntl = None

_PARTS = ".fluidkv-parts-"
_PATIENCE_S = 60  # for another writer, who moves files for a moment
_TRIES = 100  # to enter a new folder that others, who only look, take away again
_DEFERRED = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]

_Entered = TypeVar("_Entered")

_under_way: list[list[Path]] = []
"""Of each call at work: the folders that it made, outermost first; its folder of parts last."""
_moving = threading.Lock()


def write_together(
    folder: Path,
    contents: Mapping[str, bytes],
    amended: Mapping[str, Callable[[bytes | None], bytes]] | None = None,
) -> None:
    """Write all files aside, then move all of them into place. New files have the user's umask.

    Args:
        folder: made, with those above it, if it does not exist.
        contents: name of a file in it -> its bytes.
        amended: name of a file that several writers share -> from its present bytes (None: there
            is none) to the new ones. These are asked for when nobody else writes into the folder,
            and move last.

    Raises:
        OSError: the folder cannot be made or written, or something that is no file stands where one
            must go; nothing is left behind.
    """
    with _work() as made, _alone_in(folder, made) as parts:
        for name, content in contents.items():
            _write(parts / name, content)
        for name, amend in (amended or {}).items():
            _write(parts / name, amend(_present(folder / name)))
        names = [*contents, *(amended or {})]
        for name in names:
            _require_file(folder / name)
        with undisturbed(), _moving:
            _move(parts, folder, names)
            shutil.rmtree(parts)


def write_whole(path: Path | str, content: bytes) -> None:
    """Write one file, whole or not at all; its folder has to be there.

    Raises:
        InputError: a path that cannot be written.
    """
    if not isinstance(path, Path | str) or "\0" in str(path):
        raise InputError("path", path, "the path of a file")
    target = Path(os.path.realpath(path))
    try:
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        write_together(target.parent, {target.name: content})
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError("path", str(path), f"a path that can be written ({reason})") from None


def write_durably(path: Path, content: bytes, parts: Path) -> None:
    """Write one file so that even a power cut leaves all of it or nothing of it.

    Args:
        path: in a folder that is there; whatever stood there is replaced.
        parts: a folder on the same disk, where it is written first.

    Raises:
        OSError: the disk is full, or a folder is gone; nothing is left behind.
    """
    part = parts / f"{uuid.uuid4().hex}"
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _settle(path.parent)


@contextmanager
def held(folder: Path) -> Iterator[Path]:
    """Hold a folder: a hidden folder in it for parts, for as long as the block takes.

    What killed holders left there is removed.

    Raises:
        BlockingIOError: another process holds it; this one does not wait.
        OSError: it cannot be made or written.
    """
    with _work() as made, _alone_in(folder, made, patience_s=0) as parts:
        yield parts
        shutil.rmtree(parts)


def is_part(path: Path) -> bool:
    """Whether something in a folder is what a writer has aside."""
    return path.name.startswith(_PARTS)


def require_writable(argument: str, folder: Path, names: Iterable[str] = ()) -> None:
    """Make sure, before any work is done for it, that a folder can be made and written.

    What this makes on the way is removed again: a run that fails later leaves nothing behind.

    Args:
        names: of files that will be written there.

    Raises:
        InputError: it cannot; something that is no file stands where one of them must go.
    """
    names = list(names)

    def look() -> None:
        _make(folder, made)
        for name in names:
            _require_file(folder / name)
        with tempfile.TemporaryFile(dir=folder):
            pass

    try:
        with _work() as made:
            _entered(look)
            _undo(made)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        allowed = f"a folder that can be written ({reason})"
        raise InputError(argument, str(folder), allowed) from None


def sweep() -> None:
    """Take back what calls under way have left aside: for whoever ends the process at once.

    A call that is moving its files is waited for, one second at most.
    """
    free = _moving.acquire(timeout=1)
    for made in list(_under_way):
        _undo(made)
    if free:
        _moving.release()


@contextmanager
def _work() -> Iterator[list[Path]]:
    """A list for what is made on the way; all of it goes again where the block fails."""
    made: list[Path] = []
    _under_way.append(made)
    try:
        yield made
    except BaseException:
        _undo(made)
        raise
    finally:
        _under_way[:] = [each for each in _under_way if each is not made]


def _undo(made: list[Path]) -> None:
    """Remove, innermost first, up to a folder in which someone else has put something."""
    for path in reversed(made):
        try:
            if path.name.startswith(_PARTS):
                shutil.rmtree(path)
            else:
                path.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return


def _make(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it that are not there."""
    for path in reversed([folder, *folder.parents]):
        if not os.path.lexists(path):
            try:
                path.mkdir()
            except FileExistsError:  # someone else was faster
                if not stat.S_ISDIR(path.stat().st_mode):
                    raise
            else:
                made.append(path)


def _entered(enter: Callable[[], _Entered]) -> _Entered:
    """What `enter` returns; tried again where the folder went while it was entered.

    Whoever made a folder just to look (`require_writable`) takes it away while it is empty.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return enter()
    return enter()


@contextmanager
def _alone_in(folder: Path, made: list[Path], patience_s: float = _PATIENCE_S) -> Iterator[Path]:
    """A new folder in `folder` for parts. Other writers wait; what killed ones left is removed.

    The folder itself is locked, so that no lock file is left. Where the file system has no such
    locks, nobody waits and nothing is removed.
    """
    descriptor = None

    def enter() -> Path:
        nonlocal descriptor
        if descriptor is not None:
            os.close(descriptor)
            descriptor = None
        _make(folder, made)
        with suppress(PermissionError):  # a folder that may be written but not read
            descriptor = os.open(folder, os.O_RDONLY)
        locked = descriptor is not None and _locked(descriptor, patience_s)
        parts = Path(tempfile.mkdtemp(dir=folder, prefix=_PARTS))
        made.append(parts)  # from here on nobody takes the folder away
        if descriptor is not None and locked:
            if not os.path.samestat(os.fstat(descriptor), folder.stat()):
                shutil.rmtree(parts, ignore_errors=True)
                raise FileNotFoundError  # what is locked is gone, another folder stands there
            for left in folder.glob(f"{_PARTS}*"):
                if left != parts:
                    shutil.rmtree(left, ignore_errors=True)
        return parts

    try:
        yield _entered(enter)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(descriptor: int, patience_s: float) -> bool:
    if fcntl is None:
        return False
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                said = "another process has been writing into it"
                raise BlockingIOError(errno.EBUSY, said) from None
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True


def _settle(folder: Path) -> None:
    """Have the disk keep which files a folder has, as far as the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as part:
        part.write(content)


def _present(path: Path) -> bytes | None:
    _require_file(path)
    return path.read_bytes() if path.is_file() else None


def _require_file(path: Path) -> None:
    """Refuse a folder, a pipe, a device. A link is replaced, whatever it leads to."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OSError(errno.EEXIST, f"{path.name} stands there and is no file", str(path))


def _move(parts: Path, folder: Path, names: list[str]) -> None:
    """All of them; or, where one cannot be moved, none: what stood there is kept until the end."""
    old = parts / _PARTS  # no file of ours has that name
    old.mkdir()
    stood = [name for name in names if os.path.lexists(folder / name)]
    for name in stood:
        with suppress(OSError):  # a file system without hard links: then it is not kept
            os.link(folder / name, old / name, follow_symlinks=False)
    moved: list[str] = []
    try:
        for name in names:
            os.replace(parts / name, folder / name)
            moved.append(name)
    except OSError:
        for name in moved:
            with suppress(OSError):
                if name in stood:
                    os.replace(old / name, folder / name)
                else:
                    (folder / name).unlink()
        raise


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that would stop the process are taken up after the block."""
    came: list[int] = []
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # no other one is sent signals
            for number in _DEFERRED:
                if signal.getsignal(number) is not None:  # None: not set from Python
                    before[number] = signal.signal(number, lambda got, _: came.append(got))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
