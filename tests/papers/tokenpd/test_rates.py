"""What is on record of long runs is what runs give, and stays below what is proved."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from fluidkv.tokenpd.knapsack.literal import literal_rounds
from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
from fluidkv.tokenpd.pricing import Budget, Demand, Pricing
from fluidkv_papers.theory.price_rule.bounds import (
    PriceSetting,
    most_regret,
    most_regret_kept,
    most_violation,
)
from fluidkv_papers.theory.price_rule.comparators import best_fixed_price
from fluidkv_papers.theory.price_rule.outcome import outcome_of
from fluidkv_papers.tokenpd.instances.rates import (
    CONSTANT,
    HORIZONS,
    MEASURES,
    STUDIES,
    computed,
    exponent,
    recorded,
    seeds_of,
)

DIGITS = 1e-8
"""Nine digits are on record, of sums of a few hundred doubles in any order."""
READINGS = {
    "netted": (Budget.NETTED, Demand.WANTED),
    "hard": (Budget.HARD, Demand.WANTED),
    "kept": (Budget.HARD, Demand.KEPT),
}


def _literal(name: str, rounds: int, number: int) -> dict[str, float]:
    """Every measure of one seed by the literal rule and by all prices."""
    study = STUDIES[name]
    pool = drawn_pool(study.rounds(rounds), rounds, number=number)
    step = CONSTANT / sqrt(rounds)
    runs = {
        reading: literal_rounds(pool, study.budget, Pricing(step, study.start, *which))
        for reading, which in READINGS.items()
    }
    found = {f"rounds_{name}": outcome_of(run, study.budget).regret for name, run in runs.items()}
    netted = outcome_of(runs["netted"], study.budget)
    best = best_fixed_price(pool, study.budget).reward
    earned = float(runs["netted"].reward.sum())
    return found | {
        "price_netted": best - earned,
        "violation": netted.violation,
        "overuse": netted.overuse,
    }


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if not study.drawn])
def test_rounds_that_are_not_drawn_give_the_record(name: str) -> None:
    _is_recorded(name, [_literal(name, 100, 0)])


def test_the_first_block_of_drawn_rounds_gives_the_record() -> None:
    name = "uniform, dear"
    size = recorded()[name, "overuse"][100].seeds // 50
    _is_recorded(name, [_literal(name, 100, number) for number in range(size)])


def _is_recorded(name: str, seeds: list[dict[str, float]]) -> None:
    for measure in seeds[0]:
        mean = np.mean([seed[measure] for seed in seeds])
        here = recorded()[name, measure][100].blocks[0]
        gap = recorded()[name, "price_gap"][100].blocks[0] if measure == "price_netted" else 0
        # The best fixed price of a long run is known from above, and to within the gap.
        assert here - gap - 1e-9 <= mean * (1 + DIGITS * np.sign(mean)), measure
        assert mean * (1 - DIGITS * np.sign(mean)) <= here + 1e-9, measure


def test_every_study_is_on_record_with_its_seeds() -> None:
    for (name, measure), at in recorded().items():
        assert measure in MEASURES
        assert tuple(at) == HORIZONS
        for rounds, each in at.items():
            assert each.seeds == seeds_of(STUDIES[name], rounds, 1000, 100)
            assert 0 <= each.above_0 <= 1
            assert len(each.blocks) == (50 if STUDIES[name].drawn else 1)


@pytest.mark.parametrize("name", STUDIES)
def test_the_record_stays_below_what_is_proved(name: str) -> None:
    study = STUDIES[name]
    for rounds in HORIZONS:
        step = CONSTANT / sqrt(rounds)
        tokens = study.rounds(rounds).tokens
        setting = PriceSetting(rounds, tokens, study.budget, step, study.start)
        for measure, bound in (
            ("rounds_netted", most_regret(setting)),
            ("rounds_kept", most_regret_kept(setting)),
            ("violation", most_violation(setting)),
        ):
            assert recorded()[name, measure][rounds].blocks.max() <= bound * (1 + DIGITS), measure


def test_powers_that_are_proved_are_those_that_are_fitted() -> None:
    assert exponent("worst netted", "rounds_netted").power == pytest.approx(0.5, abs=1e-6)
    for name in ("alternating", "alike"):
        assert exponent(name, "rounds_hard").power == pytest.approx(1, abs=1e-6)
        assert exponent(name, "overuse").power == pytest.approx(1, abs=1e-6)
    assert exponent("alternating", "rounds_netted").sign == -1
    assert exponent("alike", "rounds_netted").sign == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", STUDIES)
def test_the_record_is_what_runs_give(name: str) -> None:
    for rounds in HORIZONS[:3]:
        here = recorded()[name, "overuse"][rounds]
        size = here.seeds // len(here.blocks)
        for measure, values in computed(STUDIES[name], rounds, size).items():
            block = recorded()[name, measure][rounds].blocks[0]
            assert values.mean() == pytest.approx(block, rel=DIGITS, abs=1e-6), measure


def test_the_page_says_how_many_tokens_come_in_the_rounds_that_are_drawn():
    page = Path(__file__).parents[3] / "docs" / "price_theorem.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    uniform, drifting = (
        drawn_pool(STUDIES[name].rounds(100), 100).present.sum(axis=1)
        for name in ("uniform, dear", "drifting, dear")
    )
    assert set(uniform.tolist()) == {8}
    assert "*Uniform*: eight tokens a round" in text
    assert len(set(drifting.tolist())) > 1
    assert max(drifting) <= 8
    assert "*drifting*: up to eight" in text
