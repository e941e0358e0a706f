"""Committed numbers of Congestion's figures, against closed forms and second methods."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
import scipy.linalg

from fluidkv.exact.mass import iterate, iterates
from fluidkv.figures.figure import Data
from fluidkv.workload import RequestClass, System, Workload
from tests.papers.committed import ENTRIES, committed

ROUNDING = 1e-12  # a few roundings of doubles near 1
HALF = Fraction(1, 2)


def numbers(number: int) -> Data:
    return committed(f"congestion_figure_{number}")


def test_figure_1_is_equation_25_at_the_extreme_gap_vectors() -> None:
    data = numbers(1)

    def share(squares: int) -> float:  # over x*, for l0 = 2, l1 = 12 and a sum of squared gaps
        return float(Fraction(2 * 24 + 144 + 12, 2 * 24 + 144 + squares))

    for empty in range(12):
        m = 12 - empty
        gap, wider = divmod(12, m)
        assert data["contiguous"][empty] == share((empty + 1) ** 2 + m - 1)
        even = wider * (gap + 1) ** 2 + (m - wider) * gap**2
        assert data["as_evenly_spaced"][empty] == share(even)
    assert data["worst_case_ratio"] == share(144)
    level = data["cycle_level"].astype(int)
    assert len(level) == 351  # binary necklaces of 12 beads, less the empty one
    assert np.all(data["cycle"] >= data["contiguous"][level])
    assert np.all(data["cycle"] <= data["as_evenly_spaced"][level])


@pytest.mark.parametrize(
    ("name", "lengths", "capacity"),
    [("coprime", (2, 3), 518), ("common_divisor_2", (2, 4), 626)],
)
def test_figure_2_admits_what_the_literal_model_does(
    name: str, lengths: tuple[int, int], capacity: int
) -> None:
    """Recurrence (9) against execute, evict, admit on two classes: equal, without eviction."""
    classes = tuple(RequestClass(50, length, HALF) for length in lengths)
    system, oldest = System(Workload(classes), Fraction(capacity)), lengths[1]
    # 51 tokens for each request too many in stage 0; only class 2 is left in the oldest cohort.
    cohorts = [Fraction(5), *[Fraction(4)] * (oldest - 2), 4 - 51 / (HALF * (50 + oldest))]
    state = [[HALF * cohorts[j] for j in range(length)] for length in lengths]
    for admitted in numbers(2)[name][1:41]:
        step = iterate(system, state)
        state = step.state
        assert float(sum(step.admitted)) == admitted
        assert not any(any(row) for row in step.evicted)
    data = numbers(2)
    assert data["growth"] == pytest.approx(np.abs(np.roots([51, 52, 26.5, 27])).max(), rel=1e-13)
    # After 50 iterations the decaying pair is down by (0.7207/1.0194)^50, some 3e-8.
    swing = abs(data["common_divisor_2"][-1] - 4)
    assert swing == pytest.approx(data["envelope"][-1], rel=1e-6)


def test_figure_4_s_collapsed_servers_are_on_the_worst_cycle() -> None:
    data = numbers(4)
    assert data["worst"] == 2000 / (40 * 50)
    assert data["best"] == 2000 / sum(range(11, 51))
    gone = data["collapsed_share"] == 1
    assert gone[data["rate"] > data["best"]].all()
    # M / 11 requests admitted, M / 50 completed 40 iterations later, the rest evicted; sums of a
    # few thousand roundings of numbers below 2000.
    np.testing.assert_allclose(data["throughput"][gone], 1, rtol=0, atol=1e-9)
    evicted = float((Fraction(2000, 11) - Fraction(2000, 50)) / 40)
    np.testing.assert_allclose(data["evicted"][gone], evicted, rtol=0, atol=1e-9)
    assert data["waiting"][data["rate"] < 1].max() <= 0.01


def test_figure_6_is_the_table_of_example_3() -> None:
    data = numbers(6)
    printed = ["5/2", "4/3", "37/18", "82/27", "85/162", "544/243", "6037/1458"]
    assert data["admission"][:-1].tolist() == [float(Fraction(p)) for p in printed]
    # (2) from X^6 = (6037/1458, 544/243, 85/162)
    asked = (5 * Fraction(85, 162) - Fraction(6037, 1458) - Fraction(544, 243)) / 3
    assert data["admission"][-1] == float(asked)
    spreads = ["4/5", "7/6", "7/6", "46/27", "407/162", "407/162", "2636/729"]
    assert data["spread"][:-1].tolist() == [float(Fraction(s)) for s in spreads]
    assert data["growth"] == pytest.approx(abs(np.roots([3, 4, 5])[0]), rel=1e-14)


def test_figure_7_is_example_6() -> None:
    data = numbers(7)
    orbit = [(17, 3, 0, 0), (0, 12, 3, 0), (0, 0, 9, 3), (3, 0, 0, 9), (17, 3, 0, 0)]
    assert [tuple(data[f"masses_n{n}"]) for n in range(5)] == orbit
    assert data["evicted"].tolist() == [5, 3, 0, 0]
    assert data["completed"].tolist() == [0, 0, 3, 9]
    assert data["block_ends"].tolist() == [2, 3]
    assert (data["gap_n2"].tolist(), data["gap_n3"].tolist()) == ([3, 1], [1, 3])
    assert data["normalized_n2"].tolist() == data["normalized_n3"].tolist() == [3, 3]
    for n in range(4):  # a live position keeps its label: what is at stage j moves to j + 1
        assert np.roll(data[f"label_n{n}"], 1).tolist() == data[f"label_n{n + 1}"].tolist()


@pytest.mark.parametrize(
    ("number", "capacity", "evicting"),
    [(8, 24, [7, 10, 13, 16]), (9, 48, [9, 13, 17, 20, 21])],
)
def test_figures_8_and_9_are_the_literal_model(
    number: int, capacity: int, evicting: list[int]
) -> None:
    data = numbers(number)
    start = [Fraction(p) for p in ENTRIES[f"congestion_figure_{number}"]["parameters"]["start"]]
    system = System(Workload((RequestClass(2, len(start)),)), Fraction(capacity))
    masses = np.stack([data[f"stage_{j}"] for j in range(len(start))], axis=1)
    states = islice(iterates(system, [start]), len(masses))
    assert masses.tolist() == [[float(x) for x in state[0]] for state in states]
    assert np.flatnonzero(data["evicted_tokens"]).tolist()[: len(evicting)] == evicting


def test_figures_8_and_9_end_in_their_cycles() -> None:
    data = numbers(8)  # (8, 0, 0), (0, 6, 0), (0, 0, 4.8)
    assert [data[f"stage_{j}"][17 + j] for j in range(3)] == [8, 6, 4.8]
    assert data["completed"][17:23].mean() == pytest.approx(24 / (3 * 5), rel=1e-15)
    data = numbers(9)  # M = 48 in one stage: 16 at stage 0, then 12, 9.6, 8
    assert data["evicted_tokens"][23:26].tolist() == [16, 12, pytest.approx(9.6, rel=1e-15)]
    assert data["losses"].tolist() == [9, 17, 21]
    assert data["throughput"] == 2
    assert data["equilibrium"] == pytest.approx(8 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "weights", "limit", "branches"),  # 2 V_s at l0 = 10, and the roots without it
    [
        ("coprime", [22, 24, 13], [-0.5 - 0.5j, -0.5 + 0.5j], 1),
        ("common", [22, 24, 13, 14], [-1j * HALF**0.5, -1, 1j * HALF**0.5], 2),
    ],
)
def test_figure_10_s_paths_lead_from_the_limit_to_the_roots(
    name: str, weights: list[int], limit: list[complex], branches: int
) -> None:
    data = numbers(10)

    def points(which: str) -> np.ndarray:
        return data[f"{name}_{which}_real"] + 1j * data[f"{name}_{which}_imag"]

    start, end = (sorted(points(which), key=np.imag) for which in ("limit", "finite"))
    np.testing.assert_allclose(start, limit, rtol=0, atol=ROUNDING)
    roots = np.roots(weights)
    np.testing.assert_allclose(end, sorted(roots, key=np.imag), rtol=0, atol=ROUNDING)
    assert data[f"{name}_finite_modulus"] == pytest.approx(np.abs(roots).max(), rel=ROUNDING)
    for branch in range(branches):
        path = points(f"path_{branch}")
        assert path[0] in start
        assert path[-1] in end
        assert np.all(np.diff(np.abs(path)) > 0)  # outward all the way


def test_figure_11_s_spectral_radii_are_the_closed_forms() -> None:
    data = numbers(11)
    l0, x = data["input_length"], data["common_radius"]
    coprime = np.sqrt((l0 + 3) / (2 * (l0 + 1)))
    np.testing.assert_allclose(data["coprime_radius"], coprime, rtol=0, atol=ROUNDING)
    cubic = ((2 * (l0 + 1) * x - 2 * (l0 + 2)) * x + (l0 + 3)) * x - (l0 + 4)
    assert np.all(np.abs(cubic) < 1000 * ROUNDING)  # coefficients up to 408
    assert np.all(x > 1)


def test_figure_12_s_burst_evicts_the_sharp_bound() -> None:
    data = numbers(12)
    l0 = data["input_length"]
    growth = 11.8 * l0 / (l0 + 1)
    for name, value in (
        ("growth_bound", growth),
        ("growth_measured", growth),
        ("evicted_bound", growth / (l0 + 1)),
        ("evicted_measured", growth / (l0 + 2)),
    ):
        np.testing.assert_allclose(data[name], value, rtol=1e-15)


# Decode lengths 2 and 3, l0 = 10, equal shares, of Figures 13 to 15.
PHI = np.array([[-12 / 11, -13 / 22, 0], [1, 0, 0], [0, 1, 0]])
P = scipy.linalg.solve_discrete_lyapunov(PHI.T, np.eye(3))


def test_figure_13_s_deviations_are_the_largest_over_their_sets() -> None:
    data, shifted = numbers(13), np.array([12, 6.5, 0])
    within = scipy.linalg.null_space(np.array([[11, 12, 6.5]]))
    inverse = within @ np.linalg.inv(within.T @ P @ within) @ within.T
    for name, square in (
        ("ball", shifted @ shifted),
        ("inside", shifted @ np.linalg.inv(P) @ shifted),
        ("on_boundary", shifted @ inverse @ shifted),
    ):  # floats of condition at most 11
        assert data[name] == pytest.approx(data["delta"] * np.sqrt(square), rel=1e-12)
    assert data["bound"] == 118 / (4 * 2.5)


def test_figures_14_and_15_have_the_energy_of_a_float_iteration() -> None:
    data, ellipse = numbers(14), numbers(15)
    states = np.array([np.linalg.matrix_power(PHI, n)[:, 0] for n in range(21)])
    energies = np.einsum("ni,ij,nj->n", states, P, states)
    np.testing.assert_allclose(data["energy"], energies, rtol=1e-10)  # 20 steps of eps
    assert data["guaranteed_rate"] == pytest.approx(1 - 1 / np.linalg.norm(P, 2), rel=1e-12)
    np.testing.assert_allclose(ellipse["energy"], energies, rtol=1e-10)
    np.testing.assert_allclose(ellipse["youngest"], states[:, 0], rtol=0, atol=ROUNDING)
    around = np.stack([ellipse["ellipse_youngest"], ellipse["ellipse_second"]])
    levels = np.einsum("in,ij,jn->n", around, P[:2, :2], around)
    np.testing.assert_allclose(levels, ellipse["level"], rtol=1e-12)
    assert data["entry"] == np.argmax(energies < data["level"])
    assert (ellipse["entry"], ellipse["entry_in_plane"]) == (8, 7)


def test_figure_20_s_shares_of_x_star_are_those_of_the_cycles() -> None:
    data = numbers(20)
    np.testing.assert_allclose(data["partial.best"], [1000 / 1415, 1000 / 1925, 1000 / 1670])
    # Cycles of whole numbers over 17, 19 and 7: rounding of a mean over 3600 iterations.
    shares = data["partial.seen"]
    np.testing.assert_allclose(shares, [10 / 17, 8 / 19, 4 / 7], rtol=0, atol=1e-9)
    assert data["coprime.best"][2] == 600 / 360.25


X_STAR = 1000 / 610  # M / (21 + ... + 40), of Figures 28 and 29


def test_figure_28_s_cap_leaves_memory_below_capacity() -> None:
    data = numbers(28)
    assert data["limited.evicted"].max() == 0
    # Under the cap at most x* (22 + ... + 40) is held before admission.
    assert data["limited.memory"].max() <= X_STAR * sum(range(22, 41)) * (1 + 1e-12)
    assert data["greedy.memory"].max() > data["capacity"] == 1000


def test_figure_29_s_cap_below_x_star_is_what_completes() -> None:
    data = numbers(29)
    cap, done = data["cap"], data["completed"]
    # Arrivals are lost, so an iteration completes min(A, cap), A Poisson of mean 5.
    p0, p1 = np.exp(-5.0), 5 * np.exp(-5.0)
    low = cap[cap <= 1]
    # 8 runs of 3,980 iterations: a standard error below cap sqrt(p0 / 31,840) = 0.0005; five.
    np.testing.assert_allclose(done[: len(low)], low * (1 - p0), rtol=0, atol=0.0025)
    at = int(np.flatnonzero(cap == data["best"])[0])
    # One standard error is sqrt(0.032 / 31,840) = 0.001.
    assert abs(done[at] - (X_STAR * (1 - p0 - p1) + p1)) < 0.005
    assert done.argmax() == at
    assert not data["evicted"][: at + 1].any()


def test_figures_30_and_33_have_more_evictions_apart_and_none_under_the_cap() -> None:
    ratio = numbers(30)["mixed"] / numbers(30)["apart"]
    assert np.all(np.diff(ratio[2:]) < 0)  # longer bursts leave less to mixing
    assert ratio[-1] < 0.02
    data = numbers(33)
    for routing in ("apart", "mixed"):
        assert not data[f"capped.{routing}"].any()
        assert data[f"queued.{routing}"].max() > 0
    assert np.all(data["greedy.mixed"] < data["greedy.apart"])
