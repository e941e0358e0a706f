"""One request in an endless stream: who starves, under which rules together."""

from dataclasses import replace
from itertools import product

import pytest

from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Gate, Keeps, Requeue, Victim
from fluidkv_papers.theory.best import endless
from tests.papers.theory.best.test_search import RULES

RESTART = replace(VLLM, keeps=Keeps.NOTHING)
TAIL = replace(VLLM, requeue=Requeue.TAIL)


def _cases(most: int):
    for capacity in range(2, most + 1):
        sizes = [
            (i, o) for i, o in product(range(1, capacity + 1), repeat=2) if i + o - 1 <= capacity
        ]
        for one, stream, clients in product(sizes, sizes, (2, 3)):
            for place in range(clients):
                yield one, stream, capacity, clients, place


def _ends(rules: EngineRules, most: int, budget: int | None = None) -> None:
    for one, stream, capacity, clients, place in _cases(most):
        limits = Limits(capacity, max_num_batched_tokens=budget)
        found = endless(one, stream, rules, limits, clients=clients, place=place)
        assert found.done is not None, (one, stream, capacity, clients, place)


@pytest.mark.daily(3)
@pytest.mark.parametrize("victim", [v for v in RULES if v is not Victim.RANDOM])
@pytest.mark.parametrize("gate", [Gate.FULL_INPUT, Gate.FIRST_CHUNK])
def test_nobody_starves_in_vllm(victim: Victim, gate: Gate) -> None:
    _ends(replace(VLLM, victim=victim, gate=gate), 2, budget=2)
    _ends(replace(VLLM, victim=victim, gate=gate), 3)


@pytest.mark.thorough
@pytest.mark.parametrize("victim", [v for v in RULES if v is not Victim.RANDOM])
@pytest.mark.parametrize("gate", [Gate.FULL_INPUT, Gate.FIRST_CHUNK])
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_nobody_starves_in_vllm_that_cuts_prompts(victim: Victim, gate: Gate, budget: int) -> None:
    _ends(replace(VLLM, victim=victim, gate=gate), 5, budget=budget)


@pytest.mark.parametrize("victim", [Victim.LAST_ADMITTED, Victim.LEAST_PROGRESSED])
def test_restarts_starve_nobody_where_the_oldest_stay(victim: Victim) -> None:
    _ends(replace(RESTART, victim=victim), 3)


# rules, one, stream, capacity, budget, clients, place
_STARVED = {
    "restart, least computed": (
        replace(RESTART, victim=Victim.LEAST_COMPUTED),
        ((1, 2), (1, 2), 2, None, 2, 0),
    ),
    "restart, longest remaining": (
        replace(RESTART, victim=Victim.LONGEST_REMAINING),
        ((1, 3), (1, 2), 3, None, 2, 0),
    ),
    "tail and chunks, least computed": (
        replace(TAIL, victim=Victim.LEAST_COMPUTED, gate=Gate.FIRST_CHUNK),
        ((1, 2), (2, 2), 4, 2, 4, 2),
    ),
    "tail and chunks, last come": (
        replace(TAIL, gate=Gate.FIRST_CHUNK),
        ((1, 2), (1, 2), 2, 2, 3, 1),
    ),
}


@pytest.mark.parametrize("name", _STARVED)
def test_somebody_starves(name: str) -> None:
    rules, (one, stream, capacity, budget, clients, place) = _STARVED[name]
    limits = Limits(capacity, max_num_batched_tokens=budget)
    found = endless(one, stream, rules, limits, clients=clients, place=place)
    assert found.starves
    assert found.evictions > 0
    assert found.period > 0


def test_nobody_is_ever_done() -> None:
    rules = replace(RESTART, victim=Victim.MOST_COMPUTED)
    found = endless((1, 2), (1, 5), rules, Limits(5), clients=4)
    assert found.locked
    assert not found.starves
