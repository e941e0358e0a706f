"""The requests that `vllm bench serve` sends, drawn again from its settings."""

import math

import numpy as np
from jaxtyping import Int

from fluidkv.runs.requests import Requests


def bench_requests(
    count: int, input_length: int, output_length: int, *, range_ratio: float = 0.0, seed: int = 0
) -> Requests:
    """Lengths of its `random` dataset: uniform on whole numbers, ratio r around each mean.

    Inputs are drawn first, then outputs, both from `numpy.random.default_rng(seed)` on
    floor((1 - r) l) ... ceil((1 + r) l). So a benchmark whose settings are known has its requests
    known, too, as long as the tool draws in this way (vLLM 0.11 and later do). All come at 0; with
    `--max-concurrency N` they are the requests of N clients (`clients=` of `serve`).

    Args:
        count: `--num-prompts`.
        input_length, output_length: `--random-input-len`, `--random-output-len`.
        range_ratio: `--random-range-ratio`, in [0, 1).
        seed: `--seed`.

    Examples:
        >>> from fluidkv_papers.vllm.instances.bench import bench_requests
        >>> requests = bench_requests(4, 100, 10, range_ratio=0.5, seed=0)
        >>> requests.input_length.tolist(), requests.output_length.tolist()
        ([135, 114, 101, 77], [8, 5, 5, 5])
    """
    rng = np.random.default_rng(seed)

    def drawn(mean: int) -> Int[np.ndarray, " request"]:
        least = max(1, math.floor((1 - range_ratio) * mean))
        most = math.ceil((1 + range_ratio) * mean)
        return rng.integers(least, most + 1, size=count)

    inputs = drawn(input_length)
    return Requests(inputs, drawn(output_length))
