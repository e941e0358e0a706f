"""`fluidkv table`: the list, 80 columns, the same numbers in JSON, one line for bad input."""

import json

import pytest

from fluidkv.cli import main
from fluidkv.cli.commands.table import say_table
from fluidkv.ledger.registry import select, tables
from fluidkv.ledger.table import Column, Row, Table
from fluidkv.report.page import Page
from tests.cli.answered import answer_in


def test_without_a_number_the_tables_are_listed(capsys):
    assert main(["table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(tables())
    assert max(map(len, lines)) <= 80
    assert main(["table", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    titles = {each["table"]: each["title"] for each in listed["tables"]}
    assert titles == {name: each.title for name, each in tables().items()}


def test_text_and_json_have_the_same_numbers_in_80_columns(capsys):
    assert main(["table", "6"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert main(["table", "6", "--json"]) == 0
    answer = answer_in(capsys.readouterr().out)
    assert set(answer) == {"table", "title", "source", "columns", "rows", "notes"}
    (pool,) = (row for row in answer["rows"] if row["label"] == "mixed")
    line = next(line for line in text.splitlines() if line.startswith("mixed "))
    shown = [float(word.replace(",", "")) for word in line.split()[1:]]
    assert shown == [round(pool[key], 1) for key in answer["columns"]]


def test_tables_that_are_elsewhere_are_said_to_be(capsys):
    assert main(["table", "x"]) == 2
    said = capsys.readouterr().err
    assert "table: got 'x'; allowed: 1, 2, 3, 6, 7, routing.2, routing.3; others" in said
    assert "others are claims: fluidkv verify congestion.table-4" in said
    for number in (4, 5, 8):
        assert select([f"congestion.table-{number}"])


@pytest.mark.parametrize("argv", [["9"], ["x"], ["0"], ["7", "--unknown"]])
def test_bad_input_gets_one_line(argv, capsys):
    assert main(["table", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_a_group_has_room_for_its_name_and_no_column_touches_the_next(capsys):
    columns = (
        Column("a", "a group with a long name", "x"),
        Column("b", "g", "longer than its cells", 2),
        Column("c", "g", "y", 1),
    )
    rows = [Row("r", {"a": 1, "b": 0.5, "c": None}), Row("s", {"a": -3, "b": 200}, percent=True)]
    say_table(Page(), Table("5", "t", "p", columns, ("n",), lambda: rows))
    head, names, first, second = capsys.readouterr().out.splitlines()[2:6]
    assert head.split() == ["a", "group", "with", "a", "long", "name", "g"]
    assert names.split() == ["x", "longer", "than", "its", "cells", "y"]
    assert first.split() == ["r", "1", "0.50", "-"]
    assert second.split() == ["s", "-3.0", "+200", "-"]
    assert len(head) == len(names) == len(first)
