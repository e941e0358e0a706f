"""Transcripts: commands, the files that they read, and all that they print, as a terminal has it.

    $ cat trace.csv
    input_length,output_length
    10,5
    $ fluidkv study trace.csv
    fluidkv: --capacity: got 'none'; allowed: a number of KV tokens

A line that begins with "# " heads a section. Answers of the section "In every form" are cases of
`tests/questions/test_contract.py`, which looks at their JSON, files and datasets; the section
"Deeper checks" is run with --thorough.

`python -m tests.cli.transcript` runs the commands of all transcripts again and writes what they
print now; with names of transcripts, those alone. `git diff` then shows what changed.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import typer.main

from fluidkv.cli import main, progress
from fluidkv.cli.app import app
from fluidkv.cli.codes import BAD_INPUT

FOLDER = Path(__file__).with_name("transcripts")
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
_PROMPT, _CAT, _SECTION = "$ fluidkv ", "$ cat ", "# "
_EVERY_FORM, DEEPER = f"{_SECTION}In every form", f"{_SECTION}Deeper checks"


@dataclass(frozen=True)
class Block:
    """A line behind a prompt, what stands below it, and the section that both are in."""

    line: str
    text: str
    section: str = ""

    @property
    def written(self) -> str:
        return f"{self.line}\n{self.text}"


def blocks_of(name: str) -> list[Block]:
    """All of a transcript, in order; nothing where there is none."""
    path = FOLDER / f"{name}.txt"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    blocks, section = [], ""
    for part in re.split(r"^(?=[$#] )", text, flags=re.M)[1:]:
        line, below = part.split("\n", 1)
        section = line if line.startswith(_SECTION) else section
        blocks.append(Block(line, below, section))
    return blocks


def commands_of(name: str) -> list[Block]:
    """Those of them that are commands."""
    return [block for block in blocks_of(name) if block.line.startswith(_PROMPT)]


def lines_in_every_form(name: str) -> list[str]:
    """Options of the commands of that section."""
    commands = [block for block in commands_of(name) if block.section == _EVERY_FORM]
    return [block.line.removeprefix(f"{_PROMPT}{name}").strip() for block in commands]


def write_files(name: str, folder: Path) -> None:
    """The files that a transcript shows."""
    for block in blocks_of(name):
        if block.line.startswith(_CAT):
            (folder / block.line.removeprefix(_CAT)).write_text(block.text, encoding="utf-8")


def printed(line: str) -> str:
    """What a command prints in this folder. A refusal is one line, on standard error alone."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(shlex.split(line.removeprefix(_PROMPT)))
    text, refusal = out.getvalue(), err.getvalue()
    if code == BAD_INPUT:
        assert text == "", text
        assert refusal.startswith("fluidkv: "), refusal
        assert refusal.count("\n") == 1, refusal
        return refusal
    assert refusal == "", refusal
    return text if code == 0 else f"{text}(exit code {code})\n"


@contextmanager
def built_once() -> Iterator[None]:
    """The commands are built once: for every line that takes longer than to read the line."""
    commands = typer.main.get_command(app)
    with mock.patch.object(typer.main, "get_command", return_value=commands):
        yield


def _renew(name: str) -> None:
    with TemporaryDirectory() as folder, chdir(folder), built_once():
        write_files(name, Path(folder))
        blocks = [
            replace(block, text=printed(block.line)) if block.line.startswith(_PROMPT) else block
            for block in blocks_of(name)
        ]
    (FOLDER / f"{name}.txt").write_text("".join(block.written for block in blocks), "utf-8")


if __name__ == "__main__":
    progress.FIRST_S = 1e6
    os.environ |= PLAIN
    for each in sys.argv[1:] or NAMES:
        _renew(each)
