"""What a command printed: its text, its JSON, or the one line that bad input gets."""

import json
from typing import Any

import pytest

from fluidkv.cli import main

ENVELOPE = ("fluidkv", "command", "inputs", "units")


def answer_in(text: str) -> dict[str, Any]:
    """The answer alone, as `as_dict` has it."""
    return _answer(json.loads(text))


def json_of(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    """What a command prints with `--json`, and nothing beside it."""
    assert main([*argv, "--json"]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Exit code 2, nothing on standard output, one line on standard error."""
    assert main(list(argv)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("fluidkv: ")
    return captured.err


def answer_of(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """The answer that a command prints with `--json`, alone."""
    return _answer(json_of(capsys, *argv))


def _answer(found: dict[str, Any]) -> dict[str, Any]:
    assert tuple(found)[:4] == ENVELOPE
    return {key: value for key, value in found.items() if key not in ENVELOPE}
