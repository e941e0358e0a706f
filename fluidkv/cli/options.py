"""Options that commands share, and how an option reads its text.

A command declares `seed: Seed = 0` and gets a number: what was written is read, and refused in one
line, before the command begins.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from fluidkv.cli import arguments as read
from fluidkv.errors import InputError

# Panels of the help of a command.
WHO, SERVER, RUN, OUTPUT = "Who asks", "The server", "The run", "Output"

PRESETS = "alpaca, bookcorpus, sharegpt"


def option(
    name: str,
    reads: Callable[..., Any],
    help: str,
    *,
    metavar: str = "N",
    panel: str | None = None,
    **limits: Any,
) -> Any:
    """An option whose text `reads(name, text, **limits)` turns into a value."""
    return typer.Option(
        name, parser=_parser(name, reads, limits), help=help, metavar=metavar, rich_help_panel=panel
    )


def argument(name: str, reads: Callable[..., Any], help: str, **limits: Any) -> Any:
    """Likewise an argument without a name of its own."""
    return typer.Argument(parser=_parser(name, reads, limits), help=help, metavar=name)


def text_option(name: str, help: str, *, metavar: str, panel: str | None = None) -> Any:
    """An option that stays text."""
    return typer.Option(name, help=help, metavar=metavar, rich_help_panel=panel)


class _RefusedError(TyperException):
    """Bad input, met while the command line is read: a ValueError would be rephrased there."""


def _parser(name: str, reads: Callable[..., Any], limits: dict[str, Any]) -> Callable[[Any], Any]:
    def parse(given: Any) -> Any:
        if not isinstance(given, str):  # a default
            return given
        try:
            return reads(name, given, **limits)
        except InputError as error:
            raise _RefusedError(str(error)) from None

    return parse


# --- who asks -----------------------------------------------------------------------------------

_CLASSES = text_option(
    "--class", "A request class; repeatable.", metavar="IN:OUT[:SHARE]", panel=WHO
)
Classes = Annotated[list[str], _CLASSES]
MaybeClasses = Annotated[list[str] | None, _CLASSES]
OneClass = Annotated[
    list[str], text_option("--class", "The one request class.", metavar="IN:OUT", panel=WHO)
]
Source = Annotated[
    str | None,
    typer.Argument(help="Trace file or log folder; the format is found from the content."),
]
Preset = Annotated[
    str | None,
    text_option("--preset", f"A synthetic workload: {PRESETS}.", metavar="NAME", panel=WHO),
]
Format = Annotated[
    str | None,
    text_option(
        "--format",
        "Format of SOURCE, where it is not to be guessed: azure, burstgpt, csv, mooncake, vidur, "
        "vllm-bench.",
        metavar="NAME",
        panel=WHO,
    ),
]

# --- the server ---------------------------------------------------------------------------------

Capacity = Annotated[
    Fraction,
    option("--capacity", read.capacity, "KV capacity.", metavar="TOKENS", panel=SERVER),
]
LoggedCapacity = Annotated[
    Fraction | None,
    option(
        "--capacity",
        read.capacity,
        "KV capacity. It may be left out for a log folder that names it.",
        metavar="TOKENS",
        panel=SERVER,
    ),
]

# --- the answer ---------------------------------------------------------------------------------

Json = Annotated[
    bool,
    typer.Option("--json", help="Print only JSON on standard output.", rich_help_panel=OUTPUT),
]


def out(what: str, *names: str) -> Any:
    """The option `--out`, a folder that can be written."""
    return typer.Option(
        "--out",
        *names,
        parser=_parser("--out", read.writable_folder, {}),
        help=f"Write {what} into this folder.",
        metavar="DIR",
        rich_help_panel=OUTPUT,
    )


def seed(of: str, most: int | None = None) -> Any:
    """The option `--seed`."""
    limits = {} if most is None else {"most": most}
    help = f"Seed of {of}."
    return option("--seed", read.whole_number, help, panel=RUN, least=0, **limits)


Folder = Path | None
