"""Requests of a measured SGLang run: JSON lines with arrival_s (seconds), input, output (tokens).

`cached_prefix`, tokens of the prompt that were in the cache on arrival, is read by the readers of
logs; a trace has the whole prompt.
"""

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    return Row(
        input_length=length(record, "input", changed),
        decode_length=length(record, "output", changed),
        arrival_s=seconds(record, "arrival_s"),
        changed=tuple(changed),
    )


SGLANG_LOG = Format(
    name="sglang-log",
    layout=Layout.JSON_LINES,
    required=("arrival_s", "input", "output"),
    parse=_parse,
)
