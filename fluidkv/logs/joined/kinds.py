"""What kind of file of a log a file is: its content decides.

A name decides for meta.json, and where the content of a file that has the name of a recorded run
is none of any kind: its reader then says what is wrong with it.
"""

from enum import Enum
from itertools import islice
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.logs.folder.sglang import DECODE_COLUMNS, DECODE_FILE, EVENTS_FILE
from fluidkv.logs.folder.vllm import TICK_COLUMNS, TICKS_FILE
from fluidkv.logs.meta import META_FILE
from fluidkv.logs.metrics.prometheus import is_range
from fluidkv.logs.metrics.scraped import is_page
from fluidkv.logs.metrics.wide import is_metrics
from fluidkv.logs.stdout.lines import log_lines
from fluidkv.logs.stdout.sglang import DECODE
from fluidkv.logs.stdout.sglang_start import STARTS as SGLANG_STARTS
from fluidkv.logs.stdout.vllm import STATISTICS
from fluidkv.logs.stdout.vllm_start import STARTS as VLLM_STARTS
from fluidkv.reading import reading
from fluidkv.traces.format import BadRow, folded
from fluidkv.traces.formats.vllm_log import REQUESTS_FILE
from fluidkv.traces.known import chosen_format
from fluidkv.traces.source import csv_header, is_json, json_records

_HEAD = 65_536  # characters, and
_LINES = 400_000  # lines of a server's output, one of which has to tell
_RECORDS = 20


class Kind(Enum):
    """Kinds of files, each with what it is in words."""

    META = "settings of the server"
    VLLM_REQUESTS = "requests with vLLM's own times"
    VLLM_TICKS = "vLLM's counters, tick by tick"
    SGLANG_REQUESTS = "requests of an SGLang run"
    SGLANG_TICKS = "SGLang's decode log"
    SGLANG_EVENTS = "SGLang's retractions and prefills"
    RANGE = "metrics out of Prometheus"
    PAGES = "pages of /metrics"
    METRICS = "metrics as CSV"
    VLLM_STDOUT = "what a vLLM server printed"
    SGLANG_STDOUT = "what an SGLang server printed"
    REQUESTS = "requests of a trace or benchmark"


OF_A_FOLDER = (Kind.META, Kind.VLLM_REQUESTS, Kind.VLLM_TICKS, Kind.SGLANG_REQUESTS)
OF_A_FOLDER += (Kind.SGLANG_TICKS, Kind.SGLANG_EVENTS)
"""Under its own name a file of these kinds is never alone: as a source it stands for its folder."""

_NAMED = {
    REQUESTS_FILE: Kind.VLLM_REQUESTS,
    TICKS_FILE: Kind.VLLM_TICKS,
    DECODE_FILE: Kind.SGLANG_TICKS,
    EVENTS_FILE: Kind.SGLANG_EVENTS,
}
FOLDER_NAMES = (META_FILE, *_NAMED)
_KEYS = {
    Kind.VLLM_REQUESTS: {"input_toks", "output_toks", "arrival_time"},
    Kind.SGLANG_REQUESTS: {"input", "output", "arrival_s"},
    Kind.SGLANG_EVENTS: {"kind", "time_s"},
}


def kind_of(path: Path) -> Kind | None:
    """The kind of a file; None where it is of no log, and no text."""
    if path.name == META_FILE:
        return Kind.META
    try:
        with reading(path) as text:
            head = text.read(_HEAD)
        json = is_json(path)
        if not json and _is_one_line(head):
            return None
        found = (_of_json(path, head) or _of_prometheus(head)) if json else _of_text(path, head)
        if found is None and (json or "," in head.splitlines()[0]):
            chosen_format(path, None, None)
            found = Kind.REQUESTS
    except InputError:
        found = None
    return found or _NAMED.get(path.name)


def why_none(path: Path) -> str:
    """What a table or JSON of no kind would need to have; "" for any other file."""
    if path.suffix not in (".csv", ".json", ".jsonl"):
        return ""
    try:
        with reading(path) as text:
            if not is_json(path) and _is_one_line(text.read(_HEAD)):
                return f"a first line of fewer than {_HEAD:,} characters"
        chosen_format(path, None, None)
    except InputError as error:
        return error.allowed
    return ""


def _is_one_line(head: str) -> bool:
    """Whether a beginning has no end of a line: no header is so long, and no line of a server."""
    return len(head) == _HEAD and "\n" not in head


def _of_prometheus(head: str) -> Kind | None:
    return Kind.RANGE if is_range(head) else None


def _of_json(path: Path, head: str) -> Kind | None:
    for _, record in islice(json_records(path), _RECORDS):
        if not isinstance(record, BadRow):
            for kind, keys in _KEYS.items():
                if keys <= record.keys():
                    return kind
    return None


def _of_text(path: Path, head: str) -> Kind | None:
    header = csv_header(path)
    names = {folded(name) for name in header}
    if set(DECODE_COLUMNS) <= names:
        return Kind.SGLANG_TICKS
    if set(TICK_COLUMNS) <= names:
        return Kind.VLLM_TICKS
    if is_metrics(header):
        return Kind.METRICS
    if is_page(head):
        return Kind.PAGES
    if len(header) > 1 and not any(" " in name for name in header):
        return None  # another CSV file: no server prints so
    for _, line in islice(log_lines(path), _LINES):
        if STATISTICS in line or any(words in line for words in VLLM_STARTS):
            return Kind.VLLM_STDOUT
        if DECODE.search(line) or any(words in line for words in SGLANG_STARTS):
            return Kind.SGLANG_STDOUT
    return None
