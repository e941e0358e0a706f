"""OPT-13B on one A100 with 80 GB: its memory, and the fastest clock that the device allows.

CacheOPT prints neither. The clock is modelled, not measured: an iteration reads all weights and all
caches at the peak of the memory's bandwidth, and multiplies prompts at the peak of 16-bit
arithmetic. A real engine is slower, so what this one cannot serve, none can.

Sources: the model's published shape (40 layers, width 5120, inner width 20,480, 50,272 words, 2048
positions); the data sheet of the A100; nine tenths of the memory for weights and cache, vLLM's
default, which on the A100 with 40 GB leaves the about 15.7 thousand tokens of vLLM's own paper.
That the instance named by the paper has GPUs of 40 GB is from its vendor's post "Amazon EC2 P4d
instances deep dive".
"""

from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits

LAYERS, WIDTH, WORDS, POSITIONS = 40, 5120, 50_272, 2048
IN_LAYERS = LAYERS * 12 * WIDTH**2
"""Weights that each prompt token is multiplied with; biases and embeddings left out."""
WEIGHTS = IN_LAYERS + LAYERS * 13 * WIDTH + (WORDS + POSITIONS + 2 + 2) * WIDTH
"""12.85 billion parameters."""
KV_BYTES = 2 * LAYERS * WIDTH * 2
"""819,200 of a token: keys and values, 16 bits each."""

MEMORY_BYTES = 80 * 2**30
"""Of a GPU, as printed."""
BANDWIDTH, FLOPS = 2.039e12, 312e12
"""Of an A100 with 80 GB (SXM): bytes a second, 16-bit operations a second."""

BLOCK_SIZE = 32


def cache_tokens(memory_bytes: int) -> int:
    """KV tokens beside the weights with a tenth of the memory left free, in whole blocks."""
    left = memory_bytes * 9 // 10 - 2 * WEIGHTS
    return left // KV_BYTES // BLOCK_SIZE * BLOCK_SIZE


ALL_OF_IT = (MEMORY_BYTES - 2 * WEIGHTS) // KV_BYTES
"""KV tokens with nothing but weights beside them."""
CAPACITY = cache_tokens(MEMORY_BYTES)

BASE_S, PER_KV_TOKEN_S = 2 * WEIGHTS / BANDWIDTH, KV_BYTES / BANDWIDTH
PER_PROMPT_TOKEN_S = 2 * IN_LAYERS / FLOPS


def clock() -> IterationClock:
    """d0 = 12.6 ms, d1 = 0.40 us, d2 = 81 us."""
    return IterationClock(BASE_S, PER_KV_TOKEN_S, PER_PROMPT_TOKEN_S)


def limits(capacity: int = CAPACITY, *, more_outputs: int = 100) -> Limits:
    """The paper's block size; no other cap."""
    return Limits(capacity, BLOCK_SIZE, more_outputs=more_outputs)


def most_held_per_s(capacity: int = CAPACITY) -> float:
    """Tokens held times iterations, a second: a full memory, nothing but decodes."""
    return capacity / (BASE_S + PER_KV_TOKEN_S * capacity)
