"""Lines of a server's log, without colours, and the second in which each was written.

A stamp is one of four kinds: a date with a zone in front of the line (as `docker logs -t` puts it),
a date, a date without its year (vLLM), or a time of day. A log is read by one kind, that of its
first row. Without a year, a date that falls by most of a year is of the next one; a time of day
that falls by half a day is of the next day. A year without a name is a leap year if its 29th of
February is seen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path

from fluidkv.reading import lines, reading

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FRONT = re.compile(r"\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)([.,]\d+)?(Z|[+-]\d\d:?\d\d)(?!\d)")
_DATE = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)([.,]\d+)?(?!\d)")
_DAY = re.compile(r"(?<![\d-])(\d\d-\d\d) (\d\d:\d\d:\d\d)([.,]\d+)?(?![\d:])")
_TIME = re.compile(r"\[(\d\d:\d\d:\d\d)([.,]\d+)?(?=[\] ])")
_COMMON, _LEAP = 2023, 2024  # years for dates without one
_EPOCH = datetime(1970, 1, 1)
_DAY_S = 86_400.0
STAMP_WITHIN = 200
"""Characters from the beginning of a line; what stands later is part of what is said."""


class Stamp(Enum):
    """Kinds of stamps, the most telling first."""

    ZONE = "a date and time with a zone"
    DATE = "a date and time"
    DAY = "a month, a day and a time"
    TIME = "a time of day"


@dataclass
class Clock:
    """Turns stamps into seconds that go on where a day or a year begins again.

    Fields:
        kind: of the first stamp; None before it.
        zero_s: what was subtracted: seconds since 1970, of a date; without a zone, the server's.
    """

    kind: Stamp | None = None
    zero_s: float | None = None
    _last: float = 0.0
    _year: int = _COMMON

    def seconds(self, line: str) -> float | None:
        """Seconds after the first stamp; None where the line has none of its kind."""
        for kind in Stamp if self.kind is None else (self.kind,):
            at = self._stamped(line[:STAMP_WITHIN], kind)
            if at is not None:
                break
        else:
            return None
        if self.kind is None or self.zero_s is None:
            self.kind, self.zero_s = kind, at
        at -= self.zero_s
        year_s = _DAY_S * (366 if self._year == _LEAP else 365)
        wrap = {Stamp.DAY: year_s, Stamp.TIME: _DAY_S}.get(kind)
        if wrap is not None:
            while at < self._last - wrap / 2:
                at += wrap
        self._last = max(self._last, at)
        return at

    def _stamped(self, text: str, kind: Stamp) -> float | None:
        at = _stamped(text, kind, self._year)
        if at is None and kind is Stamp.DAY and self._year == _COMMON:
            at = _stamped(text, kind, _LEAP)  # the 29th of February
            self._year = _COMMON if at is None else _LEAP
        return at


def _stamped(text: str, kind: Stamp, year: int) -> float | None:
    """Seconds since 1970; of a date without its year, since that year began."""
    since = _EPOCH
    match kind:
        case Stamp.ZONE:
            found = _FRONT.match(text)
            day, clock, fraction, zone = found.groups() if found else ("",) * 4
        case Stamp.DATE:
            found, zone = _DATE.search(text), None
            day, clock, fraction = found.groups() if found else ("",) * 3
        case Stamp.DAY:
            found, zone = _DAY.search(text), None
            day, clock, fraction = found.groups() if found else ("",) * 3
            day, since = f"{year}-{day}", datetime(year, 1, 1)
        case Stamp.TIME:
            found, zone, day = _TIME.search(text), None, "1970-01-01"
            clock, fraction = found.groups() if found else ("",) * 2
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(f"{day} {clock}") - since - _ahead(zone)
    except ValueError:  # the 31st of February; 25 o'clock
        return None
    return at.total_seconds() + float(f"0.{fraction[1:10]}" if fraction else 0)


def _ahead(zone: str | None) -> timedelta:
    if not zone or zone == "Z":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))


def log_lines(path: Path, argument: str = "source") -> Iterator[tuple[int, str]]:
    """(number, text) of each line, colours and line ends taken off.

    A lone carriage return, as progress bars write it, ends a text but counts as no line.

    Raises:
        InputError: as `fluidkv.reading.reading`.
    """
    number = 1
    with reading(path, argument) as text:
        for line in lines(text, path, argument):
            yield number, _COLOURS.sub("", line).rstrip("\r\n")
            number += line.endswith("\n")
