"""Where compiled code is kept between processes: JAX's and Numba's, in one folder.

`FLUIDKV_CACHE` names the folder, or says `off`. Without it, it is `fluidkv` in the user's folder
for caches. What is kept only saves time: a folder that cannot be written, a full disk or a broken
file costs a compilation, never an answer, an exception or a warning.
"""

import hashlib
import os
import platform
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

VARIABLE, OFF = "FLUIDKV_CACHE", "off"
_UNUSED_S = 60 * 24 * 3600
"""What nobody has asked for in 60 days is removed: each change of the source leaves code behind."""


@dataclass(frozen=True)
class CodeStore:
    """Pieces of code by name, a file each, which many processes may read and write at once.

    A file appears whole or not at all, and begins with the hash of what follows: half of one, or
    one that a disk has changed, is as if it were not there. The names hold for this machine only,
    since code of another processor may stop the process.

    Fields:
        folder: of the files; made when the first one is put there.
    """

    folder: Path

    def get(self, key: str) -> bytes | None:
        """What was put there under this name; None if nothing, or nothing whole."""
        path = self._path(key)
        try:
            found = path.read_bytes()
        except OSError:
            return None
        size = hashlib.sha256().digest_size
        if hashlib.sha256(found[size:]).digest() != found[:size]:
            return None
        with suppress(OSError):
            os.utime(path)  # used today
        return found[size:]

    def put(self, key: str, value: bytes) -> None:
        """Keep it, if that is possible."""
        written = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_unused(self.folder)
            handle, written = tempfile.mkstemp(dir=self.folder)
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(value).digest() + value)
            os.replace(written, self._path(key))
        except OSError:
            if written is not None:
                with suppress(OSError):
                    os.unlink(written)

    def _path(self, key: str) -> Path:
        return self.folder / hashlib.sha256(f"{_machine()}\n{key}".encode()).hexdigest()


def code_store(kind: str) -> CodeStore | None:
    """The store of this kind of code, such as `jax`; None where the user wants none."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == OFF:
        return None
    try:
        folder = Path(named).expanduser().absolute() if named else _of_the_user()
    except (RuntimeError, OSError):  # nobody's home
        return None
    return CodeStore(folder / kind)


def _of_the_user() -> Path:
    if sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not caches.is_absolute():  # such a value is to be ignored (XDG base directories)
            caches = Path.home() / ".cache"
    return caches / "fluidkv"


@cache
def _machine() -> str:
    """What the processor can do: code that uses more of it than another one has stops there."""
    features = ""
    with suppress(OSError):  # Linux has it, others name the processor
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return "\n".join((sys.platform, platform.machine(), features or platform.processor()))


@cache
def _remove_unused(folder: Path) -> None:
    """Once in a process."""
    before = time.time() - _UNUSED_S
    for path in folder.iterdir():
        with suppress(OSError):  # another process was quicker
            if path.stat().st_mtime < before:
                path.unlink()
