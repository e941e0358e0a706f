"""JSON: that of questions is their answer, and docs/json.md has the same keys, both ways."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import fluidkv
from docs._site.commands import answering
from docs._site.keys import EVERY, flat, sections
from docs._site.schemas import schema
from fluidkv.answers.questions import QUESTIONS
from fluidkv.cli import main
from fluidkv.questions.answer import Answer
from tests.cli.answered import ENVELOPE
from tests.cli.transcript import NAMES, built_once, lines_in_every_form, write_files
from tests.questions.asked import answer_to

SWEEP = Path(__file__).parents[1] / "sweeps" / "small.toml"
CASES = {name: lines_in_every_form(name) for name in NAMES} | {
    "clocks": ["", "vidur-llama3-8b-a100"],
    "log": ["sample:vllm-rtx4090"],
    "table": ["", "6"],
    "verify": ["congestion.example-2"],
    "figure": [""],
    "sweep": [f"{SWEEP} --out out --workers 1"],
    "bench": ["--quick --only certified"],
}
CASES = {name: lines for name, lines in CASES.items() if lines}
ONE_ROW = "crossover."
"""The page has one row for all keys of `compare --crossover`."""
THOROUGH = {"table"}
"""Of which no case is cheap."""
_EXACT = re.compile(r"-?\d+(/\d+)?")


def documented(section: str) -> dict[str, bool]:
    """Every path of a section -> whether it is there in some cases alone."""
    rare = tuple(f"{key.path}." for key in flat(section) if key.sometimes)
    return {key.path: key.sometimes or key.path.startswith(rare) for key in flat(section)}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths of what is no object, nor a list of them, with the value."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for each in value:
            yield from leaves(each, f"{path}[]")
    else:
        yield path, value


def _covers(said: str, path: str) -> bool:
    """Whether a documented path is this one, or this one is an empty object or list of it."""
    said, path = _one(said), _one(path)
    pattern = re.escape(said).replace(r"\*", r"[^.]+")
    if re.fullmatch(pattern, path):
        return True
    return bool(re.match(re.escape(path) + r"(\.|\[\])", said))


def _one(path: str) -> str:
    """The path of a list of plain values, as that of one."""
    return re.sub(r"(\[\])+$", "", path)


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> Callable[[str], list[Any]]:
    """What a command prints in its cases; each is run once for all tests."""
    return cache(lambda command: _answers(command, tmp_path_factory.mktemp(command)))


def _answers(command: str, folder: Path) -> list[Any]:
    answers = []
    with chdir(folder), built_once():
        write_files(command, folder)
        for line in CASES[command]:
            with redirect_stdout(StringIO()) as printed:
                assert main([command, *shlex.split(line), "--json"]) in (0, 1)
            answers.append(json.loads(printed.getvalue()))
            if command in QUESTIONS:
                _is_that_of_python(command, line, answers[-1])
    return answers


def _is_that_of_python(command: str, line: str, printed: dict[str, Any]) -> None:
    answer = answer_to(command, line)
    said = {key: value for key, value in printed.items() if key not in ENVELOPE}
    assert said == json.loads(json.dumps(answer.to_dict(), allow_nan=False))


COMMANDS = [
    pytest.param(name, marks=[pytest.mark.thorough] if name in THOROUGH else []) for name in CASES
]


def test_every_command_that_answers_in_json_has_its_cases_and_its_section():
    assert set(answering()) == set(CASES)
    assert set(answering()) <= set(sections())


@pytest.mark.daily(8)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_the_keys_that_are_printed(command, answers):
    said = {**documented(command), **documented(EVERY)}
    paths: set[str] = set()
    for answer in answers(command):
        assert tuple(answer)[:4] == ENVELOPE
        assert answer["fluidkv"] == fluidkv.__version__
        assert answer["command"] == command
        for path, value in leaves(answer):
            if path.endswith("_exact"):
                shown = value if isinstance(value, list) else [value]
                assert all(each is None or _EXACT.fullmatch(each) for each in shown), path
                path = path.removesuffix("_exact")
            paths.add(path)
    unsaid = {path for path in paths if not any(_covers(each, path) for each in said)}
    unsaid = {path for path in unsaid if not path.startswith(ONE_ROW)}
    assert unsaid == set()
    own = {each for each, sometimes in documented(command).items() if not sometimes}
    not_there = {
        each
        for each in own
        if not any(_covers(each, path) or _is_above(each, path) for path in paths)
    }
    assert not_there == set()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.values[0] in QUESTIONS])
def test_the_keys_are_the_described_fields_in_their_order(command, answers):
    """A key whose title begins with "if" may not be there."""
    for line, printed in zip(CASES[command], answers(command), strict=True):
        answer = answer_to(command, line)
        if not isinstance(answer, Answer):
            continue
        keys = [key for key in printed if key not in ENVELOPE and not key.endswith("_exact")]
        tops = [(re.split(r"[.\[]", path)[0], title) for path, _, title in answer.json_keys()]
        fields = [top for top, title in tops if top in printed or not title.startswith("if ")]
        assert keys == list(dict.fromkeys(fields))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_schema_is_that_of_what_is_printed(command, answers):
    check = Draft202012Validator(schema(command))
    for answer in answers(command):
        assert [f"{e.json_path}: {e.message}" for e in check.iter_errors(answer)] == []


@pytest.mark.parametrize("command", [c for c in CASES if c not in THOROUGH])
def test_the_schema_refuses_a_key_that_is_missing_new_or_of_another_type(command, answers):
    said = schema(command)
    check = Draft202012Validator(said)
    Draft202012Validator.check_schema(said)
    answer = answers(command)[0]
    assert not check.is_valid(answer | {"not_on_the_page": 1})
    for key, value in answer.items():
        if key in said["required"]:
            assert not check.is_valid({k: v for k, v in answer.items() if k != key}), key
        types = said["properties"].get(key, {}).get("type", [])
        for other, wrong in {"string": "x", "boolean": True, "array": [], "object": {}}.items():
            if types and other not in types:
                assert not check.is_valid(answer | {key: wrong}), (key, value)


def _is_above(said: str, path: str) -> bool:
    """Whether a documented path is an object or a list of which this is a part."""
    pattern = re.escape(said).replace(r"\*", r"[^.]+")
    return bool(re.match(pattern + r"(\.|\[\])", path))
