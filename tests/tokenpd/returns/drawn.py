"""Small attentions at random: a key's heaviness lasts, the rest is noise."""

import numpy as np

from fluidkv.tokenpd.attention.weights import Attention


def drawn(seed: int, streams: int = 3, keys: int = 24) -> Attention:
    """Streams of unlike lengths, with prompts of a quarter of the keys."""
    rng = np.random.default_rng(seed)
    query = np.arange(keys)
    heavy = np.exp(rng.normal(size=(streams, 1, keys)))
    weights = np.tril(heavy * np.exp(rng.normal(size=(streams, keys, keys)) / 2))
    weights /= weights.sum(axis=2, keepdims=True)
    length = rng.integers(keys // 2, keys + 1, streams)
    weights = np.where(query[None, :, None] < length[:, None, None], weights, 0)
    prompt = np.full(streams, keys // 4)
    return Attention(weights, prompt, length, np.zeros(streams, int), np.arange(streams))
