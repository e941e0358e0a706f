"""Who comes when: counts, rates and order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.arrivals import bursts, poisson, replayed, saturated
from fluidkv.runs.requests import Requests
from fluidkv.workload import RequestClass, Workload

ONE = Workload((RequestClass(10, 40),))
TWO = Workload((RequestClass(10, 4, Fraction(1, 4)), RequestClass(20, 7, Fraction(3, 4))))
EQUAL = Workload((RequestClass(10, 4, Fraction(1, 2)), RequestClass(10, 7, Fraction(1, 2))))


def test_saturated_requests_all_wait_at_the_start():
    table = saturated(ONE, 5)
    assert len(table) == 5
    assert table.arrival.tolist() == [0.0] * 5
    assert table.output_length.tolist() == [40] * 5


def test_classes_in_turn():
    table = saturated(EQUAL, 5, in_turn=True)
    assert table.output_length.tolist() == [4, 7, 4, 7, 4]
    assert table.class_index.tolist() == [0, 1, 0, 1, 0]


def test_drawn_classes_have_their_shares_and_their_lengths():
    table = saturated(TWO, 4000, rng=1)
    share = np.mean(table.class_index == 1)
    assert abs(share - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 4000)  # five standard deviations
    assert set(zip(table.input_length.tolist(), table.output_length.tolist(), strict=True)) == {
        (10, 4),
        (20, 7),
    }


def test_poisson_counts_an_iteration_have_mean_and_variance_of_the_rate():
    table = poisson(ONE, 1.4, 20_000, rng=3)
    counts = np.bincount(table.arrival.astype(int))[:-1]  # the last iteration is cut off
    assert abs(counts.mean() - 1.4) < 5 * np.sqrt(1.4 / counts.size)
    # The variance of the sample variance of a Poisson variable: (rate + 2 rate^2) / n.
    assert abs(counts.var() - 1.4) < 5 * np.sqrt((1.4 + 2 * 1.4**2) / counts.size)


def test_poisson_counts_do_not_depend_on_their_neighbours():
    counts = np.bincount(poisson(ONE, 2.0, 20_000, rng=5).arrival.astype(int))[:-1]
    assert abs(np.corrcoef(counts[:-1], counts[1:])[0, 1]) < 5 / np.sqrt(counts.size)


def test_poisson_requests_come_in_iteration_0_too():
    """The mean of A^0 over 400 seeds, its standard error sqrt(2 / 400)."""
    first = [(poisson(ONE, 2.0, 20, rng=seed).arrival == 0).sum() for seed in range(400)]
    assert abs(np.mean(first) - 2.0) < 5 * np.sqrt(2 / 400)
    assert min(first) == 0


def test_bursts_keep_the_mean_rate_and_have_the_contrast():
    table = bursts(
        ONE, 1.5, 30_000, period=100, window=20, contrast=6.0, rng=2, per_iteration=False
    )
    times = table.arrival
    assert abs(times[-1] * 1.5 / 30_000 - 1) < 5 / np.sqrt(30_000)
    inside = times % 100 < 20
    per_time = inside.sum() / 20 / ((~inside).sum() / 80)
    # Ratio of two Poisson rates: relative variance is the sum of 1/count.
    assert abs(per_time / 6 - 1) < 5 * np.sqrt(1 / inside.sum() + 1 / (~inside).sum())
    assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize("per_iteration", [True, False])
@pytest.mark.parametrize("width", [1, 10])
def test_bursts_have_two_rates_each_the_same_throughout(per_iteration, width):
    """A mean of 1.5: 4.5 in bursts, 0.75 = 4.5 / 6 outside: 20 * 4.5 + 80 * 0.75 = 150 a period.

    Counts in every part of the period, also its last, over 190 periods: independent and Poisson.
    30 000 requests last 200 periods, give or take 1.2.
    """
    table = bursts(
        ONE, 1.5, 30_000, period=100, window=20, contrast=6, rng=4, per_iteration=per_iteration
    )
    times = table.arrival[table.arrival < 190 * 100]
    assert times.size < len(table)
    counts, edges = np.histogram(times % 100, np.arange(0, 101, width))
    expected = 190 * width * np.where(edges[:-1] < 20, 4.5, 0.75)
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()


@given(st.integers(0, 50), st.floats(0.1, 5), st.booleans())
def test_the_same_seed_gives_the_same_requests(seed, rate, per_iteration):
    first, again = (poisson(TWO, rate, 20, rng=seed, per_iteration=per_iteration) for _ in "ab")
    assert first.arrival.tolist() == again.arrival.tolist()
    assert first.output_length.tolist() == again.output_length.tolist()


def test_a_replay_starts_at_zero_and_keeps_the_gaps():
    table = replayed([3, 4, 5], [1, 2, 3], [100.0, 100.5, 103.0], speed=2.0)
    assert table.arrival.tolist() == [0.0, 0.25, 1.5]


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), float("inf"), True, "1"])
def test_a_rate_is_finite_and_above_zero(rate):
    with pytest.raises(InputError, match="rate"):
        poisson(ONE, rate, 3, rng=0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: saturated(TWO, 3), "rng"),
        (lambda: saturated(TWO, 3, in_turn=True), "in_turn"),
        (lambda: saturated(ONE, 0), "count"),
        (lambda: bursts(ONE, 1, 9, period=10, window=10, contrast=2, rng=0), "window"),
        (lambda: bursts(ONE, 1, 9, period=10, window=2, contrast=0, rng=0), "contrast"),
        (lambda: replayed([1, 1], [1, 1], [2.0, 1.0]), "arrival"),
        (lambda: replayed([1], [1], [0.0], speed=0), "speed"),
        (lambda: Requests([1, 2], [1]), "input_length"),
        (lambda: Requests([1], [1.5]), "output_length"),
        (lambda: Requests([0], [1]), "input_length"),
        (lambda: Requests([1], []), "output_length"),
        (lambda: Requests([1], [5], max_output=[4]), "max_output"),
        (lambda: Requests([1, 1], [5, 5], arrival=[0.0, np.nan]), "arrival"),
        (lambda: Requests([1, 1], [5, 5], arrival=[0.0]), "arrival"),
    ],
)
def test_bad_input_is_named(call, argument):
    with pytest.raises(InputError, match=f"^{argument}:"):
        call()
