"""The test of noise against instability: its level and its power, on runs of known truth."""

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.footprints.second_moments import mean_weights


def servers(wanted: int, seed: int) -> list[tuple[fk.FullServer, bool]]:
    """Drawn servers that are decided clearly, with whether they are stable."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < wanted:
        least, classes = rng.integers(20, 400), rng.integers(2, 6)
        lengths = [
            (max(1, int(least * rng.uniform(0.7, 1.4))), int(rng.integers(5, 40)))
            for _ in range(classes)
        ]
        mix = fk.footprint_of(fk.Workload.from_lengths(lengths))
        weights = mean_weights(mix)
        held = weights.lifetime_memory / weights.mean_lifetime
        server = fk.FullServer(mix, int(int(rng.integers(80, 400)) * held) + 1)
        _, high = fk.footprint_stability(server).spectral_radius
        if not 0.99 < high < 1.005:
            found.append((server, high < 1))
    return found


def wrong(cases: list[tuple[fk.FullServer, bool]], every: int = 1) -> list[bool]:
    """Which of them the test takes for the other kind."""
    found = []
    for seed, (server, stable) in enumerate(cases):
        runs = fk.simulate_footprints(server, iterations=1000 + 2000 * every, seed=seed)
        test = fk.swing_test(runs.running[0, 1000::every], server, every=every)
        found.append(test.noise is not stable)
    return found


@pytest.mark.thorough
def test_few_runs_are_taken_for_the_other_kind() -> None:
    assert sum(wrong(servers(30, seed=3))) <= 3


@pytest.mark.thorough
def test_at_most_five_of_a_hundred_runs_are_taken_for_the_other_kind() -> None:
    assert sum(wrong(servers(200, seed=5))) <= 10


def test_a_series_of_every_third_iteration_is_held_to_the_folded_spectrum() -> None:
    stable = [case for case in servers(20, seed=8) if case[1]][:6]
    assert sum(wrong(stable, every=3)) <= 1


def test_another_footprint_than_that_of_the_server_is_seen() -> None:
    server, _ = next(case for case in servers(20, seed=3) if case[1])
    runs = fk.simulate_footprints(server, iterations=3000)
    twice = fk.FullServer(server.footprint, 4 * server.capacity)
    assert not fk.swing_test(runs.running[0, 1000:], twice).noise


@pytest.mark.parametrize(
    ("running", "kwargs", "argument"),
    [
        (np.zeros(300), {}, "running"),
        (np.arange(20.0), {}, "running"),
        (np.full(300, np.nan), {}, "running"),
        (np.arange(300.0), {"level": 0.0}, "level"),
        (np.arange(300.0), {"every": 0}, "every"),
    ],
)
def test_what_cannot_be_tested_is_refused(running, kwargs, argument) -> None:
    mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 31)]))
    with pytest.raises(fk.InputError, match=argument):
        fk.swing_test(running, fk.FullServer(mix, 60_000), **kwargs)
