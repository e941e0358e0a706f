"""Counts of Vidur's own Sarathi scheduler: evictions and iterations of whole runs.

The format: one object of settings with a list `runs`; a run holds its counts and may state settings
of its own, which go before the common ones.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import VIDUR_SARATHI
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.records.comparison import EVERY, Progress, Record, Replay, difference
from fluidkv.serving.records.fields import Fields
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine

MOST_REQUESTS = 10**7
"""In a run. A file names a number; a table of so many is made of it."""

IN_TURN, AS_LISTED = "classes in turn", "as listed"


@dataclass(frozen=True, eq=False)
class VidurRun:
    """One run to its end. `label`: the output lengths, as in the file."""

    label: str
    requests: Requests
    limits: Limits
    evictions: int
    iterations: int


@dataclass(frozen=True, eq=False)
class VidurCounts(Record):
    """Runs of one file; the rules are those of `VIDUR_SARATHI`. `version`: Vidur's commit.

    Examples:
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.vidur import VidurCounts
        >>> from fluidkv.serving.records.vidur import VidurRun
        >>> requests, limits = fk.Requests([4, 4], [8, 8]), fk.Limits(16)
        >>> run = VidurRun("8 outputs", requests, limits, evictions=1, iterations=11)
        >>> found = replay(VidurCounts("by hand", "a commit", (), (run,)))
        >>> found.equal, found.evictions, found.iterations
        (True, 1, 11)
    """

    runs: tuple[VidurRun, ...]
    engine: ClassVar[str] = "vidur"
    unit: ClassVar[str] = "run"

    def replay(self, on_progress: Progress) -> Replay:
        """Every run to its end.

        Raises:
            InputError: a run that would never end: an evicted request that has grown past what
                the watermark lets in.
        """
        all_evictions = all_iterations = 0
        for place, run in enumerate(self.runs):
            evictions, iterations = _to_the_end(self.source, run, on_progress)
            all_evictions += evictions
            all_iterations += iterations
            recorded, ours = [run.evictions, run.iterations], [evictions, iterations]
            if recorded != ours:
                where = f"run {place + 1}, {run.label}"
                differs = difference(place, where, ("evictions", "iterations"), recorded, ours)
                return Replay(False, place, all_evictions, all_iterations, differs)
        return Replay(True, len(self.runs), all_evictions, all_iterations, None)


def vidur_counts(fields: Fields) -> VidurCounts:
    """The counts in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, not modelled, not fitting the
            others; a request that could never be admitted.
    """
    commit = fields.text("commit")
    runs, unused = [], fields.unused(("engine",))
    for place, own in enumerate(fields.items("runs")):
        if not isinstance(own, dict):
            raise fields.wrong(f"runs[{place}]", own, "an object")
        one = Fields(f"{fields.where}: runs[{place}]", fields.values | own, {"engine", "commit"})
        runs.append(_run(one))
        unused = (unused | set(own)) & one.unused(("runs",))
    notes = fields.notes(unused)
    if commit != VIDUR_SARATHI.version:
        notes.insert(0, f"commit {commit}: replayed under the rules of {VIDUR_SARATHI.version}")
    return VidurCounts(fields.where, commit, tuple(notes), tuple(runs))


def _to_the_end(source: str, run: VidurRun, say: Progress) -> tuple[int, int]:
    """Evictions and iterations until every request is done."""
    engine = Engine(run.requests, Server(VIDUR_SARATHI, run.limits))
    evictions = 0
    while engine.done < len(run.requests):
        if engine.iteration % EVERY == 0:
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


def _run(fields: Fields) -> VidurRun:
    fields.only("scheduler", "sarathi", "the others are not modelled")
    fields.only("prefill_budget", "unlimited", "chunks are not modelled")
    fields.only("arrivals", "all before iteration 0", "others are not modelled")
    limits = _limits(fields)
    requests = _requests(fields)
    _check_fit(fields, limits, requests)
    return VidurRun(
        label=_label(fields.integers("output_lengths")),
        requests=requests,
        limits=limits,
        evictions=fields.integer("evictions", least=0),
        iterations=fields.integer("iterations"),
    )


def _limits(fields: Fields) -> Limits:
    """The watermark is a number of blocks here; the share of it is any that comes to that."""
    blocks, size = fields.integer("num_blocks"), fields.integer("block_size")
    kept = fields.integer("watermark_blocks", least=0)
    if kept >= blocks:
        raise fields.wrong("watermark_blocks", kept, f"fewer than num_blocks, {blocks}")
    if blocks * size >= UNLIMITED:
        raise fields.wrong("num_blocks", blocks, f"fewer than {UNLIMITED} tokens in all")
    # half a block more, so that rounding cannot lose one
    watermark = (kept + 0.5) / (blocks + 1)
    return Limits(blocks * size, size, fields.cap("batch_size_cap"), watermark=watermark)


def _requests(fields: Fields) -> Requests:
    """Outputs by class and the order of the classes, or listed one by one; inputs likewise."""
    lengths, size = fields.integers("output_lengths"), fields.integer("requests")
    if size > MOST_REQUESTS:
        raise fields.wrong("requests", size, f"at most {MOST_REQUESTS:,} requests")
    order = _order(fields, len(lengths), size)
    outputs = np.asarray(lengths)[order]
    inputs = fields.integer_or_integers("input_length")
    if not isinstance(inputs, list):
        return Requests(np.full(size, inputs), outputs, class_index=order)
    if len(inputs) == len(lengths):
        return Requests(np.asarray(inputs)[order], outputs, class_index=order)
    if len(inputs) == size:
        return Requests(inputs, outputs, class_index=order)
    said = f"one, or {len(lengths)}, one for each class, or {size}, one for each request"
    raise fields.wrong("input_length", f"{len(inputs)} lengths", said)


def _order(fields: Fields, classes: int, size: int) -> np.ndarray:
    if isinstance(fields.any("order"), list):
        order = fields.integers("order", least=0)
        if len(order) != size:
            raise fields.wrong("order", f"{len(order)} places", f"one for each of {size} requests")
        for place, index in enumerate(order):
            if index >= classes:
                said = f"the place of one of {classes} output_lengths, from 0"
                raise fields.wrong(f"order[{place}]", index, said)
        return np.array(order)
    order = fields.text("order")
    if order not in (IN_TURN, AS_LISTED):
        said = f"{IN_TURN!r}, {AS_LISTED!r}, or a list of places in output_lengths"
        raise fields.wrong("order", order, said)
    if order == AS_LISTED and classes != size:
        raise fields.wrong("output_lengths", f"{classes} lengths", f"the {size} of the requests")
    return np.arange(size) % classes


def _check_fit(fields: Fields, limits: Limits, requests: Requests) -> None:
    rows = zip(requests.input_length.tolist(), requests.output_length.tolist(), strict=True)
    for index, (inputs, outputs) in enumerate(rows):
        peak = limits.blocks_of(VIDUR_SARATHI.peak_tokens(inputs, outputs))
        if peak > limits.blocks:
            raise fields.wrong("num_blocks", limits.blocks, f"at least {peak}, for request {index}")
        entry = limits.blocks_of(inputs) + limits.watermark_blocks
        if entry > limits.blocks:
            said = f"at least {entry}: the prompt of request {index} and the watermark_blocks"
            raise fields.wrong("num_blocks", limits.blocks, said)


def _label(lengths: list[int]) -> str:
    shown = ", ".join(str(length) for length in lengths[:6])
    return f"outputs {{{shown}{', ...' if len(lengths) > 6 else ''}}}"
