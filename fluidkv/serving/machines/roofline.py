"""A clock from a model and a GPU alone: what must be read and multiplied, at a share of the peaks.

    d0 = bytes of the weights / (beta B) + h     d1 = bytes of a token's keys and values / (beta B)
    d2 = 2 P / (gamma F)                         d3 = 4 a L / (gamma F)

with B bytes and F operations a second. A step reads every weight once and each cached token once; a
prefill token is multiplied with the P weights of the layers, and each of its pairs with a token
before it costs 4 a operations a layer, a the width of attention. Three numbers are not the data
sheets': beta, gamma and the fixed part h of a step. They are round, the same for all models and
GPUs, and chosen once; what they miss is in `against`.

Decoding is multiplied, too, and that hides behind reading until a batch is so large that both take
as long: `batch_limit`. The clock has no term for it, so that it holds below.

Source: Williams, Waterman and Patterson, 2009 (the roofline); Kaplan and others, 2020, section 2.1
(the operations).
"""

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, not_negative
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.gpus import Gpu
from fluidkv.serving.machines.models import Model, kv_bytes_per_token, stored_bytes

BANDWIDTH_SHARE = 0.8
"""beta: of the memory's bandwidth that a step gets."""
FLOPS_SHARE = 0.7
"""gamma: of the dense operations that a prefill gets."""
STEP_S = 1e-3
"""h: launching and scheduling a step, seconds."""
EXPERTS_READ_BY = 64
"""Tokens of a step whose experts are read, of a model that has several: nearly all of them."""


def modelled_clock(
    model: Model,
    gpu: Gpu,
    *,
    bandwidth_share: float = BANDWIDTH_SHARE,
    flops_share: float = FLOPS_SHARE,
    step_s: float = STEP_S,
) -> IterationClock:
    """The clock of a model on one GPU, from their published numbers.

    Args:
        bandwidth_share, flops_share: beta and gamma, in (0, 1].
        step_s: h, seconds.

    Raises:
        InputError: a model whose weights do not fit, or of which some layers keep a window only; a
            share outside of (0, 1].

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.roofline import modelled_clock
        >>> model = model_named("llama-3.1-8b")
        >>> for name in ("rtx-4090", "h100"):
        ...     clock = modelled_clock(model, gpu_named(name))
        ...     print(name, round(clock.duration(kv_tokens=40_000, prefill_tokens=0) * 1000, 1))
        ...
        rtx-4090 26.1
        h100 8.6
    """
    per_token = kv_bytes_per_token(model)
    weights = weight_bytes(model)
    if weights >= gpu.memory:
        allowed = (
            f"a GPU that holds the weights: {model.name} has {weights / 1e9:.3g} GB of them, "
            f"{gpu.name} {gpu.memory / 1e9:.3g} GB; what several GPUs say to each other is not "
            "modelled"
        )
        raise InputError("gpu", gpu.name, allowed)
    bandwidth = _share("bandwidth_share", bandwidth_share) * gpu.bandwidth
    flops = _share("flops_share", flops_share) * _peak(model, gpu)
    return IterationClock(
        bytes_read(model) / bandwidth + not_negative("step_s", step_s),
        per_token / bandwidth,
        2 * model.computed / flops,
        per_prefill_pair=4 * model.attended * model.layers / flops,
    )


def batch_limit(model: Model, gpu: Gpu) -> int:
    """Requests at which multiplying a step takes as long as reading the weights.

    Above it the clock is too fast. At the shares of `modelled_clock`.

    Examples:
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> from fluidkv.serving.machines.roofline import batch_limit
        >>> batch_limit(model_named("llama-3.1-8b"), gpu_named("h100"))
        277
    """
    reading = bytes_read(model) / (BANDWIDTH_SHARE * gpu.bandwidth)
    return int(reading / (2 * model.computed / (FLOPS_SHARE * _peak(model, gpu))))


def weight_bytes(model: Model) -> float:
    """Bytes that the weights take in memory; embeddings at 16 bits."""
    return stored_bytes(model)


def bytes_read(model: Model) -> float:
    """Bytes of the weights that a step reads; of the embeddings the output's, at 16 bits."""
    read = model.read(EXPERTS_READ_BY)
    return (read - model.embedding) * model.weight_bytes + 2 * model.embedding


def _peak(model: Model, gpu: Gpu) -> float:
    """Operations a second at the precision of the weights, where the GPU has it."""
    return (gpu.flops_8 or gpu.flops_16) if model.weight_bytes == 1 else gpu.flops_16


def _share(name: str, value: float) -> float:
    share = above_0(name, value)
    if share > 1:
        raise InputError(name, value, "a share in (0, 1]")
    return share
