"""`fluidkv figure`: the figures of papers and docs, drawn again."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fluidkv.cli.options import Json, out
from fluidkv.cli.output import give, refuse_folder
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.questions.options import as_options
from fluidkv.report.page import Page

if TYPE_CHECKING:
    from fluidkv.figures.render import Rendered


KEYS = (
    ("figures[].id", "text", "of a figure that there is, or that was drawn"),
    ("figures[].title", "text", "of the figure"),
    ("figures[].files", "text", "if it was drawn: its files"),
    ("figures[].skipped", "text", "if figures were drawn: why this one was not, or null"),
)
"""Keys of the list of figures."""


def figure(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Names of figures; without one, all are listed."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Draw every figure.")] = False,
    out: Annotated[Path, out("pictures, data and manifest")] = Path("figures"),
    json_: Json = False,
) -> None:
    """Regenerate figures: PNG, SVG and data, with a manifest. Without ID, list them."""
    from fluidkv.figures.registry import figures, render, written

    if ids and all_:
        raise InputError("--all", " ".join(ids), "either figure ids or --all")
    if not ids and not all_:
        listed = [{"id": written(each.id), "title": each.title} for each in figures()]
        give(lambda: {"figures": listed}, _list, as_json=json_, time=None)
        return
    try:
        with progress(f"drawing into {out}") as line, as_options({"out": "--out", "id": "ID"}):
            skip = _refuse_missing if ids else None
            rendered = render(ids or None, out, on_skip=skip, on_progress=line.count)
    except OSError as error:
        raise refuse_folder(out, error) from None
    titles = {each.id: each.title for each in figures()}
    drawn = [
        {
            "id": written(each.id),
            "title": titles[each.id],
            "files": list(each.files),
            "skipped": each.skipped or None,
        }
        for each in rendered
    ]
    give(lambda: {"figures": drawn}, lambda page: _say(page, rendered), as_json=json_, time=None)


def _list(page: Page) -> None:
    from fluidkv.figures.registry import figures, written

    width = 2 + max(len(written(each.id)) for each in figures())
    for each in figures():
        page.rows([(written(each.id), each.title)], width=width)


def _say(page: Page, rendered: "Sequence[Rendered]") -> None:
    from fluidkv.figures.registry import written

    for each in rendered:
        said = f"skipped, {each.skipped}" if each.skipped else ", ".join(each.files)
        page.line(f"{written(each.id)}: {said}")


def _refuse_missing(id_: str, reason: str) -> None:
    """Who asks for a figure by name wants that one."""
    raise InputError("ID", id_, f"a figure whose input is there ({reason})")
