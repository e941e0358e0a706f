"""Records of SGLang's prefix trees: equal by the literal tree; what differs is named; bad ones."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fluidkv.cli import main
from fluidkv.errors import InputError
from fluidkv.prefix.policies import Policy
from fluidkv.serving.records.replay import RadixRecord, replay
from tests.serving.records.record_copies import (
    CALLS,
    MISSING,
    calls_with,
    changed_calls,
    oracle,
    record_of,
)

ROWS = {
    "api_ps16_fifo": 720,
    "multiturn_ps16_lru": 1468,
    "priority_ps16_priority": 2094,
    "scan_lower_bound_ps1_lru": 2660,
    "shared_prompts_ps1_lfu": 2250,
    "shared_prompts_ps1_lru": 2250,
    "tight_ps16_slru": 2245,
    "tree_ps1_lru": 2400,
}


radix = partial(record_of, kind=RadixRecord)


@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_the_oracles_is_equal(name: str) -> None:
    path = oracle(f"sglang_radix/{name}.json")
    record = radix(path)
    literal = replay(record)
    assert (literal.equal, literal.rows, literal.difference) == (True, ROWS[name], None)
    summary = json.loads(path.read_text(encoding="utf-8"))["summary"]
    assert literal.evictions == summary["evicted_nodes"] > 0
    assert record.notes == ()


def test_calls_by_hand_are_equal(tmp_path: Path) -> None:
    record = radix(changed_calls(tmp_path))
    result = replay(record)
    assert (result.equal, result.rows, result.evictions, result.iterations) == (True, 6, 2, 6)
    assert (record.engine, record.version, record.notes) == ("sglang", "0.5.23", ())


@pytest.mark.parametrize(
    ("fields", "tree"),
    [
        ({"unified_tree": "equal", "rows_unified": MISSING}, "the unified tree"),
        ({"rows": [*CALLS["rows"][:5], CALLS["rows_unified"][0][1]]}, "RadixCache"),
    ],
)
def test_both_trees_are_replayed(fields: dict[str, Any], tree: str, tmp_path: Path) -> None:
    result = replay(radix(changed_calls(tmp_path, **fields)))
    assert not result.equal
    assert result.difference is not None
    assert (result.difference.row, result.difference.where) == (5, f"call 5, {tree}")
    [(column, recorded, replayed)] = result.difference.values
    assert column == "evicted_list"
    assert recorded[0] == replayed[0]
    assert {recorded[1][2], replayed[1][2]} == {1, 2}


@pytest.mark.parametrize("column", CALLS["columns"])
def test_every_column_is_compared(column: str, tmp_path: Path) -> None:
    was = CALLS["rows"][5][CALLS["columns"].index(column)]
    other = {"op": "F", "evicted_list": [[2, 2, 1, 2]]}.get(column, was)
    path = changed_calls(tmp_path, **calls_with(5, **{column: other if other != was else was + 1}))
    result = replay(radix(path))
    assert result.difference is not None
    assert [name for name, *_ in result.difference.values] == [column]


def test_another_policy_differs(tmp_path: Path) -> None:
    record = radix(changed_calls(tmp_path))
    assert not replay(replace(record, policy=Policy.MRU)).equal


def test_columns_may_come_in_any_order_and_fewer(tmp_path: Path) -> None:
    names = ["total", "op", "evicted_list"]
    places = [CALLS["columns"].index(name) for name in names]
    rows = [[row[p] for p in places if p < len(row)] for row in CALLS["rows"]]
    fields = {"columns": names, "rows": rows, "unified_tree": "equal", "rows_unified": MISSING}
    result = replay(radix(changed_calls(tmp_path, **fields)))
    assert result.difference is not None  # only what evicted_list says of the unified tree
    assert (result.rows, result.difference.where) == (5, "call 5, the unified tree")


def test_another_version_and_unknown_fields_are_noted(tmp_path: Path) -> None:
    record = radix(changed_calls(tmp_path, version="0.4.6", hicache=True))
    assert record.notes == (
        "version 0.4.6: replayed under the rules of 0.5.23",
        "hicache: not known, not used",
    )


def test_a_call_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    path = changed_calls(tmp_path, ops=[*CALLS["ops"][:5], ["U", 0]])
    with pytest.raises(InputError) as caught:
        replay(radix(path))
    assert str(caught.value).startswith(f"{path}: ops[5], request: got 0; allowed: one that has a")


def test_progress_is_reported(tmp_path: Path) -> None:
    said: list[str] = []
    replay(radix(changed_calls(tmp_path)), on_progress=said.append)
    assert said == ["call 0 of 6"]


def test_the_command_shows_lists_in_80_columns(capsys, tmp_path: Path) -> None:
    fields = calls_with(5, result=5, evicted_list=[[2, 2, 1, 2], [1000, 2000, 1_000_000, 99999]])
    fields["rows"][4][1] = 2
    assert main(["oracle", str(changed_calls(tmp_path, **fields))]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "calls.json                       sglang 0.5.23: DIFFERS at call 5, RadixCache",
        "  result                         recorded 5, replayed 4",
        "  evicted_list[1]                recorded [1000, 2000, 1000000, 99999]",
        "                                 replayed [0, 2, 2, 0]",
    ]


def test_what_does_not_fit_beside_a_long_name_stands_below_it(capsys, tmp_path: Path) -> None:
    fields = {"unified_tree": "equal", "rows_unified": MISSING}
    path = changed_calls(tmp_path, **fields).rename(tmp_path / "calls_by_hand_on_both_trees.json")
    assert main(["oracle", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "calls_by_hand_on_both_trees.json sglang 0.5.23:",
        "  DIFFERS at call 5, the unified tree",
        "  evicted_list[1]                recorded [0, 2, 2, 0], replayed [0, 2, 1, 0]",
    ]


def test_a_list_that_is_shorter_says_nothing_there(capsys, tmp_path: Path) -> None:
    path = changed_calls(tmp_path, **calls_with(5, evicted_list=[[2, 2, 1, 2]]))
    assert main(["oracle", str(path)]) == 1
    out = capsys.readouterr().out
    assert "  evicted_list[1]                recorded nothing, replayed [0, 2, 2, 0]\n" in out


def test_json_of_a_list_that_differs(capsys, tmp_path: Path) -> None:
    path = changed_calls(tmp_path, **calls_with(5, evicted_list=[[2, 2, 1, 2]]))
    assert main(["oracle", str(path), "--json"]) == 1
    [answer] = json.loads(capsys.readouterr().out)["records"]
    assert answer["difference"]["columns"] == [
        {
            "name": "evicted_list",
            "recorded": [[2, 2, 1, 2]],
            "replayed": [[2, 2, 1, 2], [0, 2, 2, 0]],
        }
    ]


def test_equal_calls_are_counted(capsys, tmp_path: Path) -> None:
    assert main(["oracle", str(changed_calls(tmp_path))]) == 0
    out = capsys.readouterr().out
    assert out == "calls.json                       sglang 0.5.23: equal, 6 calls\n"
