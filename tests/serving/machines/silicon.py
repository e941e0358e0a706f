"""Measured means of closed-loop runs, and efficiencies fitted to a part of them.

The rows are those of `silicon_agg/known.csv`, which FLUIDKV_TRACES names; they are not ours and not
in the repository. A setting is a model, GPU, engine, precision, parallelism and lengths, whatever
the number of clients and the version. Settings whose hash is odd are held out: nothing is fitted to
them, and the rule was written down before any row was looked at.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from scipy.optimize import nnls

from fluidkv.errors import InputError
from fluidkv.serving.machines import efficiencies as tables
from fluidkv.serving.machines.gpus import Gpu, gpu_named
from fluidkv.serving.machines.models import Model, model_named, stored_bytes

FILE = "silicon_agg/known.csv"
_SETTING = ("model_path", "system", "backend", "gemm_quant_mode", "moe_quant_mode", "tp_size")
_SETTING += ("attention_dp_size", "moe_tp_size", "moe_ep_size", "isl", "osl")
_STORED = {"": "-bf16", "fp8": "-fp8", "fp8_block": "-fp8", "nvfp4": "-nvfp4", "int4_wo": "-int4"}

# What is expected of an efficiency before any row is seen, and how far off that may be. The fit is
# drawn to it where rows say little: of a peak some 80 % is reached; launches take 10 to 20 us a
# layer, a reduction some 6.
PRIOR = MappingProxyType(
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
_NOISE, ROBUST, _DRAWN = 0.1, 0.05, 1.0  # of a row; where a residual is large; weight of the prior
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
        if stored_bytes(self.model) > self.gpus * self.gpu.memory:
            return "weights that do not fit"
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
        return (*group(row)[2], row.gpus, row.clients, row.ttft_s, row.tpot_s)

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
    prior = np.array([PRIOR[name.partition(".")[0]] for name in names])
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
        weights = np.sqrt(ROBUST / np.maximum(off, ROBUST))
    return {name: float(f"{value:.4g}") for name, value in zip(names, values, strict=True)}


def predicted(row: Row, values: dict[str, float]) -> float:
    """A token's time by efficiencies alone."""
    return sum(values[name] * each for name, each in seconds(row).items())


Key = tuple[str, str, str]


def group(row: Row) -> tuple[Key, Key, Key]:
    name, gpu = tables.family(row.model), f"{row.gpu.name}/{tables.bits(row.model)}"
    return (name, "", ""), (name, row.engine, ""), (name, row.engine, gpu)


def correct(rows: Sequence[Row], values: dict[str, float]) -> dict[Key, tuple[float, int]]:
    """Medians of what is left, of models, of engines below them, of GPUs below these."""
    left = np.array([np.log(row.tpot_s / predicted(row, values)) for row in rows])
    found: dict[Key, tuple[float, int]] = {}
    for level in range(3):
        keys = [group(row)[level] for row in rows]
        for key in sorted(set(keys)):
            here = np.array([each == key for each in keys])
            count = int(here.sum())
            factor = float(f"{np.exp(np.median(left[here]) * count / (count + _SHRUNK)):.4g}")
            found[key] = factor, count
            left[here] -= np.log(factor)
    return found
