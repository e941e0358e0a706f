"""How many tokens of cache a GPU has beside a model's weights.

    (memory x utilisation - weights - overhead) / bytes of a token

The overhead is what activations, captured graphs and the driver take: engines measure it at their
start, with the largest batch that they may run. Here it is one round number, so that the answer is
modelled; `against` says what it misses on measured servers.
"""

from fluidkv.errors import InputError
from fluidkv.serving.machines.gpus import Gpu
from fluidkv.serving.machines.models import Model, kv_bytes_per_token
from fluidkv.serving.machines.roofline import weight_bytes

UTILISATION = 0.9
"""Of the memory that an engine takes: vLLM's default."""
OVERHEAD = 1.5 * 2**30
"""Bytes beside weights and cache."""


def kv_tokens_left(
    model: Model,
    gpu: Gpu,
    *,
    gpus: int = 1,
    utilisation: float = UTILISATION,
    overhead: float = OVERHEAD,
) -> int:
    """Tokens of cache that a GPU has for a model, or several that share it; modelled, not measured.

    Args:
        gpus: that share the weights, and the cache as far as heads have keys and values of their
            own: more GPUs than these, and latent attention, keep copies.
        utilisation: share of the memory that the engine takes, in (0, 1].
        overhead: bytes beside weights and cache, of each GPU.

    Raises:
        InputError: a share outside of (0, 1]; no memory left; a model of which some layers keep a
            window only.

    Examples:
        >>> from fluidkv.serving import kv_tokens_left
        >>> from fluidkv.serving.machines.gpus import gpu_named
        >>> from fluidkv.serving.machines.models import model_named
        >>> kv_tokens_left(model_named("llama-3.1-8b"), gpu_named("rtx-4090"))
        42131
        >>> kv_tokens_left(model_named("deepseek-v3"), gpu_named("h200"), gpus=8)
        719258
    """
    if not 0 < utilisation <= 1:
        raise InputError("utilisation", utilisation, "a share in (0, 1]")
    left = gpu.memory * utilisation - weight_bytes(model) / gpus - overhead
    if left < (per_token := kv_bytes_per_token(model) / min(gpus, model.kv_heads)):
        each = "" if gpus == 1 else f" on each of {gpus} GPUs"
        allowed = (
            f"a GPU with room for a cache: {gpu.name} has {gpu.memory * utilisation / 1e9:.3g} GB "
            f"at {utilisation:g}, and {model.name} needs {weight_bytes(model) / gpus / 1e9:.3g} GB "
            f"for its weights{each}"
        )
        raise InputError("gpu", gpu.name, allowed)
    return int(left // per_token)
