"""Prompts that say what they share: JSON lines with arrival (seconds), prompt, and an output.

`prompt` is a list of [segment, length]: the first tokens of numbered texts, one behind the other,
so two prompts share as many tokens as their lists begin alike. The output is `output`, [segment,
length], where later prompts repeat it, or `output_length`, tokens that nobody else has.

    {"arrival": 0.0, "prompt": [[0, 1024], [1, 32]], "output": [2, 4]}
    {"arrival": 1.5, "prompt": [[0, 1024], [1, 32], [2, 4], [3, 32]], "output_length": 4}
"""

from fluidkv.traces.cells import MAX_LENGTH, length, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row


def _parse(record: Record) -> Row:
    changed: list[str] = []
    written = record.get("prompt")
    if not isinstance(written, list) or not written:
        raise BadRow("prompt: not a list of [segment, length]")
    prompt = tuple(_segment("prompt", pair) for pair in written)
    tokens = sum(size for _, size in prompt)
    if tokens > MAX_LENGTH:
        raise BadRow(f"prompt: more than {MAX_LENGTH} tokens")
    output = None
    if record.get("output") is not None:
        output, decode_length = _segment("output", record["output"])
        if record.get("output_length", decode_length) != decode_length:
            raise BadRow("output_length: not the length of output")
    else:
        decode_length = length(record, "output_length", changed)
    return Row(
        input_length=tokens,
        decode_length=decode_length,
        arrival_s=seconds(record, "arrival"),
        prompt_segments=prompt,
        output_segment=output,
        changed=tuple(changed),
    )


def _segment(column: str, pair: object) -> tuple[int, int]:
    if not isinstance(pair, list) or len(pair) != 2 or not all(type(n) is int for n in pair):
        raise BadRow(f"{column}: not [segment, length] in whole numbers")
    if pair[0] < 0:
        raise BadRow(f"{column}: a segment below 0")
    if not 1 <= pair[1] <= MAX_LENGTH:
        raise BadRow(f"{column}: a length that is not from 1 to {MAX_LENGTH} tokens")
    return pair[0], pair[1]


SEGMENTS = Format(
    name="segments",
    layout=Layout.JSON_LINES,
    required=("arrival", "prompt"),
    parse=_parse,
    optional=("output", "output_length"),
)
