"""Command lines made bad: answered or refused in one line, never a traceback, never half a set.

The work is small by construction: what bounds it (`_BOUND`) is never changed, and no value that is
put in its place elsewhere makes it long.
"""

import json
from pathlib import Path
from random import Random

import pytest

from fluidkv.cli import main
from tests.attacks.mutations import encoded, mutated, words_mutated
from tests.serving.records.record_copies import COUNTS
from tests.traces.test_formats import AZURE, GENERIC

TRACE, RECORD, OUT = "TRACE", "RECORD", "OUT"  # in place of paths
CLASSES = ("--class", "5:3", "--class", "7:4")

# What may be changed, and what bounds the work and stays.
COMMANDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("--version",), ()),
    (("--help",), ()),
    (("study", *CLASSES, "--capacity", "100", "--seed", "1", "--json"), ("--iterations", "9")),
    (("study", TRACE, "--capacity", "9000", "--format", "csv"), ("--iterations", "9")),
    (("study", *CLASSES, "--capacity", "100", "--measured", TRACE), ("--iterations", "9")),
    (("equilibria", "--class", "2:3", "--capacity", "24", "--level", "1", "--json"), ()),
    (("equilibria", "--class", "2:4", "--capacity", "30", "--gaps", "2,2"), ()),
    (
        ("cascade", "--class", "2:3", "--capacity", "24", "--start", "5/2,2,17/10", "--exact"),
        ("--iterations", "9"),
    ),
    (("pulse", "4", "6", "--json"), ()),
    (("threshold", "3", "4", "--share", "1/2", "--ratio", "1,2", "--json"), ("--bound", "99")),
    (("atlas", "--out", OUT, "--share", "1/2"), ("--longest", "3", "--workers", "1")),
    (
        ("recommend", "--class", "8:8", "--capacity", "99", "--watermark", "0.1", "--clients", "2"),
        ("--requests", "9", "--runs", "1"),
    ),
    (("replay", TRACE, "--fit", "first", "--out", OUT), ()),
    (("log", TRACE, "--json"), ()),
    (("mix", *CLASSES, "--nodes", "2", "--capacity", "100", "--json"), ()),
    (
        ("wait", "--type", "0.5:3:4", "--d0", "0.01", "--d1", "1e-6", "--capacity", "100"),
        ("--no-simulate",),
    ),
    (
        ("wait", TRACE, "--clock", "iteration", "--capacity", "9000", "--rate", "0.001"),
        ("--no-simulate",),
    ),
    (("table", "--json"), ("9",)),
    (("verify", "--json"), ("congestion.equation-4",)),
    (("figure", "congestion_figure_99", "--out", OUT), ()),
    (("oracle", RECORD, "--json"), ()),
)


def attack(folder: Path, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One command line; what it was can be had again from the seed."""
    chance = Random(seed)
    folder.mkdir()
    (folder / "t").write_bytes(chance.choice((AZURE.encode(), mutated(GENERIC, chance))))
    (folder / "r").write_bytes(mutated(json.dumps(COUNTS | {"requests": 2}), chance))
    place = {TRACE: str(folder / "t"), RECORD: str(folder / "r"), OUT: str(folder / "out")}
    changed, kept = chance.choice(COMMANDS)
    name, *words = changed
    if not chance.randrange(20):
        name = chance.choice(("", "\x1b[2J", "studdy", "--", "\udcff"))
    words = [place.get(word, word) for word in words_mutated(words, chance)]
    argv = [name, *(encoded(word).decode("utf-8", "surrogateescape") for word in words), *kept]
    try:
        code = main(argv)
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {argv}: {error!r}") from error
    captured = capsys.readouterr()
    where = f"seed {seed}: {argv}: {code}\n{captured.out[:300]!r}\n{captured.err[:300]!r}"
    assert code in (0, 1, 2), where
    for text in (captured.out, captured.err):
        assert all(line.isprintable() for line in text.split("\n")), where
        assert "Traceback" not in text, where
    assert captured.err.count("\n") <= 1, where
    made = [path.name for path in folder.iterdir() if path.name not in ("t", "r", "out")]
    assert not made, where
    if (folder / "out").exists():
        assert code == 0, where
        assert not list((folder / "out").glob(".*")), where


def test_bad_command_lines_are_answered_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(100):
        attack(tmp_path / str(number), f"slice {number}", capsys)


@pytest.mark.thorough
@pytest.mark.parametrize("hundred", range(50))
def test_five_thousand_bad_command_lines_are_answered_or_refused(
    hundred: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(100):
        attack(tmp_path / str(number), f"thorough {100 * hundred + number}", capsys)
