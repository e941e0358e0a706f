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
    spec: str, reads: Callable[..., Any], help: str, panel: str | None = None, **limits: Any
) -> Any:
    """An option whose text `reads(name, text, **limits)` turns into a value; `str` leaves it text.

    Args:
        spec: its name, other names, and behind them the name of its value: "--rate R".
    """
    *names, metavar = spec.split()
    parser = None if reads is str else _parser(names[0], reads, limits)
    return typer.Option(*names, parser=parser, help=help, metavar=metavar, rich_help_panel=panel)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help, rich_help_panel=panel)


def argument(name: str, reads: Callable[..., Any], help: str, **limits: Any) -> Any:
    """As `option`, without a name of its own."""
    parser = None if reads is str else _parser(name, reads, limits)
    return typer.Argument(parser=parser, help=help, metavar=name)


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


_CLASSES = option("--class IN:OUT[:SHARE]", str, "A request class; repeatable.", WHO)
Classes = Annotated[list[str], _CLASSES]
MaybeClasses = Annotated[list[str] | None, _CLASSES]
OneClass = Annotated[list[str], option("--class IN:OUT", str, "The one request class.")]
_TRACE = (
    "Trace file, benchmark result or log folder, its format found from the content; or "
    "sample:vllm-rtx4090."
)
Source = Annotated[str | None, argument("SOURCE", str, _TRACE)]
_PRESETS = "A synthetic workload: alpaca, bookcorpus, sharegpt."
Preset = Annotated[str | None, option("--preset NAME", str, _PRESETS, WHO)]
_FORMATS = (
    "Format of SOURCE, where it is not to be guessed: aiperf, azure, burstgpt, csv, genai-perf, "
    "guidellm, mooncake, segments, sglang-bench-serving, sglang-log, vidur, vllm-bench, "
    "vllm-bench-serve."
)
Format = Annotated[str | None, option("--format NAME", str, _FORMATS, WHO)]
_COLUMNS = (
    "Which columns of a CSV file hold lengths and times: input=COL,output=COL,arrival=COL, each "
    r"where it has no usual name."
)
Columns = Annotated[dict | None, option("--columns WHAT=COL,...", read.columns, _COLUMNS, WHO)]


def _scale(name: str, help: str) -> Any:
    return option(f"{name} X", read.positive_number, help, WHO, allowed=_FACTOR)


_FACTOR = "a number above 0, such as 2 or 1/2"
_INPUTS = "What if prompts were X times as long? Rounded up to whole tokens."
_OUTPUTS = "What if answers were X times as long? Rounded up to whole tokens."
_TIMES = "What if SOURCE came X times as fast? Its times of arrival are divided by X."
ScaleInput = Annotated[Fraction, _scale("--scale-input", _INPUTS)]
ScaleOutput = Annotated[Fraction, _scale("--scale-output", _OUTPUTS)]
ScaleRate = Annotated[Fraction, _scale("--scale-rate", _TIMES)]
Json = Annotated[bool, flag("--json", "Print only JSON on standard output.", OUTPUT)]


def out(what: str, names: str = "--out") -> Any:
    """The option `--out`, a folder that can be written."""
    return option(f"{names} DIR", read.writable_folder, f"Write {what} into this folder.", OUTPUT)


_HTML = "Write the answer as one file for a browser: text, charts, what was assumed."
Html = Annotated[Path | None, option("--html FILE", read.report_file, _HTML, OUTPUT)]


def seed(of: str, most: int = 2**63 - 1) -> Any:
    """The option `--seed`."""
    return option("--seed N", read.whole_number, f"Seed of {of}.", RUN, least=0, most=most)
