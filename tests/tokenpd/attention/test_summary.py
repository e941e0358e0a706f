"""What is said of a source is what it was made of."""

import numpy as np
import pytest

from fluidkv.tokenpd import HeavyHitters, Noise, Recency, Sinks, Structure, describe, generated
from fluidkv.tokenpd.attention.weights import Attention


def _described(*parts, lifts=(), **given):
    return describe(generated(Structure(parts, lifts), 0, **{"requests": 3, **given}))


def test_equal_weights_weigh_as_all_keys():
    said = _described(prompt=9, length=11)
    # Rows of 9, 10 and 11 equal keys, by the prompt's last and two generated tokens.
    assert said.effective_keys == pytest.approx(10, rel=1e-6)
    assert said.on_sinks == pytest.approx((4 / 9 + 4 / 10 + 4 / 11) / 3, rel=1e-6)
    assert said.on_window == pytest.approx(1, rel=1e-6)


def test_sinks_and_windows_are_seen():
    said = _described(Recency(4), lifts=(Sinks(4, 0.6),), length=200)
    assert said.on_sinks == pytest.approx(0.6, rel=1e-5)
    # 64 tokens are 16 half-lives: the rest is on the window up to 2^-16.
    assert said.on_window == pytest.approx(0.4, abs=0.02)


def test_heavy_hitters_persist_and_noise_does_not():
    hitters, noise = _described(HeavyHitters(2)), _described(Noise(2))
    assert hitters.persistence > 0.999
    assert abs(noise.persistence) < 0.3  # 64 tokens, 3 streams: standard error 0.07
    assert hitters.gini > 0.6 > noise.gini


def test_the_gini_coefficient_is_that_of_what_tokens_have():
    """Two tokens with 3/4 and 1/4: half the mean difference, 1/8, over the mean, 1/2."""
    weights = np.array([[[1, 0], [0.75, 0.25]]])
    one = np.array([1])
    said = describe(Attention(weights, one * 2, one * 2, one * 0, one * 0))
    assert said.gini == pytest.approx(0.25)
    assert np.isnan(said.persistence)
    assert "too few rows" in " ".join(said.sentences())


def test_most_at_once_is_what_a_literal_count_finds():
    attention = generated(Structure(), 4, requests=7, prompt=(1, 9), length=(9, 30), gap=4)
    alive = [
        sum(
            int(p + now - s)
            for p, n, s in zip(attention.prompt, attention.length, attention.start, strict=True)
            if s <= now <= s + n - p
        )
        for now in range(attention.rounds)
    ]
    assert describe(attention).most_at_once == max(alive)


def test_streams_and_requests_are_counted_apart():
    weights = np.ones((4, 1, 1))
    ones = np.ones(4, np.int64)
    said = describe(Attention(weights, ones, ones, 0 * ones, np.array([0, 0, 1, 1])))
    assert (said.streams, said.requests, said.rounds) == (4, 2, 1)
    assert said.sentences()[0].startswith("4 streams of 2 requests")
