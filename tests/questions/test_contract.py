"""What every question keeps: command, help, refusals, JSON, files, dataset, reference, sweep."""

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from docs._site.keys import sections
from fluidkv import __version__
from fluidkv.answers.questions import QUESTIONS
from fluidkv.cli import asking, main
from fluidkv.questions.answer import inner_answer
from fluidkv.questions.kinds import Text
from tests.cli.answered import refusal
from tests.cli.transcript import built_once, lines_in_every_form, write_files
from tests.conventions import complaints
from tests.questions.asked import answer_to
from tests.report.markup import read

LINES = [
    pytest.param(name, line, id=f"{name}-{number}")
    for name in QUESTIONS
    for number, line in enumerate(lines_in_every_form(name))
]
MOST_BYTES = 3_000_000
WITHOUT_VERDICT = ("mix", "threshold", "equilibria", "cascade", "pulse", "atlas", "oracle")
"""Their pages are headed by the subject, or by the question."""
# Wrong kinds, no numbers, infinities, none, less than none, much, nothing, a name that is near one.
BAD = ("", "nan", "inf", "-inf", "0", "-1", "1e999", "1/0", "x", "lur", "best,", "3.5:x", "\x1b[2J")
NEAR = {
    "--capacity": ("12 parsecs", "24X"),
    "--clock": ("vidr", "1:2:3:4:5", "0.01:-1"),
    "--columns": ("input=a,input=b",),
    "--engine": ("vlm",),
    "--format": ("mooncak",),
    "--model": ("lama-3.1-8b",),
    "--slo": ("tpot_p99", "ttft=2parsecs", "ttft_p99=2parsecs"),
    "--watermark": ("1", "-0.1"),
}
"""Options -> values that are nearly right; wherever the option is, no source is looked at."""

NEEDED: dict[str, str] = {
    "replay": "",
    "atlas": "--longest 2 --workers 1",
    "study": "--capacity 320",
    "cache": "",
    "route": "--workers 2 --capacity 400",
    "preempt": "--capacity 320",
    "recommend": "--capacity 40000",
    "compare": "--capacity 320 --engine vllm --engine trtllm-no-evict",
    "size": "--slo ttft_p99=2s",
    "price": "--budget 20",
    "mix": "--class 30:5 --class 30:6 --nodes 2",
    "threshold": "5 9",
    "equilibria": "--class 2:3 --capacity 100 --level 1",
    "cascade": "--class 2:3 --capacity 24 --start 5/2,2,17/10 --iterations 5",
    "pulse": "2 4 --input 50 --share 1/2 --capacity 626",
    "oracle": "no-such-file",
    "wait": "--capacity 40000 --d0 1 --d1 1",
}
"""Options that have to be given, as they may be."""


@pytest.fixture(scope="module", autouse=True)
def built() -> Iterator[None]:
    with built_once():
        yield


@pytest.fixture
def files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the lines of a question read."""
    folder = tmp_path / "files"
    folder.mkdir()
    write_files(name, folder)
    monkeypatch.chdir(folder)


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


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("name", "line"), LINES)
def test_files_and_a_report_have_what_the_text_says(
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
    argv = [name, *shlex.split(line), "--out", str(out), "--html", str(html)]
    text = printed(capsys, *argv)
    assert text.endswith(f"report: {html}\n")
    text = text.partition("\nwritten to ")[0]
    assert not re.search(r"(?<![\w.])[+-]?(?:nan|inf)\b", text, flags=re.IGNORECASE)
    made = {path.name for path in out.iterdir()}
    figures = question.figures_of(answer)
    assert {f"{name}.json", "manifest.json", *question.tables(answer)} <= made
    assert {f"{each.id}.{kind}" for each in figures for kind in ("png", "svg")} <= made
    said = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert answer.to_dict() == {key: said[key] for key in answer.to_dict()}
    page = html.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert len(page) < MOST_BYTES
    found = read(page)
    assert (found.handlers, found.wrong) == ([], [])
    assert [each for each in found.links if "//" in each] == []
    assert found.tags.get("figure", 0) == len(figures)
    assert shlex.join(["fluidkv", *argv]) in found.text
    assert all(sentence.split(",")[0].split("'")[0] in page for sentence in question.assumes)
    assert __version__ in found.text
    assert _stored(page) == said
    _says_all(page, text)
    _in_order(name, page, text)


def _stored(page: str) -> dict[str, object]:
    """The answer as JSON that a page ends with."""
    return json.loads(unescape(page.rpartition("<code>")[2].partition("</code>")[0]))


def _in_order(name: str, page: str, text: str) -> None:
    """The verdict is the heading; then tables, where the text has any, charts, what was assumed."""
    heading = _joined(unescape(page.partition("<h1>")[2].partition("</h1>")[0]))
    if name in WITHOUT_VERDICT:
        assert _joined(text).startswith(heading) or heading == _joined(QUESTIONS[name].title)
    else:
        assert heading == _joined(text.partition("\n\n")[0])
    outside = _without_charts(page)
    parts = ["<table"] * ("<table" in outside) + ["<figure"] * (outside != page)
    places = [page.index(part) for part in (*parts, "What was assumed</h2>")]
    assert places == sorted(places)


def _joined(words: str) -> str:
    return "".join(words.split())


def _without_charts(page: str) -> str:
    return re.sub("<figure.*?</figure>", "", page, flags=re.DOTALL)


def _says_all(page: str, text: str) -> None:
    """In the same order, charts apart: what the terminal wraps stands between tags there."""
    shown = read(_without_charts(page)).text.replace(" ", "")
    place = 0
    for line in text.splitlines():
        for words in re.split(r"\s{2,}|\.\.\.", line):
            piece = _joined(words)
            place = shown.find(piece, place)
            assert place >= 0, line
            place += len(piece)


WITH_DATASET = [each for each in LINES if each.values[0] not in ("mix", "pulse", "oracle", "wait")]


@pytest.mark.usefixtures("files")
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
    near = NEAR.get(flag, ())
    for bad in (*BAD, *near):
        code = main([name, *source, *needed, f"{flag}={bad}"])
        captured = capsys.readouterr()
        if code == 0 and not source:
            continue
        assert code == 2
        assert captured.out == ""
        assert captured.err.startswith("fluidkv: ")
        assert captured.err.count("\n") == 1
        assert captured.err.isprintable() or captured.err[:-1].isprintable()
        early = "no-such-source" not in captured.err
        assert early or bad not in near
        refused += early and bad not in near
    kind = question.options[flag[2:].replace("-", "_")].option.kind
    if not isinstance(kind, Text):  # which what it names judges, and that is not there
        assert refused >= len(BAD) - 7, flag
