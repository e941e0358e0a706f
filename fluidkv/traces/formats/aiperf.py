"""AIPerf's profile_export.jsonl: a request a line, its `metrics` each a value with a unit.

A failed request has an `error`; one of the warm-up says so in its `benchmark_phase`. The output is
`output_sequence_length`, reasoning included, as memory holds it. AIPerf writes requests as they
end, so they are read in order of arrival.

Source: docs/tutorials/working-with-profile-exports.md and src/aiperf/common/models/record_models.py
of ai-dynamo/aiperf.
"""

from fluidkv.traces.cells import length, seconds
from fluidkv.traces.format import BadRow, Format, Layout, Record, Row, Seen
from fluidkv.traces.results.contradictions import checked
from fluidkv.traces.results.values import inside, times_in

NANO = -9
_UNITS = {"ns": -9, "us": -6, "ms": -3, "sec": 0, "s": 0}
_PHASE = "profiling"


def _parse(record: Record) -> Row:
    if record.get("error"):
        raise BadRow("error: a failed request")
    if inside(record, "metadata", "was_cancelled") is True:
        raise BadRow("was_cancelled: true, no whole answer")
    if inside(record, "metadata", "benchmark_phase") not in (None, _PHASE):
        raise BadRow("benchmark_phase: not the one that was measured")
    metrics, changed = record.get("metrics"), []
    if not isinstance(metrics, dict):
        raise BadRow("metrics: not a JSON object")
    tokens = length(*_value(metrics, "output_sequence_length"), changed)
    seen = Seen(
        ttft_s=_time(metrics, "time_to_first_token"),
        latency_s=_time(metrics, "request_latency"),
        gaps_s=_times(metrics, "inter_chunk_latency"),
    )
    seen, odd = checked(
        seen,
        tokens,
        ttft="time_to_first_token",
        latency="request_latency",
        gaps="inter_chunk_latency",
        exact=False,
    )
    start = inside(record, "metadata", "request_start_ns")
    return Row(
        input_length=length(*_value(metrics, "input_sequence_length"), changed),
        decode_length=tokens,
        arrival_s=seconds({"request_start_ns": start}, "request_start_ns", unit=NANO),
        changed=tuple(changed),
        flagged=odd,
        seen=seen,
    )


def _value(metrics: dict, name: str) -> tuple[Record, str]:
    """A record and its column, as the readers of cells take them."""
    return ({name: inside(metrics, name, "value")} if name in metrics else {}), name


def _unit(metrics: dict, name: str) -> int:
    unit = inside(metrics, name, "unit")
    if unit not in _UNITS:
        raise BadRow(f"{name}: in no known unit of time")
    return _UNITS[str(unit)]


def _time(metrics: dict, name: str) -> float | None:
    if name not in metrics:
        return None
    return float(seconds(*_value(metrics, name), unit=_unit(metrics, name)))


def _times(metrics: dict, name: str) -> tuple[float, ...] | None:
    if name not in metrics:
        return None
    return times_in(*_value(metrics, name), unit=_unit(metrics, name))


AIPERF = Format(
    name="aiperf",
    layout=Layout.JSON_LINES,
    required=("metadata", "metrics"),
    parse=_parse,
    by_arrival=True,
)
