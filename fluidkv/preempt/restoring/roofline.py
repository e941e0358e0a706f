"""The two latency models from the numbers of a model and a machine, with nothing measured.

A prefill of S tokens multiplies each of them with every weight, 2 P S operations, and each with
all before it, twice 2 h operations a layer and pair, over S (S + 1) / 2 pairs. A copy moves the
bytes of S tokens' keys and values over the bus. Both at a share of what the machine can do.

The squares overtake the rest at S = P / (h L) tokens or so: tens of thousands for models of today.

Source: the operations of a transformer, as counted by Kaplan and others (2020, section 2.1).
"""

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.restoring.latency import LatencyFit
from fluidkv.runs.checks import above_0
from fluidkv.serving.machines.gpus import gpu_named
from fluidkv.serving.machines.models import Model, model_named
from fluidkv.serving.swap import Swap

OPT_13B, LLAMA_3_8B = model_named("opt-13b"), model_named("llama-3-8b")
"""Two models with the numbers that these times need.

>>> from fluidkv.preempt import LLAMA_3_8B
>>> from fluidkv.preempt.restoring.roofline import OPT_13B
>>> LLAMA_3_8B.name, OPT_13B.name
('llama-3-8b', 'opt-13b')
"""

A100_FLOPS = gpu_named("a100-40").flops_16
"""16-bit operations a second of an A100, dense (its data sheet)."""
PCIE4_BYTES = 25e9
"""Bytes a second one way over PCIe 4.0 x16: 31.5e9 by the standard, some 25e9 seen by copies."""


def recompute_of(model: Model, *, flops: float = A100_FLOPS, share: float = 0.5) -> LatencyFit:
    """L_r of a model: alpha S^2 + kappa S, seconds, exact for the operations counted.

    Args:
        flops: operations a second that the machine can do.
        share: of them, that a prefill gets, in (0, 1].

    Examples:
        >>> from fluidkv.preempt import recompute_of
        >>> from fluidkv.preempt.restoring.roofline import OPT_13B
        >>> round(float(recompute_of(OPT_13B)(2000)), 3)
        0.34
    """
    speed = above_0("flops", flops) * _share(share)
    pair = 4 * model.attended * model.layers / speed  # seconds for a pair of tokens
    alpha, kappa = pair / 2, 2 * model.parameters / speed + pair / 2
    return LatencyFit((alpha, 2.0, kappa, 0.0), np.zeros((4, 4)), 0.0, 0, float("inf"))


def copies_of(
    model: Model,
    *,
    bandwidth: float = PCIE4_BYTES,
    per_copy: float = 0.0,
    host_bytes: float | None = None,
    pool: int | None = None,
    shared: bool = True,
) -> Swap:
    """A bus and a pool for a model's caches.

    Args:
        bandwidth: bytes a second, one way.
        per_copy: seconds that a copy takes besides.
        host_bytes: memory of the host; None: no limit.
        pool: tokens of it for caches; None: all that fit.

    Raises:
        InputError: a pool that is larger than the host's memory.

    Examples:
        >>> from fluidkv.preempt import copies_of
        >>> from fluidkv.preempt.restoring.roofline import OPT_13B
        >>> swap = copies_of(OPT_13B, host_bytes=64e9)
        >>> f"{1e6 * swap.per_token:.1f} us a token", swap.pool
        ('32.8 us a token', 78125)
    """
    if host_bytes is not None:
        most = int(above_0("host_bytes", host_bytes) // model.kv_bytes)
        if pool is not None and pool > most:
            raise InputError(
                "pool", pool, f"at most {most} tokens, which {host_bytes:g} bytes hold"
            )
        pool = most if pool is None else pool
    per_token = model.kv_bytes / above_0("bandwidth", bandwidth)
    return Swap(per_token, per_copy, pool=pool, shared=shared)


def _share(share: float) -> float:
    if not 0 < share <= 1:
        raise InputError("share", share, "a number in (0, 1]")
    return share
