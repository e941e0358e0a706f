"""Where an answer may be written: looked at before any work is done for it."""

from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import require_writable
from fluidkv.reading import reading
from fluidkv.report.file import require_ours

ANSWER = '{\n  "fluidkv": '
"""How the JSON of every answer begins."""


def writable_folder(argument: str, text: str) -> Path:
    """A folder that can be made and written, looked at before any work is done for it."""
    if not text:  # Path("") would be the current folder
        raise InputError(argument, text, "a folder")
    require_writable(argument, Path(text))
    return Path(text)


def report_file(argument: str, text: str) -> Path:
    """A file for a report, looked at before any work is done for it."""
    path = Path(text)
    try:
        require_ours(path)
    except InputError as error:
        raise InputError(argument, text, error.allowed) from None
    require_writable(argument, path.resolve().parent)
    return path


def places(out: object, html: Path | None, name: str) -> None:
    """Refuse, before any work is done, a report in the place of the folder, and a folder that
    holds something else than an older answer where the answer goes.

    Args:
        name: of the file of the answer in the folder.
    """
    if not isinstance(out, Path):
        return
    if html is not None and out.resolve() == html.resolve():
        raise InputError("--html", str(html), "another place than that of --out")
    require_writable("--out", out, [name])
    if (out / name).is_file():
        with reading(out / name, "--out") as file:
            if file.read(len(ANSWER)) != ANSWER:
                allowed = f"a folder without {name}, or with one that fluidkv wrote before"
                raise InputError("--out", str(out), allowed)
