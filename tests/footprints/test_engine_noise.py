"""Chance in an engine: vLLM's rules with blocks of 16 swing as footprints of blocks say."""

import numpy as np
import pytest

import fluidkv as fk
from tests.footprints.test_noise import server_of

BLOCK = 16


def drawn(rng: np.random.Generator) -> list[tuple[int, int]]:
    """Inputs and outputs of up to 60 classes."""
    classes = int(rng.integers(2, 61))
    inputs = int(10 ** rng.uniform(1.3, 2.7))
    outputs = int(rng.integers(10, 60))
    return list(
        zip(
            rng.integers(inputs // 2, 3 * inputs // 2 + 1, classes).tolist(),
            rng.integers(3, outputs, classes).tolist(),
            strict=True,
        )
    )


def compared(count: int, iterations: int) -> list[tuple[float, float]]:
    """(mean, deviation) of running requests over predicted ones, of stable servers."""
    rng, ratios = np.random.default_rng(5), list[tuple[float, float]]()
    while len(ratios) < count:
        lengths = drawn(rng)
        # vLLM stores a token when it is computed: the first output is no part of the prefill
        stored = fk.Workload.from_lengths([(max(i - 1, 1), o) for i, o in lengths])
        running = float(100 * 10 ** rng.uniform(0, 0.6))
        server = server_of(fk.footprint_of(stored, block=BLOCK), running)
        if fk.footprint_stability(server).spectral_radius[1] > 0.99:
            continue
        found = fk.noise(server, points=4096)
        if found.running_std is None or found.running_std <= 1:
            continue
        lives = float(found.stability.weights.mean_lifetime)
        chosen = rng.integers(0, len(lengths), int(1.2 * iterations * running / lives))
        inputs, outputs = np.array(lengths)[chosen].T
        limits = fk.Limits(int(server.capacity), block_size=BLOCK)
        run = fk.serve(
            fk.Requests(inputs, outputs),
            fk.Server("vllm", limits),
            iterations=iterations,
            keep_requests=False,
        )
        if float(run.preempt.mean()) > 0.01:  # where iterations evict it is another map
            continue
        requests = run.running.values[0, iterations // 10 :]
        ratios.append((requests.mean() / found.running_mean, requests.std() / found.running_std))
    return ratios


def test_an_engine_swings_as_predicted() -> None:
    ratios = np.array(compared(3, 10_000))
    assert np.abs(ratios[:, 0] - 1).max() < 0.01
    assert np.abs(ratios[:, 1] - 1).max() < 0.1


@pytest.mark.thorough
def test_forty_engines_swing_as_predicted() -> None:
    ratios = np.array(compared(40, 60_000))
    assert np.abs(ratios[:, 0] - 1).max() < 0.01
    assert np.abs(ratios[:, 1] - 1).max() < 0.1
