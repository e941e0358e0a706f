"""Options that commands share, and how an option reads its text.

A command declares `seed: Seed = 0` and gets a number: what was written is read, and refused in one
line, before the command begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from fluidkv.answers.memory import Amount
from fluidkv.answers.served.load import CLASSES, SOURCE
from fluidkv.cli.output_files import report_file, writable_folder
from fluidkv.errors import InputError
from fluidkv.questions.options import OUTPUT, Option


def option(spec: str, reads: Callable[..., Any], help: str, panel: str | None = None) -> Any:
    """An option whose text `reads(name, text)` turns into a value; `str` leaves it text.

    Args:
        spec: its name, other names, and behind them the name of its value: "--rate R".
    """
    *names, metavar = spec.split()
    parser = None if reads is str else _parser(names[0], reads)
    return typer.Option(*names, parser=parser, help=help, metavar=metavar, rich_help_panel=panel)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def argument(name: str, reads: Callable[..., Any], help: str) -> Any:
    """As `option`, without a name of its own."""
    parser = None if reads is str else _parser(name, reads)
    return typer.Argument(parser=parser, help=help, metavar=name)


@dataclass(frozen=True)
class WrittenValue:
    """What was written, and the value that it is."""

    text: str
    value: Any

    @property
    def shown(self) -> Any:
        """As JSON has it among the inputs: numbers as numbers, else what was written."""
        number = isinstance(self.value, int | Fraction | Amount | dict)
        if isinstance(self.value, tuple) and all(isinstance(each, int) for each in self.value):
            number = True
        return self.value if number or hasattr(self.value, "_fields") else self.text


def part_of(written: Any, part: Callable[[WrittenValue], Any]) -> Any:
    """That part of what was written, of every value of an option that may be repeated; a default as
    it is, None in place of no value.
    """
    if isinstance(written, list):
        return [part_of(each, part) for each in written] or None
    return part(written) if isinstance(written, WrittenValue) else written


def keyword(name: str, about: Option, default: Any) -> Parameter:
    """A declared option as a parameter that typer reads; its value is a `WrittenValue`."""
    kind: Any
    if about.kind is None:
        kind = bool | None if default is None else bool
        declared = flag(about.spec, about.help, about.panel)
    else:
        read = about.kind.read

        def reads(name: str, text: str) -> WrittenValue:
            return WrittenValue(text, read(name, text))

        kind = list[str] if about.many else str
        kind = kind if default is Parameter.empty else kind | None
        if about.spec.startswith("-"):
            declared = option(about.spec, reads, about.help, about.panel)
        else:
            declared = argument(about.spec, reads, about.help)
    annotation = Annotated[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class _RefusedError(TyperException):
    """Bad input, met while the command line is read: a ValueError would be rephrased there."""


def _parser(name: str, reads: Callable[..., Any]) -> Callable[[Any], Any]:
    def parse(given: Any) -> Any:
        if not isinstance(given, str):  # a default
            return given
        try:
            return reads(name, given)
        except InputError as error:
            raise _RefusedError(str(error)) from None

    return parse


Source = Annotated[str | None, SOURCE]
MaybeClasses = Annotated[list[str] | None, CLASSES]
Json = Annotated[bool, flag("--json", "Print only JSON on standard output.", OUTPUT)]


def out(what: str, names: str = "--out") -> Any:
    """The option `--out`, a folder that can be written."""
    return option(f"{names} DIR", writable_folder, f"Write {what} into this folder.", OUTPUT)


_HTML = "Write the answer as one file for a browser: text, charts, what was assumed."
Html = Annotated[Path | None, option("--html FILE", report_file, _HTML, OUTPUT)]
