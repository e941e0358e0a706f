"""docs/json.md and what commands print as JSON: the same keys, both ways; numbers as numbers."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer

import fluidkv
from fluidkv.cli import main
from fluidkv.cli.app import app
from tests.cli.answered import ENVELOPE
from tests.cli.json_cases import CASES, THOROUGH

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
_KIND = re.compile(r"→ \[(\w+)\]")
_EXACT = re.compile(r"-?\d+(/\d+)?")


@cache
def sections() -> dict[str, list[tuple[str, str, str]]]:
    """Rows of the tables of the page, by section: keys, unit, what they are."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]
    found = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        lines = [line for line in text.replace("\\|", "/").splitlines() if line.startswith("| `")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found[name] = [(keys, unit, what) for keys, unit, what in cells]
    return found


def documented(section: str) -> dict[str, bool]:
    """Every path of a section -> whether it is there in some cases alone."""
    found: dict[str, bool] = {}
    for keys, _, what in sections()[section]:
        sometimes = what.strip().startswith(("if ", "If "))
        kind = _KIND.search(what)
        for path in re.findall(r"`([^`]+)`", keys):
            for each in _alternatives(path):
                found[each] = sometimes
                for inner, rare in (documented(kind[1]) if kind else {}).items():
                    found[f"{each}.{inner}"] = sometimes or rare
    return found


def _alternatives(path: str) -> Iterator[str]:
    """`a.{b, c}` is `a.b` and `a.c`."""
    parts = re.split(r"\{([^}]*)\}", path)
    choices = [part.split(", ") if i % 2 else [part] for i, part in enumerate(parts)]
    return ("".join(chosen) for chosen in product(*choices))


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
    pattern = re.escape(said).replace(r"\*", r"[^.]+")
    if re.fullmatch(pattern, path):
        return True
    return bool(re.match(re.escape(path) + r"(\.|\[\])", said))


def _answers(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    trace, series = tmp_path / "requests.csv", tmp_path / "series.csv"
    trace.write_text("input_length,output_length,arrival_time\n10,5,0\n20,6,1\n10,7,2\n")
    rows = [f"{t},{10 + 3 * (t % 8 < 4)},5,100,90" for t in range(64)]
    series.write_text("\n".join(["t,running,waiting,gen_throughput,kv_cache_pct", *rows]))
    found = []
    for case in CASES[command]:
        argv = shlex.split(case.format(trace=trace, series=series, out=tmp_path / "out"))
        assert main([command, *argv, "--json"]) in (0, 1)
        found.append(json.loads(capsys.readouterr().out))
    return found


COMMANDS = [
    pytest.param(name, marks=[pytest.mark.thorough] if name in THOROUGH else []) for name in CASES
]


def test_every_command_has_its_cases_and_its_section():
    group = typer.main.get_command(app)
    commands = set(group.commands)  # pyright: ignore[reportAttributeAccessIssue]
    assert commands == set(CASES)
    assert commands <= set(sections())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_the_keys_that_are_printed(command, tmp_path, capsys):
    said = {**documented(command), **documented("Every command")}
    answers = _answers(command, tmp_path, capsys)
    paths: set[str] = set()
    for answer in answers:
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
    assert unsaid == set()
    own = {each for each, sometimes in documented(command).items() if not sometimes}
    not_there = {
        each
        for each in own
        if not any(_covers(each, path) or _is_above(each, path) for path in paths)
    }
    assert not_there == set()


def _is_above(said: str, path: str) -> bool:
    """Whether a documented path is an object or a list of which this is a part."""
    pattern = re.escape(said).replace(r"\*", r"[^.]+")
    return bool(re.match(pattern + r"(\.|\[\])", path))
