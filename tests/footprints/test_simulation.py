"""Simulated servers: the compiled one is the literal one; what they do is what stability says."""

from typing import Any

import numpy as np
import pytest

import fluidkv as fk
from tests.footprints.test_noise import MIX, drawn, server_of


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"watermark": 30},
        {"most_running": 30},
        {"most_admitted": 3},
        {"arrivals": 2.5, "batch": 2},
        {"alike": (0.5, 0.0, 0.5)},
    ],
)
def test_compiled_runs_are_the_literal_ones(rules: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        server = server_of(drawn(rng), 40)
        fast, slow = (
            fk.simulate_footprints(server, iterations=60, runs=2, literal=literal, **rules)
            for literal in (False, True)
        )
        assert fast == slow


def test_a_full_server_leaves_the_slack_that_is_predicted() -> None:
    server = fk.FullServer(MIX, 60_000)
    runs = fk.simulate_footprints(server, iterations=4000, runs=4)
    slack = fk.noise(server).slack
    free = 60_000 - runs.used
    assert free.mean() == pytest.approx(slack.mean, rel=0.02)
    assert free.var() == pytest.approx(slack.variance, rel=0.05)  # nearly uniform


def grows(server: fk.FullServer) -> bool:
    """Whether what swings at the start swings more in the end, or evicts."""
    runs = fk.simulate_footprints(server, iterations=3000, runs=4)
    early, late = runs.running[:, 100:600].std(), runs.running[:, -500:].std()
    return bool(runs.evicted[:, -1000:].mean() > 0.05 or late > 2 * early)


def agreement(count: int) -> list[bool]:
    rng, agree = np.random.default_rng(4), list[bool]()
    while len(agree) < count:
        server = server_of(drawn(rng), 3000)
        found = fk.footprint_stability(server)
        low, high = found.spectral_radius
        if not (high < 0.995 or low > 1.005):
            continue
        if len(server.footprint.growths) == 1 and not len(server.footprint.growths[0][1].held):
            continue  # nothing is drawn: it stays wherever it starts
        agree.append(grows(server) == (found.verdict is fk.Stability.UNSTABLE))
    return agree


def test_verdicts_are_what_long_runs_do() -> None:
    assert all(agreement(5))


@pytest.mark.thorough
def test_five_hundred_verdicts_are_what_long_runs_do() -> None:
    assert all(agreement(500))


def test_long_lives_take_memory_for_requests_that_run() -> None:
    """Room for all that might run would be 256 GB."""
    server = fk.FullServer(fk.RequestFootprint(100, 20_000), 2_010_000)
    assert fk.simulate_footprints(server, iterations=10).running.min() > 100
