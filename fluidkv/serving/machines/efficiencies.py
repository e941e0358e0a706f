"""What of its data sheet a server gets: efficiencies fitted to measured servers, and their clock.

A clock is a sum of what must be read, multiplied, sent to the other GPUs and launched, each over
the peak of the data sheet and times an efficiency. The efficiencies are those of a generation of
GPUs and of an engine; `efficiencies.csv` has them, fitted by least squares to mean times per output
token of closed-loop runs, and `corrections.csv` what the fit leaves of each model, engine and GPU
(factors of the whole clock). `tests/serving/machines/silicon.py` fits them again.

    d0 = weights outside of experts / B + launches + latency of reductions
    d1 = bytes of a token / B                   d2 = 2 P / F + reductions of a token
    d3 = 4 a L / F                              d4 = 2 P / F + reductions + scheduling
    d5 = weights of all experts / B

Of n GPUs each has an n-th of the weights and operations, and of the cache as many parts as there
are heads with keys and values of their own: the cache of latent attention is on each.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.gpus import Gpu, rows_of
from fluidkv.serving.machines.models import STORED, Model, stored_bytes

ENGINES = ("vllm", "sglang", "trtllm")
"""Engines that efficiencies are fitted to."""

MOST_CLIENTS = 512
"""Requests in flight in the largest of the closed loops that are fitted to, but for a few."""

MOST_GPUS = 8
"""GPUs of one server, all of them linked."""

SHORT_WINDOW = 4096
"""A window of fewer tokens is taken to be full; of more, to keep every token."""


class Costs(NamedTuple):
    """What one efficiency of 1 adds to d0 ... d5, seconds; `d3` for each pair, and so on."""

    d0: float = 0.0
    d1: float = 0.0
    d2: float = 0.0
    d3: float = 0.0
    d4: float = 0.0
    d5: float = 0.0


@cache
def efficiencies() -> Mapping[str, float]:
    """By name: "read.hopper", "layer.vllm"; multiples of what the data sheet's peak would take.

    Those of an engine are microseconds a layer, milliseconds a step, microseconds a request.

    Examples:
        >>> from fluidkv.serving.machines.efficiencies import efficiencies
        >>> 1 < efficiencies()["kv.hopper"] < 1.5
        True
    """
    rows = rows_of("efficiencies.csv")
    return MappingProxyType({row["name"]: float(row["value"]) for row in rows})


@cache
def corrections() -> Mapping[tuple[str, str, str], float]:
    """Factors of a clock by model, engine and GPU; "" stands for all.

    Examples:
        >>> from fluidkv.serving.machines.efficiencies import corrections
        >>> all(0.5 < factor < 2 for factor in corrections().values())
        True
    """
    rows = rows_of("corrections.csv")
    return MappingProxyType(
        {(row["model"], row["engine"], row["gpu"]): float(row["factor"]) for row in rows}
    )


def costs(model: Model, gpu: Gpu, gpus: int, engine: str) -> dict[str, Costs]:
    """What each efficiency is multiplied with, for a model on so many GPUs.

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.efficiencies import costs
        >>> one = costs(model_named("llama-3.1-8b"), gpu_named("h100"), 1, "vllm")
        >>> round(one["read.hopper"].d0 * 1e3, 2)  # ms to read the weights at the peak
        4.48
    """
    of, kind = gpu.generation, "experts" if model.experts > 1 else "dense"
    other = model.weight_bytes if model.other_bytes is None else model.other_bytes
    mixed, bandwidth = model.experts > 1, gpu.bandwidth * gpus
    read = model.beside_experts * other + 2 * model.embedding
    if not mixed:
        read += model.in_experts * model.weight_bytes
    short = model.windowed if (model.window or 0) < SHORT_WINDOW else 0
    layer_bytes = model.kv_bytes / model.layers / min(gpus, model.kv_heads) / gpu.bandwidth
    flops = gpu.flops(8 * model.weight_bytes) * gpus
    token, decoded = (2 * n / flops for n in (model.computed, model.computed + model.embedding))
    found = {
        f"read.{of}": Costs(d0=read / bandwidth),
        f"kv.{of}": Costs(
            d1=(model.layers - short) * layer_bytes, d4=short * (model.window or 0) * layer_bytes
        ),
        f"multiply.{kind}": Costs(d4=decoded),
        f"layer.{engine}": Costs(d0=model.layers * 1e-6),
        f"step.{engine}": Costs(d0=1e-3),
        f"request.{engine}": Costs(d4=1e-6),
        f"prefill.{of}.{kind}": Costs(d2=token),
        f"prefill.{engine}.{kind}": Costs(d2=token),
        "pair": Costs(d3=4 * model.attended * (model.layers - short) / (gpu.flops_16 * gpus)),
    }
    if mixed:
        found[f"experts.{of}"] = Costs(d5=model.in_experts * model.weight_bytes / bandwidth)
        found[f"experts_layer.{engine}"] = Costs(d0=(model.layers - model.dense) * 1e-6)
    if 8 * model.weight_bytes < 8 and gpu.flops_4:
        found[f"prefill.4bits.{kind}"] = Costs(d2=token)
    if gpus > 1:
        assert gpu.link  # of all that efficiencies are fitted to
        # Two reductions a layer, of 16 bits a value; a ring sends each twice, but its own part.
        sent = 2 * model.layers * model.width * 2 * 2 * (gpus - 1) / gpus / gpu.link
        found[f"latency.{of}"] = Costs(d0=2 * model.layers * 1e-6)
        found[f"send.{of}"] = Costs(d4=sent)
        found[f"prefill_send.{of}"] = Costs(d2=sent)
    return found


def fitted_clock(model: Model, gpu: Gpu, gpus: int = 1, engine: str = "vllm") -> IterationClock:
    """The clock of a model on GPUs that efficiencies are fitted to.

    Raises:
        InputError: GPUs that they are not fitted to; more of them than a server has; weights that
            do not fit.

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.efficiencies import fitted_clock
        >>> model, h100 = model_named("llama-3.1-70b"), gpu_named("h100")
        >>> two, four = (fitted_clock(model, h100, gpus).base for gpus in (2, 4))
        >>> 0.5 < four / two < 0.7  # half of the weights, and the same launches
        True
    """
    if not gpu.generation:
        known = "GPUs that efficiencies are fitted to: h100, h200, b200, b300"
        raise InputError("gpu", gpu.name, known)
    if not 1 <= gpus <= MOST_GPUS or gpus & (gpus - 1):
        raise InputError("gpus", gpus, "1, 2, 4 or 8: of one server")
    if engine not in ENGINES:
        raise InputError("engine", engine, f"one of {', '.join(ENGINES)}")
    if (weights := stored_bytes(model)) >= gpu.memory * gpus:
        allowed = (
            f"GPUs that hold the weights: {model.name} has {weights / 1e9:.3g} GB of them, "
            f"{gpus} {gpu.name} {gpu.memory * gpus / 1e9:.3g} GB"
        )
        raise InputError("gpu", gpu.name, allowed)
    factor = correction(model, gpu, engine)
    return summed(model, gpu, gpus, engine, efficiencies(), factor)


def summed(
    model: Model, gpu: Gpu, gpus: int, engine: str, values: Mapping[str, float], factor: float
) -> IterationClock:
    """The clock by these efficiencies, times a factor."""
    sums = [0.0] * 6
    for name, cost in costs(model, gpu, gpus, engine).items():
        for place, seconds in enumerate(cost):
            sums[place] += values[name] * seconds * factor
    d0, d1, d2, d3, d4, d5 = sums
    share = model.active / model.experts
    return IterationClock(
        d0, d1, d2, per_prefill_pair=d3, per_request=d4, experts=d5, expert_share=share
    )


def waits(engine: str, inputs: float, step_s: float) -> dict[str, float]:
    """What efficiencies of what comes before a first token are multiplied with, seconds.

    A client, a front end that turns text into tokens, and a scheduler that looks for requests and
    streams tokens every so many iterations: no iteration of the clock lasts longer for them.
    """
    return {
        f"wait.{engine}": 1e-3,
        f"wait_input.{engine}": inputs * 1e-6,
        f"wait_steps.{engine}": step_s,
    }


def first_token_wait(engine: str, inputs: float, step_s: float) -> float:
    """Seconds before a first token that the clock does not have.

    Examples:
        >>> from fluidkv.serving.machines.efficiencies import first_token_wait
        >>> 0.01 < first_token_wait("vllm", 1024, 0.01) < 0.1
        True
    """
    return sum(efficiencies()[name] * each for name, each in waits(engine, inputs, step_s).items())


@dataclass(frozen=True)
class Bar(Record):
    """How far off a named clock is: what rows that it was not fitted to have over what it says.

    Fields:
        rows: how many there are.
        mean: of the relative error, absolute.
        low, high: measured over said, in 90 % of the rows.

    Examples:
        >>> from fluidkv.serving.machines.efficiencies import Bar
        >>> bar = Bar(rows=689, mean=0.101, low=0.8, high=1.25)
        >>> bar.low < 1 < bar.high
        True
    """

    rows: int
    mean: float
    low: float
    high: float


@cache
def _bars() -> Mapping[tuple[str, str], Bar]:
    return {
        (row["kind"], row["metric"]): Bar(
            int(row["rows"]), *(float(row[name]) for name in ("mean", "low", "high"))
        )
        for row in rows_of("bars.csv")
    }


def bar(model: Model, gpu: Gpu, metric: str) -> Bar:
    """The bar of "tpot", "throughput" or "ttft" on machines of this kind.

    Of a model that was measured, from fits to five sixths of the settings; of another one, from
    fits to all models but one.

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.efficiencies import bar
        >>> found = bar(model_named("llama-3.1-70b"), gpu_named("h100"), "tpot")
        >>> found.low < 1 < found.high
        True
    """
    return _bars()[kind_of(model, gpu) if is_measured(model) else "other", metric]


def is_measured(model: Model) -> bool:
    """Whether rows of this model, at any precision, are among those that are fitted to."""
    return (family(model), "", "") in corrections()


def kind_of(model: Model, gpu: Gpu) -> str:
    """A class of machine: "hopper, experts"."""
    return f"{gpu.generation}, {'experts' if model.experts > 1 else 'dense'}"


def correction(model: Model, gpu: Gpu, engine: str) -> float:
    """The factor of a clock: of its model, that on the engine, and that on the GPU.

    A model that was not measured has 1; `family` says which were measured as one.
    """
    name, factor = family(model), 1.0
    for key in ((name, "", ""), (name, engine, ""), (name, engine, f"{gpu.name}/{bits(model)}")):
        factor *= corrections().get(key, 1.0)
    return factor


def family(model: Model) -> str:
    """The name that a model's correction has: DeepSeek's of 671 billion weights are one."""
    plain = model.name.removesuffix("-kv8")
    for end in STORED:
        plain = plain.removesuffix(end)
    return "deepseek-v3" if plain.startswith("deepseek-") else plain


def bits(model: Model) -> int:
    """Of a weight, scales left out: 16, 8 or 4."""
    return 4 if model.weight_bytes < 1 else math.floor(8 * model.weight_bytes)
