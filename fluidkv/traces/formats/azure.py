"""Azure LLM inference traces, 2023 and 2024: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.

Timestamps are dates with up to seven decimals of a second; the 2024 files add an offset.
"""

from fluidkv.traces.cells import date_time, length
from fluidkv.traces.format import Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    return Row(
        input_length=length(record, "ContextTokens", changed),
        decode_length=length(record, "GeneratedTokens", changed),
        arrival_s=date_time(record, "TIMESTAMP"),
        changed=tuple(changed),
    )


AZURE = Format(
    name="azure",
    layout=Layout.CSV,
    required=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    parse=_parse,
)
