"""Drawn rounds and their sums: against literal runs, laws and closed forms."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys
from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.knapsack.sequences import engine
from fluidkv.tokenpd.knapsack.sequences.adversarial import Alternating, Growing, Overload, Turning
from fluidkv.tokenpd.knapsack.sequences.draws import Sequence
from fluidkv.tokenpd.knapsack.sequences.engine import descending
from fluidkv.tokenpd.knapsack.sequences.random import Drifting, Stochastic
from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
from fluidkv.tokenpd.knapsack.sequences.sums import PriceSums, price_sums
from fluidkv.tokenpd.objective import Objective
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing

ROUNDS, SEEDS = 60, 2
SEQUENCES: dict[str, Sequence] = {
    "stochastic": Stochastic(8, 0.8),
    "skewed": Stochastic(5, 1.0, 0.2, 0.9, 3.0),
    "drifting": Drifting(6),
    "alternating": Alternating(many=5),
    "overload": Overload(1, 5, 0.75, 0.3),
    "growing": Growing(6, 0.1),
    "turning": Turning(3),
}
NETTED = Pricing(0.05, 0.1)
SETTINGS = [
    NETTED,
    replace(NETTED, budget=Budget.HARD),
    replace(NETTED, budget=Budget.HARD, demand=Demand.KEPT, penalty=0.125, step=1.0),
    replace(NETTED, start=0.0),
]


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", SEQUENCES)
def test_sums_are_those_of_literal_runs(name: str) -> None:
    objective = Objective.REPAIRED if name == "skewed" else Objective.RULE
    settings = [replace(pricing, objective=objective) for pricing in SETTINGS]
    found = price_sums(
        SEQUENCES[name], 7, settings, ROUNDS, seeds=SEEDS, seed=4, cost=3, prices=[0, 0.1, 0.2]
    )
    assert isinstance(found, list)
    for at in range(SEEDS):
        pool = drawn_pool(SEQUENCES[name], ROUNDS, seed=4, number=at, cost=3)
        for pricing, sums in zip(settings, found, strict=True):
            assert_sums(pool, pricing, sums, at)
        for budget, earned, used in (
            (Budget.NETTED, found[0].fixed_netted, found[0].fixed_used),
            (Budget.HARD, found[0].fixed_hard, found[0].fixed_used_hard),
        ):
            for place, price in enumerate(found[0].prices):
                # A step so small that S, below 10^4, does not move the price's last digit.
                stands = replace(settings[0], start=float(price), step=1e-25, budget=budget)
                run = literal_rounds(pool, 7, stands)
                assert run.used.sum() == used[place, at]
                assert run.reward.sum() == pytest.approx(earned[place, at], rel=1e-12)


def assert_sums(pool: Pool, pricing: Pricing, sums: PriceSums, at: int) -> None:
    """Whole numbers to the bit; sums but for their order; prices but for exp."""
    run = literal_rounds(pool, 7, pricing)
    over = np.diff(run.imbalance)
    assert sums.rounds == ROUNDS
    assert sums.imbalance[at] == run.imbalance[-1]
    assert sums.above[at] == over.clip(min=0).sum()
    assert sums.largest[at] == over.max()
    assert sums.highest[at] == run.imbalance.max()
    assert sums.lowest[at] == run.imbalance.min()
    reward = sums.hard if pricing.budget is Budget.HARD else sums.netted
    assert reward[at] == pytest.approx(run.reward.sum(), rel=1e-12)
    assert sums.optimum[at] == pytest.approx(run.optimum.sum(), rel=1e-12)
    assert sums.price[at] == pytest.approx(run.price[-1], rel=1e-13)
    before, scale = run.price[:-1], 1e-12 * (run.price[:-1] * np.abs(over)).sum()
    assert sums.priced[at] == pytest.approx((before * over).sum(), abs=scale)
    assert sums.priced_square[at] == pytest.approx((before * over**2).sum(), rel=1e-12)


def test_both_readings_of_the_budget_come_from_one_pass() -> None:
    """(5) sees what is wanted under both."""
    netted, hard = (
        price_sums(Stochastic(), 3, replace(NETTED, budget=budget), 100, seeds=2)
        for budget in Budget
    )
    assert (netted.hard == hard.hard).all()
    assert (netted.imbalance == hard.imbalance).all()
    assert (netted.netted > netted.hard).all()


def test_calls_go_on_where_the_last_one_stopped() -> None:
    """Against a loop in NumPy over two calls, of which the second ends inside of a block."""
    rounds = engine.BLOCK * engine.CALL + 50
    told: list[tuple[int, int]] = []
    sums = price_sums(
        Stochastic(), 3, NETTED, rounds, seeds=SEEDS, on_progress=lambda *now: told.append(now)
    )
    assert told == [(SEEDS * (rounds - 50), 0), (SEEDS * rounds, SEEDS)]
    imbalance, netted = np.zeros(SEEDS), np.zeros(SEEDS)
    for values in drawn(Stochastic(), rounds, SEEDS):
        wanted = values >= NETTED.start * np.exp(NETTED.step * imbalance / 3)
        imbalance += wanted.sum(axis=0) - 3
        netted += np.where(wanted, values, 0).sum(axis=0)
    assert sums.imbalance.tolist() == imbalance.tolist()
    assert sums.netted == pytest.approx(netted, rel=1e-12)


def test_a_seed_depends_on_its_number_alone() -> None:
    few = price_sums(Stochastic(), 3, NETTED, 60, seeds=2, seed=9)
    many = price_sums(Stochastic(), [2, 3], NETTED, 60, seeds=130, seed=9)
    assert isinstance(many, list)
    assert (few.imbalance == many[1].imbalance[:2]).all()
    assert (few.netted == many[1].netted[:2]).all()
    assert len(set(many[1].netted.tolist())) > 120


def test_an_interrupt_ends_a_run() -> None:
    def stop(rounds: int, runs: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        price_sums(Stochastic(), 3, NETTED, 10**9, on_progress=stop)


# ------------------------------------------------------------------------------------ the rounds


def drawn(sequence: Sequence, rounds: int, seeds: int = 1) -> np.ndarray:
    """(round, token, seed)."""
    with in_float64():
        keys = run_keys(0, np.arange(seeds))
        return np.asarray(jax.jit(sequence.draw)(keys, jnp.arange(rounds), jnp.int64(rounds)))


@pytest.mark.parametrize("name", SEQUENCES)
def test_returns_are_shares_and_tokens_are_counted(name: str) -> None:
    values = drawn(SEQUENCES[name], 50, 4)
    there = np.isfinite(values)
    assert values.shape == (50, SEQUENCES[name].tokens, 4)
    assert ((values[there] >= 0) & (values[there] <= 1)).all()
    assert (values[~there] == -np.inf).all()
    assert there.all(axis=1).any()  # the most do come


def test_stochastic_rounds_have_their_law() -> None:
    """Means within five standard errors: by chance once in 1.7e6, and the seed is fixed."""
    values = drawn(Stochastic(8, 0.7, 0.2, 0.6, 2.0), 1000, 20)
    there, size = np.isfinite(values), values.size
    assert abs(there.mean() - 0.7) < 5 * (0.7 * 0.3 / size) ** 0.5
    shares = (values[there] - 0.2) / 0.4  # u^2: mean 1/3, variance 4/45
    assert abs(shares.mean() - 1 / 3) < 5 * (4 / 45 / shares.size) ** 0.5
    assert abs(np.corrcoef(there[:, 0].ravel(), there[:, 1].ravel())[0, 1]) < 5 / 20_000**0.5


def test_drifting_rounds_follow_their_waves() -> None:
    """Of the eighths of a period the second and third are highest, the sixth and seventh lowest."""
    values = drawn(Drifting(8, load_periods=1, mean_periods=1), 1600, 10)
    load = np.isfinite(values).reshape(8, -1).mean(axis=1)
    mean = np.nanmean(np.where(np.isfinite(values), values, np.nan).reshape(8, -1), axis=1)
    for parts in (load, mean):
        assert min(parts[1:3]) > max(parts[[0, 3]]) > min(parts[[4, 7]]) > max(parts[5:7])


@pytest.mark.parametrize(
    ("sequence", "rounds"),
    [
        (Alternating(), [[1, 1], [0.5], [1, 1], [0.5]]),
        (Alternating(1, 0), [[1], [], [1], []]),
        (Overload(), [[], [], [1, 1], [1, 1]]),
        (Overload(1, 2, 0.5, 0.25), [[0.5], [0.5] * 2, [0.5] * 2, [0.5] * 2]),
        (Growing(1), [[0], [0.25], [0.5], [0.75]]),
        (Growing(2, 1.0, 0.0), [[1, 1], [0.75, 0.75], [0.5, 0.5], [0.25, 0.25]]),
    ],
    ids=lambda value: None if isinstance(value, list) else type(value).__name__.lower(),
)
def test_adversarial_rounds(sequence: Sequence, rounds: list[list[float]]) -> None:
    found = drawn(sequence, 4, 2)
    for seed in range(2):
        assert [[v for v in row if v >= 0] for row in found[:, :, seed].tolist()] == rounds


def test_turning_rounds_turn_by_a_coin() -> None:
    values = drawn(Turning(1, 0.25, 0.75), 4, 400)[:, 0]
    assert (values[:2] == 0.25).all()
    assert (values[2] == values[3]).all()
    assert set(values[3].tolist()) == {0.0, 0.75}
    assert abs((values[3] > 0).mean() - 0.5) < 5 * 0.5 / 400**0.5


@pytest.mark.parametrize("tokens", [1, 3, 8, 11])
def test_the_network_sorts(tokens: int) -> None:
    random = np.random.default_rng(tokens)
    values = np.where(random.random((5, tokens, 7)) < 0.2, -np.inf, random.random((5, tokens, 7)))
    with in_float64():
        found = np.asarray(jax.jit(descending)(jnp.asarray(values)))
    assert (found[:, :tokens] == -np.sort(-values, axis=1)).all()
    assert (found[:, tokens:] == -np.inf).all()


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Stochastic(0), "tokens: got 0; allowed: an integer of at least 1"),
        (lambda: Stochastic(load=1.5), r"load: got 1\.5; allowed: a number within 0 and 1"),
        (lambda: Stochastic(low=0.5, high=0.25), r"low: got 0\.5; allowed: at most high, 0\.25"),
        (lambda: Stochastic(skew=0), "skew: got 0; allowed: a finite number above 0"),
        (lambda: Drifting(mean=float("nan")), "mean: got nan"),
        (lambda: Drifting(load_periods=-1), "load_periods: got -1"),
        (lambda: Alternating(0, 0), r"many and few: got \(0, 0\); allowed: at least one token"),
        (lambda: Overload(turn=2), "turn: got 2"),
        (lambda: Growing(high=-1), "high: got -1"),
        (lambda: Turning(middle=2), "middle: got 2"),
        (lambda: drawn_pool(Growing(), 0), "rounds: got 0"),
    ],
)
def test_a_sequence_says_what_is_allowed(make: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budget": 2}, "budget: got 2; allowed: an integer of at least 3, the cost of one token"),
        ({"rounds": 0}, "rounds: got 0"),
        ({"seeds": 0}, "seeds: got 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"prices": [-1.0]}, "prices: got .* allowed: finite numbers of at least 0"),
        ({"prices": ["a"]}, "prices: got"),
        ({"prices": 0.5}, r"prices: got array\(0\.5\)"),
        ({"sequence": None}, "sequence: got None; allowed: a sequence, such as Stochastic"),
        ({"budget": 2**60}, "budget: got .*; allowed: at most 922337203685477580, for sums"),
        ({"pricing": [NETTED, replace(NETTED, objective=Objective.APPENDIX)]}, "one objective"),
        ({"pricing": None}, "pricing: got None; allowed: a Pricing"),
        ({"budget": [3, 3], "pricing": [NETTED] * 3}, "budget: got '2 of them'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_sums_say_what_is_allowed(change: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"budget": 3, "pricing": NETTED, "rounds": 10, "cost": 3}
    all_of_it: dict[str, Any] = {"sequence": Stochastic()} | given | change
    with pytest.raises(InputError, match=said):
        price_sums(**all_of_it)
