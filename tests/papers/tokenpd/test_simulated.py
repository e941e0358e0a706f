"""The runs of Tables 1 and 2 in simulation: on record, and what they are made of."""

import numpy as np
import pytest

from fluidkv_papers.tokenpd.instances.simulated import (
    LEVELS,
    SHARES,
    attention_of,
    most_held,
    needed,
    recorded,
)


def test_what_is_held_without_evictions_is_counted_round_by_round():
    attention = attention_of("mixed", 128, 201)
    held = np.zeros(attention.rounds, int)
    for prompt, length in zip(attention.prompt, attention.length, strict=True):
        for age, tokens in enumerate(range(prompt, length)):
            held[age] += tokens
    assert most_held(attention) == held.max()


def test_the_least_budget_lies_on_a_line_between_budgets():
    mass = np.array([s / 2 for s in SHARES])
    assert needed(mass, 0.31) == pytest.approx(0.62)
    assert needed(mass, 0.6) == float("inf")
    assert needed(mass + 0.5, 0.5) == SHARES[0]


def test_a_budget_after_which_less_is_kept_is_not_enough():
    mass = np.linspace(0.5, 1, len(SHARES))
    mass[3] = 1.0
    assert needed(mass, 0.95) > SHARES[4]


def test_levels_are_reached_in_their_order():
    for shares in recorded().values():
        assert sorted(shares.values()) == [shares[level] for level in LEVELS]
