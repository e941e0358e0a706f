"""Padding rules, what they promise, and what is left of it."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.preempt import (
    ConfidencePadding,
    ConstantPadding,
    DirectionClassifier,
    SharePadding,
    with_estimates,
    with_predictions,
)
from fluidkv.preempt.padding.hoeffding import confidence_at_rate, hoeffding_padding, least_padding
from fluidkv.preempt.padding.rules import BucketPadding, Padding
from fluidkv.preempt.predictors.noise import UniformNoise
from fluidkv.runs.requests import Requests
from fluidkv_papers.theory import (
    covered,
    expected,
    falls_short,
    medians,
    modes,
    reaches,
    small_laws,
)

DRAWS = 100_000
NINE_TENTHS = Fraction(9, 10)

confidences = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
laws = st.sampled_from(list(small_laws(atoms=3, longest=5, denominator=6)))


@pytest.mark.parametrize(
    ("padding", "said"),
    [
        (ConstantPadding(0), [1, 49, 50, 51, 110]),
        (ConstantPadding(), [101, 149, 150, 151, 210]),
        (SharePadding(), [2, 54, 55, 57, 121]),
        (BucketPadding(), [50, 50, 50, 100, 150]),
        (ConfidencePadding(0, 0, 9), [1, 49, 50, 51, 110]),
        # sqrt(ln(10) / 2) = 1.0730, of which 10 are 10.73
        (ConfidencePadding(0.9, 0, 10), [12, 60, 61, 62, 121]),
        (ConfidencePadding([0, 0, 0.9, 0.9, 0.9], 5, 15), [1, 49, 61, 62, 121]),
    ],
)
def test_rules_pad(padding: Padding, said: list[int]) -> None:
    requests = Requests([1] * 5, [1, 49, 50, 51, 110])
    assert with_estimates(requests, padding).estimated_output.tolist() == said
    cut = with_estimates(requests, padding, most=60)
    assert cut.estimated_output.tolist() == [min(x, 60) for x in said]
    assert cut.predicted_output.tolist() == requests.predicted_output.tolist()


def test_padding_is_subtracted_where_a_classifier_says_over() -> None:
    requests = Requests([1] * 3, [30, 50, 70], predicted_output=[50, 50, 50])
    padded = with_estimates(requests, ConfidencePadding(0.9, 0, 10, DirectionClassifier()))
    assert padded.estimated_output.tolist() == [40, 40, 61]  # 50 - 10.73 and 50 + 10.73, upward
    wrong = with_estimates(requests, ConfidencePadding(0.9, 0, 10, DirectionClassifier(0)))
    assert wrong.estimated_output.tolist() == [61, 61, 40]


def test_the_padding_of_equation_3() -> None:
    assert float(hoeffding_padding(1 - math.exp(-2), 3, 13)) == pytest.approx(10)  # the whole range
    assert float(hoeffding_padding(0.9, 0, 1)) == pytest.approx(1.07298, abs=1e-5)
    assert hoeffding_padding([0.5, 0.9], 7, 7).tolist() == [0, 0]


def test_confidence_is_exact_for_rationals_and_falls_with_the_rate() -> None:
    assert confidence_at_rate(Fraction(28), NINE_TENTHS, 100) == Fraction(9, 28010)
    assert confidence_at_rate(Fraction(0), NINE_TENTHS, 100) == NINE_TENTHS
    found = confidence_at_rate(np.array([0.0, 1, 28]), 0.9, 100)
    assert found.tolist() == pytest.approx([0.9, 0.9 / 101, 0.9 / 2801])


@given(laws, confidences)
def test_no_law_passes_its_mean_more_often_than_promised(law, confidence: Fraction) -> None:
    assert falls_short(law, expected(law), confidence) <= 1 - confidence
    assert covered(law, expected(law), confidence) >= confidence


@given(laws, confidences)
def test_rationals_agree_with_floats(law, confidence: Fraction) -> None:
    low, high = law[0][0], law[-1][0]
    mean, t = expected(law), float(hoeffding_padding(float(confidence), low, high))
    shortfall = sum(p for x, p in law if x - mean >= t)
    assert falls_short(law, mean, confidence) == shortfall
    for accuracy in (None, Fraction(3, 4)):
        by_hand = Fraction()
        for x, p in law:
            fits = [x <= max(math.ceil(float(mean) + sign * t), 1) for sign in (1, -1)]
            says = Fraction(1) if accuracy is None else accuracy if x > mean else 1 - accuracy
            by_hand += p * (says * fits[0] + (1 - says) * fits[1])
        assert covered(law, mean, confidence, accuracy) == by_hand


@given(laws, confidences)
def test_least_padding_keeps_the_promise_and_is_never_more(law, confidence: Fraction) -> None:
    low, high, mean = law[0][0], law[-1][0], expected(law)
    exact = min(high - mean, (mean - low) * confidence / (1 - confidence))
    assert sum(p for x, p in law if x > mean + exact) <= 1 - confidence
    found = float(least_padding(float(confidence), float(mean), low, high))
    assert found == pytest.approx(float(exact))
    assert found <= hoeffding_padding(float(confidence), low, high)


def test_least_padding_is_least() -> None:
    """A request of length 1, or of 1 + x with probability p: shorter padding misses p of them."""
    mean, confidence = Fraction(3), Fraction(3, 4)
    padding = (mean - 1) * confidence / (1 - confidence)
    jump = padding - Fraction(1, 100) + mean - 1  # a hair below what is covered
    p = (mean - 1) / jump
    assert p > 1 - confidence
    assert 1 * (1 - p) + (1 + jump) * p == mean


@pytest.mark.parametrize(
    ("deviation", "confidence", "so"),
    [
        (Fraction(1), Fraction(86, 100), True),  # 1 - e^-2 = 0.86466...
        (Fraction(1), Fraction(87, 100), False),
        (Fraction(0), Fraction(1, 2), False),
        (Fraction(-1), Fraction(1, 2), False),
        (Fraction(0), Fraction(0), True),
        # A convergent of sqrt(ln(2) / 2) that doubles cannot tell from it.
        (Fraction(588705011257737, 10**15), Fraction(1, 2), False),
        (Fraction(588705011257738, 10**15), Fraction(1, 2), True),
    ],
)
def test_padding_is_compared_exactly(deviation: Fraction, confidence: Fraction, so: bool) -> None:
    assert reaches(deviation, Fraction(1), confidence) is so


def test_modes_and_medians() -> None:
    even = ((1, Fraction(1, 2)), (4, Fraction(1, 2)))
    assert (modes(even), medians(even), expected(even)) == ((1, 4), (1, 4), Fraction(5, 2))
    odd = ((1, Fraction(1, 4)), (2, Fraction(2, 4)), (9, Fraction(1, 4)))
    assert (modes(odd), medians(odd), expected(odd)) == ((2,), (2,), Fraction(7, 2))


def test_small_laws_are_each_there_once_and_smallest_first() -> None:
    found = list(small_laws(atoms=3, longest=4, denominator=5))
    assert len(set(found)) == len(found)
    assert found[0] == ((1, Fraction(1, 2)), (2, Fraction(1, 2)))
    assert all(sum(p for _, p in law) == 1 for law in found)
    assert sum(len(law) == 2 for law in found) == 6 * 9  # pairs of lengths, reduced fractions


FAMILIES: dict[str, Callable[[np.random.Generator], tuple[np.ndarray, int, int]]] = {
    "uniform": lambda rng: (rng.integers(1, 400, DRAWS), 1, 399),
    "two lengths, the long one rare": lambda rng: (
        np.where(rng.random(DRAWS) < 0.1, 301, 1),
        1,
        301,
    ),
    "two lengths, evenly": lambda rng: (np.where(rng.random(DRAWS) < 0.5, 301, 1), 1, 301),
    "arcsine": lambda rng: (1 + np.rint(rng.beta(0.5, 0.5, DRAWS) * 400).astype(int), 1, 401),
    "geometric, cut": lambda rng: (np.minimum(rng.geometric(0.01, DRAWS), 600), 1, 600),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9])
def test_coverage_is_at_least_promised_where_the_prediction_is_the_mean(
    name: str, confidence: float
) -> None:
    outputs, low, high = FAMILIES[name](np.random.default_rng(0))
    # The nearest whole number from above: at least the mean, so that no promise is lost.
    mean = np.full(DRAWS, math.ceil(outputs.mean()))
    requests = Requests(np.ones(DRAWS, int), outputs, predicted_output=mean)
    padded = with_estimates(requests, ConfidencePadding(confidence, low, high))
    assert (padded.estimated_output >= outputs).mean() >= confidence


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9])
def test_coverage_is_at_least_promised_where_the_noise_is_in_the_prediction(confidence) -> None:
    """X fixed, its prediction drawn about it: (1) for that one, with its range."""
    outputs = np.random.default_rng(0).integers(1, 900, DRAWS)
    noise = UniformNoise(60, 0.4)
    requests = with_predictions(Requests(np.ones(DRAWS, int), outputs), noise)
    padded = with_estimates(requests, ConfidencePadding(confidence, 0, noise.spread(outputs)))
    assert (padded.estimated_output >= outputs).mean() >= confidence


@pytest.mark.parametrize(
    ("bad", "argument"),
    [
        (lambda: hoeffding_padding(1, 0, 1), "confidence"),
        (lambda: hoeffding_padding(-0.1, 0, 1), "confidence"),
        (lambda: hoeffding_padding(float("nan"), 0, 1), "confidence"),
        (lambda: hoeffding_padding(0.5, 2, 1), "high"),
        (lambda: hoeffding_padding(0.5, 2, float("inf")), "high"),
        (lambda: hoeffding_padding(0.5, "a", 1), "low"),
        (lambda: ConfidencePadding(0.5, [1, 5], 3), "high"),
        (lambda: least_padding(0.5, 4, 1, 3), "predicted"),
        (lambda: confidence_at_rate(28.0, 8, 100), "alpha"),
        (lambda: confidence_at_rate(28.0, 0, 100), "alpha"),
        (lambda: confidence_at_rate(28.0, 1, 0), "beta"),
        (lambda: confidence_at_rate(28.0, 1, -1), "beta"),
        (lambda: confidence_at_rate(-1.0, 1, 1), "rate"),
        (lambda: confidence_at_rate(np.array([1.0, np.nan]), 1, 1), "rate"),
        (lambda: ConstantPadding(-1), "tokens"),
        (lambda: SharePadding(-0.1), "share"),
        (lambda: BucketPadding(0), "width"),
        (lambda: with_estimates(Requests([1], [1]), ConstantPadding(), seed=-1), "seed"),
        (lambda: with_estimates(Requests([1], [1]), ConstantPadding(), most=0), "most"),
    ],
)
def test_bad_input_is_one_line(bad, argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument}: "):
        bad()
