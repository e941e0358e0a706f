"""Closed loops on fitted clocks: what comes before a first token, bars, and rows held out.

python -m tests.serving.machines.closed_loops FOLDER         fits, writes the library's tables
python -m tests.serving.machines.closed_loops FOLDER held    what these miss on rows held out
"""

import csv
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.machines import efficiencies as tables
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from tests.serving.machines.silicon import (
    PRIOR,
    ROBUST,
    Row,
    correct,
    fit,
    fitted_to,
    group,
    read,
)


@dataclass(frozen=True)
class Means:
    """Of a closed loop: what the rows have."""

    ttft_s: float
    tpot_s: float


METRICS = ("tpot", "throughput", "ttft")


def misses(row: Row, means: Means) -> tuple[float, float, float]:
    """Said over measured, less 1: METRICS. Throughput is of a loop that never ends, of both."""
    rate = row.clients / (means.ttft_s + means.tpot_s * (row.outputs - 1))
    return means.tpot_s / row.tpot_s - 1, rate / row.rate - 1, means.ttft_s / row.ttft_s - 1


_ENGINES = {"vllm": "vllm", "trtllm": "vllm", "sglang": "sglang+cache"}


def served(row: Row, clock: IterationClock) -> Means:
    """The closed loop of a row on its clock: ten requests a client, lengths within 10 %.

    A request's time to first token is the engine's alone.
    """
    size = min(max(10 * row.clients, 60), 6000)
    rng = np.random.default_rng(0)
    lengths = (
        rng.integers(int(0.9 * mean), int(1.1 * mean) + 1, size)
        for mean in (row.inputs, row.outputs)
    )
    requests = Requests(*lengths)
    capacity = max(row.capacity, 2 * (row.inputs + row.outputs)) // 16 * 16
    limits = Limits(capacity, block_size=16, max_num_seqs=4096, max_num_batched_tokens=8192)
    server = Server(_ENGINES[row.engine], limits, clock)
    run = serve(requests, server, clients=row.clients).isel(run=0)
    first, last = run.first_token.values, run.last_token.values
    tokens = np.maximum(requests.output_length - 1, 1)
    waits = float((first - run.arrival.values).mean())
    return Means(waits, float(((last - first) / tokens).mean()))


def said(row: Row) -> Means:
    """What the library says of a row."""
    clock = tables.fitted_clock(row.model, row.gpu, row.gpus, row.engine)
    return _later(row, served(row, clock), tables.efficiencies())


def _later(row: Row, means: Means, values: Mapping[str, float]) -> Means:
    more = sum(values[name] * each for name, each in _waits(row, means).items())
    return Means(means.ttft_s + more, means.tpot_s)


def _waits(row: Row, means: Means) -> dict[str, float]:
    return tables.waits(row.engine, row.inputs, means.tpot_s)


def fit_waits(rows: Sequence[Row], found: Sequence[Means]) -> dict[str, float]:
    """What is before the first token besides, by engine."""
    values: dict[str, float] = {}
    for engine in tables.ENGINES:
        pairs = [each for each in zip(rows, found, strict=True) if each[0].engine == engine]
        each = [_waits(*pair) for pair in pairs]
        measured = np.array([row.ttft_s for row, _ in pairs])
        own = np.array([means.ttft_s for _, means in pairs]) / measured
        columns = np.array([list(one.values()) for one in each]) / measured[:, None]
        weights, best = np.ones(len(pairs)), np.zeros(columns.shape[1])
        for _ in range(40):
            best = nnls(columns * weights[:, None], (1 - own) * weights)[0]
            off = np.abs(np.log(np.maximum(own + columns @ best, 0.05)))
            weights = np.sqrt(ROBUST / np.maximum(off, ROBUST))
        values |= {name: float(f"{v:.4g}") for name, v in zip(each[0], best, strict=True)}
    return values


def apart(rows: Sequence[Row], part: Callable[[Row], str], values: dict[str, float]) -> list[Means]:
    """What is said of each row by a fit to the rows of other parts.

    `values` has what is before the first token, from all rows: three numbers an engine.
    """
    parts = [part(row) for row in rows]
    found: dict[int, Means] = {}
    for name in sorted(set(parts)):
        others = [row for row, its in zip(rows, parts, strict=True) if its != name]
        fitted = {key: prior[0] for key, prior in _priors().items()} | fit(others)
        factors = correct(others, fitted)
        for place, row in enumerate(rows):
            if parts[place] == name:
                factor = math.prod(factors.get(key, (1.0, 0))[0] for key in group(row))
                clock = tables.summed(row.model, row.gpu, row.gpus, row.engine, fitted, factor)
                found[place] = _later(row, served(row, clock), values)
    return [found[place] for place in range(len(rows))]


def _priors() -> dict[str, tuple[float, float]]:
    """Of every efficiency that the clock has, those included that a part of the rows lacks."""
    names = [(name, name.partition(".")[0]) for name in tables.efficiencies()]
    return {name: PRIOR[term] for name, term in names if term in PRIOR}


def sixth(row: Row) -> str:
    """One of six parts of the settings."""
    return str(int(hashlib.sha256(f"part {row.setting}".encode()).hexdigest()[:6], 16) % 6)


def bars(rows: Sequence[Row], found: Sequence[Means], *, unmeasured: bool) -> list[tuple]:
    """Lines of `bars.csv`: a class, how many rows, and of METRICS means and 90 % intervals."""
    kinds = ["other" if unmeasured else tables.kind_of(row.model, row.gpu) for row in rows]
    off = np.array([misses(*pair) for pair in zip(rows, found, strict=True)])
    lines = []
    for kind in sorted(set(kinds)):
        here = off[[each == kind for each in kinds]]
        for place, metric in enumerate(METRICS):
            ratio = 1 / (1 + here[:, place])  # measured over said
            low, high = np.quantile(ratio, (0.05, 0.95))
            mean = np.abs(here[:, place]).mean()
            lines.append((kind, metric, len(here), f"{mean:.3f}", f"{low:.3f}", f"{high:.3f}"))
    return lines


def write(folder: Path) -> None:
    """The tables of the library, from the rows in a folder."""
    rows = fitted_to(read(folder)[0])
    values = fit(rows)
    found = correct(rows, values)
    place = Path(tables.__file__).parent
    lines = ((*key, factor, count) for key, (factor, count) in found.items())
    _table(place / "corrections.csv", ("model", "engine", "gpu", "factor", "rows"), lines)
    clocks = [
        tables.summed(
            row.model,
            row.gpu,
            row.gpus,
            row.engine,
            values,
            math.prod(found[key][0] for key in group(row)),
        )
        for row in rows
    ]
    values |= fit_waits(rows, [served(*pair) for pair in zip(rows, clocks, strict=True)])
    _table(place / "efficiencies.csv", ("name", "value"), values.items())
    tables.efficiencies.cache_clear()
    known = bars(rows, apart(rows, sixth, values), unmeasured=False)
    other = bars(rows, apart(rows, lambda row: tables.family(row.model), values), unmeasured=True)
    header = ("kind", "metric", "rows", "mean", "low", "high")
    _table(place / "bars.csv", header, [*known, *other])


def report(folder: Path) -> None:
    """What the library misses on rows held out: all, and all but the odd ones."""
    rows = [row for row in read(folder)[0] if row.held_out]
    print(Counter(row.odd for row in rows))
    rows = [row for row in rows if "do not fit" not in row.odd]
    off = np.array([misses(row, said(row)) for row in rows])
    inside = np.array([in_bars(row, each) for row, each in zip(rows, off, strict=True)])
    fine = np.array([not row.odd for row in rows])
    for name, chosen in (("all", np.ones(len(rows), bool)), ("not odd", fine)):
        for place, metric in enumerate(METRICS):
            here = off[chosen, place]
            print(
                f"{name} {metric}: {len(here)} rows, mean {np.abs(here).mean():.3f}, median "
                f"{np.median(here):+.3f}, within 25 %: {(np.abs(here) < 0.25).mean():.3f}, in the "
                f"interval: {inside[chosen, place].mean():.3f}"
            )
    for kind in sorted({tables.kind_of(row.model, row.gpu) for row in rows}):
        here = [tables.kind_of(r.model, r.gpu) == kind and not r.odd for r in rows]
        print(kind, sum(here), np.abs(off[here]).mean(axis=0).round(3))
    for engine in tables.ENGINES:
        here = [r.engine == engine and not r.odd for r in rows]
        print(engine, sum(here), np.abs(off[here]).mean(axis=0).round(3))


def in_bars(row: Row, off: Iterable[float]) -> list[bool]:
    """Whether each of METRICS lies in the interval that the library states."""
    found = []
    for metric, each in zip(METRICS, off, strict=True):
        bar = tables.bar(row.model, row.gpu, metric)
        found.append(bar.low <= 1 / (1 + each) <= bar.high)
    return found


def _table(path: Path, header: Sequence[str], lines: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


if __name__ == "__main__":
    (report if "held" in sys.argv else write)(Path(sys.argv[1]))
