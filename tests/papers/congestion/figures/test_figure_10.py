"""The numbers behind Figures 10 and 11 against closed forms."""

import numpy as np

from fluidkv_papers.congestion.figures import figure_10, figure_11

ROUNDING = 1e-12  # a few roundings of doubles near 1, in a cubic with coefficients up to 24


def points(data, name):
    return data[f"{name}_real"] + 1j * data[f"{name}_imag"]


def test_roots_of_the_limits():
    data = figure_10.data()
    assert sorted(points(data, "coprime_limit"), key=np.imag) == [-0.5 - 0.5j, -0.5 + 0.5j]
    common = sorted(points(data, "common_limit"), key=np.imag)
    assert np.allclose(common, [-1j * 0.5**0.5, -1, 1j * 0.5**0.5], rtol=0, atol=ROUNDING)


def test_roots_at_finite_input_solve_f():
    data = figure_10.data()
    for name, weights in (
        ("coprime", [22, 24, 13]),
        ("common", [22, 24, 13, 14]),
    ):  # 2 V_s, l0 = 10
        ends = points(data, f"{name}_finite")
        assert len(ends) == len(weights) - 1
        assert np.all(np.abs(np.polyval(weights, ends)) < 22 * ROUNDING)
        assert np.min(np.abs(np.subtract.outer(ends, ends) + np.eye(len(ends)))) > 0.1
    assert f"{data['common_finite_modulus']:.4f}" == "1.0862"


def test_paths_start_at_the_limit_and_end_at_the_input_length():
    data = figure_10.data()
    for name, branches in (("coprime", 1), ("common", 2)):
        for j in range(branches):
            path = points(data, f"{name}_path_{j}")
            assert path[0] in points(data, f"{name}_limit")
            assert path[-1] in points(data, f"{name}_finite")
            assert np.all(np.diff(np.abs(path)) > 0)  # outward all the way


def test_spectral_radii_are_the_closed_forms():
    data = figure_11.data()
    l0 = data["input_length"]
    coprime = np.sqrt((l0 + 3) / (2 * (l0 + 1)))
    assert np.allclose(data["coprime_radius"], coprime, rtol=0, atol=ROUNDING)
    assert data["coprime_radius"][0] == 1  # exactly on the circle at l0 = 1
    x = data["common_radius"]
    cubic = ((2 * (l0 + 1) * x - 2 * (l0 + 2)) * x + (l0 + 3)) * x - (l0 + 4)
    assert np.all(np.abs(cubic) < 1000 * ROUNDING)  # coefficients up to 408
    assert np.all(x > 1)


def test_captions_say_what_differs_from_the_paper():
    assert "1.0862; the caption in the paper has 1.087" in figure_10.caption(figure_10.data())
    assert "1 at l0 = 1" in figure_11.caption(figure_11.data())
