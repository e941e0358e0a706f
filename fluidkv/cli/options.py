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

from fluidkv.answers.classes import CLASSES
from fluidkv.answers.prompt_options import SCALE_INPUT, SCALE_OUTPUT, SCALE_RATE
from fluidkv.cli import arguments as read
from fluidkv.errors import InputError
from fluidkv.questions.options import OUTPUT, RUN, WHO, Option
from fluidkv.questions.options import SERVER as SERVER

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


def typed(about: Option) -> Any:
    """An option of a question in the signature of a command that is none."""
    return option(
        about.spec, str if about.kind is None else about.kind.read, about.help, about.panel
    )


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


MaybeClasses = Annotated[list[str] | None, option(CLASSES.spec, str, CLASSES.help, CLASSES.panel)]
_TRACE = (
    "Trace file, benchmark result or log folder, its format found from the content; or "
    "sample:vllm-rtx4090."
)
Source = Annotated[str | None, argument("SOURCE", str, _TRACE)]
_PRESETS = "A synthetic workload: alpaca, bookcorpus, sharegpt."
Preset = Annotated[str | None, option("--preset NAME", str, _PRESETS, WHO)]
_FORMATS = (
    "Format of SOURCE, instead of by its content: aiperf, azure, burstgpt, csv, genai-perf, "
    "guidellm, mooncake, segments, sglang-bench-serving, sglang-log, vidur, vllm-bench, "
    "vllm-bench-serve."
)
Format = Annotated[str | None, option("--format NAME", str, _FORMATS, WHO)]
_COLUMNS = (
    "Which columns of a CSV file hold lengths and times: input=COL,output=COL,arrival=COL, each "
    r"where it has no usual name."
)
Columns = Annotated[dict | None, option("--columns WHAT=COL,...", read.columns, _COLUMNS, WHO)]


ScaleInput = Annotated[Fraction, typed(SCALE_INPUT)]
ScaleOutput = Annotated[Fraction, typed(SCALE_OUTPUT)]
ScaleRate = Annotated[Fraction, typed(SCALE_RATE)]
Json = Annotated[bool, flag("--json", "Print only JSON on standard output.", OUTPUT)]


def out(what: str, names: str = "--out") -> Any:
    """The option `--out`, a folder that can be written."""
    return option(f"{names} DIR", read.writable_folder, f"Write {what} into this folder.", OUTPUT)


_HTML = "Write the answer as one file for a browser: text, charts, what was assumed."
Html = Annotated[Path | None, option("--html FILE", read.report_file, _HTML, OUTPUT)]


def seed(of: str, most: int = 2**63 - 1) -> Any:
    """The option `--seed`."""
    return option("--seed N", read.whole_number, f"Seed of {of}.", RUN, least=0, most=most)
