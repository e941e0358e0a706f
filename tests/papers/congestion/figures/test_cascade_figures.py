"""The numbers behind Figures 6, 7 and 9 of Congestion, against the literal model and by hand."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from fluidkv.exact.mass import iterates
from fluidkv.figures.figure import Figure
from fluidkv.figures.registry import select
from fluidkv_papers.congestion.figures import figure_7
from tests.small_systems import one_class


def paper_figure(number: int) -> Figure:
    return select([f"congestion_figure_{number}"])[0]


def test_figure_6_is_the_table_of_example_3():
    data = paper_figure(6).data()
    printed = ["5/2", "4/3", "37/18", "82/27", "85/162", "544/243", "6037/1458"]
    assert data["admission"][:-1].tolist() == [float(Fraction(p)) for p in printed]
    # (2) from X^6 = (6037/1458, 544/243, 85/162): (5 * 85/162 - 6037/1458 - 544/243) / 3
    asked = (5 * Fraction(85, 162) - Fraction(6037, 1458) - Fraction(544, 243)) / 3
    assert data["admission"][-1] == float(asked)
    spreads = ["4/5", "7/6", "7/6", "46/27", "407/162", "407/162", "2636/729"]
    assert data["spread"][:-1].tolist() == [float(Fraction(s)) for s in spreads]
    assert np.isnan(data["spread"][-1])
    assert data["growth"] == pytest.approx(abs(np.roots([3, 4, 5])[0]), rel=1e-14)
    assert "n = 7" in paper_figure(6).caption(data)


def test_figure_7_is_example_6():
    data = figure_7.data()
    orbit = [(17, 3, 0, 0), (0, 12, 3, 0), (0, 0, 9, 3), (3, 0, 0, 9), (17, 3, 0, 0)]
    assert [tuple(data[f"masses_n{n}"]) for n in range(5)] == orbit
    assert data["evicted"].tolist() == [5, 3, 0, 0]
    assert data["completed"].tolist() == [0, 0, 3, 9]
    assert data["block_ends"].tolist() == [2, 3]
    assert data["gap_n2"].tolist() == [3, 1]
    assert data["gap_n3"].tolist() == [1, 3]
    assert data["normalized_n2"].tolist() == data["normalized_n3"].tolist() == [3, 3]
    for n in range(4):  # a live position keeps its label: what is at stage j moves to j + 1
        before, after = data[f"label_n{n}"], data[f"label_n{n + 1}"]
        assert np.roll(before, 1).tolist() == after.tolist()


def test_figure_9_is_the_literal_model():
    data = paper_figure(9).data()
    system = one_class(2, 4, 48)
    start = [Fraction(p) for p in paper_figure(9).parameters["start"]]  # pyright: ignore[reportGeneralTypeIssues]
    states = [state[0] for state in islice(iterates(system, [start]), 31)]
    masses = np.stack([data[f"stage_{j}"] for j in range(4)], axis=1)
    assert masses.tolist() == [[float(x) for x in state] for state in states]
    assert np.flatnonzero(data["evicted_tokens"]).tolist()[:5] == [9, 13, 17, 20, 21]
    assert data["losses"].tolist() == [9, 17, 21]
    # the last cycle, M = 48 in one stage: 16 at stage 0, then 12, 9.6, 8
    assert data["evicted_tokens"][23:26].tolist() == [16, 12, pytest.approx(9.6, rel=1e-15)]
    assert data["throughput"] == 2
    assert data["equilibrium"] == pytest.approx(8 / 3, rel=1e-15)
    assert "75%" in paper_figure(9).caption(data)
