"""BurstGPT: CSV with Timestamp (seconds), Request tokens, Response tokens, Total tokens and more.

A request that failed has 0 response tokens: it is dropped under a reason of its own. A total that
is not request + response is flagged; the row is kept as written, because lengths come from the two
parts and the total is used for nothing else.
"""

from fluidkv.traces.cells import length, number, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    input_length = length(record, "Request tokens", changed)
    if number(record, "Response tokens") == 0:
        raise BadRow("Response tokens: 0, a failed request")
    decode_length = length(record, "Response tokens", changed)
    return Row(
        input_length=input_length,
        decode_length=decode_length,
        arrival_s=seconds(record, "Timestamp"),
        changed=tuple(changed),
        flagged=_check_total(record, input_length + decode_length),
    )


def _check_total(record: Record, expected: int) -> tuple[str, ...]:
    if "Total tokens" not in record:
        return ()
    try:
        agrees = number(record, "Total tokens") == expected
    except BadRow as bad:
        return (bad.what,)
    return () if agrees else ("Total tokens: not Request tokens + Response tokens",)


BURSTGPT = Format(
    name="burstgpt",
    layout=Layout.CSV,
    required=("Timestamp", "Request tokens", "Response tokens"),
    parse=_parse,
    optional=("Total tokens",),
)
