"""Random prompts: the law they follow, and that a seed says what comes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.runs.rates import VaryingRates
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.runs.arrivals import poisson_prompts

SYSTEM = WaitSystem([PromptType(3, 7, 2), PromptType(Fraction(1, 2), 9, 11)], 1, 0)
FALSE_ALARM = 1e-4  # of each test below, over seeds; with these seeds they pass or fail for good


def test_a_prompt_is_of_its_type():
    table = poisson_prompts(SYSTEM, rng=1, count=500)
    assert len(table) == 500
    assert set(zip(table.class_index, table.input_length, table.output_length, strict=True)) == {
        (0, 7, 2),
        (1, 9, 11),
    }


def test_constant_rates_are_poisson_processes_of_the_types():
    """Given how many come before T, times are uniform; how many, is Poisson; types are apart."""
    tables = [poisson_prompts(SYSTEM, rng=seed, horizon=50.0) for seed in range(60)]
    counts = [np.bincount(table.class_index, minlength=2) for table in tables]
    times = np.concatenate([table.arrival for table in tables])
    assert 0 <= times.min() <= times.max() < 50
    assert stats.kstest(times / 50, "uniform").pvalue > FALSE_ALARM
    for index, mean in enumerate((150, 25)):
        # Sums of Poisson variables are Poisson, and their dispersion is chi-squared.
        column = np.array(counts)[:, index]
        assert stats.poisson.interval(1 - FALSE_ALARM, 60 * mean)[0] <= column.sum()
        assert column.sum() <= stats.poisson.interval(1 - FALSE_ALARM, 60 * mean)[1]
        dispersion = ((column - column.mean()) ** 2).sum() / column.mean()
        low, high = stats.chi2.interval(1 - FALSE_ALARM, 59)
        assert low < dispersion < high
    first, second = (np.array(counts) - np.mean(counts, axis=0)).T
    correlation = first @ second / math.sqrt((first @ first) * (second @ second))
    assert abs(correlation) < 4 / math.sqrt(60)  # four standard errors


@pytest.mark.parametrize(
    "rates",
    [
        VaryingRates.steps([0, 10, 30], [[6, 0], [1, 2], [0, 4]]),
        VaryingRates(lambda t: np.stack([3 + 3 * np.sin(t / 5), t / 20], axis=1), most=8.5),
    ],
    ids=["steps", "function"],
)
def test_changing_rates_are_poisson_in_their_own_time(rates):
    """Times mapped by the integral of a type's rate are those of a Poisson process of rate 1."""
    grid = np.linspace(0, 50, 50001)
    table = poisson_prompts(SYSTEM, rng=3, horizon=50.0, rates=rates)
    for index in range(2):
        rate = rates.at((grid[1:] + grid[:-1]) / 2)[:, index]
        elapsed = np.concatenate([[0], np.cumsum(rate)]) * 1e-3
        own = np.interp(table.arrival[table.class_index == index], grid, elapsed)
        low, high = stats.poisson.interval(1 - FALSE_ALARM, elapsed[-1])
        assert low <= own.size <= high
        assert stats.kstest(own / elapsed[-1], "uniform").pvalue > FALSE_ALARM


def test_steps_change_at_their_starts():
    rates = VaryingRates.steps([0, 10, 30], [[6, 0], [1, 2], [0, 4]])
    assert rates.at(np.array([0, 9.99, 10, 30, 1e9])).tolist() == [
        [6, 0],
        [6, 0],
        [1, 2],
        [0, 4],
        [0, 4],
    ]
    assert rates.most == 6
    table = poisson_prompts(SYSTEM, rng=3, horizon=50.0, rates=rates)
    assert (table.class_index[table.arrival < 10] == 0).all()
    assert (table.class_index[table.arrival >= 30] == 1).all()


def test_a_longer_run_of_a_seed_begins_alike():
    longer = poisson_prompts(SYSTEM, rng=9, horizon=5000.0)
    for table in (
        poisson_prompts(SYSTEM, rng=9, horizon=700.0),
        poisson_prompts(SYSTEM, rng=9, count=9000),
        poisson_prompts(SYSTEM, rng=np.random.default_rng(9), count=30),
    ):
        for name in ("arrival", "class_index", "output_length"):
            begins = getattr(longer, name)[: len(table)]
            assert begins.tolist() == getattr(table, name).tolist()
    assert poisson_prompts(SYSTEM, rng=8, count=3).arrival[0] != longer.arrival[0]


def test_constant_steps_are_constant_rates():
    rates = VaryingRates.steps([0], [[3, 0.5]])
    with_steps = poisson_prompts(SYSTEM, rng=4, horizon=30.0, rates=rates)
    assert (
        with_steps.arrival.tolist() == poisson_prompts(SYSTEM, rng=4, horizon=30.0).arrival.tolist()
    )


@pytest.mark.parametrize("most", [{"horizon": 20.0}, {"count": 4096}])
def test_no_more_is_drawn_than_is_needed(most):
    """Where one block of points is enough, a generator goes on right after it."""
    ours, block = np.random.default_rng(5), np.random.default_rng(5)
    poisson_prompts(SYSTEM, rng=ours, **most)
    block.standard_exponential(4096)
    block.random(4096)
    assert ours.random() == block.random()


def test_rates_may_reach_their_most_and_only_by_rounding_more():
    def table(total: float) -> int:
        rates = VaryingRates(lambda t: np.full((t.size, 2), total / 2), most=3.0)
        return len(poisson_prompts(SYSTEM, rng=0, horizon=9.0, rates=rates))

    assert table(3.0) == table(3.0 * (1 + 1e-15)) > 0
    with pytest.raises(InputError, match="at most 3"):
        table(3.0 * (1 + 1e-9))


def test_a_horizon_is_any_real_number():
    for same in (5, np.int64(5), Fraction(5)):
        table = poisson_prompts(SYSTEM, rng=3, horizon=same)  # pyright: ignore[reportArgumentType]
        assert (
            table.arrival.tolist() == poisson_prompts(SYSTEM, rng=3, horizon=5.0).arrival.tolist()
        )


@pytest.mark.parametrize(
    ("rate", "argument"),
    [
        (10**400, "arrival_rate"),
        (Fraction(1, 10**400), "arrival_rate"),
        (Fraction(1, 10**310), "count"),  # a float holds it, and not when they come
        (17 * 10**307, "arrival_rate"),  # a float holds each, and not their sum
    ],
)
def test_rates_beyond_floats_are_refused(rate, argument):
    system = WaitSystem([PromptType(rate, 7, 2), PromptType(rate, 9, 11)], 1, 0)
    with pytest.raises(InputError, match=f"^{argument}: "):
        poisson_prompts(system, rng=0, count=3)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({}, "horizon"),
        ({"horizon": 3.0, "count": 3}, "horizon"),
        ({"horizon": 0.0}, "horizon"),
        ({"horizon": math.inf}, "horizon"),
        ({"horizon": 1e-9}, "horizon"),  # nobody comes
        ({"horizon": "5"}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": 1j}, "horizon"),
        ({"horizon": 10**400}, "horizon"),
        ({"horizon": 1e7}, "horizon"),  # 35 million prompts
        ({"count": 0}, "count"),
        ({"count": 10**12}, "count"),
        ({"count": 3, "rng": -1}, "rng"),
        ({"count": 3, "rng": "a"}, "rng"),
        ({"count": 3, "rng": None}, "rng"),
        ({"horizon": 3.0, "rates": [[1, 1]]}, "rates"),
        ({"horizon": 3.0, "rates": VaryingRates(lambda t: np.ones((1, 1)), 3.0)}, "rates"),
        ({"horizon": 3.0, "rates": VaryingRates(lambda t: np.ones((1, 2)), 3.0)}, "rates"),
        ({"horizon": 3.0, "rates": VaryingRates(lambda t: "ab", 3.0)}, "rates"),  # pyright: ignore
        ({"count": 3, "rates": VaryingRates.steps([0], [[1, 1]])}, "count"),
        ({"horizon": 3.0, "rates": VaryingRates.steps([0], [[1, 1, 1]])}, "rates"),
        ({"horizon": 99.0, "rates": VaryingRates(lambda t: np.stack([t, t], 1), 3.0)}, "rates"),
        ({"horizon": 99.0, "rates": VaryingRates(lambda t: np.stack([-t, t], 1), 3.0)}, "rates"),
    ],
)
def test_what_cannot_come_is_refused(change, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        poisson_prompts(SYSTEM, **({"rng": 0} | change))


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: VaryingRates.steps([1], [[1]]), "starts"),
        (lambda: VaryingRates.steps([0, 0], [[1], [1]]), "starts"),
        (lambda: VaryingRates.steps([0, 1], [[1]]), "rates"),
        (lambda: VaryingRates.steps([0], [[-1, 2]]), "rates"),
        (lambda: VaryingRates.steps([0], [[0, 0]]), "rates"),
        (lambda: VaryingRates.steps([0, 1], [[1, 1], [0, 0]]), "rates"),
        (lambda: VaryingRates.steps([0, 1], [[1, 1], [1]]), "rates"),
        (lambda: VaryingRates.steps([0], [["1"]]), "rates"),  # pyright: ignore
        (lambda: VaryingRates.steps(["a"], [[1]]), "starts"),  # pyright: ignore
        (lambda: VaryingRates.steps(0, [[1]]), "starts"),  # pyright: ignore
        (lambda: VaryingRates(3, 1.0), "at"),  # pyright: ignore
        (lambda: VaryingRates(lambda t: t, 0.0), "most"),
    ],
)
def test_rates_out_of_range_are_refused(make, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()
