"""Two pools: what binds and what runs, against requests served one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.footprints import Pool, RecordedFootprint, SlidingWindow, pool_use
from fluidkv.footprints.footprint import Footprint

LENGTHS = [(200 + 9 * k, 5 + (7 * k) % 36) for k in range(20)]
FULL = fk.footprint_of(fk.Workload.from_lengths(LENGTHS))
WINDOW = fk.footprint_of(fk.Workload.from_lengths(LENGTHS), attention=SlidingWindow(64))
STATES = fk.FootprintMix(
    [(share, RecordedFootprint([1] * growth.iterations)) for share, growth in FULL.growths]
)


def served(pools: list[Pool], iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Running requests, and what is used of each pool: first come first admitted where all fit."""
    rng = np.random.default_rng(3)
    held = [[np.asarray(g.start) / g.unit for _, g in pool.footprint.growths] for pool in pools]
    capacity = np.array([float(pool.capacity) for pool in pools])
    running, waiting = list[list[int]](), list[int]()  # [class, age], classes
    numbers, used = np.zeros(iterations), np.zeros((iterations, len(pools)))

    def taken() -> np.ndarray:
        return np.array([sum(of[kind][age] for kind, age in running) for of in held])

    for n in range(iterations):
        running = [[kind, age + 1] for kind, age in running if age + 1 < len(held[0][kind])]
        while (taken() > capacity).any():
            waiting.append(running.pop()[0])
        while True:
            if not waiting:
                waiting.append(int(rng.integers(len(LENGTHS))))
            running.append([waiting[-1], 0])
            if (taken() > capacity).any():
                running.pop()
                break
            waiting.pop()
        numbers[n], used[n] = len(running), taken() / capacity
    return numbers, used


@pytest.mark.parametrize(
    ("other", "capacity", "binding"),
    [(WINDOW, 3_000, 1), (WINDOW, 12_000, 0), (STATES, 40, 1), (STATES, 70, 0)],
)
def test_the_pool_that_binds_is_a_full_server(
    other: Footprint, capacity: int, binding: int
) -> None:
    pools = [Pool(FULL, 16_000), Pool(other, capacity)]
    found = pool_use(pools)
    running, used = (column[400:] for column in served(pools, 2400))
    assert found.binding == binding
    slack = fk.noise(pools[binding].alone).slack.mean / float(pools[binding].capacity)
    assert used[:, binding].mean() == pytest.approx(1 - slack, abs=0.005)
    assert running.mean() == pytest.approx(float(found.running) * (1 - slack), rel=0.01)
    assert used.mean(0) == pytest.approx(
        np.array([*map(float, found.used)]) * (1 - slack), rel=0.02
    )


def test_near_the_best_ratio_either_binds_in_turn() -> None:
    """Less runs than in the equilibrium, by about what running swings."""
    first = pool_use([Pool(FULL, 16_000), Pool(WINDOW, 8_000)])
    pools = [Pool(p, m) for p, m in zip((FULL, WINDOW), first.best, strict=True)]
    running, used = (column[400:] for column in served(pools, 2400))
    found = pool_use(pools)
    assert abs(float(found.lost)) < 1e-12
    assert (used.argmax(1) == 0).mean() == pytest.approx(0.5, abs=0.4)
    swing = fk.noise(pools[0].alone).running_std
    assert swing is not None
    lost = float(found.running) - running.mean()
    assert 0 < lost < 2 * swing


@given(st.integers(2_000, 40_000), st.integers(2_000, 40_000), st.integers(1, 9))
def test_no_split_of_the_same_bytes_runs_more_than_the_best(full, window, size) -> None:
    found = pool_use([Pool(FULL, full), Pool(WINDOW, window, size)])
    best = pool_use([Pool(FULL, found.best[0]), Pool(WINDOW, found.best[1], size)])
    assert best.used == (1, 1)
    assert found.running == best.running * (1 - found.lost) <= best.running


def test_pools_of_other_lives_are_refused() -> None:
    other = RecordedFootprint([1] * 4)
    with pytest.raises(fk.InputError, match="the same lives"):
        pool_use([Pool(fk.RequestFootprint(9, 5), 100), Pool(other, 9)])
    with pytest.raises(fk.InputError, match="at least one pool"):
        pool_use([])
    with pytest.raises(fk.InputError, match="token_bytes"):
        Pool(other, 9, 0)
