"""The one place where a command leaves its answer: as text, as JSON, as files, as a report."""

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluidkv.cli.asked import envelope
from fluidkv.cli.progress import progress
from fluidkv.cli.reported import reported
from fluidkv.errors import InputError
from fluidkv.plain import finite
from fluidkv.questions.options import as_options
from fluidkv.report.blocks import Block
from fluidkv.report.file import write_page
from fluidkv.report.page import Page, Row
from fluidkv.report.terminal import Terminal

if TYPE_CHECKING:
    from fluidkv.figures.figure import Figure
    from fluidkv.report.document import Report

Beside = Callable[[], "tuple[Mapping[str, bytes], Sequence[Figure]]"]


def give(
    answer: Callable[[], Mapping[str, Any]],
    say: Callable[[Page], None],
    *,
    as_json: bool,
    out: Path | None = None,
    html: Path | None = None,
    name: str = "",
    beside: Beside | None = None,
    time: str | None = "iteration",
    notes: Iterable[Row] = (),
    assumes: Sequence[str] = (),
    about: str = "",
) -> None:
    """Print an answer as text or as JSON, and write its files.

    Args:
        answer: makes the JSON values, which stand behind what was asked; called only where they
            are asked for.
        say: writes it for a person.
        as_json: whether standard output gets only JSON.
        out: where to write files; None: nowhere.
        html: where to write the report; None: nowhere.
        name: of the file that gets the JSON.
        beside: makes other files, by name, and figures; called only where they are written.
        time: unit of its durations; None where there are none.
        notes: rows about how options were read, below all else.
        assumes: what the answer takes for granted, in sentences, for the report.
        about: title of the report, of an answer that does not begin with one.

    Raises:
        InputError: the files cannot be written.
    """
    files = out is not None or html is not None
    text = json_text(answer(), time=time) if as_json or files else ""
    blocks: list[Block] = []
    if html is not None or not as_json:
        page = Page(blocks.append)
        say(page)
        page.rows(notes)
    # The answer comes first: a disk that is full then costs the files, and not the work.
    terminal = Terminal()
    if as_json:
        print(text, flush=True)
    else:
        for block in blocks:
            terminal.write(block)
    if not files:
        return
    names: list[str] = []
    with progress(f"drawing into {out or html}"):
        others, figures = ({}, ()) if beside is None else beside()
        if out is not None:
            names = _write(out, {name: (text + "\n").encode(), **others}, figures)
        if html is not None:
            _write_report(html, reported(blocks, figures, assumes, text, about))
    if as_json:
        return
    below = Page(terminal.write)
    if out is not None:
        say_written(below, out, names)
    if html is not None:
        below.line()
        below.line(f"report: {html}")


def json_text(answer: Mapping[str, Any], *, time: str | None = None) -> str:
    """The one form of JSON: what was asked, then the answer; null for what is not finite.

    Args:
        time: unit of its durations; None where there are none.
    """
    head = envelope(time)
    assert not head.keys() & answer.keys()  # an answer would hide what was asked
    return json.dumps(finite(head | dict(answer)), indent=2, allow_nan=False)


def say_written(page: Page, folder: Path, names: Iterable[str]) -> None:
    """What was written, in 80 columns unless a name is longer."""
    page.line()
    page.line(f"written to {folder}:")
    for line in textwrap.wrap(", ".join(names), 78, break_long_words=False, break_on_hyphens=False):
        page.line(f"  {line}")


def refuse_folder(folder: Path, error: OSError) -> InputError:
    """The disk filled up, or the folder changed since it was checked."""
    return InputError("--out", str(folder), f"a folder that takes files ({error})")


def _write_report(path: Path, report: "Report") -> None:
    from fluidkv.report.document import document

    with as_options({"path": "--html"}):
        write_page(path, document(report))


def _write(folder: Path, files: Mapping[str, bytes], figures: "Sequence[Figure]") -> list[str]:
    from fluidkv.figures import MANIFEST, write_figures

    try:
        with as_options({"out": "--out"}):
            rendered = write_figures(figures, folder, beside=files)
    except OSError as error:
        raise refuse_folder(folder, error) from None
    return [*files, *(name for each in rendered for name in each.files), MANIFEST]
