"""What every question keeps: command, help, refusals, JSON, files, dataset, reference, sweep."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from docs._site.keys import sections
from fluidkv.answers.questions import QUESTIONS
from fluidkv.cli import asking, main
from fluidkv.cli.app import app
from fluidkv.questions.answer import Answer, inner_answer
from fluidkv.questions.kinds import Text
from tests.cli.answered import refusal
from tests.conventions import complaints
from tests.questions import asked
from tests.questions.asked import answer_to
from tests.questions.cases import CASES, NEEDED, WIDE

LINES = [(name, line) for name, lines in CASES.items() for line in lines]
# Wrong kinds, no numbers, infinities, none, less than none, much, nothing, a name that is near one.
BAD = ("", "nan", "inf", "-inf", "0", "-1", "1e999", "1/0", "x", "lur", "best,", "3.5:x", "\x1b[2J")


@pytest.fixture(scope="module", autouse=True)
def built() -> Iterator[None]:
    """The commands are built once: for every line that takes longer than to read the line."""
    commands = typer.main.get_command(app)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", lambda _: commands)
        yield


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_help_has_every_option_once_and_says_what_is_asked(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = printed(capsys, name, "--help")
    question = QUESTIONS[name]
    assert max(map(len, text.splitlines())) <= 80
    assert question.title.split()[0] in text
    for each in question.options.values():
        option = each.option
        found = re.findall(rf"^│ \*? {{0,4}}{re.escape(option.flag)}(?![\w-])", text, flags=re.M)
        assert len(found) == 1, option.flag
        assert option.help.rstrip("]").endswith((".", "]")) or "default:" in option.help
    for example in question.examples:
        assert example.split()[1] == name


@pytest.mark.parametrize(("name", "line"), LINES)
def test_the_json_is_the_answer_with_the_keys_of_its_fields(
    name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answer_to(name, line)
    said = json.loads(printed(capsys, name, *shlex.split(line), "--json"))
    head = [said.pop(key) for key in ("fluidkv", "command", "inputs", "units")]
    assert head[1] == name
    assert said == json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    if isinstance(answer, Answer):
        keys = [
            _top(path)
            for path, _, title in answer.json_keys()
            if _top(path) in said or not title.startswith("if ")
        ]
        assert [key for key in said if not key.endswith("_exact")] == list(dict.fromkeys(keys))


def _top(path: str) -> str:
    return re.split(r"[.\[]", path)[0]


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, lines in WIDE.items() for line in lines]
)
def test_the_text_of_long_numbers_fits(name: str, line: str) -> None:
    lines = asked.text_of(name, line).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize(("name", "line"), LINES)
def test_the_text_fits_and_its_files_are_written(
    name: str,
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command takes the answer in Python; that its own is the same, the JSON shows."""
    question, answer = QUESTIONS[name], answer_to(name, line)
    monkeypatch.setattr(asking, "filled", lambda *_, **__: answer)
    out, html = tmp_path / "out", tmp_path / "answer.html"
    text = printed(
        capsys, name, *shlex.split(line), "--out", str(out), "--html", str(html)
    ).partition("\nwritten to ")[0]
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"(?<![\w.])[+-]?(?:nan|inf)\b", text, flags=re.IGNORECASE)
    made = {path.name for path in out.iterdir()}
    figures = question.drawn(answer)
    assert {f"{name}.json", "manifest.json", *question.tables(answer)} <= made
    assert {f"{each.id}.{kind}" for each in figures for kind in ("png", "svg")} <= made
    page = html.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert all(sentence.split(",")[0].split("'")[0] in page for sentence in question.assumes)
    said = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert answer.to_dict().items() <= said.items() or answer.to_dict() == {
        key: said[key] for key in answer.to_dict()
    }


WITH_DATASET = [each for each in LINES if each[0] not in ("mix", "pulse", "oracle", "wait")]


@pytest.mark.parametrize(("name", "line"), WITH_DATASET)
def test_the_dataset_follows_the_convention(name: str, line: str) -> None:
    assert complaints(answer_to(name, line).to_xarray()) == []


DESCRIBED = {
    name: answer
    for name, question in QUESTIONS.items()
    if (answer := inner_answer(question.ask.__annotations__["return"])) is not None
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_page_on_json_has_the_keys_of_the_fields(name: str) -> None:
    said = {key.path for key in sections()[name]}
    assert said == {path for path, _, _ in DESCRIBED[name].json_keys()}


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_docstring_says_what_each_field_is(name: str) -> None:
    """A title that is empty, or a link of the page on JSON, says nothing there."""
    assert re.findall(r"^    \w+: (?:\.|→).*", DESCRIBED[name].__doc__ or "", flags=re.M) == []


@pytest.mark.parametrize(
    "name", [n for n, each in QUESTIONS.items() if {"source", "model"} <= each.options.keys()]
)
def test_a_model_that_nobody_knows_is_refused_before_the_source_is_read(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["no-such-source", *shlex.split(NEEDED[name]), "--model", "lama-3.1-8b"]
    assert refusal(capsys, name, *line).startswith("fluidkv: --model: got 'lama-3.1-8b'")


OPTIONS = [
    (name, each.option.flag)
    for name, question in QUESTIONS.items()
    for each in question.options.values()
    if each.option.flag.startswith("--") and each.option.kind is not None
]


@pytest.mark.parametrize(("name", "flag"), OPTIONS)
def test_bad_input_is_one_line_before_anything_runs(
    name: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no such source: what gets as far as reading it names it, and took the option. A
    question without a source is answered then.
    """
    question, needed = QUESTIONS[name], shlex.split(NEEDED[name])
    while flag in needed:
        del needed[needed.index(flag) : needed.index(flag) + 2]
    source = ["no-such-source"] if "source" in question.options else []
    refused = 0
    for bad in BAD:
        code = main([name, *source, *needed, f"{flag}={bad}"])
        captured = capsys.readouterr()
        if code == 0 and not source:
            continue
        assert code == 2
        assert captured.out == ""
        assert captured.err.startswith("fluidkv: ")
        assert captured.err.count("\n") == 1
        assert captured.err.isprintable() or captured.err[:-1].isprintable()
        refused += "no-such-source" not in captured.err
    kind = question.options[flag[2:].replace("-", "_")].option.kind
    if not isinstance(kind, Text):  # which what it names judges, and that is not there
        assert refused >= len(BAD) - 7, flag
