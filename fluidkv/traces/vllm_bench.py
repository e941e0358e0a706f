"""Log of a measured vLLM run: a folder with requests.jsonl and meta.json, or requests.jsonl alone.

A request has input_toks, output_toks and arrival_time (seconds since 1970), among other times.
"""

import json
import os
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import Format, Layout, Record, Row
from fluidkv.traces.source import reading

REQUESTS_FILE = "requests.jsonl"
META_FILE = "meta.json"


def bench_capacity(source: Path | str) -> int | None:
    """KV capacity of the engine that wrote the log: `kv_cache.num_kv_tokens` of its meta.json.

    Args:
        source: the log folder, or a file in it such as requests.jsonl.

    Returns:
        Tokens; None where there is no meta.json, or it does not give the capacity.

    Raises:
        InputError: a meta.json that is not JSON, or a capacity that is not a positive integer.
    """
    log = Path(source)
    path = (log if os.path.isdir(log) else log.parent) / META_FILE
    if not os.path.lexists(path):
        return None
    with reading(path) as text:
        try:
            meta = json.load(text)
        except (ValueError, RecursionError):
            raise InputError("source", str(path), "a meta.json that is one JSON object") from None
    cache = meta.get("kv_cache") if isinstance(meta, dict) else None
    tokens = cache.get("num_kv_tokens") if isinstance(cache, dict) else None
    if tokens is not None and (type(tokens) is not int or tokens < 1):
        allowed = "a positive integer of tokens in meta.json"
        raise InputError("kv_cache.num_kv_tokens", tokens, allowed)
    return tokens


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
