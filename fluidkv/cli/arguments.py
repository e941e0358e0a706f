"""From the text of the command line to exact values, or one line that says what is allowed."""

import re
import textwrap
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import require_writable
from fluidkv.text import printable
from fluidkv.workload import RequestClass, Workload

LARGEST_NUMBER = 10**15
"""No capacity or length is larger; below it float64 holds every integer."""

_LARGEST_WHOLE = 2**63 - 1  # of a JAX seed

_CLASS = "IN:OUT or IN:OUT:SHARE, such as 128:256 or 128:256:1/2"


def exact_number(argument: str, text: str, allowed: str) -> Fraction:
    """The rational that a decimal ("0.5", "41408") or a fraction ("1/2") spells exactly."""
    parts = text.strip().split("/")
    if len(parts) > 2:
        raise InputError(argument, text, allowed)
    values = [_decimal(argument, text, part, allowed) for part in parts]
    if len(values) == 2 and values[1] == 0:
        raise InputError(argument, text, allowed)
    return values[0] / values[1] if len(values) == 2 else values[0]


def request_classes(texts: list[str]) -> Workload:
    """`IN:OUT[:SHARE] ...` as a workload; without any SHARE the shares are equal."""
    rows = [text.split(":") for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if len(row) not in (2, 3):
            raise InputError("--class", text, _CLASS)
    given = [len(row) == 3 for row in rows]
    if any(given) and not all(given):
        missing = texts[given.index(False)]
        raise InputError("--class", missing, "a share for every class, or for none")
    classes = []
    for text, row in zip(texts, rows, strict=True):
        input_length, decode_length = (_length(text, part) for part in row[:2])
        share = (
            exact_number("--class", row[2], "a share such as 1/2 or 0.5")
            if len(row) == 3
            else Fraction(1, len(rows))
        )
        classes.append(RequestClass(input_length, decode_length, share))
    return Workload(tuple(classes), name=" + ".join(texts) if len(texts) < 4 else "")


def capacity(text: str) -> Fraction:
    allowed = f"a positive number of tokens, at most {LARGEST_NUMBER:.0e}"
    value = exact_number("--capacity", text, allowed)
    if not 0 < value <= LARGEST_NUMBER:
        raise InputError("--capacity", text, allowed)
    return value


def metric_bound(argument: str, text: str, *, needs: str) -> tuple[str, Fraction, str]:
    """`METRIC=BOUND[UNIT]` as name, number and unit; what the name may be is not looked at.

    Args:
        needs: what the whole has to look like.
    """
    name, _, bound = text.partition("=")
    number = r"[0-9.]+(?:[eE][-+]?[0-9]+)?"
    found = re.fullmatch(rf"\s*([-+]?(?:{number}|nan|inf))\s*([a-z]*)\s*", bound)
    if found is None:
        raise InputError(argument, text, needs)
    if found[1].lstrip("-+") in ("nan", "inf") or found[1].startswith("-"):
        raise InputError(argument, text, "a finite bound of at least 0")
    return name.strip(), exact_number(argument, found[1], needs), found[2]


def fits_blocks(argument: str, capacity: int, block_size: int) -> None:
    """Refuse a block size of which a whole number does not make up the capacity."""
    if capacity % block_size:
        raise InputError(
            argument,
            block_size,
            f"blocks that make up the capacity: {capacity:,} tokens are "
            f"{capacity // block_size:,} blocks of {block_size:,} and "
            f"{capacity % block_size:,} tokens",
        )


def written_to(folder: Path, names: Iterable[str]) -> str:
    """What was written, in 80 columns unless a name is longer; the names below the folder."""
    lines = textwrap.wrap(", ".join(names), 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"\nwritten to {printable(str(folder))}:", *(f"  {line}" for line in lines)])


def window(text: str) -> tuple[float, float]:
    """`FIRST:LAST`, seconds."""
    allowed = "FIRST:LAST in seconds, FIRST before LAST, such as 20:150"
    parts = text.split(":")
    if len(parts) != 2:
        raise InputError("--window", text, allowed)
    first, last = (float(exact_number("--window", part, allowed)) for part in parts)
    if not first < last:
        raise InputError("--window", text, allowed)
    return first, last


def whole_number(argument: str, text: str, *, least: int, most: int = _LARGEST_WHOLE) -> int:
    allowed = f"a whole number from {least} to {most if most == _LARGEST_WHOLE else f'{most:,}'}"
    if not re.fullmatch(r"[0-9]{1,19}", text.strip()) or not least <= int(text) <= most:
        raise InputError(argument, text, allowed)
    return int(text)


def writable_folder(argument: str, text: str) -> Path:
    """A folder that can be made and written, looked at before any work is done for it."""
    if not text:  # Path("") would be the current folder
        raise InputError(argument, text, "a folder")
    require_writable(argument, Path(text))
    return Path(text)


def _length(text: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", part.strip()) or int(part) < 1:
        raise InputError("--class", text, f"{_CLASS}, lengths whole and at least 1")
    return int(part)


def _decimal(argument: str, text: str, part: str, allowed: str) -> Fraction:
    # Decimal alone would also take 41_408 and the digits of other scripts.
    if not part.isascii() or "_" in part:
        raise InputError(argument, text, allowed)
    try:
        value = Decimal(part.strip())
    except InvalidOperation:
        raise InputError(argument, text, allowed) from None
    # The exponent is looked at before it is written out: 1e999999999 has a billion digits.
    if not value.is_finite() or abs(value.adjusted()) > 30 or len(part) > 60:
        raise InputError(argument, text, allowed)
    return Fraction(value)
