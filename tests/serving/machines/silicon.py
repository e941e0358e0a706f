"""Measured means of closed-loop runs, and efficiencies fitted to a part of them.

The rows are those of `silicon_agg/known.csv`, which FLUIDKV_TRACES names; they are not ours and not
in the repository. A setting is a model, GPU, engine, precision, parallelism and lengths, whatever
the number of clients and the version. Settings whose hash is odd are held out: nothing is fitted to
them, and the rule was written down before any row was looked at.

    python -m tests.serving.machines.silicon FOLDER         fits, writes the tables of the library
    python -m tests.serving.machines.silicon FOLDER held    what the library misses on rows held out
"""

import csv
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from scipy.optimize import nnls

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.machines import efficiencies as tables
from fluidkv.serving.machines.gpus import Gpu, gpu_named
from fluidkv.serving.machines.models import Model, model_named, stored_bytes
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

FILE = "silicon_agg/known.csv"
_SETTING = ("model_path", "system", "backend", "gemm_quant_mode", "moe_quant_mode", "tp_size")
_SETTING += ("attention_dp_size", "moe_tp_size", "moe_ep_size", "isl", "osl")
_STORED = {"": "-bf16", "fp8": "-fp8", "fp8_block": "-fp8", "nvfp4": "-nvfp4", "int4_wo": "-int4"}

# What is expected of an efficiency before any row is seen, and how far off that may be. The fit is
# drawn to it where rows say little: of a peak some 80 % is reached; launches take 10 to 20 us a
# layer, a reduction some 6.
_PRIOR = MappingProxyType(
    {
        "read": (1.25, 0.3),
        "experts": (1.3, 0.3),
        "kv": (1.2, 0.3),
        "multiply": (0.7, 0.5),
        "layer": (20.0, 15.0),
        "experts_layer": (15.0, 15.0),
        "step": (1.0, 0.7),
        "request": (8.0, 8.0),
        "latency": (6.0, 4.0),
        "send": (1.3, 0.7),
        "prefill": (0.8, 0.6),
        "pair": (2.0, 1.0),
        "prefill_send": (1.3, 0.7),
    }
)
_NOISE, _ROBUST, _DRAWN = 0.1, 0.05, 1.0  # of a row; where a residual is large; weight of the prior
_SHRUNK = 4  # rows that a correction of 1 is worth


@dataclass(frozen=True)
class Row:
    """A measured run of one pool on one server."""

    setting: str
    model: Model
    gpu: Gpu
    gpus: int
    engine: str
    version: str
    source: str
    inputs: int
    outputs: int
    clients: int
    ttft_s: float
    tpot_s: float

    @property
    def held_out(self) -> bool:
        return int(hashlib.sha256(self.setting.encode()).hexdigest()[:8], 16) % 2 == 1

    @property
    def rate(self) -> float:
        """Requests a second: a closed loop has as many in flight as clients."""
        return self.clients / (self.ttft_s + self.tpot_s * (self.outputs - 1))

    @property
    def decoding(self) -> float:
        """Requests that decode, on average."""
        return self.rate * self.tpot_s * self.outputs

    @property
    def capacity(self) -> int:
        """Tokens of all layers that fit: 0.9 of the memory, less the weights and 2 GiB a GPU."""
        left = self.gpu.memory * 0.9 - stored_bytes(self.model) / self.gpus - 2 * 2**30
        return max(int(left / (self.model.kv_bytes / min(self.gpus, self.model.kv_heads))), 1)

    @property
    def odd(self) -> str:
        """Why no model of ours can be held to it; "": it can."""
        work = self.rate * (self.inputs + self.outputs) * 2 * self.model.computed
        if work > 0.7 * self.gpus * self.gpu.flops(8 * self.model.weight_bytes):
            return "over 70 % of the peak operations: prompts were cached"
        if self.ttft_s > self.outputs * self.tpot_s:
            return "waits longer than it decodes: a cap on requests that no column says"
        if self.clients * (self.inputs + self.outputs) > self.capacity:
            return "more than fits in memory at once"
        if self.drafted:
            return "drafts tokens: half of the time a token that the same server has without"
        return ""

    @property
    def drafted(self) -> bool:
        """Multi-token prediction: three jobs whose times a token are half of their neighbours'."""
        if tables.family(self.model) != "deepseek-v3" or self.engine != "trtllm":
            return False
        return self.version == "1.2.0rc6.post3" or (
            self.version == "1.1.0rc2.post2" and "2026-01-14" in self.source
        )


def read(folder: Path) -> tuple[list[Row], Counter[str]]:
    """Rows of one pool on one server; and how many others there are, by why."""
    rows, left = [], Counter[str]()
    with (folder / FILE).open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            why = _outside(line)
            if not why:
                try:
                    rows.append(_row(line))
                except InputError:
                    why = "a model that is not in the table"
            if why:
                left[why] += 1
    return rows, left


def _outside(line: dict[str, str]) -> str:
    pools, gpus = float(line["attention_dp_size"] or 1), int(line["tp_size"])
    if line["system"] not in ("h100_sxm", "h200_sxm", "b200_sxm", "b300_sxm"):
        return "a rack"
    if pools > 1 or gpus > 8 or int(line["moe_ep_size"]) > 8:
        return "several pools, or experts over several servers"
    return ""


def _row(line: dict[str, str]) -> Row:
    """The table does not say what the cache holds. Where weights have 8 bits or 4, values of 8 bits
    are taken: with 16, rows would be faster than their memory can be read."""
    name = line["model_path"].removesuffix("-FP8").removesuffix("-NVFP4")
    stored = _STORED[line["moe_quant_mode"] or line["gemm_quant_mode"]]
    cache = "" if stored == "-bf16" else "-kv8"
    clients = line["silicon_data_source"].partition("silicon_concurrency=")[2].partition(";")[0]
    return Row(
        "|".join(line[name] for name in _SETTING),
        model_named((name if "gpt-oss" in name else name + stored) + cache),
        gpu_named(line["system"].removesuffix("_sxm")),
        int(line["tp_size"]),
        line["backend"],
        line["backend_version"],
        line["silicon_data_source"],
        int(line["isl"]),
        int(line["osl"]),
        int(clients or line["batch_size"]),
        float(line["silicon_ttft_ms"]) / 1e3,
        float(line["silicon_tpot_ms"]) / 1e3,
    )


def fitted_to(rows: Sequence[Row]) -> list[Row]:
    """Of the part that is fitted: no odd ones, each run once, none that the other part has, too."""

    def run(row: Row) -> tuple[object, ...]:
        return (*_group(row)[2], row.gpus, row.clients, row.ttft_s, row.tpot_s)

    held = {run(row) for row in rows if row.held_out}
    fine = {run(row): row for row in rows if not row.held_out and not row.odd}
    return [row for key, row in fine.items() if key not in held]


def seconds(row: Row) -> dict[str, float]:
    """What efficiencies of 1 say that a token takes, from the batch that was measured."""
    batch, model = row.decoding, row.model
    prompts = min(1.0, batch / row.outputs)  # that begin in an iteration, or passes for them
    unread = (1 - model.active / model.experts) ** batch if model.experts > 1 else 0.0
    read = 1 - unread + prompts * (unread if row.engine != "sglang" else 1)
    tokens = batch * row.inputs / row.outputs
    counts = (
        1 + prompts * (row.engine == "sglang"),
        batch * (row.inputs + row.outputs / 2),
        tokens,
        tokens * row.inputs / 2,
        batch,
        read,
    )
    costs = tables.costs(model, row.gpu, row.gpus, row.engine)
    return {name: float(np.dot(each, counts)) for name, each in costs.items()}


def fit(rows: Sequence[Row]) -> dict[str, float]:
    """Efficiencies, at least 0, by least squares of relative residuals, large ones weighed less."""
    found = [seconds(row) for row in rows]
    names = sorted({name for each in found for name in each})
    prior = np.array([_PRIOR[name.partition(".")[0]] for name in names])
    measured = np.array([row.tpot_s for row in rows])
    columns = np.array([[each.get(name, 0.0) for name in names] for each in found])
    columns /= measured[:, None]
    drawn = np.diag(_DRAWN / prior[:, 1])
    weights = np.ones(len(rows))
    values = prior[:, 0]
    for _ in range(25):
        left = np.vstack([columns * weights[:, None] / _NOISE, drawn])
        right = np.concatenate([weights / _NOISE, _DRAWN * prior[:, 0] / prior[:, 1]])
        values = nnls(left, right)[0]
        off = np.abs(np.log(np.maximum(columns @ values, 0.05)))
        weights = np.sqrt(_ROBUST / np.maximum(off, _ROBUST))
    return {name: float(f"{value:.4g}") for name, value in zip(names, values, strict=True)}


def predicted(row: Row, values: dict[str, float]) -> float:
    """A token's time by efficiencies alone."""
    return sum(values[name] * each for name, each in seconds(row).items())


Key = tuple[str, str, str]


def _group(row: Row) -> tuple[Key, Key, Key]:
    name, gpu = tables.family(row.model), f"{row.gpu.name}/{tables.bits(row.model)}"
    return (name, "", ""), (name, row.engine, ""), (name, row.engine, gpu)


def correct(rows: Sequence[Row], values: dict[str, float]) -> dict[Key, tuple[float, int]]:
    """Medians of what is left, of models, of engines below them, of GPUs below these."""
    left = np.array([np.log(row.tpot_s / predicted(row, values)) for row in rows])
    found: dict[Key, tuple[float, int]] = {}
    for level in range(3):
        keys = [_group(row)[level] for row in rows]
        for key in sorted(set(keys)):
            here = np.array([each == key for each in keys])
            count = int(here.sum())
            factor = float(f"{np.exp(np.median(left[here]) * count / (count + _SHRUNK)):.4g}")
            found[key] = factor, count
            left[here] -= np.log(factor)
    return found


@dataclass(frozen=True)
class Means:
    """Of a closed loop: what the rows have."""

    ttft_s: float
    tpot_s: float
    rate: float


METRICS = ("tpot", "throughput", "ttft")


def misses(row: Row, means: Means) -> tuple[float, float, float]:
    """Said over measured, less 1: METRICS."""
    return (
        means.tpot_s / row.tpot_s - 1,
        means.rate / row.rate - 1,
        means.ttft_s / row.ttft_s - 1,
    )


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
    return Means(waits, float(((last - first) / tokens).mean()), size / float(last.max()))


def said(row: Row) -> Means:
    """What the library says of a row."""
    clock = tables.fitted_clock(row.model, row.gpu, row.gpus, row.engine)
    return _later(row, served(row, clock), tables.efficiencies())


def _later(row: Row, means: Means, values: Mapping[str, float]) -> Means:
    more = sum(values[name] * each for name, each in _waits(row, means).items())
    lasts = row.clients / means.rate
    return Means(means.ttft_s + more, means.tpot_s, row.clients / (lasts + more))


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
            weights = np.sqrt(_ROBUST / np.maximum(off, _ROBUST))
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
                factor = np.prod([factors.get(key, (1.0, 0))[0] for key in _group(row)])
                clock = tables.summed(row.model, row.gpu, row.gpus, row.engine, fitted, factor)
                found[place] = _later(row, served(row, clock), values)
    return [found[place] for place in range(len(rows))]


def _priors() -> dict[str, tuple[float, float]]:
    """Of every efficiency that the clock has, those included that a part of the rows lacks."""
    names = [(name, name.partition(".")[0]) for name in tables.efficiencies()]
    return {name: _PRIOR[term] for name, term in names if term in _PRIOR}


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
            float(np.prod([found[key][0] for key in _group(row)])),
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
    off = np.array([misses(row, said(row)) for row in rows])
    inside = np.array([_inside(row, each) for row, each in zip(rows, off, strict=True)])
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


def _inside(row: Row, off: Sequence[float]) -> list[bool]:
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
