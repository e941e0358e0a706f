"""What a vLLM server prints, in the forms of versions 0.4 to 0.33.

A line of statistics comes every few seconds while the server is busy:

    INFO 09-02 13:08:10 [loggers.py:123] Engine 000: Avg prompt throughput: 33.6 tokens/s, Avg
    generation throughput: 91.5 tokens/s, Running: 14 reqs, Waiting: 0 reqs, GPU KV cache usage:
    2.1%, Prefix cache hit rate: 0.0%

Engines before V1 name no engine, say Pending for Waiting and count Swapped apart. Newer ones count
`Deferred`, which Waiting includes, and `Preemptions` since the line before, where there are any.
Rates are over the time since the line before; V1 prints no line while the server is idle.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import LoggedTicks, ServerLog
from fluidkv.logs.stdout.lines import Clock, Stamp, log_lines
from fluidkv.logs.stdout.numbers import COUNT, number_after
from fluidkv.logs.stdout.rows import StatRow, Turns, durations_of, ends_of, interval_of, summed
from fluidkv.logs.stdout.vllm_start import Start
from fluidkv.traces.report import Tally

STATISTICS = "Avg prompt throughput: "
"""What every line of statistics says, and no other line."""

_ENGINE = re.compile(r"Engine (\d{1,6}): Avg")
_PREEMPTED = re.compile(r"total(?:_num)?_cumulative_preemption(?:_cnt)?=" + COUNT)
_EVERY = 50  # vLLM before V1 warns of each 50th preemption, the first included


@dataclass
class _Said:
    """What has been read so far."""

    clock: Clock = field(default_factory=Clock)
    turns: Turns = field(default_factory=Turns)
    start: Start = field(default_factory=Start)
    tally: Tally = field(default_factory=Tally)
    counts_swapped: bool = False
    cumulative: list[tuple[int, float]] = field(default_factory=list)


def read_vllm_stdout(path: Path) -> ServerLog:
    """Ticks and settings. A line of statistics that is cut off is dropped, and reported.

    The start of a server alone gives settings. Several engines (data parallel) are added up, as
    vLLM's own aggregated line does it.

    Raises:
        InputError: a file that is unreadable; times that fall; fewer than two lines of statistics
            and nothing of the start.
    """
    said = _Said()
    for number, line in log_lines(path):
        if STATISTICS in line:
            _statistics(said, number, line)
        elif found := _PREEMPTED.search(line):
            said.cumulative.append((len(said.turns.turns), float(found[1])))
        else:
            said.start.read(number, line)
    report = said.tally.report(source=path.name, format="vllm-stdout")
    turns = said.turns.turns
    if len(turns) < 2 and not said.start:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2])
        allowed = f"a vLLM log with two lines of statistics ({found or f'found {len(turns)}'})"
        raise InputError("source", str(path), allowed)
    ticks = replace(_ticks(said, path), report=report) if len(turns) > 1 else None
    notes = [f"time 0 of {path.name} is its first line of statistics"]
    if ticks is None:
        notes = [f"{path.name} has the start of a server, and no two lines of statistics"]
    engines = max(len(said.turns.engines), 1)
    if engines > 1:
        notes.append(f"{engines} engines of {path.name} added up; KV in use is their mean")
    if said.cumulative:
        notes.append(f"vLLM before V1 logs each {_EVERY}th preemption: counts are the last logged")
    settings, more = said.start.settings(engines, path.name, v1=not said.counts_swapped)
    return ServerLog(
        source=str(path),
        engine="vllm",
        ticks=ticks,
        settings=settings,
        clock_zero_s=said.clock.zero_s if said.clock.kind is Stamp.ZONE else None,
        notes=(*notes, *more),
    )


def _statistics(said: _Said, number: int, line: str) -> None:
    at = said.clock.seconds(line)
    values = {
        name: next((v for word in words if (v := number_after(word, line)) is not None), None)
        for name, words in _WORDS.items()
    }
    missing = [name for name in _NEEDED if values[name] is None]
    if at is None or missing:
        what = "no time" if at is None else f"no {missing[0]}"
        said.tally.drop(f"line of statistics: {what}", number)
        return
    engine = _ENGINE.search(line)
    swapped = number_after("Swapped: ", line)
    said.counts_swapped |= swapped is not None
    value = {name: v or 0.0 for name, v in values.items()}
    if value["KV cache usage"] > 100:
        said.tally.drop("line of statistics: KV cache usage above 100%", number)
        return
    said.turns.add(
        StatRow(
            line=number,
            at_s=at,
            engine=engine[1] if engine else "",
            running=value["running"],
            waiting=value["waiting"] + (swapped or 0.0),
            kv_used=value["KV cache usage"] / 100,
            generated=value["generation throughput"],
            prompts=value["prompt throughput"],
            preempted=values["preemptions"],
        )
    )
    said.tally.keep(number, changed=(), flagged=())


_WORDS = {
    "prompt throughput": ("Avg prompt throughput: ",),
    "generation throughput": ("Avg generation throughput: ",),
    "running": ("Running: ",),
    "waiting": ("Waiting: ", "Pending: "),
    "KV cache usage": ("GPU KV cache usage: ", "KV cache usage: "),
    "preemptions": ("Preemptions: ",),
}
_NEEDED = tuple(_WORDS)[:-1]


def _ticks(said: _Said, path: Path) -> LoggedTicks:
    turns = said.turns.turns
    try:
        ends = ends_of(turns)
    except InputError as error:
        raise InputError("source", str(path), error.allowed) from None
    interval = interval_of(ends)
    durations = durations_of(ends, interval, pauses_count=said.counts_swapped)
    generated, prompts = summed(turns, "generated"), summed(turns, "prompts")
    used = summed(turns, "kv_used")
    preempted = summed(turns, "preempted")
    preemptions = None if preempted is None else np.cumsum(preempted)
    if said.cumulative or said.counts_swapped:  # before V1 the first preemption is always logged
        preemptions = np.zeros(len(turns))
        for since, count in said.cumulative:
            preemptions[since:] = count
    return LoggedTicks(
        ends_s=ends,
        running=summed(turns, "running"),
        waiting=summed(turns, "waiting"),
        kv_used=None if used is None else used / len(said.turns.engines),
        generated_tokens=None if generated is None else generated * durations,
        prompt_tokens=None if prompts is None else prompts * durations,
        generation_rate=generated,
        preemptions=preemptions,
        resolution_s=None if (ends % 1).any() else 1.0,
    )
