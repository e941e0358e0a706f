"""The page as a file, which replaces nothing but an older one of ours."""

from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import write_whole
from fluidkv.report.head import MARK

_HEAD = 8192  # bytes; the mark stands in the first lines of what we write


def require_ours(path: Path) -> None:
    """Refuse a place where a file may not be written, before any work is done for it.

    Raises:
        InputError: its name is not a page's, the folder is missing, or what stands there is not a
            page of fluidkv's, a link that leads nowhere for one.
    """
    try:
        where, there = path.parent.is_dir(), path.exists()
        file, leads_nowhere = path.is_file(), path.is_symlink() and not there
    except OSError as error:  # a name that is too long, a folder that nobody may look into
        raise _unreachable(path, error) from None
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("path", str(path), "a name that ends in .html")
    if not where:
        raise InputError("path", str(path), "a file in a folder that is there")
    if there and not file:
        raise InputError("path", str(path), "a file, not a folder")
    if leads_nowhere or (there and not _is_ours(path)):
        raise InputError("path", str(path), "a new file, or a page that fluidkv wrote before")


def write_page(path: Path, page: str) -> None:
    """Write it whole or not at all.

    Raises:
        InputError: as `require_ours`; a file that cannot be written.
    """
    require_ours(path)
    write_whole(path, page.encode())


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(_HEAD)
    except OSError as error:
        raise _unreachable(path, error) from None


def _unreachable(path: Path, error: OSError) -> InputError:
    return InputError("path", str(path), f"a file that can be written ({error.strerror})")
