"""What commands print, word by word: answers, and one line for what they refuse."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

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
# Floats to the last digit, as JSON has them: that digit may differ with the processor.
_LONG = re.compile(r"-?\d+\.\d{12,}(?:e[-+]?\d+)?|-?\d\.\d+e[-+]?\d+")
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
    assert _LONG.sub("#", text) == _LONG.sub("#", block.text)
    assert _long_numbers(text) == pytest.approx(_long_numbers(block.text), rel=1e-12, abs=1e-300)
    if not text.startswith(("fluidkv: ", "{")):  # a refusal is one line, and JSON has its own
        wrapped = [line for line in text.splitlines() if not line.startswith("  fluidkv ")]
        assert max(map(len, wrapped)) <= 80


def _long_numbers(text: str) -> list[float]:
    return [float(number) for number in _LONG.findall(text)]


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
    assert [text for text in texts if str(ROOT) in text] == []


def test_every_question_has_a_transcript() -> None:
    assert set(QUESTIONS) <= set(NAMES)
