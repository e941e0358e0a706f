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
    model: Model, gpu: Gpu, *, utilisation: float = UTILISATION, overhead: float = OVERHEAD
) -> int:
    """Tokens of cache that one GPU has for a model; modelled, not measured.

    Args:
        utilisation: share of the memory that the engine takes, in (0, 1].
        overhead: bytes beside weights and cache.

    Raises:
        InputError: a share outside of (0, 1]; no memory left; a model of which some layers keep a
            window only.

    Examples:
        >>> from fluidkv.serving import gpu_named, kv_tokens_left, model_named
        >>> kv_tokens_left(model_named("llama-3.1-8b"), gpu_named("rtx-4090"))
        42131
    """
    if not 0 < utilisation <= 1:
        raise InputError("utilisation", utilisation, "a share in (0, 1]")
    left = gpu.memory * utilisation - weight_bytes(model) - overhead
    if left < (per_token := kv_bytes_per_token(model)):
        allowed = (
            f"a GPU with room for a cache: {gpu.name} has {gpu.memory * utilisation / 1e9:.3g} GB "
            f"at {utilisation:g}, and {model.name} needs {weight_bytes(model) / 1e9:.3g} GB for "
            "its weights"
        )
        raise InputError("gpu", gpu.name, allowed)
    return int(left // per_token)
