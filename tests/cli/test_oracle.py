"""`fluidkv oracle`: a line a file, the first difference with both values, 80 columns."""

from fluidkv.cli import main
from tests.cli.answered import answer_in
from tests.serving.records.record_copies import (
    OURS,
    changed_counts,
    changed_record,
    content,
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


def test_two_files_of_one_name_are_told_apart(capsys, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        changed_counts(tmp_path / name)
    lines = answered(capsys, str(tmp_path / "a"), str(tmp_path / "b")).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        str(tmp_path / name / "counts.json") for name in ("a", "b")
    ]


def test_json_of_equal_records_has_the_same_keys(capsys, tmp_path):
    equal = answer_in(answered(capsys, str(OURS), "--json"))["records"]
    [other] = answer_in(answered(capsys, str(wrong_record(tmp_path)), "--json", code=1))["records"]
    assert all(list(answer) == list(other) for answer in equal)
    assert all(answer["equal"] and answer["difference"] is None for answer in equal)
