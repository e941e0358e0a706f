"""Mooncake: JSON lines with timestamp (milliseconds), input_length, output_length, hash_ids.

Each of `hash_ids` stands for one block of 512 prompt tokens and for all blocks before it. The
number of ids should be the prompt's length in blocks, rounded up; where it is not, the row is
flagged and kept as written. A record without `hash_ids` has no prefix blocks.
"""

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row

BLOCK_SIZE = 512
"""Tokens of a prefix block, fixed by the format."""

MILLI = -3
"""Timestamps are in units of 10**MILLI seconds."""


def _parse(record: Record) -> Row:
    changed: list[str] = []
    input_length = length(record, "input_length", changed)
    decode_length = length(record, "output_length", changed)
    blocks = _blocks(record)
    flagged = ()
    if blocks is not None and len(blocks) != -(-input_length // BLOCK_SIZE):
        flagged = (f"hash_ids: not one id for each {BLOCK_SIZE} tokens of input_length",)
    return Row(
        input_length=input_length,
        decode_length=decode_length,
        arrival_s=seconds(record, "timestamp", unit=MILLI),
        prefix_blocks=blocks,
        changed=tuple(changed),
        flagged=flagged,
    )


def _blocks(record: Record) -> tuple[int, ...] | None:
    ids = record.get("hash_ids")
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(type(i) is int and i >= 0 for i in ids):
        raise BadRow("hash_ids: not a list of integers of at least 0")
    return tuple(ids)


MOONCAKE = Format(
    name="mooncake",
    layout=Layout.JSON_LINES,
    required=("timestamp", "input_length", "output_length"),
    parse=_parse,
    optional=("hash_ids",),
    block_size=BLOCK_SIZE,
)
