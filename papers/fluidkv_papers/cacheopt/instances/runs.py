"""Figures 12, 14 and 17 of CacheOPT in simulation, on record: `segment` says what is run.

All runs together take minutes, so their measures stand in a table beside this file; tests compute
some of them again, and all of them as a deeper check. The table was written, and is written anew,
by `python -m fluidkv_papers.cacheopt.instances.runs`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from fluidkv.preempt.padding.hoeffding import confidence_at_rate
from fluidkv_papers.cacheopt.instances import segment as segments
from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt
from fluidkv_papers.records import Table

SEEDS = range(4)
RATES = (0.5, 0.75, 1.0, 1.25, 1.5)
"""Times the printed rate of the trace."""
SEGMENTS = {"alpaca": segments.ALPACA, "sharegpt": segments.SHAREGPT}

SCALES = (0.5, 1.0, 1.5, 2.0, 2.5)
BLOCKS = (4, 8, 16, 32, 64)
AHEAD = (0, 1, 2, 3, 4, 6)
RESERVED = (0, 2, 4, 8, 16)
ALPHAS = (0.3, 0.5, 0.7, 0.9, 1.0)
BETAS = (0.001, 0.01, 0.1, 1.0, 100.0)
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)

_TABLE = Table(__file__, digits=5)


class Job(NamedTuple):
    """One run.

    Fields:
        figure: "12", "14", "17a" ...
        trace, method: names.
        x: what the figure has on its axis; 0 where it has nothing.
        seed: of requests, predictions and objectives.
    """

    figure: str
    trace: str
    method: str
    x: float
    seed: int


Measures = Mapping[str, float]


def jobs() -> Iterator[Job]:
    """All runs of the table, in its order."""
    for trace in SEGMENTS:
        for rate in RATES:
            for name in segments.METHODS:
                if name != "all critical" or (trace == "alpaca" and rate <= 1):
                    yield from (Job("12", trace, name, rate, seed) for seed in SEEDS)
    for trace in SEGMENTS:
        for name in segments.VARIANTS:
            yield from (Job("14", trace, name, 0.0, seed) for seed in SEEDS)
    for letter, values in SWEEPS.items():
        for x in values:
            yield from (Job(f"17{letter}", "alpaca", "cacheopt", x, seed) for seed in SEEDS)


SWEEPS: dict[str, tuple[float, ...]] = {
    "a": SCALES,
    "b": BLOCKS,
    "c": AHEAD,
    "d": RESERVED,
    "e": ALPHAS,
    "f": BETAS,
    "g": CONFIDENCES,
}


def run_of(job: Job) -> Measures:
    """Run it."""
    segment = SEGMENTS[job.trace]
    if job.figure == "12":
        return segments.measured(segments.METHODS[job.method], segment, job.x, job.seed)
    if job.figure == "14":
        return segments.measured(segments.VARIANTS[job.method], segment, 1.0, job.seed)
    scale = (job.x, job.x) if job.figure == "17a" else (0.5, 2.5)
    return segments.measured(_swept(job.figure[-1], job.x, segment), segment, 1.0, job.seed, scale)


def _swept(letter: str, x: float, segment: segments.Segment) -> segments.Method:
    """CacheOPT with one of its numbers changed, at the rate of the segment."""
    match letter:
        case "b":
            return segments.cacheopt(block=int(x))
        case "c":
            return segments.cacheopt(replace(CacheOpt(), iterations_ahead=int(x)))
        case "d":
            return segments.cacheopt(replace(CacheOpt(), reserved_blocks=int(x)))
        case "e":
            return segments.cacheopt(
                padding=segments.confident(confidence_at_rate(segment.rate, x, 100.0))
            )
        case "f":
            return segments.cacheopt(
                padding=segments.confident(confidence_at_rate(segment.rate, 0.9, x))
            )
        case "g":
            return segments.cacheopt(padding=segments.confident(x))
        case _:
            return segments.cacheopt()


@cache
def recorded() -> dict[Job, Measures]:
    """The table."""
    measures = (
        {name: float(value) for name, value in line.items() if name not in Job._fields}
        for line in _TABLE.lines()
    )
    return dict(zip(_TABLE.rows(Job), measures, strict=True))


def mean(figure: str, trace: str, method: str, x: float, measure: str) -> float:
    """Over the seeds."""
    return float(values(figure, trace, method, x, measure).mean())


def values(figure: str, trace: str, method: str, x: float, measure: str) -> np.ndarray:
    """One for each seed."""
    found = recorded()
    return np.array([found[Job(figure, trace, method, x, seed)][measure] for seed in SEEDS])


def rounded(measures: Measures) -> Measures:
    """As the table has them."""
    return {name: float(f"{value:.5g}") for name, value in measures.items()}


def _write() -> None:
    from fluidkv.processes import cores, shared_out

    todo = list(jobs())
    found = dict(shared_out(run_of, todo, cores(), argument="cores"))
    rows = ([*map(str, job), *found[place].values()] for place, job in enumerate(todo))
    _TABLE.write([*Job._fields, *found[0]], rows)


if __name__ == "__main__":
    _write()
