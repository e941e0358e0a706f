"""Shapes of models: the paper names none, only "a 7-billion-parameter model" (section 2).

Source: the configuration that each model is published with.
"""

from dataclasses import dataclass

from fluidkv.serving.machines.kv_bytes import token_bytes


@dataclass(frozen=True)
class Model:
    """A decoder, as far as its cache depends on it.

    Fields:
        layers, width, heads: L, d and h.
        kv_heads: heads with keys and values of their own.
        head_size: d_head; d / h in all of these.
        billions: parameters, rounded.
    """

    name: str
    billions: int
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int

    @property
    def values(self) -> int:
        """Keys and values of a token, all layers."""
        return token_bytes(self.layers, self.kv_heads, self.head_size, bytes_per_value=1)

    @property
    def printed(self) -> int:
        """(1) with d the hidden size."""
        return 2 * self.width * self.heads


LLAMA_7B = Model("Llama 7B", 7, 32, 4096, 32, 32, 128)
"""The first and the second; 32,000 words, inner width 11,008."""
MODELS = (
    LLAMA_7B,
    Model("Llama 13B", 13, 40, 5120, 40, 40, 128),
    Model("Mistral 7B", 7, 32, 4096, 32, 8, 128),
    Model("Falcon 7B", 7, 32, 4544, 71, 1, 64),
    Model("GPT-2 XL", 2, 48, 1600, 25, 25, 64),
    Model("Llama-2 70B", 70, 80, 8192, 64, 8, 128),
)

WORDS, INNER = 32_000, 11_008
WEIGHTS = (
    2 * WORDS * LLAMA_7B.width
    + LLAMA_7B.layers * (4 * LLAMA_7B.width**2 + 3 * LLAMA_7B.width * INNER + 2 * LLAMA_7B.width)
    + LLAMA_7B.width
)
"""Of Llama 7B: 6.74 billion."""
KV_BYTES = 2 * LLAMA_7B.values
"""Of a token, 16 bits: 524,288."""
