"""A log from a folder or a file: what each file is, what all say together, and what none says."""

from dataclasses import replace
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.logs.joined.contradictions import check
from fluidkv.logs.joined.join import joined
from fluidkv.logs.joined.kinds import FOLDER_NAMES, OF_A_FOLDER, Kind, kind_of, why_none
from fluidkv.logs.joined.parts import Part, read_part
from fluidkv.logs.log import ServerLog
from fluidkv.logs.missing import missing_of
from fluidkv.text import printable
from fluidkv.traces.results.documents import numbered
from fluidkv.traces.samples.shipped import sample_path
from fluidkv.traces.source import first_line

_FILES = 1000
"""Files of a folder that are looked at."""

_NO_FILE = "this is not a regular file"
_NAMED = 8  # files that a note names of those that were not read


def log_folder(source: Path | str) -> Path:
    """The folder of a measured run; of a file in it, that folder; of a sample, its own."""
    path = sample_path(source)
    try:
        return path.parent if path.is_file() else path
    except OSError:  # a name that is too long: its reader says so
        return path


def read_log(source: Path | str) -> ServerLog:
    """Read what files say of a measured run; which is what is found from their content.

    Args:
        source: a folder with any of these files, or one of them; or a log that ships with the
            package. The files of a recorded run (`requests.jsonl`, `timeseries.csv`,
            `decode_log.csv`, ...) stand for their folder: what lies beside them is read too.

    Raises:
        InputError: no file of a log; a file that is unreadable, has no usable request, or times or
            counters that cannot be; files that contradict each other.

    Examples:
        >>> log = fk.read_log("sample:vllm-rtx4090")
        >>> log.engine, log.version, len(log.requests.arrival_s), len(log.ticks.ends_s)
        ('vllm', '0.19.0', 300, 184)
        >>> [each.what for each in log.missing]
        ['preemptions']
    """
    path = sample_path(source)
    files, others = _files(path)
    sizes = [_part(path, kind, None) for path, kind in files if kind not in _NEEDS_CAPACITY]
    capacity = next((c for part in sizes if (c := part.log.capacity) is not None), None)
    parts = sizes + [_part(p, kind, capacity) for p, kind in files if kind in _NEEDS_CAPACITY]
    log = joined(path, parts)
    check(log)
    return replace(log, missing=missing_of(log), notes=(*log.notes, *_not_read(others)))


def _not_read(others: list[Path]) -> list[str]:
    """Files that were passed over; of a table or JSON, what it would need to have."""
    reasons = [(_name(path), why_none(path)) for path in others[:_NAMED]]
    notes = [f"not read: {name}, which needs {why}" for name, why in reasons if why]
    plain = [name for name, why in reasons if not why]
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    return [*notes, f"not read: {', '.join(plain)}{more}"] if plain or more else notes


def _name(path: Path) -> str:
    return printable(path.name)[:60]


_NEEDS_CAPACITY = (Kind.SGLANG_TICKS,)


def is_log(source: Path | str) -> bool:
    """Whether a source has a file of a server's log, and not a trace or benchmark result alone.

    Examples:
        >>> from fluidkv.logs.read import is_log
        >>> is_log("sample:vllm-rtx4090")
        True
        >>> _ = fk.traces.write_vidur(fk.Trace((10, 30), (2, 5), (0.0, 1.5)), "mine.csv")
        >>> is_log("mine.csv")
        False
    """
    path = sample_path(source)
    try:
        return any(kind not in (Kind.REQUESTS, Kind.META) for _, kind in _files(path)[0])
    except InputError:
        return False


def _files(path: Path) -> tuple[list[tuple[Path, Kind]], list[Path]]:
    """The files of a log, in alphabetical order, settings first; and the others."""
    try:
        file, run = numbered(path)
        if file.is_file():
            kind = kind_of(file)
            if kind is None or (run is not None and kind is not Kind.REQUESTS):
                raise _not_one(path, file, run)
            if kind not in OF_A_FOLDER or path.name not in FOLDER_NAMES:
                return _known(path, [(path, kind)]), []
            path = path.parent
        inside = sorted(each for each in path.iterdir() if each.is_file())
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        reason = getattr(error, "strerror", None) or type(error).__name__
        usual = {FileNotFoundError: "there is no such file", NotADirectoryError: _NO_FILE}
        reason = usual.get(type(error), reason)
        allowed = f"a log folder or file that exists and can be read ({reason})"
        raise InputError("source", str(path), allowed) from None
    inside = [each for each in inside if not each.name.startswith(".")]
    if len(inside) > _FILES:
        allowed = f"a log folder of at most {_FILES:,} files (there are {len(inside):,})"
        raise InputError("source", str(path), allowed)
    found = [(each, kind_of(each)) for each in inside]
    others = [each for each, kind in found if kind is None]
    return sorted(_known(path, found), key=lambda file: file[1] is not Kind.META), others


def _not_one(path: Path, file: Path, run: int | None) -> InputError:
    """Why a file is no log: it cannot be read at all, or says nothing of a run.

    Raises:
        InputError: as `fluidkv.reading.reading`, or a file that is empty.
    """
    first_line(file)
    if run is not None:
        return InputError("source", str(path), "a benchmark result where a run is named")
    return InputError("source", str(path), f"{_A_LOG} (this file is none of these)")


_A_LOG = "a log: requests of a benchmark, a server's output, or polled metrics"


def _known(path: Path, found: list[tuple[Path, Kind | None]]) -> list[tuple[Path, Kind]]:
    files = [(file, kind) for file, kind in found if kind is not None]
    if not any(kind is not Kind.META for _, kind in files):
        raise InputError("source", str(path), f"{_A_LOG} (no such file in it)")
    return files


def _part(path: Path, kind: Kind, capacity: int | None) -> Part:
    return read_part(path, kind, capacity)
