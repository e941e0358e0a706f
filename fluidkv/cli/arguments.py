"""From the text of the command line to exact values, or one line that says what is allowed."""

import re
from fractions import Fraction
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.files import require_writable
from fluidkv.questions.kinds import FEW_DIGITS, rational
from fluidkv.questions.options import as_options as as_options
from fluidkv.questions.options import exactly_one as exactly_one
from fluidkv.questions.options import only_with as only_with
from fluidkv.reading import reading
from fluidkv.report.file import require_ours

ANSWER = '{\n  "fluidkv": '
"""How the JSON of every answer begins."""

_LARGEST_WHOLE = 2**63 - 1  # of a JAX seed

_SHARE = "a share strictly between 0 and 1, such as 1/2 or 0.5"


# --- numbers ------------------------------------------------------------------------------------


def exact_number(argument: str, text: str, allowed: str) -> Fraction:
    """The rational that a decimal ("0.5", "41408") or a fraction ("1/2") spells exactly."""
    value = rational(text, FEW_DIGITS)
    if value is None:
        raise InputError(argument, text, allowed)
    return value


def whole_number(argument: str, text: str, *, least: int = 1, most: int = _LARGEST_WHOLE) -> int:
    allowed = f"a whole number from {least} to {most if most == _LARGEST_WHOLE else f'{most:,}'}"
    if not re.fullmatch(r"[0-9]{1,19}", text.strip()) or not least <= int(text) <= most:
        raise InputError(argument, text, allowed)
    return int(text)


def share(argument: str, text: str, allowed: str = _SHARE) -> Fraction:
    value = exact_number(argument, text, allowed)
    if not 0 < value < 1:
        raise InputError(argument, text, allowed)
    return value


# --- files --------------------------------------------------------------------------------------


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
