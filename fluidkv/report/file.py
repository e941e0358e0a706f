"""The page as a file, which replaces nothing but an older one of ours."""

import re
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import write_whole

_MARK = re.compile(rb'<meta name="generator" content="fluidkv[^"]*">')
_HEAD = 8192  # bytes; the mark stands in the first lines of what we write


def require_ours(path: Path) -> None:
    """Refuse a place where a file may not be written, before any work is done for it.

    Raises:
        InputError: its name is not a page's, the folder is missing, or what stands there is not a
            page of fluidkv's.
    """
    if not path.parent.is_dir():
        raise InputError("path", str(path), "a file in a folder that is there")
    if path.exists() and not path.is_file():
        raise InputError("path", str(path), "a file, not a folder")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("path", str(path), "a name that ends in .html")
    if path.exists() and not _is_ours(path):
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
            return _MARK.search(file.read(_HEAD)) is not None
    except OSError:
        return False
