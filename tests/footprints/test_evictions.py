"""Evictions by chance, and memory below capacity, against whole requests."""

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.study.chance import FEWEST_BEHIND_WINDOWS, LARGEST_RIPPLE, gives_back
from fluidkv.footprints.eviction_rates import least_memory
from fluidkv.footprints.tails import _convolved
from fluidkv.runs.precision import in_float64
from tests.footprints.test_noise import MIX, stable_servers

PAGE = Path(__file__).parents[2] / "docs" / "noise.md"


@pytest.mark.parametrize(
    ("capacity", "rules"),
    [
        (12_000, {}),
        (30_000, {}),
        (12_000, {"watermark": 100}),
    ],
)
def test_rates_are_those_of_whole_requests_within_half(capacity: int, rules: dict) -> None:
    server = fk.FullServer(MIX, capacity)
    predicted = fk.evictions(server, **rules).rate
    simulated = fk.simulate_footprints(server, iterations=20_000, runs=8, **rules)
    rate = float((simulated.free < 0).mean())
    assert predicted is not None
    assert rate > 1e-4
    assert 1 / 1.5 < predicted / rate < 1.5


@pytest.mark.parametrize("capacity", [4000, 7000, 10_000])
def test_few_requests_of_one_input_evict_as_their_slack_says(capacity: int) -> None:
    """With 12, 22 and 31 running slack is far from uniform: as if it were, 3.9, 2.5, 0.6."""
    server = fk.FullServer(MIX, capacity)
    found = fk.evictions(server)
    runs = fk.simulate_footprints(server, iterations=20_000, runs=8)
    assert found.rate is not None
    assert found.ripple > 1
    assert 1 / 1.5 < found.rate / float((runs.free < 0).mean()) < 1.5


class RateOverRuns(NamedTuple):
    """A predicted rate, over that of runs."""

    rate: float
    ratio: float
    gives_back: bool


def rates_over_runs() -> Iterator[RateOverRuns]:
    """Of drawn servers: uniform slack, 40 running at least where memory is given back.

    A run ends with 60 evicting iterations, which leave a rate uncertain by an eighth at least, or
    with six million iterations, which have as many at the lowest rate.
    """
    for server in stable_servers(np.random.default_rng(11), 10, 316):
        few = fk.footprint_stability(server).equilibrium.in_flight < FEWEST_BEHIND_WINDOWS
        if few and gives_back(server.footprint):
            continue
        predicted = fk.evictions(server)
        if predicted.rate is None or predicted.ripple > LARGEST_RIPPLE:
            continue
        if not 1e-5 < predicted.rate < 0.1:
            continue
        events = iterations = 0
        while events < 60 and iterations < 6e6:
            runs = fk.simulate_footprints(server, iterations=50_000, runs=4, seed=iterations)
            events += int((runs.free < 0).sum())
            iterations += runs.free.size
        ratio = predicted.rate * iterations / max(events, 1)
        yield RateOverRuns(predicted.rate, ratio, gives_back(server.footprint))


@pytest.mark.thorough
def test_rates_of_drawn_servers_are_those_of_runs_within_half() -> None:
    """From 0.1 to 1e-5 an iteration: nine of ten; and what the page says of them."""
    rows = list(islice(rates_over_runs(), 40))
    beyond = [row for row in rows if not 1 / 1.5 < row.ratio < 1.5]
    assert len(beyond) <= 4
    rates, text = [row.rate for row in rows], " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"estimates from {1e5 * min(rates):.1f} in 100,000 to {max(rates):.3f} (" in text
    [other] = beyond
    assert f"{len(rows) - 1} are within 1.5, and the other is {other.ratio:.3f} of" in text
    assert f"evict, at {1e4 * other.rate:.0f} in 10,000." in text
    assert "Two of the 40 give memory back." in text
    assert sum(row.gives_back for row in rows) == 2


@pytest.mark.parametrize("rules", [{"most_running": 36}, {"most_admitted": 1}])
def test_a_cap_or_limit_evicts_less_than_is_said(rules: dict) -> None:
    server = fk.FullServer(MIX, 12_000)
    predicted = fk.evictions(server, **rules).rate
    runs = fk.simulate_footprints(server, iterations=4000, runs=4, **rules)
    assert predicted is not None
    assert float((runs.free[:, 200:] < 0).mean()) <= predicted < 1e-6


@pytest.mark.thorough
def test_rates_hold_from_three_hundredths_to_a_ten_thousandth() -> None:
    """With 38 to 190 running. With fewer, docs/noise.md has by how much they do not."""
    for capacity in (12_000, 24_000, 48_000, 60_000):
        server = fk.FullServer(MIX, capacity)
        predicted = fk.evictions(server).rate
        simulated = fk.simulate_footprints(server, iterations=50_000, runs=100)
        assert predicted is not None
        assert 1 / 1.5 < predicted / float((simulated.free < 0).mean()) < 1.5


def test_the_least_memory_is_where_the_rate_is_met() -> None:
    memory = least_memory(MIX, 1e-4)
    assert memory is not None
    found = fk.evictions(fk.FullServer(MIX, round(memory)))
    # least memory is that of uniform slack, of which the rate differs by as much as slack does
    assert found.ripple < 0.06
    assert found.rate == pytest.approx(1e-4, rel=0.01 + found.ripple)
    assert least_memory(fk.RequestFootprint(100, 24)) is None


@pytest.mark.thorough
def test_an_unstable_server_shows_when_noise_has_grown() -> None:
    mix = fk.footprint_of(fk.Workload.from_lengths([(100, 20), (100, 33)]))
    server = fk.FullServer(mix, 100_000)
    found = fk.evictions(server)
    runs = fk.simulate_footprints(server, iterations=2000, runs=64)
    assert bool((runs.free < 0).any(1).all())
    first = 1 + (runs.free < 0).argmax(1).mean()
    assert found.rate is None
    assert found.first == pytest.approx(first, rel=0.35)


def test_ten_times_the_memory_delays_the_first_eviction_by_the_growth_that_it_takes() -> None:
    """Slack is a few tokens of any memory, and grows by 7/6 an iteration. Times are 1.2 apart."""
    footprint = fk.RequestFootprint(5, 2)
    first = [fk.evictions(fk.FullServer(footprint, 10**n)).first for n in (4, 5, 6)]
    assert np.diff(first) == pytest.approx(math.log(10) / math.log(7 / 6), rel=0.2)


def test_a_product_of_series_that_grow_is_exact_in_its_first_terms() -> None:
    """As the recursion of an unstable server is, by 10^17 over its 256 terms."""
    row, ratio = np.array([3.0, -2.0, 0.5]), 7 / 6
    with in_float64():
        terms = np.asarray(_convolved(jnp.asarray(row), jnp.asarray(ratio ** np.arange(256))))
    expected = [(row[: n + 1] * ratio ** (n - np.arange(min(n + 1, 3)))).sum() for n in range(256)]
    np.testing.assert_allclose(terms, expected, rtol=1e-13)


def test_bad_options_are_refused_in_one_line() -> None:
    server = fk.FullServer(fk.RequestFootprint(5, 2), 100)
    for refused in (
        lambda: fk.evictions(server, watermark=93),
        lambda: fk.evictions(server, most_running=0),
        lambda: least_memory(server.footprint, 0.5),
        lambda: fk.OpenMemory(server.footprint, 0.0),
        lambda: fk.OpenMemory(server.footprint, 1.0, 0),
        lambda: fk.OpenMemory(server.footprint, 1.0).overflow(-1.0),
        lambda: fk.noise(server, points=7),
        lambda: fk.simulate_footprints(server, iterations=5, arrivals=-1.0),
    ):
        with pytest.raises(fk.InputError, match="allowed"):
            refused()


@pytest.mark.parametrize(("arrivals", "batch"), [(2.0, 1), (3.0, 4)])
def test_memory_below_capacity_is_that_of_runs(arrivals: float, batch: int) -> None:
    memory = fk.OpenMemory(MIX, arrivals, batch)
    server = fk.FullServer(MIX, 1000)
    runs = fk.simulate_footprints(server, arrivals=arrivals, batch=batch, iterations=8000, runs=16)
    assert runs.used.mean() == pytest.approx(memory.mean, rel=0.01)
    assert runs.used.std() == pytest.approx(memory.std, rel=0.03)
    spectrum = memory.spectrum(256)
    total = (spectrum[0] + spectrum[-1] + 2 * spectrum[1:-1].sum()) / 256
    assert total == pytest.approx(memory.std**2, rel=1e-9)
    for deviations in (-1.0, 0.0, 1.0, 2.0):
        level = memory.mean + deviations * memory.std
        share = float((runs.used > level).mean())
        assert memory.overflow(level) == pytest.approx(share, rel=0.12)
    assert np.isclose(memory.overflow(0.0), 1, atol=1e-3)
