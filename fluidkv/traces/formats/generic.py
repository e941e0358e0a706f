"""Any CSV with a column of input lengths and one of decode lengths, and perhaps one of arrivals.

Columns are named by the caller, or found under the names listed here. Arrivals are seconds, or
dates and times; which of the two is settled by the first row that is either.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal

from fluidkv.errors import InputError
from fluidkv.traces.cells import date_time, length, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row, folded, listed

NAME = "csv"
ALIASES: dict[str, tuple[str, ...]] = {
    "input_length": (
        *("input_length", "input_len", "input_tokens", "num_input_tokens", "prompt_length"),
        *("prompt_len", "prompt_tokens", "num_prompt_tokens", "prefill_tokens", "isl", "input"),
    ),
    "decode_length": (
        *("decode_length", "decode_tokens", "output_length", "output_len", "output_tokens"),
        *("num_output_tokens", "completion_tokens", "generated_tokens", "osl", "output"),
    ),
    "arrival_time": (
        *("arrival_time", "arrival_time_s", "arrived_at", "arrival", "timestamp", "timestamp_s"),
    ),
    "max_tokens": (),
}
"""Field of a trace -> column names that stand for it, in lower case. Arrivals are optional, and so
is what was asked for at most, which is not looked for: it is read where its column is named."""

_TEXTS = ("input", "output")  # where another column has the lengths, these have what was written


def csv_format(header: tuple[str, ...], columns: Mapping[str, str] | None = None) -> Format | None:
    """The format of a generic CSV with this header; None if its lengths cannot be found.

    Args:
        header: column names of the file.
        columns: field -> column name, for fields that ALIASES does not find. Fields are the keys
            of ALIASES.

    Raises:
        InputError: `columns` names an unknown field or an absent column, or two columns of the
            file stand for one field.
    """
    chosen = _check(columns or {}, header)
    for field, names in ALIASES.items():
        found = [name for name in header if folded(name) in names]
        if field in chosen or not found:
            continue
        if len(found) > 1:
            found = [name for name in found if folded(name) not in _TEXTS] or found
        if len(found) > 1:
            allowed = f"one column for {field}, or a choice among {listed(found)}"
            raise InputError("columns", columns, allowed)
        chosen[field] = found[0]
    if "input_length" not in chosen or "decode_length" not in chosen:
        return None
    return _format(
        chosen["input_length"],
        chosen["decode_length"],
        chosen.get("arrival_time"),
        chosen.get("max_tokens"),
    )


def _check(columns: Mapping[str, str], header: tuple[str, ...]) -> dict[str, str]:
    """`columns` with the names spelled as in the header."""
    if not isinstance(columns, Mapping):
        raise InputError("columns", columns, "a mapping from field to column name")
    present = {folded(name): name for name in header}
    chosen: dict[str, str] = {}
    for field, name in columns.items():
        if field not in ALIASES:
            raise InputError("columns", field, f"the fields {', '.join(ALIASES)}")
        if not isinstance(name, str) or folded(name) not in present:
            raise InputError("columns", {field: name}, f"columns of the file: {listed(header)}")
        if present[folded(name)] in chosen.values():
            raise InputError("columns", dict(columns), "one column a field, each column once")
        chosen[field] = present[folded(name)]
    return chosen


def _format(
    input_column: str, decode_column: str, arrival_column: str | None, asked_column: str | None
) -> Format:
    arrival = _ArrivalClock(arrival_column)

    def parse(record: Record) -> Row:
        changed: list[str] = []
        return Row(
            input_length=length(record, input_column, changed),
            decode_length=length(record, decode_column, changed),
            arrival_s=arrival(record),
            max_tokens=length(record, asked_column, changed) if asked_column else None,
            changed=tuple(changed),
        )

    further = (arrival_column, asked_column)
    columns = (input_column, decode_column, *(name for name in further if name))
    return Format(name=NAME, layout=Layout.CSV, required=columns, parse=parse)


class _ArrivalClock:
    """Reads arrivals the way that worked first: seconds and dates never mix in one trace."""

    def __init__(self, column: str | None) -> None:
        self.column = column
        self.read: Callable[[Record, str], Decimal] | None = None

    def __call__(self, record: Record) -> Decimal | None:
        if self.column is None:
            return None
        if self.read is not None:
            return self.read(record, self.column)
        for read in (seconds, date_time):
            try:
                value = read(record, self.column)
            except BadRow as bad:
                reason = bad
            else:
                self.read = read
                return value
        raise reason  # of date_time: "empty", or "not a date and time"
