"""A figure in a page: the picture that was drawn, names that are only text, numbers as tables."""

import re

import numpy as np
import pytest

from fluidkv.figures.figure import Figure
from fluidkv.figures.style import BLUE, name_axes
from fluidkv.report.charts import ROWS, chart
from tests.report.markup import read
from tests.report.test_body import EVIL

NAME = EVIL.replace("$", "")  # of a series: Matplotlib reads formulas between dollars


def figure(draw, data=None, title="Drawn") -> Figure:
    data = data or {}
    return Figure(
        "drawn", title, "", {}, (6, 4), lambda: data, lambda _, canvas: draw(canvas), lambda _: ""
    )


def _lines(canvas) -> None:
    ax = canvas.subplots()
    ax.plot([1, 2], [30, 40], label=NAME, color=BLUE)
    ax.bar([1, 2], [3, 4], label="bars")
    ax.axhline(3)
    name_axes(ax, NAME, NAME, NAME)
    ax.legend()
    canvas.suptitle(f"{NAME}\nbelow")


def test_names_are_text_and_never_markup():
    html = chart(figure(_lines, {NAME: np.array([1.0, 2.0])}), name="c")
    found = read(html)
    assert not {"script", "img", "style"} & set(found.tags)
    assert found.handlers == []
    assert (found.wrong, found.open_) == ([], [])
    assert NAME in found.text
    assert f"{' '.join(NAME.split())} below" in found.text  # the title that the drawing set
    assert len(found.ids) == len(set(found.ids))
    assert all(each.startswith("c") for each in found.ids)


def test_each_series_says_its_name_once_and_axes_say_none():
    html = chart(figure(_lines))
    titles = re.findall("<title>(.*?)</title>", html)
    assert len(titles) == 1 + 2  # a line, and both bars of a series
    assert titles.count("bars") == 2


def test_colours_are_the_pages_own():
    html = chart(figure(_lines))
    assert "var(--blue)" in html
    assert not re.search(f"{BLUE}|#000000|#ffffff", html, re.IGNORECASE)


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_all_that_a_figure_draws_is_in_its_picture(scale):
    def draw(canvas):
        left, right = canvas.subplots(1, 2)
        left.errorbar([1, 10, 1000], [1, 2, 3], yerr=1, label="errors")
        left.set_xscale(scale)
        left.fill_between([1, 10], [1, 2], [3, 5], label="band")
        left.annotate("peak $l_0$", (3, 2))
        right.pcolormesh([0, 1, 2], [0, 1, 2], np.array([[0.0, 1.0], [2.0, 3.0]]))
        right.scatter([1, 2], [1, 2], label="points")
        right.stairs([1, 2, 3], [0, 1, 2, 3], label="stairs")

    found = read(chart(figure(draw)))
    assert {"errors", "band", "points", "stairs"} <= set(found.text.split())
    assert found.handlers == []


def test_numbers_are_tables_of_what_has_one_length_and_long_ones_are_thinned():
    data = {
        "level": 0.25,
        "x": np.arange(1000),
        "y": np.where(np.arange(1000) == 0, np.nan, 1 / 3),
        "name": ["a", "b"],
    }
    html = chart(figure(lambda canvas: canvas.subplots().plot([1]), data))
    rows = re.findall("<tr>(.*?)</tr>", html)
    cells = [tuple(re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row)) for row in rows]
    assert ("level", "0.25") in cells
    assert cells[cells.index(("x", "y")) + 1] == ("0", "-")
    assert ("990", "0.333333") in cells
    assert "1 row of every 10" in html
    assert len(cells) == 2 + (1 + ROWS) + (1 + 2)
