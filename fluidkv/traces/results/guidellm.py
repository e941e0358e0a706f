"""guidellm's benchmarks.json: a list of benchmarks, each with its requests by how they ended.

`prompt_tokens` and `output_tokens` have kept their names. Times are seconds since 1970 and have
moved: beside them up to 0.3, in `scheduler_info.request_timings` between, in `info.timings` since
0.4, where the first token's name changed once more. A request that was cut off or failed is in a
list of its own. guidellm may keep a sample of the requests only.

Source: src/guidellm/benchmark/benchmark.py (0.2, 0.3), objects.py and schemas/request_stats.py
(0.4 and later) of vllm-project/guidellm.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import BadRow, Record, Row, Seen
from fluidkv.traces.results.columns import of_clients
from fluidkv.traces.results.contradictions import checked
from fluidkv.traces.results.run import BadRun, RunFormat, RunRows
from fluidkv.traces.results.values import count, fact, inside, listed_in, text
from fluidkv.traces.times import RunFacts

_START = (
    ("info", "timings", "request_start"),
    ("scheduler_info", "request_timings", "request_start"),
    ("request_start_time",),
    ("start_time",),
)
_FIRST = (
    ("info", "timings", "first_token_iteration"),
    ("info", "timings", "first_iteration"),
    ("scheduler_info", "request_timings", "first_iteration"),
    ("first_token_time",),
)
_LAST = (
    ("info", "timings", "last_token_iteration"),
    ("info", "timings", "last_iteration"),
    ("scheduler_info", "request_timings", "last_iteration"),
    ("last_token_time",),
)
_STRATEGY = (("config", "strategy"), ("args", "strategy"), ("scheduler", "strategy"))
_TOTALS = (("metrics", "request_totals"), ("request_totals",), ("total_count",))


def _recognises(record: Record) -> bool:
    return any(isinstance(inside(run, "requests"), dict) for run in listed_in(record, "benchmarks"))


def _runs(record: Record) -> Sequence[Record]:
    model = inside(record, "args", "model")
    runs = [run for run in listed_in(record, "benchmarks") if isinstance(run, dict)]
    return [{"model": model, **run} for run in runs]


def _strategy(run: Record) -> tuple[str, float | None]:
    """What decided when to ask, and its rate or number of streams."""
    for place in _STRATEGY:
        found = inside(run, *place)
        if found is not None:
            kind = text(found, "type_") or ""
            rate = fact(found, "rate")
            return kind, fact(found, "streams") if rate is None else rate
    return "", None


def _label(run: Record) -> str:
    kind, value = _strategy(run)
    return f"{kind} {value:g}" if value is not None else kind


def _read(run: Record) -> RunRows:
    requests = run.get("requests")
    if not isinstance(requests, dict) or not listed_in(requests, "successful"):
        kept = "the file keeps none of them: --sample-requests" if _successful(run) else "none"
        raise BadRun(f"a benchmark with its successful requests ({kept})")
    rows = _all_timed([_row(request) for request in listed_in(requests, "successful")])
    for ended in ("incomplete", "errored"):
        rows += [BadRow(f"requests.{ended}: no whole answer") for _ in listed_in(requests, ended)]
    kind, value = _strategy(run)
    streams = {"synchronous": 1, "concurrent": value}.get(kind)
    clients = None if streams is None else int(streams)
    facts = RunFacts(
        tool=GUIDELLM.name,
        duration_s=fact(run, "duration"),
        request_rate=value if kind in ("constant", "poisson", "async") else None,
        max_concurrency=clients,
        model=text(run, "model"),
    )
    listed, total = len(listed_in(requests, "successful")), _successful(run)
    if total is None or total <= listed:
        return RunRows(rows, facts, of_clients(clients))
    note = (
        f"a sample: {listed} of {total} successful requests are in the file, so when they arrived "
        "is not the load, and is not used"
    )
    return RunRows([_without_arrival(row) for row in rows], facts, (note,))


def _successful(run: Record) -> int | None:
    """How many requests there were, where the file says; those in it may be a sample."""
    totals = (count(inside(run, *place), "successful") for place in _TOTALS)
    return next((total for total in totals if total is not None), None)


def _row(request: object) -> Row | BadRow:
    try:
        if not isinstance(request, dict):
            raise BadRow("requests.successful: not a JSON object")
        return _parse(request)
    except BadRow as bad:
        return bad


def _parse(request: Record) -> Row:
    changed: list[str] = []
    tokens = length(request, "output_tokens", changed)
    start, first, last = (_moment(request, places) for places in (_START, _FIRST, _LAST))
    since = [None if t is None or start is None else float(t - start) for t in (first, last)]
    seen = Seen(since[0], since[1])
    seen, odd = checked(seen, tokens, ttft="first token", latency="last token", gaps="")
    return Row(
        input_length=length(request, "prompt_tokens", changed),
        decode_length=tokens,
        arrival_s=start,
        changed=tuple(changed),
        flagged=odd,
        seen=seen,
    )


def _moment(request: Record, places: Sequence[tuple[str, ...]]) -> Decimal | None:
    """The time at the first of these places that has one."""
    for place in places:
        value = inside(request, *place)
        if value is not None:
            name = ".".join(place)
            return seconds({name: value}, name)
    return None


def _all_timed(rows: list[Row | BadRow]) -> list[Row | BadRow]:
    """Without the rows that lack a time of arrival, where others have one."""
    if all(isinstance(row, BadRow) or row.arrival_s is None for row in rows):
        return rows
    bad = BadRow("request_start: missing")
    return [bad if isinstance(row, Row) and row.arrival_s is None else row for row in rows]


def _without_arrival(row: Row | BadRow) -> Row | BadRow:
    return row if isinstance(row, BadRow) else replace(row, arrival_s=None)


GUIDELLM = RunFormat(
    name="guidellm",
    wrote="guidellm benchmark",
    recognises=_recognises,
    runs=_runs,
    label=_label,
    read=_read,
)
