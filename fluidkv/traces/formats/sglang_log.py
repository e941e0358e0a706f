"""Requests of a measured SGLang run: JSON lines with arrival_s (seconds), input, output (tokens).

`cached_prefix` is how many tokens of the prompt were in the cache on arrival: they are read as the
beginning of one text, which all prompts have in common, and the rest as the prompt's own.
"""

from fluidkv.traces.cells import length, number, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    inputs = length(record, "input", changed)
    outputs = length(record, "output", changed)
    cached = number(record, "cached_prefix") if "cached_prefix" in record else 0
    if not 0 <= cached <= inputs or cached != int(cached):
        raise BadRow("cached_prefix: not from 0 to the input")
    parts = ((0, int(cached)), (None, inputs - int(cached)))
    return Row(
        input_length=inputs,
        decode_length=outputs,
        arrival_s=seconds(record, "arrival_s"),
        prompt_segments=tuple((segment, tokens) for segment, tokens in parts if tokens),
        changed=tuple(changed),
    )


SGLANG_LOG = Format(
    name="sglang-log",
    layout=Layout.JSON_LINES,
    required=("arrival_s", "input", "output"),
    parse=_parse,
    optional=("cached_prefix",),
)
