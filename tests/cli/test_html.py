"""`--html`: the answer as one file, whichever command gives it."""

import json
from pathlib import Path

import pytest

from fluidkv.cli import main
from fluidkv.cli.output_files import places
from fluidkv.errors import InputError
from tests.report.markup import read

STUDY = ["study", "--class", "50:2:1/2", "--class", "50:4:1/2", "--capacity", "626"]
STUDY += ["--iterations", "50"]


def test_every_option_is_listed_with_its_value(capsys, tmp_path):
    path = tmp_path / "report.html"
    assert main([*STUDY, "--seed", "7", "--html", str(path)]) == 0
    html = path.read_text(encoding="utf-8")
    given, _, rest = html[html.index("<h3>Options") :].partition("<h3>Not given")
    assert "<code>--seed</code></dt><dd>7</dd>" in given
    assert "<code>--class</code></dt><dd>50:2:1/2, 50:4:1/2</dd>" in given
    assert "<code>--scale-input</code></dt><dd>1</dd>" in rest
    assert "<code>--window</code></dt><dd>with a backlog</dd>" in rest
    assert "<code>--html</code>" not in html


def test_with_json_standard_output_stays_json(capsys, tmp_path):
    path = tmp_path / "report.html"
    assert main([*STUDY, "--json", "--html", str(path)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main([*STUDY, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == answer
    assert path.is_file()


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a&lt;b", "$x^$ a$\\b$ %_", "\u202ex\x1b]0;t\x07"]
)
def test_names_from_a_trace_are_no_markup(name, capsys, tmp_path):
    trace = tmp_path / f"{name.replace('/', '-')}.csv"
    trace.write_text("timestamp,input_tokens,output_tokens\n0,5,3\n1,7,4\n3,5,3\n")
    path = tmp_path / "report.html"
    argv = ["study", str(trace), "--capacity", "200", "--iterations", "20"]
    assert main([*argv, "--html", str(path)]) == 0
    html = path.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert html.count("<script>") == 1
    assert all(each.isprintable() or each == "\n" for each in html)
    spelled = repr(trace.stem)[1:-1]
    assert spelled in read(html).text


REFUSED = {
    "report.txt": "a name that ends in .html",
    "": "a name that ends in .html",
    "out.html": "another place than that of --out",
    "missing/report.html": "a file in a folder that is there",
    "folder.html": "a file, not a folder",
    "theirs.html": "a new file, or a page that fluidkv wrote before",
}


def _not_to_be_called(*_args, **_more):
    raise AssertionError("the answer was computed before the place was refused")


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_place_is_one_line_before_anything_runs(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fluidkv.answers.study.study.study_system", _not_to_be_called)
    Path("folder.html").mkdir()
    Path("theirs.html").write_text("<html></html>")
    before = sorted(tmp_path.rglob("*"))
    assert main([*STUDY, "--out", "out.html", "--html", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"fluidkv: --html: got {name!r}; allowed: {REFUSED[name]}\n"
    assert sorted(tmp_path.rglob("*")) == before
    assert Path("theirs.html").read_text() == "<html></html>"


THEIRS = {
    "theirs": lambda path: path.write_text("{}"),
    "no text": lambda path: path.write_bytes(b"\xff" * 99),
    "a folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("made", THEIRS.values(), ids=THEIRS)
def test_an_answer_replaces_nothing_but_an_older_one(made, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("fluidkv.answers.study.study.study_system", _not_to_be_called)
    made(tmp_path / "study.json")
    before = sorted(tmp_path.rglob("*"))
    assert main([*STUDY, "--out", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fluidkv: --out: got ")
    assert captured.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_an_older_answer_may_be_replaced(capsys, tmp_path):
    assert main([*STUDY, "--json"]) == 0
    (tmp_path / "study.json").write_text(capsys.readouterr().out)
    places(tmp_path, None, "study.json")


def test_a_report_is_replaced_by_a_newer_one(capsys, tmp_path):
    path = tmp_path / "report.html"
    assert main([*STUDY, "--html", str(path)]) == 0
    assert main([*STUDY, "--seed", "3", "--html", str(path)]) == 0
    assert "--seed 3" in path.read_text(encoding="utf-8")


def test_only_answers_with_a_report_have_the_option(capsys, tmp_path):
    assert main(["clocks", "--html", str(tmp_path / "report.html")]) == 2
    assert "--html" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_disk_that_is_full_costs_the_report_and_not_the_answer(
    more, capsys, tmp_path, monkeypatch
):
    def full(*_):
        raise InputError("path", "report.html", "a path that can be written (No space left)")

    assert main([*STUDY, *more]) == 0
    answer = capsys.readouterr().out
    monkeypatch.setattr("fluidkv.cli.output.write_page", full)
    assert main([*STUDY, *more, "--html", str(tmp_path / "report.html")]) == 2
    captured = capsys.readouterr()
    assert captured.out == answer
    assert captured.err.startswith("fluidkv: --html: got 'report.html'; allowed: a path that can")
