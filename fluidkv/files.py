"""Files that appear whole and together, or not at all."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fluidkv.errors import InputError


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files under other names, then move all of them into place.

    Whoever looks meets no half of a file. A stop while they are written leaves the folder as it
    was; only one between two moves could leave some of them.

    Args:
        folder: made, with those above it, if it does not exist.
        contents: name of a file in it -> its bytes.

    Raises:
        OSError: the folder cannot be made or written; nothing is left behind.
    """
    made = _make(folder)
    parts: dict[str, str] = {}
    try:
        for name, content in contents.items():
            descriptor, parts[name] = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
            with os.fdopen(descriptor, "wb") as part:
                part.write(content)
            os.chmod(parts[name], 0o644)  # a temporary file is private, what we write is not
        for name, part in parts.items():
            os.replace(part, folder / name)
    except BaseException:
        for part in parts.values():
            Path(part).unlink(missing_ok=True)
        _remove_empty(made)
        raise


def require_writable(argument: str, folder: Path) -> None:
    """Make sure, before any work is done for it, that a folder can be made and written.

    What this makes on the way is removed again: a run that fails later leaves nothing behind.

    Raises:
        InputError: it cannot.
    """
    made: list[Path] = []
    try:
        made = _make(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        allowed = f"a folder that can be written ({reason})"
        raise InputError(argument, str(folder), allowed) from None
    finally:
        _remove_empty(made)


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; the ones that were not there, outermost first."""
    made: list[Path] = []
    try:
        for path in reversed([folder, *folder.parents]):
            if not os.path.lexists(path):
                path.mkdir()
                made.append(path)
    except BaseException:
        _remove_empty(made)
        raise
    return made


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, innermost first, up to one in which someone else has put something."""
    for path in reversed(folders):
        try:
            path.rmdir()
        except OSError:
            return
