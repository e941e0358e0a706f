"""What commands print, word by word: answers, and one line for what they refuse."""

import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fluidkv import __version__
from fluidkv.answers.questions import QUESTIONS
from tests.cli.answered import refusal
from tests.cli.transcript import (
    DEEPER,
    NAMES,
    PLAIN,
    Block,
    built_once,
    commands_of,
    printed,
    write_files,
)

ROOT = Path(__file__).parents[2]
_READ = json.JSONDecoder().raw_decode
BLOCKS = [
    pytest.param(
        name,
        block,
        id=f"{name}-{number}",
        marks=[pytest.mark.thorough] if block.section == DEEPER else [],
    )
    for name in NAMES
    for number, block in enumerate(commands_of(name))
]


@pytest.fixture(scope="module", autouse=True)
def built() -> Iterator[None]:
    with built_once():
        yield


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_a_command_prints_what_its_transcript_has(
    name: str, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in PLAIN.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    write_files(name, tmp_path)
    text = printed(block.line)
    if block.text.startswith("{"):
        (value, end), (expected, last) = _READ(text), _READ(block.text)
        _assert_near(value, expected | {"fluidkv": __version__})
        assert text[end:] == block.text[last:]  # an exit code
    else:
        assert text == block.text
    if not text.startswith(("fluidkv: ", "{")):  # a refusal is one line, and JSON has its own
        wrapped = [line for line in text.splitlines() if not line.startswith("  fluidkv ")]
        assert max(map(len, wrapped)) <= 80


def _assert_near(value: Any, expected: Any, where: str = "") -> None:
    """Alike but for the last digits of floats, which differ with the processor."""
    assert type(value) is type(expected), where
    if isinstance(value, float):
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12), where
    elif isinstance(value, dict):
        assert list(value) == list(expected), where
        for key in value:
            _assert_near(value[key], expected[key], f"{where}.{key}")
    elif isinstance(value, list):
        assert len(value) == len(expected), where
        for place, pair in enumerate(zip(value, expected, strict=True)):
            _assert_near(*pair, f"{where}[{place}]")
    else:
        assert value == expected, where


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ({"a": 1.0 + 1e-10, "b": [1e-13]}, True),
        ({"a": 1.0 + 1e-8, "b": [0.0]}, False),
        ({"a": 1, "b": [0.0]}, False),
        ({"b": [0.0], "a": 1.0}, False),
        ({"a": 1.0, "b": [0.0, 0.0]}, False),
        ({"a": 1.0, "b": [False]}, False),
    ],
)
def test_only_floats_may_differ_and_only_in_their_last_digits(value: Any, near: bool) -> None:
    with nullcontext() if near else pytest.raises(AssertionError):
        _assert_near(value, {"a": 1.0, "b": [0.0]})


def test_what_is_offered_to_be_run_next_is_a_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ready to be pasted: every option of it is one, and the error is about what is not one."""
    texts = [block.text for name in NAMES for block in commands_of(name)]
    offered = {line for text in texts for line in re.findall("^  fluidkv (.*)", text, flags=re.M)}
    assert {line.split()[0] for line in offered} == {"recommend", "replay"}
    for line in offered:
        assert "--no-such-option: no such option" in refusal(
            capsys, *shlex.split(line), "--no-such-option"
        )


def test_no_transcript_has_a_path_of_a_machine() -> None:
    texts = [block.text for name in NAMES for block in commands_of(name)]
    folders = [str(ROOT), tempfile.gettempdir().rstrip("/") + "/", str(Path.home()) + "/"]
    assert [text for text in texts if any(each in text for each in folders)] == []


def test_every_question_has_a_transcript() -> None:
    assert set(QUESTIONS) <= set(NAMES)
