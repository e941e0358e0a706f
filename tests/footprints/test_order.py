"""Requests that come in batches of like ones: against every path, and against whole requests."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fluidkv as fk
from fluidkv.footprints import Growth, batch_correlation, noise
from fluidkv.footprints.densities import moments_on_circle
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.order import order_spectrum
from fluidkv.runs.precision import in_float64
from tests.footprints.test_moments import every_path, footprints
from tests.footprints.test_noise import MIX, stable_servers

PAGE = Path(__file__).parents[2] / "docs" / "noise.md"
laws = (
    st.lists(st.integers(0, 5), min_size=1, max_size=8)
    .filter(any)
    .map(lambda weights: tuple(weight / sum(weights) for weight in weights))
)


@given(laws)
def test_the_spectrum_of_batches_is_that_of_one_batch(alike: tuple[float, ...]) -> None:
    """One request an iteration: E |1 + z + ... + z^(N-1)|^2 / E N, up to rounding."""
    points = 64
    z = np.exp(-2j * np.pi * np.arange(points // 2 + 1) / points)
    sizes = np.arange(1, len(alike) + 1)
    batches = np.array([np.abs((z[:, None] ** np.arange(n)).sum(1)) ** 2 for n in sizes])
    spectrum = order_spectrum(batch_correlation(alike), 1.0, points)
    np.testing.assert_allclose(spectrum, np.array(alike) @ batches / (alike @ sizes), atol=1e-12)


@given(laws, st.floats(0.1, 50))
def test_batches_add_up_for_slow_modes_and_keep_the_variance_of_fast_ones(
    alike: tuple[float, ...], rate: float
) -> None:
    spectrum = order_spectrum(batch_correlation(alike), rate, 256)
    sizes = np.arange(1, len(alike) + 1)
    assert spectrum[0] == pytest.approx(np.array(alike) @ sizes**2 / (np.array(alike) @ sizes))
    assert spectrum.min() >= 0
    if rate <= 1:  # one after the other: each iteration has at most one request
        whole = spectrum[0] + spectrum[-1] + 2 * spectrum[1:-1].sum()
        assert whole / 256 == pytest.approx(1)


@settings(max_examples=10)  # nearly each has arrays of its own shape, which are compiled
@given(footprints, st.integers(1, 5))
def test_moments_of_batches_are_sums_over_every_path(footprint: Footprint, size: int) -> None:
    """A batch in one iteration: E|P_1 + ... + P_b|^2 / b, independent but for their growth."""
    points = 32
    z = np.exp(-2j * np.pi * np.arange(points // 2 + 1) / points)
    sums = np.zeros((3, len(z)), complex)
    for share, growth in footprint.growths:
        ways = list(every_path(_Alone(growth)))
        chance = np.array([float(c) for c, _ in ways])
        memory = np.array([np.polyval([float(x) for x in path][::-1], z) for _, path in ways])
        running = np.array([np.polyval(np.ones(len(path)), z) for _, path in ways])
        for row, (x, y) in enumerate(((memory, memory), (running, running), (running, memory))):
            one, mean = chance @ (x * y.conj()), (chance @ x) * (chance @ y).conj()
            sums[row] += float(share) * (one + (size - 1) * mean)
    with in_float64():
        alone = moments_on_circle(footprint, points)
        batches = moments_on_circle(footprint, points, order=np.full(len(z), float(size)))
    A, B = np.asarray(alone.memory), np.asarray(alone.running)
    # moments count what differs from the mean; (b - 1) |A|^2 is the mean of a batch
    means = [np.abs(A) ** 2, np.abs(B) ** 2, B * A.conj()]
    for power, total, mean in zip(batches[2:], sums, means, strict=True):
        scale = 1e-9 * (1 + np.abs(total).max())
        np.testing.assert_allclose(power, total - (size - 1) * mean, rtol=0, atol=scale)


class _Alone:
    """One growth as a footprint."""

    def __init__(self, growth: Growth) -> None:
        self.growths = ((Fraction(1), growth),)


def test_independent_requests_are_batches_of_one() -> None:
    server = fk.FullServer(MIX, 60_000)
    alone, ones = noise(server), noise(server, correlation=batch_correlation([1.0]))
    assert alone.running_std == ones.running_std
    far = noise(server, correlation=[0.0, 0.0])
    assert far.running_std == pytest.approx(alone.running_std, rel=1e-12)
    assert far.tokens_std == pytest.approx(alone.tokens_std, rel=1e-12)


def test_drafts_alone_are_no_order() -> None:
    """Requests of one class differ by their steps, which no batch has in common."""
    drafts = fk.RequestFootprint(100, 24, speculation=fk.Speculation(3, Fraction(3, 10)))
    server = fk.FullServer(drafts, 120_000)
    alike = noise(server, correlation=batch_correlation([0, 0, 0, 1]))
    assert alike.running_std == pytest.approx(noise(server).running_std, rel=1e-9)


def compared(count: int, runs: int) -> np.ndarray:
    """[server, running or admissions] simulated over predicted deviations, of drawn batches."""
    rng, ratios = np.random.default_rng(33), list[list[float]]()
    for server in stable_servers(np.random.default_rng(22), 100, 400):
        weights = rng.integers(0, 4, int(rng.integers(2, 9)))
        if len(server.footprint.growths) < 2 or not weights[1:].any():
            continue  # nothing comes in batches
        alike = weights / weights.sum()
        predicted = noise(server, points=4096, correlation=batch_correlation(alike))
        if predicted.running_std is None or predicted.running_std <= 1:
            continue
        assert predicted.admissions_std is not None
        simulated = fk.simulate_footprints(
            server, iterations=4096, runs=runs, seed=len(ratios), alike=tuple(alike)
        )
        if (simulated.free < 0).mean() > 0.01:  # where iterations evict it is another map
            continue
        stds = simulated.running.std(), simulated.admitted.std()
        expected = predicted.running_std, predicted.admissions_std
        ratios.append([float(x / y) for x, y in zip(stds, expected, strict=True)])
        if len(ratios) == count:
            break
    return np.array(ratios)


@pytest.mark.thorough
def test_batches_of_whole_requests_swing_as_predicted() -> None:
    """Ten drawn servers; runs are uncertain by 1 % themselves. The page has how far they are."""
    off = 100 * np.abs(compared(10, 24) - 1)
    assert off.max() < 5
    running, admissions = off.max(0)
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"running are within {running:.1f} % ({off[:, 0].mean():.1f} % on average)" in text
    assert f"of admissions within {admissions:.1f} %" in text


def test_the_page_has_what_fifty_requests_of_traces_add_up_to(traces_dir: Path) -> None:
    """Variance of sums over fifty requests in a row of what a life holds, over independent ones."""
    text, ratios = " ".join(PAGE.read_text(encoding="utf-8").split()), list[str]()
    drift: list[str] = []
    for name in (
        "azure_llm_2023_conv.csv",
        "azure_llm_2023_code.csv",
        "mooncake_conversation.jsonl",
    ):
        trace = fk.read_trace(traces_dir / name).trace
        inputs, outputs = (np.array(x, float) for x in (trace.input_lengths, trace.decode_lengths))
        held = inputs * outputs + outputs * (outputs + 1) / 2
        rows = held[: len(held) // 50 * 50].reshape(-1, 50)
        ratios.append(f"{50 * rows.mean(1).var() / held.var():.1f}")
        drift += [f"{np.corrcoef(held[:-lag], held[lag:])[0, 1]:.2f}" for lag in (1, 100)]
    assert "have {}, {} and {} times the variance".format(*ratios) in text
    assert drift[0] == drift[1]
    assert f"correlation is {drift[0]} both of neighbours" in text


@pytest.mark.parametrize("alike", [(), (0.5, 0.6), (1.5, -0.5)])
def test_what_is_no_law_of_batches_is_refused(alike: tuple[float, ...]) -> None:
    with pytest.raises(fk.InputError, match="chances of at least 0 that sum to 1"):
        batch_correlation(alike)
    with pytest.raises(fk.InputError, match="alike"):
        fk.simulate_footprints(fk.FullServer(MIX, 9000), iterations=1, alike=alike)


def test_a_correlation_that_no_order_has_is_refused() -> None:
    with pytest.raises(fk.InputError, match=r"correlation: .* nowhere below 0"):
        noise(fk.FullServer(MIX, 9000), correlation=[-0.9, -0.9])
    with pytest.raises(fk.InputError, match=r"rate: got 0\.0; allowed: a finite number above 0"):
        order_spectrum([0.5], rate=0.0, points=4)
