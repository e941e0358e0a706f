"""What the layers of a model keep of a request: every token, a window of the last ones, or a state.

The unit of memory of such a model is a token that all of its layers would keep, layers of states
too: bytes of the pool over layers times the bytes that a token takes in one layer of attention.
vLLM's start prints the size of its cache in it (blocks over groups of layers, times the block).

A state of gated linear attention (Qwen3-Next) is a matrix a head, and what its convolution still
has to see: value_heads x d x d + (2 key_heads + value_heads) x d x (width - 1) values, at 16 bits
as vLLM keeps it. It takes as many bytes as 536 tokens do in a layer of attention, and vLLM takes
blocks of 544, the next multiple of 16. SGLang keeps the matrix at 32 bits, in a pool of its own.

Llama 4 attends within pieces of 8,192 tokens rather than over the last 8,192. What a layer keeps
then falls to nothing at the end of a piece: here it is a window, its upper bound.

Source: the `config.json` that each model is published with, by the name given.
"""

from dataclasses import dataclass
from functools import cache

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.machines.gpus import rows_of
from fluidkv.serving.machines.kv_bytes import token_bytes
from fluidkv.serving.machines.models import (
    keeps_states,
    known_models,
    model_named,
    without_storage,
)
from fluidkv.text import nearest


@dataclass(frozen=True)
class Layers(Record):
    """What the layers of a model keep of a request.

    Fields:
        name: of the model.
        layers: all of them.
        token_bytes: of one token's keys and values in one layer of attention.
        windowed, window: layers that keep only the last `window` tokens.
        stateful, state_bytes: layers that keep a state of so many bytes, and no token.

    Examples:
        >>> from fluidkv.serving.machines.layers import layers_named
        >>> found = layers_named("openai/gpt-oss-20b")
        >>> found.windowed, found.window, found.layers, found.kv_bytes
        (12, 128, 24, 49152)
    """

    name: str
    layers: int
    token_bytes: int
    windowed: int = 0
    window: int | None = None
    stateful: int = 0
    state_bytes: int = 0

    @property
    def kv_bytes(self) -> int:
        """Of a token that all layers keep."""
        return self.layers * self.token_bytes


def layers_named(name: str) -> Layers:
    """The layers of a model, named as for `model_named`; also of those that keep states.

    Raises:
        InputError: another name, with those near it; a model with states of which no size is known
            here.

    Examples:
        >>> from fluidkv.serving.machines.layers import layers_named
        >>> found = layers_named("Qwen/Qwen3-Next-80B-A3B-Instruct")
        >>> found.stateful, found.layers, found.state_bytes / found.token_bytes
        (36, 48, 536.0)
        >>> layers_named("google/gemma-3-27b-it").windowed, layers_named("llama-3.1-8b").windowed
        (52, 0)
    """
    plain, _, kv8 = without_storage(name)
    if plain in _with_states():
        sizes = dict(_with_states()[plain])
        sizes["token_bytes"] //= 2 if kv8 else 1
        return Layers(plain, **sizes)
    if plain not in known_models():
        if keeps_states(plain):
            allowed = (
                "a model whose layers are known here, as this one keeps states of a size that is "
                f"not known; of those with states: {', '.join(_with_states())}"
            )
            raise InputError("model", name, allowed)
        raise InputError("model", name, nearest(plain, [*known_models(), *_with_states()]))
    model = model_named(name)
    each = model.kv_bytes // model.layers
    return Layers(model.name, model.layers, each, model.windowed, model.window)


@cache
def _with_states() -> dict[str, dict[str, int]]:
    return {row["name"]: _sizes(row) for row in rows_of("states.csv")}


def _sizes(row: dict[str, str]) -> dict[str, int]:
    keys, values = int(row["key_heads"]), int(row["value_heads"])
    size, seen = int(row["state_size"]), int(row["convolution"]) - 1
    state = values * size * size + (2 * keys + values) * size * seen
    return {
        "layers": int(row["layers"]),
        "token_bytes": token_bytes(1, int(row["kv_heads"]), int(row["head_size"])),
        "stateful": int(row["stateful"]),
        "state_bytes": 2 * state,
    }
