"""genai-perf's profile_export.json: experiments, each with its requests, answers as they streamed.

It holds texts, not token counts. A request's lengths are those of `usage` in its answer, which an
OpenAI server sends where it is asked to; without it a row says nothing of lengths, and is dropped.
Times are nanoseconds. Pieces without text (the role, the end, `usage` itself) are no tokens.

Source: genai-perf/genai_perf/profile_data_parser/llm_profile_data_parser.py of
triton-inference-server/perf_analyzer.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import BadRow, Record, Row, Seen
from fluidkv.traces.results.columns import of_clients
from fluidkv.traces.results.contradictions import checked
from fluidkv.traces.results.run import RunFormat, RunRows
from fluidkv.traces.results.values import count, fact, inside, listed_in, text
from fluidkv.traces.times import RunFacts

NANO = -9
_NO_USAGE = (
    "usage: missing, and the file has no other token counts (genai-perf writes them with "
    """--extra-inputs '{"stream_options": {"include_usage": true}}', AIPerf without)"""
)


def _recognises(record: Record) -> bool:
    return any(listed_in(each, "requests") for each in listed_in(record, "experiments"))


def _runs(record: Record) -> Sequence[Record]:
    return [each for each in listed_in(record, "experiments") if isinstance(each, dict)]


def _label(run: Record) -> str:
    mode, value = text(run, "experiment", "mode"), fact(run, "experiment", "value")
    return f"{mode} {value:g}" if mode and value is not None else mode or ""


def _read(run: Record) -> RunRows:
    mode, value = text(run, "experiment", "mode"), fact(run, "experiment", "value")
    clients = count(run, "experiment", "value") if mode == "concurrency" else None
    facts = RunFacts(
        tool=GENAI_PERF.name,
        request_rate=value if mode == "request_rate" else None,
        max_concurrency=clients,
    )
    rows = [_row(request) for request in listed_in(run, "requests")]
    return RunRows(rows, facts, of_clients(clients))


def _row(request: object) -> Row | BadRow:
    try:
        if not isinstance(request, dict):
            raise BadRow("requests: not a JSON object")
        return _parse(request)
    except BadRow as bad:
        return bad


def _parse(request: Record) -> Row:
    changed: list[str] = []
    start = seconds(request, "timestamp", unit=NANO)
    stamps, answers = request.get("response_timestamps"), request.get("response_outputs")
    if not isinstance(stamps, list) or not isinstance(answers, list) or len(stamps) != len(answers):
        raise BadRow("response_timestamps: not one for each of response_outputs")
    usage, pieces = None, []
    for stamp, answer in zip(stamps, answers, strict=True):
        events = list(_events(inside(answer, "response")))
        usage = next((e["usage"] for e in events if isinstance(e.get("usage"), dict)), usage)
        if any(_has_text(event) for event in events):
            name = "response_timestamps"
            pieces.append(float(seconds({name: stamp}, name, unit=NANO) - start))
    if not isinstance(usage, dict):
        raise BadRow(_NO_USAGE)
    tokens = length(usage, "completion_tokens", changed)
    seen, odd = Seen(), ()
    if pieces:
        gaps = tuple(later - sooner for sooner, later in pairwise(pieces))
        name = "response_timestamps"
        seen = Seen(pieces[0], None, gaps)
        seen, odd = checked(seen, tokens, ttft=name, latency=name, gaps=name)
    return Row(
        input_length=length(usage, "prompt_tokens", changed),
        decode_length=tokens,
        arrival_s=start,
        changed=tuple(changed),
        flagged=odd,
        seen=seen,
    )


def _events(answer: object) -> Iterator[dict]:
    """The JSON objects in one answer: of server-sent events, or the whole of it."""
    if not isinstance(answer, str):
        return
    for part in answer.strip().split("\n\n"):
        try:
            event = json.loads(part.strip().removeprefix("data:"))
        except (ValueError, RecursionError):  # the end mark, a comment, a piece cut in two
            continue
        if isinstance(event, dict):
            yield event


def _has_text(event: dict) -> bool:
    for choice in listed_in(event, "choices"):
        delta = inside(choice, "delta") or inside(choice, "message") or {}
        words = (inside(choice, "text"), *(inside(delta, key) for key in _TEXTS))
        if any(words):
            return True
    return False


_TEXTS = ("content", "reasoning_content", "reasoning", "tool_calls")

GENAI_PERF = RunFormat(
    name="genai-perf",
    wrote="genai-perf profile (profile_export.json)",
    recognises=_recognises,
    runs=_runs,
    label=_label,
    read=_read,
)
