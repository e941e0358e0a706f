"""Routers that do not look at caches, by hand."""

from collections import Counter

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.routing import LeastLoaded, PowerOfTwo, Random, RoundRobin, Router
from fluidkv.routing.blind import Assigned
from tests.routing.views import view


def test_in_turn():
    router = RoundRobin()
    state, chosen = router.start(3), []
    for _ in range(7):
        choice = router.route(state, view())
        chosen.append(choice.worker)
        state = choice.state
    assert chosen == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("draw", "worker"), [(0.0, 0), (0.34, 1), (0.66, 1), (0.67, 2), (0.999, 2)]
)
def test_chance_is_the_draw(draw, worker):
    router = Random()
    assert router.route(router.start(3), view(draws=(draw, 0.0))).worker == worker


def test_the_shortest_queue_and_of_several_the_first():
    router = LeastLoaded()
    assert router.route(router.start(3), view(pending=(3, 1, 1))).worker == 1


def test_two_choices_are_different_and_every_pair_is_as_likely():
    router, pairs = PowerOfTwo(), Counter()
    places = (np.arange(60) + 0.5) / 60
    for one in places:
        for other in places:
            # The first drawn wins all ties, the second wins if every queue but its own is longer.
            first = router.route(None, view(draws=(one, other))).worker
            for second in {0, 1, 2} - {first}:
                pending = tuple(int(worker != second) for worker in range(3))
                if router.route(None, view(pending=pending, draws=(one, other))).worker == second:
                    pairs[first, second] += 1
    assert set(pairs) == {(i, j) for i in range(3) for j in range(3) if i != j}
    assert set(pairs.values()) == {600}


def test_of_two_choices_the_shorter_queue():
    router = PowerOfTwo()
    assert router.route(None, view(pending=(5, 4, 0), draws=(0.0, 0.0))).worker == 1  # drawn: 0, 1
    assert router.route(None, view(pending=(4, 5, 0), draws=(0.0, 0.0))).worker == 0


def test_one_worker_gets_everything():
    routers: list[Router] = [Random(), RoundRobin(), LeastLoaded(), PowerOfTwo()]
    for router in routers:
        state = router.start(1)
        seen = view(
            hits=(0,), tree=(0,), pending=(9,), to_compute=(0,), active=(0,), draws=(0.99, 0.99)
        )
        assert router.route(state, seen).worker == 0


def test_an_assignment_is_followed():
    router = Assigned((2, 0, 1))
    state, chosen = router.start(3), []
    for _ in range(3):
        choice = router.route(state, view())
        chosen.append(choice.worker)
        state = choice.state
    assert chosen == [2, 0, 1]
    with pytest.raises(InputError, match="workers: got 2; allowed: workers from 0 to 1"):
        router.start(2)
    with pytest.raises(InputError, match="workers: got -1"):
        Assigned((0, -1))
