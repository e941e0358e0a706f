"""The page that every command writes on: its numbers, its rows, its tables."""

import math
from fractions import Fraction

import pytest

from fluidkv.report import numbers
from fluidkv.report.page import Page, ends


def test_bounds_are_rounded_away_from_what_they_bound():
    third = Fraction(100, 3)
    shown = (numbers.at_most(third), numbers.short(third), numbers.at_least(third))
    assert shown == ("33.34", "33.33", "33.33")
    assert numbers.at_least(Fraction(200, 3)) == "66.66"
    assert numbers.at_most(Fraction(12345671, 10)) == "1,234,568"
    assert numbers.percent_at_most(0.003201) == "0.33%"
    assert numbers.chance_at_most(0.0123401) == "0.0124"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.5, "1.5"),
        (338.0, "338"),
        (1234, "1,234"),
        (1234.5, "1,234"),
        (999.96, "1,000"),
        (0.05270316, "0.0527"),
        (-0.5, "-0.5"),
        (10**14, "100,000,000,000,000"),
        (2.5e12, "2,500,000,000,000"),
        (2.5e12 + 0.5, "2.5e+12"),
        (1e-7 / 3, "3.333e-08"),
        (math.nan, "-"),
        (math.inf, "inf"),
        (None, "-"),
        (0.0, "0"),
    ],
)
def test_numbers_have_four_digits_and_no_zeros_at_the_end(value, said):
    assert numbers.short(value) == said


def test_five_digits_are_five_digits():
    assert numbers.short(Fraction(1000, 99), 5) == "10.101"
    assert numbers.short(1234.567, 5) == "1,234.6"
    assert numbers.exact(Fraction(313, 79)) == "3.96203 (313/79)"


def test_rows_wrap_beside_their_label_in_80_columns(capsys):
    Page().rows([("label", "word " * 40), ("", "x" * 100), ("a long label here", "y")])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert "".join("".join(lines).split()).count("x") == 100
    assert lines[-1] == "a long label here y"


def test_nothing_is_markup(capsys):
    """An unbalanced tag ends a rich console that reads markup; a balanced one vanishes."""
    page = Page()
    page.title("[bold]a[/x]")
    page.heading("[/y]", " [red]")
    page.line("[/z] :smile:")
    page.paragraph("[dim]")
    page.rows([("[/label]", "[/text]")])
    page.table(("[/head]", "b"), [("[/cell]", "[1]")])
    shown = capsys.readouterr().out
    for said in ("[bold]a[/x]", "[/y] [red]", "[/z] :smile:", "[dim]", "[/label]", "[/text]"):
        assert said in shown
    assert "[/cell]" in shown


def test_controls_from_outside_are_spelled_out(capsys):
    name = "\x1b]0;title\x07 \u202e \r"
    page = Page()
    page.title(name, name)
    page.line(name)
    page.paragraph(name)
    page.rows([(name, name)])
    page.table((name, "b"), [(name, name)])
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert "\\x1b]0;title\\x07" in shown


def test_a_table_that_is_cut_shows_where(capsys):
    rows = [(str(n), "x" * n) for n in range(1, 8)]
    Page().table(("n", "text"), ends(rows, 4))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["n", "1", "2", "...", "6", "7"]
    assert len({len(line) for line in lines}) == 1
    assert ends(rows, 7) == rows
