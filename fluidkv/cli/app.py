"""The commands in their panels, and what surrounds all of them: errors, signals, exit codes."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

import fluidkv
from fluidkv.answers.questions import QUESTIONS
from fluidkv.cli.asking import command_of
from fluidkv.cli.codes import BAD_INPUT, CRASHED
from fluidkv.cli.commands.bench.command import bench
from fluidkv.cli.commands.clocks import clocks
from fluidkv.cli.commands.explore.command import explore
from fluidkv.cli.commands.figure import figure
from fluidkv.cli.commands.log import log
from fluidkv.cli.commands.sweep.command import sweep
from fluidkv.cli.commands.table import table
from fluidkv.cli.commands.verify import verify
from fluidkv.cli.groups import expanded
from fluidkv.cli.misspelt import unknown_option
from fluidkv.cli.signals import INTERRUPTED
from fluidkv.errors import InputError
from fluidkv.text import printable

app = typer.Typer(
    name="fluidkv",
    help="The stability laboratory for KV-cache memory in LLM serving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_PANELS: dict[str, tuple[str | Callable[..., Any], ...]] = {
    "Your server": (
        *(log, "study", "recommend", "size", "compare", "replay", "mix", "wait", "cache", "route"),
        *("preempt", "price", clocks),
    ),
    "Theory": (explore, "threshold", "equilibria", "cascade", "pulse", "atlas"),
    "Many at once": (sweep,),
    "Papers": (verify, table, figure, "oracle"),
    "Machine": (bench,),
}
"""Commands, and the names of those that are questions."""
for _panel, _commands in _PANELS.items():
    for _each in _commands:
        _run = command_of(QUESTIONS[_each]) if isinstance(_each, str) else expanded(_each)
        app.command(rich_help_panel=_panel)(_run)


def run(argv: Sequence[str] | None) -> int:
    """What `fluidkv.cli.main` does, handlers of signals apart."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what it cannot encode it spells out
            stream.reconfigure(errors="backslashreplace")
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        code = _program(len(app.registered_commands))(
            args=list(words), prog_name="fluidkv", standalone_mode=False, obj=words
        )
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be answered
    except InputError as error:
        return _refuse(str(error))
    except TyperException as error:
        message = unknown_option(error) or " ".join(error.format_message().split())
        return _refuse(printable(message)) if message else BAD_INPUT  # no command: help is printed
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # the reader of a pipe has seen enough; typer exits then
        _discard_output()
        return 0
    except OSError as error:  # standard output, on a full disk for one
        _discard_output()
        return _refuse(f"output: {error.strerror or error}")
    except Exception as error:  # of ours: every input is refused or answered above
        return _crashed(error)
    if code == INTERRUPTED:  # typer's answer to Ctrl-C inside a command
        return _interrupted()
    return code if isinstance(code, int) else 0


@cache
def _program(_commands: int) -> Callable[..., Any]:
    """All commands as one program, made once: making it takes longer than reading a line.

    Args:
        _commands: how many there are; a command that is added makes another program.
    """
    return typer.main.get_command(app)


def _interrupted() -> int:
    print("fluidkv: interrupted; nothing was left half-written", file=sys.stderr)
    return INTERRUPTED


def _discard_output() -> None:
    """What is still buffered goes nowhere: flushing it at exit would fail once more."""
    with suppress(OSError, ValueError):  # a stream of the caller's, without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _crashed(error: Exception) -> int:
    """Ask for a report of what no input should bring about."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        print(printable(line), file=sys.stderr)
    print(
        f"fluidkv: this is a bug of fluidkv {fluidkv.__version__}; please report the lines above "
        "and the command line",
        file=sys.stderr,
    )
    return CRASHED


def _refuse(message: str) -> int:
    print(f"fluidkv: {message}", file=sys.stderr)
    return BAD_INPUT


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fluidkv {fluidkv.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The stability laboratory for KV-cache memory in LLM serving."""
