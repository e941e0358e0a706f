"""The log that a replay is of, whichever files it came from, and the server that wrote it.

vLLM's folder says of each request when it was scheduled and when its tokens came. SGLang's decode
log does not: there what no file says is NaN, and rows are laid evenly within the seconds that their
times are written in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fluidkv.answers.prompted import prompts_of_trace
from fluidkv.errors import InputError
from fluidkv.logs.folder.vllm import TICKS_FILE
from fluidkv.logs.log import Engine, ServerLog
from fluidkv.logs.read import log_folder, read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stamps import evenly
from fluidkv.logs.timed import TimedRun
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.traces import read_trace
from fluidkv.traces.format import BadRow
from fluidkv.traces.formats.vllm_log import REQUESTS_FILE
from fluidkv.traces.source import json_records


@dataclass(frozen=True, eq=False)
class Source:
    """A log.

    Fields:
        log: as its files say it.
        run: the same on one clock, that of the ticks; NaN is not logged.
        counts_steps: whether the log counts decode steps, and has no times of single requests.
    """

    log: ServerLog
    run: TimedRun
    counts_steps: bool

    @property
    def settings(self) -> LoggedSettings:
        """Of the server."""
        return self.log.settings

    @property
    def preempted_s(self) -> np.ndarray | None:
        """When each retraction was, laid evenly within the seconds of the log; None: not logged."""
        ticks, logged = self.log.ticks, self.log.retractions
        if not logged or ticks is None:
            return None
        seconds, requests = zip(*((lost.time_s, lost.requests) for lost in logged), strict=True)
        times = np.repeat(seconds, requests)
        return evenly(times, ticks.resolution_s or 0.0)

    @property
    def requests(self) -> Requests:
        """As they came, the first at 0."""
        run = self.run
        arrival = run.arrival_s - run.arrival_s[0]
        return Requests(run.input_lengths, run.decode_lengths, arrival=arrival)

    @property
    def prompts(self) -> Prompts | None:
        """What the requests share, where the log says what a cache had of them; else None."""
        if self.log.requests is None or self.log.requests.cached_prefix is None:
            return None
        trace, _ = read_trace(self.log.source)
        return prompts_of_trace(trace)


def read_source(source: Path) -> Source:
    """The log, refused where it is cut off: a half of a part is no half of the run.

    Raises:
        InputError: what the readers refuse; ticks that end before the requests do; a log that has
            neither the times of requests nor decode steps.
    """
    folder = log_folder(source)
    try:
        log = read_log(source)
        if log.ticks is not None and log.ticks.decode_steps is not None:
            return Source(log, _laid(log), counts_steps=True)
        run = log.timed()
    except InputError as error:
        broken = _broken_line(folder / REQUESTS_FILE)
        if broken is None:
            raise
        raise InputError(error.argument, error.value, f"{error.allowed}; {broken}") from None
    end, last = float(run.tick_ends_s[-1]), float(run.last_token_s.max())
    # Ticks are as long as the one before them: the last one may be counted from its beginning.
    if last > end + float(run.tick_ends_s[-1] - run.tick_ends_s[-2]):
        late = int((run.last_token_s > end).sum())
        raise InputError(
            "source",
            str(folder / TICKS_FILE),
            f"ticks to the end of the run: they stop at {end:.1f} s, {late} requests have their "
            f"last token later, at {last:.1f} s at the latest",
        )
    return Source(log, run, counts_steps=False)


def _laid(log: ServerLog) -> TimedRun:
    """Rows of a decode log; the first request came in the middle of its first second."""
    requests, ticks = log.requests, log.ticks
    arrival = None if requests is None else requests.arrival_s
    counters = [] if ticks is None else [ticks.running, ticks.waiting, ticks.kv_used]
    known = [counter for counter in counters if counter is not None]
    report = None if requests is None else requests.report
    if requests is None or ticks is None or arrival is None or report is None or len(known) < 3:
        said = "; ".join(map(str, log.missing)) or "arrivals and counters"
        raise InputError("source", log.source, f"a log with {said}")
    resolution = ticks.resolution_s or 0.0
    of_request = np.full(len(requests), np.nan)
    of_tick = np.full(len(ticks), np.nan)
    running, waiting, kv_used = known
    return TimedRun(
        report=report,
        input_lengths=requests.input_lengths,
        decode_lengths=requests.decode_lengths,
        arrival_s=arrival - arrival.min() + resolution / 2,
        queued_s=of_request,
        scheduled_s=of_request,
        first_token_s=of_request,
        last_token_s=of_request,
        tick_ends_s=ticks.spread_s(),
        running=running,
        waiting=waiting,
        kv_used=kv_used,
        prompt_tokens=of_tick,
        generated_tokens=of_tick,
        capacity=log.capacity,
    )


def _broken_line(path: Path) -> str | None:
    """The first line that is no JSON object, in words."""
    try:
        for line, record in json_records(path):
            if isinstance(record, BadRow):
                return f"line {line} of {path.name} is broken ({record.what})"
    except InputError:  # the file as a whole: the reader has said so
        pass
    return None


USUAL_BLOCKS: Mapping[Engine, int] = {"vllm": 16, "sglang": 1}
"""Tokens of a block, as each engine comes."""


def limits_of_source(
    server: LoggedSettings,
    capacity: int | None,
    block_size: int | None,
    max_num_seqs: int | None,
    max_num_batched_tokens: int | None,
    watermark: float,
    engine: Engine = "vllm",
) -> Limits:
    """As given; what is not, as the log says; blocks that neither says are those of the engine.

    Raises:
        InputError: a capacity that neither is given nor logged; a given one of which blocks do not
            make up the capacity.
    """
    given = capacity is not None or block_size is not None
    block = block_size or server.block_size or USUAL_BLOCKS[engine]
    if capacity is None and server.blocks is not None:
        capacity = server.blocks * (server.block_size or block)
    if capacity is None and server.capacity is not None:
        capacity = server.capacity // block * block  # the engine says its pool, and no block size
    if capacity is None:
        said = "KV tokens, where no file says"
        if block_size is None and server.block_size is None:
            said = f"{said}; and --block-size, where blocks are not of {block}"
        raise InputError("capacity", "none", said)
    if given and capacity % block:
        raise InputError(
            "capacity" if block_size is None else "block_size",
            capacity if block_size is None else block_size,
            f"blocks that make up the capacity: {capacity:,} tokens are {capacity // block:,} "
            f"blocks of {block:,} and {capacity % block:,} tokens",
        )
    return Limits(
        capacity,
        block,
        max_num_seqs or server.max_num_seqs,
        max_num_batched_tokens or server.max_num_batched_tokens,
        watermark,
    )
