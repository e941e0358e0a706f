"""Single values of a benchmark result: numbers that may be missing, and what lies inside what."""

from collections.abc import Callable
from decimal import Decimal

from fluidkv.text import printable
from fluidkv.traces.cells import number, seconds
from fluidkv.traces.format import BadRow, Record

_USUAL_S = 1e6


def inside(record: object, *keys: str) -> object:
    """The value under keys inside one another; None where one of them is missing."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def listed_in(record: object, *keys: str) -> list[object]:
    """The list under these keys; an empty one where there is no list."""
    value = inside(record, *keys)
    return value if isinstance(value, list) else []


def time_in(record: Record, key: str, *, unit: int = 0) -> float | None:
    """A time in units of 10**unit seconds, as seconds; None where the key is missing or null.

    Raises:
        BadRow: another value than a finite number, or one that is no time.
    """
    if record.get(key) is None:
        return None
    return float(seconds(record, key, unit=unit))


def times_in(record: Record, key: str, *, unit: int = 0) -> tuple[float, ...] | None:
    """A list of times, as `time_in` has them; None where the key is missing or null.

    Raises:
        BadRow: no list, or an entry that is no finite number.
    """
    values = record.get(key)
    if values is None:
        return None
    if not isinstance(values, list):
        raise BadRow(f"{key}: not a list")
    return tuple([_one_time(value, key, unit) for value in values])


def _one_time(value: object, key: str, unit: int) -> float:
    if type(value) is Decimal and not unit and -_USUAL_S < (found := float(value)) < _USUAL_S:
        return found  # nearly all, of millions; what follows agrees
    return float(seconds({key: value}, key, unit=unit))


def fact(record: object, *keys: str) -> float | None:
    """A number that says something of a run; None where there is none, whatever stands there.

    Infinity may be written as such or as "inf".
    """
    value = inside(record, *keys)
    if str(value).strip().lower() in ("inf", "infinity"):
        return float("inf")
    return _or_none(lambda: float(number({"": value}, "")))


def count(record: object, *keys: str) -> int | None:
    """A whole number of at least 0 that says something of a run; else None."""
    value = fact(record, *keys)
    return int(value) if value is not None and value >= 0 and value % 1 == 0 else None


def text(record: object, *keys: str) -> str | None:
    """A text that says something of a run; else None."""
    value = inside(record, *keys)
    return printable(value) if isinstance(value, str) else None


def _or_none(read: Callable[[], float]) -> float | None:
    try:
        return read()
    except (BadRow, OverflowError):
        return None
