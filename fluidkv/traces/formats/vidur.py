"""Vidur: CSV with arrived_at (seconds), num_prefill_tokens, num_decode_tokens.

Vidur's traces of lengths have no `arrived_at`; they give a trace without arrival times.
"""

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    return Row(
        input_length=length(record, "num_prefill_tokens", changed),
        decode_length=length(record, "num_decode_tokens", changed),
        arrival_s=seconds(record, "arrived_at") if "arrived_at" in record else None,
        changed=tuple(changed),
    )


VIDUR = Format(
    name="vidur",
    layout=Layout.CSV,
    required=("num_prefill_tokens", "num_decode_tokens"),
    parse=_parse,
    optional=("arrived_at",),
)
