"""Where the requests of a source lie: a sample, a log folder, a file, one of the runs in a file."""

from pathlib import Path
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.traces.formats.vllm_log import REQUESTS_FILE
from fluidkv.traces.known import LOG_FORMATS, chosen_format
from fluidkv.traces.results.documents import numbered
from fluidkv.traces.samples.shipped import sample_path

_MOST_FILES = 1000
"""Files of a folder that are opened to find the one with its requests."""


class Place(NamedTuple):
    """A file, and which of its runs is meant, from 1; None where no number was given."""

    path: Path
    run: int | None = None


def place_of(source: Path | str, format: str | None = None) -> Place:
    """The file that holds the requests of a source.

    Args:
        format: the one that is named; a folder has those of logs, or a benchmark result.

    Raises:
        InputError: no path, one that cannot be entered, a sample that there is not, or a folder
            without requests or with several files of them.
    """
    if not isinstance(source, Path | str):
        raise InputError("source", source, "the path of a trace file or log folder")
    path = sample_path(source)
    try:
        if not path.is_dir():
            return Place(*numbered(path))
        found = requests_file(path)
    except OSError as error:  # a folder on the way that must not be entered, a name too long
        raise InputError("source", str(source), f"a readable path ({error.strerror})") from None
    if found is None:
        allowed = f"a file, or a log folder with {REQUESTS_FILE} or a benchmark result"
        raise InputError("source", str(source), allowed)
    if found.name == REQUESTS_FILE and format not in (None, *LOG_FORMATS):
        names = " or ".join(LOG_FORMATS)
        raise InputError("format", format, f"{names} where the source is a folder of a log")
    return Place(found)


def requests_file(folder: Path) -> Path | None:
    """The file of a folder that holds its requests: requests.jsonl, or the only benchmark result.

    Raises:
        InputError: several benchmark results.
        OSError: a folder that must not be read.
    """
    if (folder / REQUESTS_FILE).is_file():
        return folder / REQUESTS_FILE
    files = sorted(p for p in folder.iterdir() if p.suffix in (".json", ".jsonl") and p.is_file())
    found = [path for path in files[:_MOST_FILES] if _is_result(path)]
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:3])
        allowed = f"a folder with one benchmark result (there are {len(found)}: {names})"
        raise InputError("source", str(folder), allowed)
    return found[0] if found else None


def _is_result(path: Path) -> bool:
    try:
        return chosen_format(path, None, None).is_result
    except InputError:
        return False
