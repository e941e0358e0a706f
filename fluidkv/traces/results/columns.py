"""Results with a list for each quantity, an entry a request: input_lens, output_lens, ttfts, itls.

`vllm bench serve` and SGLang's `bench_serving`, which began as a copy of it, both write them. A
client that gave up writes an error, or an output of 0 tokens.
"""

from fluidkv.traces.cells import length, number, seconds
from fluidkv.traces.format import BadRow, Record, Row, Seen
from fluidkv.traces.results.contradictions import checked
from fluidkv.traces.results.run import BadRun
from fluidkv.traces.results.values import count, fact, time_in, times_in

LENGTHS = ("input_lens", "output_lens")
_PER_REQUEST = (*LENGTHS, "ttfts", "itls", "errors", "start_times", "latencies")
_SLACK_S = 1.0  # the client stops its watch a little after the last answer


def has_rows(run: Record) -> bool:
    """Whether there is a list of lengths."""
    return all(isinstance(run.get(name), list) for name in LENGTHS)


def column_rows(run: Record, *, detailed: str) -> list[Row | BadRow]:
    """The requests of a run.

    Args:
        detailed: the command that would have written them, for the error.

    Raises:
        BadRun: totals alone, lists of unequal length, or totals that the rows contradict.
    """
    if not has_rows(run):
        raise BadRun(f"a row for each request, as {detailed} writes it (this file has totals only)")
    lists = {name: run[name] for name in _PER_REQUEST if run.get(name) is not None}
    sizes = {name: len(v) if isinstance(v, list) else -1 for name, v in lists.items()}
    for name, size in sizes.items():
        if size != sizes["input_lens"]:
            found = f"{name} has {size}" if size >= 0 else f"{name} is no list"
            allowed = f"lists of one length (input_lens has {sizes['input_lens']}, {found})"
            raise BadRun(allowed)
    records: list[Record] = [
        dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)
    ]
    _check_totals(run, records)
    rows = [_row(record) for record in records]
    _check_span(run, rows)
    return rows


def _row(record: Record) -> Row | BadRow:
    try:
        return _parse(record)
    except BadRow as bad:
        return bad


def _parse(record: Record) -> Row:
    changed: list[str] = []
    if record.get("errors"):
        raise BadRow("errors: a failed request")
    if number(record, "output_lens") == 0:
        raise BadRow("output_lens: 0, a failed request")
    tokens = length(record, "output_lens", changed)
    ttft, gaps = time_in(record, "ttfts"), times_in(record, "itls")
    if ttft == 0 and not gaps:
        changed.append("ttfts: 0, no token was timed, read as not said")
        ttft = gaps = None
    seen = Seen(ttft, time_in(record, "latencies"), gaps)
    seen, odd = checked(seen, tokens, ttft="ttfts", latency="latencies", gaps="itls")
    return Row(
        input_length=length(record, "input_lens", changed),
        decode_length=tokens,
        arrival_s=seconds(record, "start_times") if "start_times" in record else None,
        changed=tuple(changed),
        flagged=odd,
        seen=seen,
    )


def _check_totals(run: Record, records: list[Record]) -> None:
    completed, rows = count(run, "completed"), len(records)
    if completed is not None and completed > rows:
        raise BadRun(f"a row for each request (completed is {completed}, there are {rows} rows)")
    total = count(run, "total_output_tokens")
    found = [count(record, "output_lens") for record in records]
    if total is not None and None not in found and sum(n or 0 for n in found) != total:
        outputs = sum(n or 0 for n in found)
        allowed = (
            f"outputs that add up (total_output_tokens is {total}, output_lens give {outputs})"
        )
        raise BadRun(allowed)


def _check_span(run: Record, rows: list[Row | BadRow]) -> None:
    """That no two requests were sent further apart than the run took."""
    duration = fact(run, "duration")
    good = [(row.arrival_s, at) for at, row in enumerate(rows, start=1) if isinstance(row, Row)]
    sent = [(arrival, at) for arrival, at in good if arrival is not None]
    if duration is None or not sent:
        return
    (first, at_first), (last, at_last) = min(sent), max(sent)
    span = float(last - first)
    if span > duration + _SLACK_S:
        allowed = f"start_times within the run: duration is {duration:.1f} s"
        raise BadRun(f"{allowed}, request {at_last} came {span:.1f} s after request {at_first}")


def of_clients(most: int | None) -> tuple[str, ...]:
    """What is to be said of arrivals where the client waited for answers before it asked again."""
    if most is None:
        return ()
    return (
        f"the client held at most {most} requests in flight (max_concurrency), so it asked when "
        f"answers came: {most} clients ask like it on another server, these times do not",
    )
