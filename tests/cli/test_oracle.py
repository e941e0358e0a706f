"""`fluidkv oracle`: a line a file, the first difference with both values, 80 columns."""

from fluidkv.cli import main
from tests.cli.answered import answer_in
from tests.serving.records.record_copies import (
    OURS,
    changed_counts,
    changed_record,
    content,
    run_with,
)


def answered(capsys, *argv: str, code: int = 0) -> str:
    assert main(["oracle", *argv]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def wrong_record(folder):
    rows = content()["records"]
    rows[30][4] += 2  # used_blocks
    rows[30][3] -= 1  # waiting
    return changed_record(folder, records=rows, version="0.34.0")


def test_a_folder_of_equal_records(capsys):
    lines = answered(capsys, str(OURS)).splitlines()
    assert len(lines) == 16
    assert lines[0] == "chunks_and_preemption.json       vllm 0.33.0: equal, 56 rows"
    assert lines[13] == "version_0_11.json                vllm 0.11.0: equal, 47 rows"


def test_counts_say_runs_evictions_and_iterations(capsys, tmp_path):
    out = answered(capsys, str(changed_counts(tmp_path)))
    assert out.split(maxsplit=1)[1] == ("vidur 7d47513: equal, 1 run, 2 evictions, 11 iterations\n")


def test_the_first_row_that_differs_exits_with_1(capsys, tmp_path):
    out = answered(capsys, str(wrong_record(tmp_path)), code=1)
    was = content()["records"][30]
    assert out.splitlines() == [
        "record.json                      vllm 0.34.0: DIFFERS at step 30",
        f"  waiting                        recorded {was[3] - 1}, replayed {was[3]}",
        f"  used_blocks                    recorded {was[4] + 2}, replayed {was[4]}",
        "  note: version 0.34.0: replayed under the rules of 0.33.0",
    ]


def test_a_count_that_differs_exits_with_1(capsys, tmp_path):
    out = answered(capsys, str(changed_counts(tmp_path, runs=run_with(evictions=9))), code=1)
    assert "DIFFERS at run 1, outputs {3, 5}\n" in out
    assert "evictions                      recorded 9, replayed 2\n" in out


def test_files_after_one_that_differs_are_replayed_too(capsys, tmp_path):
    out = answered(capsys, str(wrong_record(tmp_path)), str(OURS), code=1)
    assert out.count("equal, ") == 16


def test_a_bad_file_is_told_before_anything_is_replayed(capsys, tmp_path):
    path = changed_record(tmp_path, async_scheduling=True)
    assert main(["oracle", str(OURS), str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fluidkv: ")
    assert captured.err.endswith("async_scheduling: got True; allowed: false; not modelled\n")
    assert captured.err.count("\n") == 1


def test_two_files_of_one_name_are_told_apart(capsys, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        changed_counts(tmp_path / name)
    lines = answered(capsys, str(tmp_path / "a"), str(tmp_path / "b")).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        str(tmp_path / name / "counts.json") for name in ("a", "b")
    ]


def test_json_of_a_difference(capsys, tmp_path):
    path = wrong_record(tmp_path)
    was = content()["records"][30]
    [answer] = answer_in(answered(capsys, str(path), "--json", code=1))["records"]
    assert answer == {
        "file": str(path),
        "engine": "vllm",
        "version": "0.34.0",
        "equal": False,
        "rows": 30,
        "evictions": sum(row[5] for row in content()["records"][:31]),
        "iterations": 31,
        "difference": {
            "row": 30,
            "columns": [
                {"name": "waiting", "recorded": was[3] - 1, "replayed": was[3]},
                {"name": "used_blocks", "recorded": was[4] + 2, "replayed": was[4]},
            ],
        },
        "notes": ["version 0.34.0: replayed under the rules of 0.33.0"],
    }


def test_json_of_equal_records_has_the_same_keys(capsys, tmp_path):
    equal = answer_in(answered(capsys, str(OURS), "--json"))["records"]
    [other] = answer_in(answered(capsys, str(wrong_record(tmp_path)), "--json", code=1))["records"]
    assert all(list(answer) == list(other) for answer in equal)
    assert all(answer["equal"] and answer["difference"] is None for answer in equal)


def test_text_fits_80_columns(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # nothing is wrapped or cut to make it fit
    out = answered(capsys, str(OURS), str(wrong_record(tmp_path)), code=1)
    assert max(len(line) for line in out.splitlines()) <= 80
