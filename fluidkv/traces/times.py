"""What a benchmark's client measured beside the lengths: the times of each request, and the run.

A trace is what was asked; these are what came of it, on the server that was measured.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fluidkv.plain import plain_tuple
from fluidkv.record import Record
from fluidkv.traces.format import Row, Seen
from fluidkv.traces.report import LoadReport
from fluidkv.traces.trace import Trace


@dataclass(frozen=True, eq=False)
class RequestTimes(Record):
    """Times of each request as the client saw them, in the order of the trace; seconds.

    Fields, one entry a request, NaN where the file does not say:
        arrival_s: when it was sent, after the first request of the trace.
        ttft_s: from sending it to its first token.
        latency_s: from sending it to its last token.
        gaps_s: between its pieces as they came, () where the file does not say. A piece may be
            several tokens, or none.

    Examples:
        >>> from fluidkv.traces.times import RequestTimes
        >>> ttft_s, latency_s, gaps_s = (0.5, 0.25), (2.0, 3.0), ((), ())
        >>> times = RequestTimes((0.0, 1.0), ttft_s, latency_s, gaps_s)
        >>> times.first_token_s, times.last_token_s
        ((0.5, 1.25), (2.0, 4.0))
    """

    arrival_s: tuple[float, ...]
    ttft_s: tuple[float, ...]
    latency_s: tuple[float, ...]
    gaps_s: tuple[tuple[float, ...], ...]

    @property
    def first_token_s(self) -> tuple[float, ...]:
        """When the first token came, on the clock of `arrival_s`."""
        return tuple(map(sum, zip(self.arrival_s, self.ttft_s, strict=True)))

    @property
    def last_token_s(self) -> tuple[float, ...]:
        """When the last token came, on the clock of `arrival_s`."""
        return tuple(map(sum, zip(self.arrival_s, self.latency_s, strict=True)))


@dataclass(frozen=True, eq=False)
class RunFacts(Record):
    """What a benchmark result says of its run as a whole. None: the file does not say.

    Fields:
        tool: what wrote it, the name of the format.
        duration_s: from the first request to the last answer.
        request_rate: per second, as asked for; infinity where all were sent at once.
        max_concurrency: most requests in flight that the client allowed.
        model: as the client named it.
        server: what the server said of itself, as it stands in the file.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from fluidkv.traces import read_run
        >>> said = {"backend": "vllm", "model_id": "qwen3-4b", "max_concurrency": 2}
        >>> said |= {"input_lens": [12, 13], "output_lens": [3, 4], "start_times": [100.5, 101.0]}
        >>> said |= {"duration": 1.5, "ttfts": [0.25, 0.5], "itls": [[0.5, 0.25], [0.1, 0.1, 0.3]]}
        >>> _ = Path("run.json").write_text(json.dumps(said))
        >>> facts = read_run("run.json").facts
        >>> facts.tool, facts.model, facts.duration_s, facts.request_rate
        ('vllm-bench-serve', 'qwen3-4b', 1.5, None)
    """

    tool: str
    duration_s: float | None = None
    request_rate: float | None = None
    max_concurrency: int | None = None
    model: str | None = None
    server: Mapping[str, object] | None = None


class LoadedRun(NamedTuple):
    """A benchmark result: what was asked, how it was read, what was measured.

    Examples:
        >>> from fluidkv.traces import read_run
        >>> trace, report, times, facts = read_run("sample:vllm-rtx4090")
        >>> len(trace.input_lengths), report.kept
        (300, 300)
        >>> times is None, facts is None  # of a log they are in `read_log`
        (True, True)
    """

    trace: Trace
    report: LoadReport
    times: RequestTimes | None
    facts: RunFacts | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def times_of(rows: Sequence[Row], arrival_s: tuple[float, ...] | None) -> RequestTimes | None:
    """What was measured of rows that were kept; None where nothing was."""
    seen = [row.seen or Seen() for row in rows]
    if all(each == Seen() for each in seen):
        return None
    return RequestTimes(
        arrival_s=arrival_s or (math.nan,) * len(rows),
        ttft_s=tuple(math.nan if each.ttft_s is None else each.ttft_s for each in seen),
        latency_s=tuple(math.nan if each.latency_s is None else each.latency_s for each in seen),
        gaps_s=tuple(each.gaps_s or () for each in seen),
    )
