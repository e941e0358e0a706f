"""What a browser is told of a canvas: the numbers that were drawn, no more and no less."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.figures.figure import Figure
from fluidkv.report.charts import chart
from fluidkv.report.charts.canvas import drawn
from fluidkv.report.charts.fragment import embedded
from fluidkv.report.charts.read import read_canvas
from fluidkv.report.charts.thin import COLUMNS, envelope
from fluidkv.report.charts.words import plain, unit
from tests.report.markup import read
from tests.report.test_body import EVIL


def figure(draw, title="Drawn") -> Figure:
    return Figure(
        "drawn", title, "", {}, (6, 4), dict, lambda _, canvas: draw(canvas), lambda _: ""
    )


def marks(draw, **more) -> list[dict]:
    """Of the one panel on which `draw` draws."""
    made = figure(lambda canvas: draw(canvas.subplots(**more)))
    with drawn(made, {}) as canvas:
        (panel,) = read_canvas(canvas)["panels"]
    return panel["marks"]


def one(draw, kind: str) -> dict:
    (found,) = [each for each in marks(draw) if each["kind"] == kind]
    return found


def test_lines_points_and_steps_keep_their_numbers():
    line = one(lambda ax: ax.step([0, 1, 2], [5, 3, 4], where="post", label="a"), "line")
    assert (line["x"], line["y"], line["step"], line["name"]) == (
        [0, 1, 2],
        [5, 3, 4],
        "after",
        "a",
    )
    points = one(lambda ax: ax.scatter([1, 2], [3, 4]), "points")
    assert (points["x"], points["y"]) == ([1, 2], [3, 4])


def test_bars_bands_and_errors_have_both_ends():
    bars = one(lambda ax: ax.bar([1, 2], [3, 4], width=1), "bars")
    assert (bars["x"], bars["x2"], bars["y"], bars["y2"]) == (
        [0.5, 1.5],
        [1.5, 2.5],
        [0, 0],
        [3, 4],
    )
    band = one(lambda ax: ax.fill_between([0, 1], [1, 2], [3, 5]), "band")
    assert (band["at"], band["low"], band["high"]) == ([0, 1], [1, 2], [3, 5])
    errors = one(lambda ax: ax.errorbar([1, 2], [5, 6], yerr=1, fmt="none"), "segments")
    assert (errors["y"], errors["y2"]) == ([4, 5], [6, 7])


def test_lines_across_are_rules_and_words_are_words():
    rule = one(lambda ax: (ax.axhline(4), ax.set_ylim(0, 9)), "rule")
    assert (rule["along"], rule["at"]) == ("h", 4)
    words = one(lambda ax: ax.annotate("peak $l_0$", (3, 9)), "words")
    assert (words["text"], words["x"], words["y"]) == ("peak l₀", 3, 9)


def test_a_grid_keeps_the_values_of_its_cells():
    cells = np.array([[0.0, 1.0], [2.0, 3.0]])
    grid = one(lambda ax: ax.pcolormesh([0, 1, 2], [0, 1, 2], cells), "grid")
    order = [grid["low"][colour] for colour in _unrolled(grid["runs"])]
    assert sorted(order) == [0, 1, 2, 3]
    assert (grid["x"], grid["y"]) == ([0, 1, 2], [0, 1, 2])


def _unrolled(runs: list[int]) -> list[int]:
    return [each for each, count in zip(runs[::2], runs[1::2], strict=True) for _ in range(count)]


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_an_axis_keeps_its_scale_and_its_unit(scale):
    def draw(canvas):
        ax = canvas.subplots()
        ax.plot([1, 10, 1000], [1, 2, 3])
        ax.set_xscale(scale)
        ax.set_xlabel("time to first token (s)")

    with drawn(figure(draw), {}) as canvas:
        (panel,) = read_canvas(canvas)["panels"]
    assert panel["x"]["scale"] == scale
    assert (panel["x"]["name"], panel["x"]["unit"]) == ("time to first token", "s")
    assert panel["marks"][0]["x"] == [1, 10, 1000]


def test_a_key_switches_the_marks_of_its_series():
    def draw(canvas):
        left, right = canvas.subplots(1, 2, sharex=True)
        for ax in (left, right):
            ax.plot([0, 1], [0, 1], label="up", color="tab:blue")
            ax.plot([0, 1], [1, 0], label="down", color="tab:red")
        right.legend()

    with drawn(figure(draw), {}) as canvas:
        spec = read_canvas(canvas)
    (legend,) = spec["legends"]
    reach = {each["label"]: sorted(map(tuple, each["marks"])) for each in legend["entries"]}
    assert reach == {"up": [(0, 0), (1, 0)], "down": [(0, 1), (1, 1)]}
    assert spec["linked"]["x"] == [0, 0]  # they zoom together
    assert spec["linked"]["y"] == [0, 1]


def test_what_nobody_reads_is_an_error():
    with pytest.raises(NotImplementedError, match="StepPatch"):
        marks(lambda ax: ax.stairs([1, 2, 3], [0, 1, 2, 3]))


@given(st.integers(0, 2**32 - 1), st.integers(4 * COLUMNS + 1, 9 * COLUMNS))
def test_thinning_keeps_each_columns_first_last_least_and_largest(seed, count):
    y = np.random.default_rng(seed).normal(size=count)
    x = np.arange(count, dtype=float)
    rows = envelope(x, y)
    kept = set(rows.tolist())
    assert len(rows) <= 4 * COLUMNS + 4
    column = np.minimum((x / x[-1] * COLUMNS).astype(int), COLUMNS - 1)
    for each in np.random.default_rng(seed).choice(COLUMNS, 20):
        (inside,) = np.nonzero(column == each)
        assert {int(inside[0]), int(inside[-1])} <= kept
        assert {int(inside[y[inside].argmin()]), int(inside[y[inside].argmax()])} <= kept


def test_formulas_are_plain_text_whatever_they_are():
    assert plain(r"$\lambda_0 \cdot 10^{-3}$") == "λ₀ ·10⁻³"
    assert plain(r"$\unknown_q$ at 5$") == "unknown_q at 5$"
    assert unit("no unit, of any kind") == ("no unit, of any kind", "")


@given(st.text(alphabet="<>&/'\"-!script\u2028\u2029\n", max_size=40))
def test_json_in_a_page_ends_no_element(text):
    inside = embedded({"name": text})
    assert json.loads(inside) == {"name": text}
    assert not re.search(r"[<>&\u2028\u2029]", inside)


def test_a_chart_escapes_names_and_has_its_numbers_as_a_table():
    def draw(canvas):
        ax = canvas.subplots()
        ax.plot([1, 2], [30, 40], label=EVIL.replace("$", ""))
        ax.set_xlabel(EVIL)
        ax.legend()

    html = chart(figure(draw, title=EVIL), name="c")
    found = read(html)
    assert found.tags["script"] == 1  # the JSON, which a browser does not run
    assert "img" not in found.tags
    assert found.handlers == []
    assert found.wrong == []
    assert EVIL in found.text
    rows = re.findall(r"<tr><td>([\d.]+)</td><td>([\d.]+)</td></tr>", html)
    assert rows == [("1", "30"), ("2", "40")]
