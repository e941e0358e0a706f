"""The best victims: what the search finds is a run of the engine, and nothing costs less."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import SGLANG, VLLM, VLLM_0_11
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Keeps, Requeue, Victim
from fluidkv.serving.stepped import Engine
from fluidkv_papers.theory.best import (
    Case,
    Cost,
    best_victims,
    cost_of_rule,
    least_skew,
    most_lost,
    small_cases,
)
from fluidkv_papers.theory.best.steps import choices, engine_of

RULES = (
    Victim.LAST_ADMITTED,
    Victim.LEAST_COMPUTED,
    Victim.MOST_COMPUTED,
    Victim.LONGEST_REMAINING,
    Victim.FEWEST_BLOCKS,
    Victim.COST_AWARE,
    Victim.LEAST_PROGRESSED,
    Victim.RANDOM,
)
FIRST = Case(((1, 2), (2, 2), (1, 1)), 3)


def _drawn(count: int, seed: int = 0) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        lengths = tuple(tuple(rng.integers(1, 4, 2).tolist()) for _ in range(rng.integers(2, 5)))
        peaks = [i + o - 1 for i, o in lengths]
        capacity = int(rng.integers(max(peaks), max(sum(peaks), max(peaks) + 1)))
        yield Case(lengths, capacity, [None, 2, 3][rng.integers(3)])


@pytest.mark.parametrize("cost", Cost)
def test_no_rule_costs_less(cost: Cost) -> None:
    part = 0 if cost is Cost.RECOMPUTED else 1
    for case in _drawn(25):
        best = best_victims(case.requests, VLLM, case.limits, cost=cost)
        least = (best.recomputed, best.iterations)[part]
        for victim in RULES:
            rules = replace(VLLM, victim=victim)
            assert cost_of_rule(case.requests, rules, case.limits)[part] >= least, case


def test_the_least_of_all_runs_is_found() -> None:
    for case in islice(_drawn(60, seed=1), 20):
        best = best_victims(case.requests, VLLM, case.limits)
        costs = list(_every_run(engine_of(case.requests, VLLM, case.limits), 12))
        assert best.recomputed <= min(costs, default=math.inf), case
        if best.iterations <= 12:
            assert best.recomputed == min(costs), case


def _every_run(engine: Engine, iterations: int) -> Iterator[int]:
    """Tokens recomputed by each run that ends in so many iterations, one after the other."""
    if engine.done == len(engine.all):
        yield 0
    elif iterations:
        for step in choices(engine):
            yield from (step.recomputed + c for c in _every_run(step.after, iterations - 1))


def test_its_victims_make_the_run() -> None:
    best = best_victims(FIRST.requests, VLLM, FIRST.limits)
    assert best.victims == ((), (0,), ())
    assert (best.recomputed, best.iterations) == (1, 3)
    assert cost_of_rule(FIRST.requests, VLLM, FIRST.limits) == (2, 4)


def test_victims_may_be_chosen_in_every_order() -> None:
    case = Case(((1, 3), (1, 3), (1, 3)), 3)
    engine = engine_of(case.requests, VLLM, case.limits)
    (first,) = choices(engine)
    victims = sorted(step.victims for step in choices(first.after))
    assert victims == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert engine.iteration == 0


def test_a_run_that_comes_back_to_a_state_never_ends() -> None:
    rules = replace(VLLM, victim=Victim.MOST_COMPUTED, keeps=Keeps.NOTHING)
    requests = Requests([1, 1], [4, 5])
    assert cost_of_rule(requests, rules, Limits(5)) == (math.inf, math.inf)
    assert best_victims(requests, rules, Limits(5)).recomputed < 5


def test_small_cases_come_the_least_first_and_are_short_of_memory() -> None:
    cases = list(small_cases(2, 2, 2, VLLM))
    assert str(cases[0]) == "1+1, 1+1 in 1 tokens"
    sizes = [sum(i + o for i, o in case.lengths) for case in cases]
    assert sizes == sorted(sizes)
    assert all(c.capacity < sum(i + o - 1 for i, o in c.lengths) for c in cases)


@pytest.mark.parametrize(
    ("rules", "argument"),
    [(replace(VLLM, requeue=Requeue.BY_PRIORITY), "requeue"), (SGLANG, "gate")],
)
def test_rules_with_more_state_are_refused(rules, argument: str) -> None:
    with pytest.raises(InputError, match=f"^{argument}: got "):
        best_victims(FIRST.requests, rules, FIRST.limits)


def test_a_search_that_is_too_long_says_so() -> None:
    with pytest.raises(InputError, match="an end within 3 states"):
        best_victims(FIRST.requests, VLLM, FIRST.limits, most_states=3)


@pytest.mark.parametrize("rules", [VLLM, VLLM_0_11])
def test_last_come_first_wastes_no_more_than_the_bound(rules) -> None:
    rng = np.random.default_rng(7)
    fullest = 0.0
    for _ in range(150):
        size, spread = int(rng.integers(2, 12)), float(rng.uniform(0, 1.5))
        lengths = np.maximum(1, rng.lognormal(2, spread, (2, size))).astype(int)
        requests, block = Requests(*lengths), int(rng.integers(1, 5))
        peaks = -(-(lengths.sum(axis=0) - 1) // block)
        limits = Limits(int(rng.integers(peaks.max(), peaks.sum() + 1)) * block, block)
        wasted = cost_of_rule(requests, rules, limits)[0]
        most = most_lost(requests, limits)
        assert wasted <= most, (lengths, limits)
        fullest = max(fullest, wasted / most)
    assert fullest > 0.3


def test_a_tax_above_a_half_needs_unequal_requests() -> None:
    assert least_skew(Fraction(1, 2)) == 0
    assert least_skew(Fraction(2, 3)) == 1
    assert least_skew(Fraction(788, 1000)) == Fraction(144, 53)
