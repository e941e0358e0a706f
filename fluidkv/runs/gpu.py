"""Kernels on an NVIDIA GPU: what `kernels` compiles for a CPU, as it is, one thread a lane.

numba-cuda (the extras cuda12 and cuda13 bring it) compiles a function for a GPU, and all that it
calls as it is decorated for the CPU. So a kernel is written once: a *thread* of it, decorated here,
calls the kernel for the one lane that has the thread's number, `cuda.grid(1)`. In the memory of the
GPU lanes lie side by side, so that threads side by side read words side by side. Products and sums
are fused there, so a GPU agrees with a CPU up to rounding.

Importing this takes a third of a second, and needs no GPU.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import cuda

__all__ = ["cuda", "free_bytes", "gpu_problem", "launch", "room", "thread", "to_gpu"]

Array = Any
"""Of a GPU; its shape and the type of its numbers are as NumPy has them."""

THREADS = 64
"""Of a block. A multiprocessor gives its registers to whole blocks, so that small ones fill it."""


def gpu_problem() -> str | None:
    """Why no kernel can run on a GPU here; None where one can."""
    if find_spec("numba_cuda") is None:
        return "numba-cuda is not installed; fluidkv[cuda12] or fluidkv[cuda13] brings it"
    return None if cuda.is_available() else "there is no NVIDIA GPU, or no driver for it"


def thread(function: Callable[..., None]) -> Any:
    """What one thread does, for `launch`; it is compiled on the first."""
    return cuda.jit(function)


def launch(threads: Any, lanes: int, arguments: Sequence[Any]) -> None:
    """A thread for each lane, and some that have none; wait for all."""
    threads[-(-lanes // THREADS), THREADS](*arguments)
    cuda.synchronize()


def to_gpu(values: np.ndarray, *, by_lane: bool) -> Array:
    """A copy; with `by_lane` the first axis is that of the lanes, and varies first in memory."""
    return cuda.to_device(np.asfortranarray(values) if by_lane else values)


def room(shape: tuple[int, ...]) -> Array:
    """Floats to be filled in, by lane."""
    return cuda.device_array(shape, order="F")


def free_bytes() -> float:
    """Of the memory of the GPU."""
    return cuda.current_context().get_memory_info().free
