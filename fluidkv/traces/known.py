"""The formats there are, and which of them a file is of: its content decides, never its name."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.traces.format import BadRow, Format, Layout, Record, folded, listed
from fluidkv.traces.formats import generic
from fluidkv.traces.formats.aiperf import AIPERF
from fluidkv.traces.formats.azure import AZURE
from fluidkv.traces.formats.burstgpt import BURSTGPT
from fluidkv.traces.formats.mooncake import MOONCAKE
from fluidkv.traces.formats.segments import SEGMENTS
from fluidkv.traces.formats.sglang_log import SGLANG_LOG
from fluidkv.traces.formats.vidur import VIDUR
from fluidkv.traces.formats.vllm_log import VLLM_BENCH
from fluidkv.traces.results.documents import whole_object
from fluidkv.traces.results.genai_perf import GENAI_PERF
from fluidkv.traces.results.guidellm import GUIDELLM
from fluidkv.traces.results.run import RunFormat
from fluidkv.traces.results.sglang_serving import SGLANG_SERVING
from fluidkv.traces.results.vllm_serve import VLLM_SERVE
from fluidkv.traces.source import csv_header, first_line, is_json, json_records, wrong_columns

# Searched in this order; no file has the columns of two of them unless it was made to.
_FORMATS = {
    form.name: form
    for form in (AZURE, BURSTGPT, MOONCAKE, SEGMENTS, VIDUR, VLLM_BENCH, SGLANG_LOG, AIPERF)
}

LOG_FORMATS = (VLLM_BENCH.name, SGLANG_LOG.name)
"""Formats of the requests.jsonl of a log folder."""

# SGLang's first: vLLM's takes any object with lists of lengths.
_RUN_FORMATS = {form.name: form for form in (SGLANG_SERVING, VLLM_SERVE, GUIDELLM, GENAI_PERF)}

# Lines looked at to recognise JSON lines: enough to pass over a few broken ones.
_LINES_TO_RECOGNISE = 20

_BESIDE = "take the profile_export.jsonl or profile_export.json beside it"
# Files that AIPerf and genai-perf write too: keys -> what they are.
_MISTAKEN = {
    ("input_config", "request_throughput"): f"totals only: {_BESIDE}",
    ("data",): f"prompts before they were sent: {_BESIDE}",
}


class Chosen(NamedTuple):
    """A format, and the JSON objects of the file where finding it has parsed them all."""

    form: Format | RunFormat
    objects: Sequence[Record | BadRow] | None = None

    @property
    def is_result(self) -> bool:
        """Whether a benchmark's client wrote it, request by request."""
        return isinstance(self.form, RunFormat) or self.form is AIPERF


def format_names() -> tuple[str, ...]:
    """What `format=` takes, in alphabetical order.

    Examples:
        >>> from fluidkv.traces.known import format_names
        >>> len(format_names()), format_names()[:4]
        (13, ('aiperf', 'azure', 'burstgpt', 'csv'))
    """
    return tuple(sorted((*_FORMATS, *_RUN_FORMATS, generic.NAME)))


def chosen_format(path: Path, format: str | None, columns: Mapping[str, str] | None) -> Chosen:
    """The format that is named, or that the file is of.

    Raises:
        InputError: a file that cannot be read as text or is of no known format; columns that do
            not fit.
    """
    if columns is not None and format not in (None, generic.NAME):
        raise InputError("columns", columns, f"none, unless the format is {generic.NAME}")
    first_line(path)  # an empty file, or one that is no text, gets a message of its own
    if format in _FORMATS:
        return Chosen(_FORMATS[format])
    if format in _RUN_FORMATS:
        return Chosen(_RUN_FORMATS[format])
    if format is None and columns is None and is_json(path):
        return _of_json(path)
    header = csv_header(path)
    if format is None and columns is None:
        for form in _FORMATS.values():
            if form.layout is Layout.CSV and _has(header, form.required):
                return Chosen(form)
    found = generic.csv_format(header, columns)
    if found is None:
        wanted = ("input_length", "decode_length")
        what = f"columns of {_names(Layout.CSV)}, as --columns says, or with usual names for"
        raise wrong_columns(path, header, what, wanted)
    return Chosen(found)


def _of_json(path: Path) -> Chosen:
    keys: tuple[str, ...] = ()
    head = [record for _, record in islice(json_records(path), _LINES_TO_RECOGNISE)]
    for record in head:
        if isinstance(record, BadRow):
            continue
        keys = keys or tuple(record)
        for form in _FORMATS.values():
            if form.layout is Layout.JSON_LINES and all(key in record for key in form.required):
                return Chosen(form)
        found = _of_object(record)
        if found is not None:
            return Chosen(found, head if len(head) < _LINES_TO_RECOGNISE else None)
    if not keys:  # no line is an object by itself
        whole = whole_object(path) or {}
        keys, found = tuple(whole), _of_object(whole)
        if found is not None:
            return Chosen(found, [whole])
    known = " or ".join((_names(Layout.JSON_LINES), *_RUN_FORMATS))
    for wanted, what in _MISTAKEN.items():
        if all(key in keys for key in wanted) and (len(wanted) > 1 or keys == wanted):
            raise InputError("source", str(path), f"{known} (this file has {what})")
    raise InputError("source", str(path), f"JSON lines of {known} (found: {listed(keys)})")


def _of_object(record: Record) -> RunFormat | None:
    return next((form for form in _RUN_FORMATS.values() if form.recognises(record)), None)


def _names(layout: Layout) -> str:
    return " or ".join(form.name for form in _FORMATS.values() if form.layout is layout)


def _has(header: tuple[str, ...], required: tuple[str, ...]) -> bool:
    names = {folded(name) for name in header}
    return all(folded(name) in names for name in required)
