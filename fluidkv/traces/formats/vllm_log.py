"""Log of a measured vLLM run: a folder with requests.jsonl and meta.json, or requests.jsonl alone.

A request has input_toks, output_toks and arrival_time (seconds since 1970), among other times.
"""

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import Format, Layout, Record, Row

REQUESTS_FILE = "requests.jsonl"


def _parse(record: Record) -> Row:
    changed: list[str] = []
    return Row(
        input_length=length(record, "input_toks", changed),
        decode_length=length(record, "output_toks", changed),
        arrival_s=seconds(record, "arrival_time"),
        changed=tuple(changed),
    )


VLLM_BENCH = Format(
    name="vllm-bench",
    layout=Layout.JSON_LINES,
    required=("input_toks", "output_toks", "arrival_time"),
    parse=_parse,
)
