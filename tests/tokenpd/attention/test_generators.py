"""Generated attention does what its structure says, part by part."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from fluidkv.errors import InputError
from fluidkv.tokenpd import (
    HeavyHitters,
    Needle,
    Noise,
    PowerLaw,
    Recency,
    Sinks,
    Structure,
    generated,
    generators,
)
from fluidkv.tokenpd.attention.generators.parts import TopicShifts

LENGTH = 120
ROUNDING = 1e-12
"""Of weights in float64, whose logits are below 100."""


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _weights(*parts, lifts=(), seed=0, prompt=40, length=LENGTH):
    return Structure(parts, lifts).drawn(seed, 0, prompt, length)


def test_with_no_parts_all_keys_are_alike():
    assert np.allclose(_weights(), np.tri(LENGTH) / np.arange(1, LENGTH + 1)[:, None], ROUNDING)


def test_recency_halves_each_half_life():
    last = _weights(Recency(20))[-1]
    assert last[LENGTH - 1 - 20 * 3] / last[-1] == pytest.approx(1 / 8, rel=ROUNDING)


def test_a_power_law_has_its_exponent():
    last = _weights(PowerLaw(1.5))[-1]
    assert last[-1 - 7] / last[-1] == pytest.approx(8**-1.5, rel=ROUNDING)


def test_parts_add_on_the_level_of_logits():
    one, two = _weights(Recency(20)), _weights(Recency(20), PowerLaw(1.5))
    distance = np.arange(LENGTH)[::-1]
    product = one[-1] * (1 + distance) ** -1.5
    assert np.allclose(two[-1], product / product.sum(), rtol=1e-9)


def test_heavy_hitters_have_the_share_of_a_log_normal_and_keep_it():
    weights = _weights(HeavyHitters(1.0), length=2000, prompt=1)
    ordered = np.sort(weights[-1])[::-1]
    # The Lorenz curve of a log-normal; its sampling error with 2,000 tokens is about 0.02.
    expected = norm.cdf(1.0 + norm.ppf(0.1))
    assert ordered[:200].sum() == pytest.approx(expected, abs=0.05)
    ratios = weights[10:, 3] / weights[10:, 7]
    assert np.ptp(ratios) < 1e-9 * ratios[0]


def test_noise_has_its_spread_and_is_new_in_each_row():
    weights = _weights(Noise(0.7))
    logs = np.log(weights[1:, 0] / weights[1:, 1])
    # Two logits differ by a normal of variance 2 x 0.49; 119 of them: 6.5 % standard error.
    assert logs.std() == pytest.approx(0.7 * math.sqrt(2), rel=0.25)
    assert abs(np.corrcoef(logs[1:], logs[:-1])[0, 1]) < 0.3  # standard error 0.09


def test_topics_change_with_their_half_life_and_to_each_other_one_alike():
    part, length = TopicShifts(topics=5, half_life=30), 200_000
    topic = part.current(_rng(), length)
    # P(same after d) = 1/m + (1 - 1/m)(1 - q m / (m - 1))^d, q the probability of a change. About
    # 4,600 stretches of one topic: a standard error below 0.01.
    change = 1 - 2 ** (-1 / 30)
    for apart in (1, 30, 100):
        same = (topic[apart:] == topic[:-apart]).mean()
        expected = 1 / 5 + 4 / 5 * (1 - change * 5 / 4) ** apart
        assert same == pytest.approx(expected, abs=0.04)
    assert (np.diff(topic) != 0).mean() == pytest.approx(change, rel=0.06)
    assert np.bincount(topic, minlength=5).min() / length > 0.17
    assert (1 - change) ** 30 == pytest.approx(1 / 2)


def test_a_key_of_the_querys_topic_gains_what_is_said():
    part = TopicShifts(topics=3, half_life=10, gain=2)
    logits = part.logits(_rng(4), LENGTH)
    topic = part.current(_rng(4), LENGTH)
    assert set(np.unique(logits)) == {0, 2}
    assert np.array_equal(logits == 2, topic[:, None] == topic)


def test_sinks_have_their_share_of_each_row():
    weights = _weights(Recency(20), Noise(1), lifts=(Sinks(4, 0.6),))
    assert np.allclose(weights[4:, :4].sum(1), 0.6, rtol=ROUNDING)
    assert np.allclose(weights[:4].sum(1), 1, rtol=ROUNDING)
    plain = _weights(Recency(20), Noise(1))
    assert np.allclose(weights[50, 5:51] / weights[50, 4], plain[50, 5:51] / plain[50, 4])


def test_sinks_have_their_share_where_they_had_next_to_nothing():
    weights = _weights(Recency(1), lifts=(Sinks(2, 0.9),), length=300)
    assert np.allclose(weights[2:, :2].sum(1), 0.9, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_needle_matters_once_and_late(seed):
    needle = Needle(share=0.8, early=0.5, late=0.25, faint=0.2)
    lifts = (Sinks(4, 0.3), needle)
    with_it = _weights(Noise(0.5), lifts=lifts, seed=seed)
    without = _weights(Noise(0.5), lifts=lifts[:1], seed=seed)
    (row,) = np.flatnonzero((with_it > 0.75).any(1) & (np.arange(LENGTH) > 10))
    key = int(with_it[row].argmax())
    assert with_it[row, key] == pytest.approx(0.8, rel=ROUNDING)
    assert key < 20
    assert row >= LENGTH - 20
    other = (key + 1) % 20  # a key whose weight in other rows only takes its part of the rest
    rows = np.setdiff1d(np.arange(30, LENGTH), row)
    before, after = (w[rows, key] / w[rows, other] for w in (without, with_it))
    assert np.allclose(after / before, 0.2, rtol=1e-9)


def test_without_generated_tokens_there_is_no_needle():
    weights = _weights(Noise(1), lifts=(Needle(),), prompt=LENGTH)
    assert np.array_equal(weights, _weights(Noise(1)))


def test_sharpness_scales_the_logits_of_a_request():
    blunt, keen = (
        Structure((HeavyHitters(1),), sharpness=(by, by)).drawn(0, 0, 1, LENGTH) for by in (1, 3)
    )
    logs = [np.log(w[-1] / w[-1, 0]) for w in (blunt, keen)]
    assert np.allclose(logs[1], 3 * logs[0])


def test_uneven_requests_are_unlike_one_another():
    rows = generated(generators()["uneven"], 0, requests=12, length=128).weights[:, 100:]
    effective = 1 / (rows.astype(float) ** 2).sum(2).mean(1)
    assert effective.max() / effective.min() > 10


@pytest.mark.parametrize("name", generators())
def test_presets_draw_valid_attention_from_their_seed(name):
    structure = generators()[name]
    one, again, other = (
        generated(structure, seed, requests=3, prompt=8, length=(20, 40)) for seed in (5, 5, 6)
    )
    assert one.weights.dtype == np.float32
    assert np.array_equal(one.weights, again.weights)
    assert np.array_equal(one.length, again.length)
    assert one.weights.shape != other.weights.shape or (one.weights != other.weights).any()


def test_a_request_is_the_same_however_many_there_are():
    structure = generators()["mixed"]
    few = generated(structure, 1, requests=2, prompt=8, length=40)
    many = generated(structure, 1, requests=5, prompt=8, length=40, gap=3)
    assert np.array_equal(few.weights, many.weights[:2])


def test_a_part_draws_the_same_whatever_follows_it():
    one, two = _weights(HeavyHitters(1)), _weights(HeavyHitters(1), Recency(10))
    distance = np.arange(LENGTH)[::-1]
    assert np.allclose(two[-1] / two[-1, -1], one[-1] / one[-1, -1] * 2.0 ** (-distance / 10))


def test_requests_start_apart_by_their_gap():
    starts = [generated(Structure(), 0, requests=4, length=70, gap=g).start for g in (0, 2.5)]
    assert [s.tolist() for s in starts] == [[0, 0, 0, 0], [0, 2, 5, 7]]
    drawn = generated(Structure(), 0, requests=400, prompt=1, length=2, gap=8, poisson=True).start
    gaps = np.diff(drawn)
    assert gaps.mean() == pytest.approx(8, rel=0.2)  # standard error 5 %
    assert gaps.std() == pytest.approx(8, rel=0.3)


def test_lengths_are_drawn_from_both_ends_on():
    drawn = generated(Structure(), 0, requests=300, prompt=(2, 4), length=(5, 7))
    assert set(drawn.prompt.tolist()) == {2, 3, 4}
    assert set(drawn.length.tolist()) == {5, 6, 7}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Recency(0), "half_life: got 0"),
        (lambda: PowerLaw(-1), "exponent: got -1"),
        (lambda: HeavyHitters(-1), "spread: got -1"),
        (lambda: Noise(math.nan), "spread: got nan"),
        (lambda: TopicShifts(1), "topics: got 1"),
        (lambda: TopicShifts(gain=-1), "gain: got -1"),
        (lambda: Sinks(0), "tokens: got 0"),
        (lambda: Sinks(share=1), "share: got 1"),
        (lambda: Needle(late=0), "late: got 0"),
        (lambda: Needle(share=0), "share: got 0"),
        (lambda: Structure(sharpness=(2, 1)), r"sharpness: got \(2, 1\)"),
        (lambda: generated(Structure(), 0, prompt=9, length=8), "length: got 8"),
        (lambda: generated(Structure(), 0, requests=0), "requests: got 0"),
        (lambda: generated(Structure(), 0, gap=-1), "gap: got -1"),
        (lambda: generated(Structure(), 0, length=(300, 200)), r"length: got \(300, 200\)"),
        (lambda: generated(replace, 0), "structure: got"),  # pyright: ignore[reportArgumentType] (what is refused)
    ],
)
def test_bad_numbers_are_named(make, said):
    with pytest.raises(InputError, match=said):
        make()
