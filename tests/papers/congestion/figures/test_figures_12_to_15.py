"""The numbers behind Figures 12 to 15, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

from fluidkv.figures.figure import Figure
from fluidkv.figures.registry import select
from fluidkv_papers.congestion.figures import figure_12

# Decode lengths 2 and 3, l0 = 10, equal shares.
PHI = np.array([[-12 / 11, -13 / 22, 0], [1, 0, 0], [0, 1, 0]])
P = scipy.linalg.solve_discrete_lyapunov(PHI.T, np.eye(3))
V = np.array([11, 12, 6.5])


def paper_figure(number: int) -> Figure:
    return select([f"congestion_figure_{number}"])[0]


def test_the_burst_evicts_the_sharp_bound():
    data = figure_12.data()
    l0 = data["input_length"]
    # Rationals, rounded once.
    np.testing.assert_allclose(data["growth_measured"], data["growth_bound"], 1e-15)
    sharp = data["evicted_bound"] * (l0 + 1) / (l0 + 2)
    np.testing.assert_allclose(data["evicted_measured"], sharp, rtol=1e-15)


def test_deviations_are_the_largest_over_their_sets():
    data = paper_figure(13).data()
    delta, shifted = data["delta"], np.array([12, 6.5, 0])
    within = scipy.linalg.null_space(V[None, :])
    inverse = within @ np.linalg.inv(within.T @ P @ within) @ within.T
    # Floats of condition at most 11.
    assert data["ball"] == pytest.approx(delta * np.linalg.norm(shifted), rel=1e-12)
    inside = delta * np.sqrt(shifted @ np.linalg.inv(P) @ shifted)
    assert data["inside"] == pytest.approx(inside, rel=1e-12)
    on_boundary = delta * np.sqrt(shifted @ inverse @ shifted)
    assert data["on_boundary"] == pytest.approx(on_boundary, rel=1e-12)
    assert data["bound"] == 118 / (4 * 2.5)


def test_energies_are_those_of_a_float_iteration():
    data = paper_figure(14).data()
    y, energies = np.array([1.0, 0, 0]), []
    for _ in data["iteration"]:
        energies.append(y @ P @ y)
        y = PHI @ y
    np.testing.assert_allclose(data["energy"], energies, rtol=1e-10)  # 20 steps of eps
    assert data["guaranteed_rate"] == pytest.approx(1 - 1 / np.linalg.norm(P, 2), rel=1e-12)


def test_the_ellipse_is_the_level_set():
    data = paper_figure(15).data()
    points = np.stack([data["ellipse_youngest"], data["ellipse_second"]])
    levels = np.einsum("in,ij,jn->n", points, P[:2, :2], points)
    np.testing.assert_allclose(levels, data["level"], rtol=1e-12)
    assert (data["entry"], data["entry_in_plane"]) == (8, 7)
