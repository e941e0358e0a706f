"""What real schedulers did, read from record files and replayed here, integer by integer.

Two formats: per-step records of vLLM's scheduler and run counts of Vidur's (`docs/engines.md`).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VIDUR_SARATHI
from fluidkv.serving.records.fields import read_object
from fluidkv.serving.records.vidur import VidurCounts, VidurRun, vidur_counts
from fluidkv.serving.records.vllm import VllmRecord, vllm_record
from fluidkv.serving.reference import Engine

__all__ = [
    "Difference",
    "Replay",
    "VidurCounts",
    "VidurRun",
    "VllmRecord",
    "read_records",
    "replay",
]

Progress = Callable[[str], None]
_EVERY = 64  # steps between two reports of progress


@dataclass(frozen=True)
class Difference:
    """The first row that differs.

    Args:
        row: from 0: the step of vLLM, the run of Vidur.
        where: the row in words.
        values: (column, recorded, replayed) of each column that differs, in the file's order.
    """

    row: int
    where: str
    values: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Replay:
    """A replay, up to its end or to the first difference.

    Args:
        equal: every row is.
        rows: how many rows are equal, from the first on: steps of vLLM, runs of Vidur.
        evictions, iterations: of the replay, as far as it went.
        difference: None where equal.
    """

    equal: bool
    rows: int
    evictions: int
    iterations: int
    difference: Difference | None


def read_records(path: str | Path) -> list[VllmRecord | VidurCounts]:
    """The record in a file; or all in a folder, by name.

    Raises:
        InputError: naming file and field: no file, not JSON, fields missing or not fitting
            together, an engine or a setting that is not modelled.
    """
    path = Path(path)
    if not os.path.isdir(path):  # a name too long is none either
        return [_record(path)]
    files = sorted(path.glob("*.json"))
    if not files:
        raise InputError("FILE", str(path), "a folder with .json files")
    return [_record(file) for file in files]


def _record(path: Path) -> VllmRecord | VidurCounts:
    fields = read_object(path)
    match fields.text("engine"):
        case "vllm":
            return vllm_record(fields)
        case "vidur":
            return vidur_counts(fields)
        case other:
            raise fields.wrong("engine", other, "'vllm' or 'vidur'")


def replay(record: VllmRecord | VidurCounts, *, on_progress: Progress | None = None) -> Replay:
    """Run what the record says was run, and compare. It stops at the first row that differs.

    Args:
        on_progress: called now and then with where the replay is.

    Raises:
        InputError: a run of Vidur's that would never end: an evicted request that has grown past
            what the watermark lets in.
    """
    say = on_progress or (lambda _: None)
    if isinstance(record, VllmRecord):
        return _replay_steps(record, say)
    return _replay_runs(record, say)


def _replay_steps(record: VllmRecord, say: Progress) -> Replay:
    engine = Engine(record.requests, record.rules, record.limits, IterationClock.iterations())
    evictions = 0
    for step, row in enumerate(record.rows.tolist()):
        if step % _EVERY == 0:
            say(f"step {step:,} of {len(record.rows):,}")
        counts = engine.step()
        evictions += counts["preempt"]
        ours = [counts[name] for name in record.columns]
        if ours != row:
            difference = _difference(step, f"step {step:,}", record.columns, row, ours)
            return Replay(False, step, evictions, step + 1, difference)
    return Replay(True, len(record.rows), evictions, len(record.rows), None)


def _replay_runs(record: VidurCounts, say: Progress) -> Replay:
    all_evictions = all_iterations = 0
    for place, run in enumerate(record.runs):
        evictions, iterations = _to_the_end(record.source, run, say)
        all_evictions += evictions
        all_iterations += iterations
        recorded = [run.evictions, run.iterations]
        if recorded != [evictions, iterations]:
            names, ours = ("evictions", "iterations"), [evictions, iterations]
            where = f"run {place + 1}, {run.label}"
            difference = _difference(place, where, names, recorded, ours)
            return Replay(False, place, all_evictions, all_iterations, difference)
    return Replay(True, len(record.runs), all_evictions, all_iterations, None)


def _to_the_end(source: str, run: VidurRun, say: Progress) -> tuple[int, int]:
    """Evictions and iterations until every request is done."""
    engine = Engine(run.requests, VIDUR_SARATHI, run.limits, IterationClock.iterations())
    evictions = 0
    while engine.done < len(run.requests):
        if engine.iteration % _EVERY == 0:
            say(f"{run.label}: {engine.done:,} of {len(run.requests):,} requests done")
        counts = engine.step()
        evictions += counts["preempt"]
        if not counts["sched_reqs"]:  # nothing runs, and the head grew past the watermark
            length = engine.waiting[0].length
            raise InputError(
                f"{source}: {run.label}",
                f"a request evicted at {length} tokens",
                "a watermark that lets it in again",
            )
    return evictions, engine.iteration


def _difference(
    row: int, where: str, names: tuple[str, ...], recorded: list[int], ours: list[int]
) -> Difference:
    triples = zip(names, recorded, ours, strict=True)
    return Difference(row, where, tuple(each for each in triples if each[1] != each[2]))
