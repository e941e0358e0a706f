"""The one place where a command leaves its answer: as text, as JSON, as files."""

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluidkv.cli.arguments import as_options
from fluidkv.cli.asked import envelope
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.plain import finite
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.figures.figure import Figure

Beside = Callable[[], "tuple[Mapping[str, bytes], Sequence[Figure]]"]


def give(
    answer: Callable[[], Mapping[str, Any]],
    say: Callable[[Page], None],
    *,
    as_json: bool,
    out: Path | None = None,
    name: str = "",
    beside: Beside | None = None,
    time: str | None = "iteration",
    notes: Iterable[Row] = (),
) -> None:
    """Print an answer as text or as JSON, and write its files.

    Args:
        answer: makes the JSON values, which stand behind what was asked; called only where they
            are asked for.
        say: writes it for a person.
        as_json: whether standard output gets only JSON.
        out: where to write files; None: nowhere.
        name: of the file that gets the JSON.
        beside: makes other files, by name, and figures; called only where they are written.
        time: unit of its durations; None where there are none.
        notes: rows about how options were read, below all else.

    Raises:
        InputError: the files cannot be written.
    """
    text = json_text(answer(), time=time) if as_json or out is not None else ""
    names: list[str] = []
    if out is not None:
        with progress(f"drawing into {out}"):
            files, figures = ({}, ()) if beside is None else beside()
            names = _write(out, {name: (text + "\n").encode(), **files}, figures)
    if as_json:
        print(text)
        return
    page = Page()
    say(page)
    page.rows(notes)
    if out is not None:
        say_written(page, out, names)


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


def _write(folder: Path, files: Mapping[str, bytes], figures: "Sequence[Figure]") -> list[str]:
    from fluidkv.figures import MANIFEST, write_figures

    try:
        with as_options({"out": "--out"}):
            rendered = write_figures(figures, folder, beside=files)
    except OSError as error:
        raise refuse_folder(folder, error) from None
    return [*files, *(name for each in rendered for name in each.files), MANIFEST]
