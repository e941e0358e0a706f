"""Logs of vLLM servers that nobody here had looked at when the bounds below were written down.

The bounds are what is printed of the one vLLM log that was known before: the error bars beside a
pick without a log (`answers/served/elsewhere.csv`), the errors that `docs/replay.md` has for its
predicted half, and the quarter that the modelled clocks claim. What came out is in `unseen.csv`,
and of whole runs in `elsewhere.csv`; `record` makes it again from the logs, which are not in the
repository.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from fluidkv.answers.replay.errors import SeriesError
from fluidkv.answers.replay.replay import replay_log
from fluidkv.answers.replay.result import Replay
from fluidkv.answers.served.elsewhere import LOGS as SIMULATED
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import TickPoints, tick_points
from fluidkv.serving.machines.named import named_clock
from fluidkv_papers.records import Table

LATENCY = 0.05
"""Median error of latencies in the predicted half, as a share of their time there; 3.2 % known."""
RUNNING = 0.12
"""Root mean square error of running requests there, over their mean; 3.5 of 29.7 known."""
PEAK = 0.05
"""Most requests running at once, over the whole run."""
DURATION = 0.05
"""The whole run, clock from its first half; 188.2 s for 183.6 s known."""
MODELLED = 0.25
"""A step by the clock from data sheets, as `measured.modelled` has it."""

_TABLE = Table(__file__)
REPOSITORY = "casys-kaist/LLMServingSim"
LICENCE = "MIT License, Copyright (c) 2024, CASYS Lab at KAIST"
_BLOCK = 16


@dataclass(frozen=True)
class Log:
    """One log, and what its files do not say of the server.

    Fields:
        name: of its folder here.
        path, commit: in `REPOSITORY`.
        server: in words.
        capacity_from: where its KV tokens are from, since no file of the log says them.
        modelled: the clock from data sheets, MODEL@GPU; None: two GPUs share a model.
    """

    name: str
    path: str
    commit: str
    server: str
    capacity_from: str
    modelled: str | None

    @property
    def capacity(self) -> int:
        """KV tokens that requests can hold, in blocks of 16."""
        tokens = SIMULATED[self.name]
        assert tokens is not None  # no file says
        return tokens


LOGS = (
    Log(
        "rtx4090_aug17",
        "bench/results/rtx4090-llama8b-tp1",
        "5bae11f9799dd59de86daa6412a3b465b80418c3",
        "vLLM 0.19.0, Llama-3.1-8B, RTX 4090",
        "its first 5 s: 47,264 tokens were held, 47,744 had no room",
        "llama-3.1-8b@rtx-4090",
    ),
    Log(
        "rtxpro6000_llama8b",
        "bench/examples/RTXPRO6000/Llama-3.1-8B/vllm",
        "5daddb21a545658d5150b535712d0494584b5278",
        "vLLM 0.19.0, Llama-3.1-8B, RTX PRO 6000",
        "a later run of vLLM 0.28.0 on such a GPU (commit 0acc21b); never a third full",
        "llama-3.1-8b@rtx-pro-6000",
    ),
    Log(
        "rtxpro6000_qwen32b_tp2",
        "bench/examples/RTXPRO6000/Qwen3-32B/vllm",
        "5daddb21a545658d5150b535712d0494584b5278",
        "vLLM 0.19.0, Qwen3-32B, two RTX PRO 6000",
        "a round number that two such GPUs have left; never a third full",
        None,
    ),
)


@dataclass(frozen=True)
class Held:
    """One number of one log beside ours.

    Fields:
        log: its name.
        part: "second half" and "run", by the clock of the first half; "modelled", the clock from
            data sheets.
        what: such as "latency".
        measured, ours: in the unit of `what`; means, where there are many.
        off: the error, a share: of "latency", "ttft" and "tpot" the median over requests, of
            series the root mean square over the mean, else ours over measured, less 1.
    """

    log: str
    part: str
    what: str
    measured: float
    ours: float
    off: float


@cache
def recorded() -> tuple[Held, ...]:
    """All that is on record."""
    return tuple(_TABLE.rows(Held))


def held(log: str, part: str, what: str) -> Held | None:
    """One row; None where there is none."""
    found = (one for one in recorded() if (one.log, one.part, one.what) == (log, part, what))
    return next(found, None)


def computed(folder: Path, log: Log) -> Iterator[Held]:
    """The rows of one log, whose files are in `folder` under its name; six digits a number."""
    for part, what, measured, ours, off in _rows(folder / log.name, log):
        yield Held(log.name, part, what, *(float(f"{v:.6g}") for v in (measured, ours, off)))


_Row = tuple[str, str, float, float, float]


def _rows(folder: Path, log: Log) -> Iterator[_Row]:
    found = replay_log(folder, capacity=log.capacity, block_size=_BLOCK)
    yield from _half(found)
    yield from _run(found)
    points = tick_points(**found.log.clock_arrays() | {"capacity": log.capacity})
    if log.modelled is not None:
        yield from _modelled(points, log.modelled)


def _half(found: Replay) -> Iterator[_Row]:
    for what, error in found.main.errors.items():
        if isinstance(error, SeriesError):
            mean = error.measured_mean
            yield "second half", what, mean, mean + error.bias, error.rmse / mean
        elif error is not None and error.median_in_half is not None:
            yield (
                *("second half", what, error.measured_mean, error.predicted_mean),
                error.median_in_half,
            )


def _run(found: Replay) -> Iterator[_Row]:
    main = found.main
    for what, measured, ours in (
        ("duration", found.duration_s or np.nan, main.duration_s),
        ("peak running", found.measured.running.max(), main.account.running.max()),
        ("preemptions at least", found.preemptions_seen, main.preemptions),
    ):
        yield "run", what, measured, ours, ours / measured - 1 if measured else float(ours > 0)


def _modelled(points: TickPoints, name: str) -> Iterator[_Row]:
    """Steps and prefill of the clock from data sheets, beside those of the log's own clock."""
    ours, theirs = named_clock(name).clock, fit_clock(points).clock
    used = points.used
    for what, level in (("step, least memory", 0.05), ("step, most memory", 0.95)):
        tokens = round(np.quantile(points.kv_tokens[used], level))
        measured, modelled = (clock.duration(tokens, 0) for clock in (theirs, ours))
        yield "modelled", what, measured, modelled, modelled / measured - 1
    measured, modelled = theirs.per_prefill_token, ours.per_prefill_token
    yield "modelled", "prefill token", measured, modelled, modelled / measured - 1


def record(folder: Path) -> None:
    """Compute all rows from the logs in a folder and write them."""
    rows = [astuple(row) for log in LOGS for row in computed(folder, log)]
    _TABLE.write([field.name for field in fields(Held)], rows)
