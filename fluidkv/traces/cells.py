"""The value of one cell: a length in tokens, or a time in seconds. Exact, or a reason why not."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation

from fluidkv.text import NUMBER
from fluidkv.traces.format import BadRow, Record

MAX_LENGTH = 10**8
"""Tokens. No request is longer; a larger number is some other quantity or a fault of the file."""

MAX_TIME_S = 10**12
"""Seconds, 30,000 years. Also refuses milliseconds since 1970 in a column of seconds."""

# Digits of an integer that is turned into one at once; a longer number is compared as a Decimal.
_SHORT = 20

_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?\s*(?:(Z)|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_WIDE = Context(prec=60)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def length(record: Record, column: str, changed: list[str]) -> int:
    """A number of tokens, 1 to MAX_LENGTH.

    A whole number written with a point or an exponent (`12.0`, `1e3`) is read as that integer and
    noted in `changed`.

    Raises:
        BadRow: anything else.
    """
    cell = record.get(column)
    if isinstance(cell, str) and cell.isascii() and cell.isdigit() and len(cell) < 9:
        value: int | Decimal = int(cell)  # the common case; the rest of this function agrees
    else:
        value = number(record, column)
    if value <= 0:
        raise BadRow(f"{column}: zero or negative")
    if value > MAX_LENGTH:
        raise BadRow(f"{column}: more than {MAX_LENGTH} tokens")
    if isinstance(value, int):
        return value
    # Only now is the integer small enough to be built.
    if value != value.to_integral_value():
        raise BadRow(f"{column}: not a whole number")
    changed.append(f"{column}: whole number written as a decimal, read as an integer")
    return int(value)


def number(record: Record, column: str) -> int | Decimal:
    """A finite number, exact. A number in quotes counts as a number, in JSON as in CSV.

    Raises:
        BadRow: missing, empty, not a number, or not finite.
    """
    cell = record.get(column)
    if isinstance(cell, str):
        return _number_from_text(cell.strip(), column)
    if cell is None:
        raise BadRow(f"{column}: {'empty' if column in record else 'missing'}")
    if isinstance(cell, bool) or not isinstance(cell, int | Decimal):
        raise BadRow(f"{column}: not a number")
    if isinstance(cell, Decimal) and not cell.is_finite():
        raise BadRow(f"{column}: not a finite number")
    return cell


def seconds(record: Record, column: str, *, unit: int = 0) -> Decimal:
    """A time written as a number of 10**unit seconds, as seconds (60 digits, so in effect exact).

    Raises:
        BadRow: not a number, or beyond MAX_TIME_S.
    """
    written = Decimal(number(record, column))
    # Compared as it is written: a number as large as Decimal holds cannot be scaled, nor its bound.
    if written.copy_abs() > MAX_TIME_S * 10**-unit:
        raise BadRow(f"{column}: more than {MAX_TIME_S} seconds, not a time in this unit")
    return _WIDE.scaleb(written, unit)


def date_time(record: Record, column: str) -> Decimal:
    """Seconds since 1970 of a time such as `2023-11-16 18:15:46.6805900`, any number of decimals.

    A time without an offset is read as UTC; only differences matter to a trace.

    Raises:
        BadRow: another text.
    """
    text = str(record.get(column, "")).strip()
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise BadRow(f"{column}: {'not a date and time' if text else 'empty'}")
    day, clock, fraction, _, sign, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}+00:00")
    except ValueError:
        raise BadRow(f"{column}: not a date and time") from None
    whole = (moment - _EPOCH) // timedelta(seconds=1)
    if sign:
        offset = 3600 * int(hours) + 60 * int(minutes)
        whole += -offset if sign == "+" else offset
    return Decimal(f"{whole}") + Decimal(f"0{fraction or ''}")


def elapsed(since: Decimal, until: Decimal) -> float:
    """`until` - `since`, rounded once, to the nearest double."""
    return float(_WIDE.subtract(until, since)) if since else float(until)


def _number_from_text(text: str, column: str) -> int | Decimal:
    if not text:
        raise BadRow(f"{column}: empty")
    if _NOT_FINITE.fullmatch(text):
        raise BadRow(f"{column}: not a finite number")
    if not NUMBER.fullmatch(text):
        raise BadRow(f"{column}: not a number")
    if len(text) <= _SHORT and text.lstrip("+-").isdigit():
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of 19 digits or more
        raise BadRow(f"{column}: number out of range") from None
