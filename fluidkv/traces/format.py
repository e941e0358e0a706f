"""What a trace format is: where its columns stand, and how one record becomes one row."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

Record = Mapping[str, object]
"""Column or key -> value: text from CSV; int, Decimal, text, list and so on from JSON."""


class Layout(Enum):
    CSV = "CSV file with a header line, separated by commas"
    JSON_LINES = "JSON lines file, one object a line"


class BadRow(Exception):  # noqa: N818 (a fact about a row, not a fault of the program)
    """A row that cannot be a request. It is dropped, and counted under `what`."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a benchmark's client saw of one request, in seconds; None where the file does not say.

    Fields:
        ttft_s, latency_s: from sending it to its first and to its last token.
        gaps_s: between its pieces as they came; a piece may be several tokens, or none.
    """

    ttft_s: float | None = None
    latency_s: float | None = None
    gaps_s: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One request as a format wrote it.

    Fields:
        input_length, decode_length: tokens, at least 1.
        arrival_s: seconds on the clock of the file, exact; None if the file has no times.
        prefix_blocks: block ids; None if the row has none.
        prompt_segments: [segment, length] of the prompt, segment None where it is nobody else's;
            None in formats without.
        output_segment: what segment the output is; None where it is nobody else's.
        changed: what was read as another value than written.
        flagged: what looks wrong and was kept as written.
        seen: what a benchmark's client measured of it; None in formats without.
        max_tokens: what it asked for at most; None if nobody says.
    """

    input_length: int
    decode_length: int
    arrival_s: Decimal | None = None
    prefix_blocks: tuple[int, ...] | None = None
    prompt_segments: tuple[tuple[int | None, int], ...] | None = None
    output_segment: int | None = None
    changed: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    seen: Seen | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class Format:
    """A trace format. Each lives in a file of its own.

    Fields:
        name: what `format=` takes.
        layout: CSV or JSON lines.
        required: columns (or keys) without which a file is not of this format.
        parse: record -> row; raises BadRow. In CSV a record has the required columns and those
            of the optional ones that the header names.
        optional: further columns that `parse` looks at.
        block_size: tokens of a prefix block, where the format has prefix blocks.
        by_arrival: whether the tool that writes it puts requests down as they end, so that they are
            read in order of arrival.
    """

    name: str
    layout: Layout
    required: tuple[str, ...]
    parse: Callable[[Record], Row]
    optional: tuple[str, ...] = ()
    block_size: int | None = None
    by_arrival: bool = False


def folded(name: str) -> str:
    """A column name for comparison: neither case nor blanks around or inside it matter."""
    return " ".join(name.split()).lower()


def listed(names: Iterable[str]) -> str:
    """Column names on one line of bounded length, for messages."""
    names = [" ".join(name.split())[:30] for name in names]
    return (", ".join(names[:10]) + (", ..." if len(names) > 10 else "")) or "none"
