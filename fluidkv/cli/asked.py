"""What was asked: the command, its options and what was read; it heads the JSON of every answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

import fluidkv
from fluidkv.answers.memory import Amount
from fluidkv.plain import with_exact
from fluidkv.questions.options import as_options

if TYPE_CHECKING:
    from fluidkv.traces.report import LoadReport

MEMORY, LENGTH = "KV tokens", "tokens"
_NO_INPUT = ("json", "out", "html")  # where the answer goes is no part of what was asked


ENVELOPE_KEYS = (
    ("fluidkv", "text", "version of the package"),
    ("command", "text", "its name"),
    (
        *("inputs.*", ""),
        "every option that has a value, by its name (`-` as `_`), read: numbers are numbers; "
        "seeds are among them",
    ),
    ("inputs.read", "", "if rows of a file were read: → [report](#report)"),
    ("units.memory", "text", "KV tokens"),
    ("units.length", "text", "tokens"),
    ("units.time", "text", "of durations; null where there are none"),
)
"""Keys of `envelope`, with units and what they are."""


@dataclass
class _Asked:
    command: str
    options: Mapping[str, Any]
    running: typer.Context | None = None
    read: dict[str, object] = field(default_factory=dict)


_asked: ContextVar[_Asked] = ContextVar("asked")


def begin(command: str, options: Mapping[str, Any], running: typer.Context) -> None:
    """Remember what this command was asked.

    Args:
        options: values of its parameters, read from the text of the command line.
        running: how its parameters were declared, and the words themselves.
    """
    _asked.set(_Asked(command, options, running))


def context() -> typer.Context:
    """Of the command that runs; its `obj` holds the words behind "fluidkv"."""
    running = _asked.get().running
    assert running is not None  # commands run through `begin`
    return running


def written_names(others: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Argument of a function -> the option of the command that runs, as its reader wrote it.

    Args:
        others: of arguments that have another name than the option.
    """
    names = {
        each.name.rstrip("_"): each.opts[0] if each.opts[0].startswith("-") else str(each.metavar)
        for each in context().command.params
    }
    return names | dict(others)


@contextmanager
def as_written(others: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """What the reader wrote, in messages about arguments of functions; `written_names` has them."""
    with as_options(written_names(others)):
        yield


def note_read(report: "LoadReport") -> None:
    """Remember what the reader of the source did with its rows."""
    _asked.get(_Asked("", {})).read.update(report.to_dict())


def envelope(time: str | None) -> dict[str, Any]:
    """What stands before every answer: version, command, inputs, units.

    Args:
        time: unit of durations; None where there are none.
    """
    asked = _asked.get()
    inputs: dict[str, Any] = {}
    for name, value in asked.options.items():
        name = name.rstrip("_")
        if value is not None and name not in _NO_INPUT:
            inputs |= _plain(name, value)
    if asked.read:
        inputs["read"] = asked.read
    return {
        "fluidkv": fluidkv.__version__,
        "command": asked.command,
        "inputs": inputs,
        "units": {"memory": MEMORY, "length": LENGTH, "time": time},
    }


def _plain(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Amount):
        value = value.as_number
    if isinstance(value, list | tuple):
        value = [each.as_number if isinstance(each, Amount) else each for each in value]
    if isinstance(value, Fraction):
        return with_exact(name, value)
    if isinstance(value, list | tuple) and any(isinstance(each, Fraction) for each in value):
        if any(isinstance(each, str) for each in value):  # amounts in several units
            return {name: [with_exact("", e)[""] if isinstance(e, Fraction) else e for e in value]}
        both = [with_exact(name, Fraction(each)) for each in value]
        return {key: [each[key] for each in both] for key in both[0]}
    return {name: str(value) if isinstance(value, Path) else value}
