"""Attention weights into a file that reads back as they are."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save

from fluidkv.files import write_whole
from fluidkv.tokenpd.attention.weights import Attention


def write_attention(path: Path | str, attention: Attention) -> None:
    """Write a safetensors file that `read_attention(path)` reads without being told anything.

    What comes back is equal, but for weights that an array holds behind a stream's end: they come
    back as 0. Streams stand in the file as requests, with the ids of the requests beside them.

    Raises:
        InputError: a path that cannot be written.

    Examples:
        >>> from fluidkv.tokenpd import generated, generators, read_attention, write_attention
        >>> attention = generated(generators()["sinks"], 0, requests=2, prompt=2, length=8)
        >>> write_attention("sinks.safetensors", attention)
        >>> bool((read_attention("sinks.safetensors").attention.weights == attention.weights).all())
        True
    """
    numbers = {
        name: np.ascontiguousarray(getattr(attention, name), np.int64)
        for name in ("prompt", "length", "start", "request")
    }
    weights = {"weights": np.ascontiguousarray(attention.weights)}
    write_whole(path, save({**weights, **numbers}, {"axes": "request,query,key"}))
