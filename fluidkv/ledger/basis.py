"""What a check stands on: the library, a record of runs, or the paper alone.

It is read off the code of the check and of what that calls among the papers, and nothing is run: so
it does not depend on what other checks left in caches. A check that may call the library counts as
one that does.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType, StrEnum
from functools import partial
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fluidkv.plugins import packages


class Basis(StrEnum):
    """What a check stands on.

    library  it computes with rooms of the library
    record   it reads runs that were recorded, ours or published
    paper    it does neither: numbers, formulas and small cases of the paper, by its own arithmetic
    """

    LIBRARY = "library"
    RECORD = "record"
    PAPER = "paper"


_GROUND = {"errors", "files", "ledger", "plain", "record", "text", "verdict"}
"""Of `fluidkv`: what computes nothing of a paper's subject."""
_THEORY = "theory"
"""The room of a plug-in that is theory, as the library's rooms are, and that only claims call."""


def basis(check: Callable[..., Any]) -> Basis:
    """What a check stands on."""
    rests_on, looked_at, left = Basis.PAPER, set[int](), [check]
    while left:
        value = left.pop()
        if id(value) in looked_at or isinstance(value, Enum | EnumType):
            continue
        looked_at.add(id(value))
        home = _home(value).split(".")
        if value is csv:
            rests_on = Basis.RECORD
        elif home[0] not in {"fluidkv", *packages()}:
            left += _members(value)
        elif home[1] in _GROUND if home[0] == "fluidkv" else home[1] != _THEORY:
            left += _parts(value)
        else:
            return Basis.LIBRARY
    return rests_on


def _home(value: Any) -> str:
    """The module that a value comes from; "" for plain containers and arguments that are bound."""
    if isinstance(value, ModuleType):
        return value.__name__
    home = "" if isinstance(value, partial) else getattr(value, "__module__", "")
    return home if isinstance(home, str) else ""


def _members(value: Any) -> list[Any]:
    """What containers, bound arguments and descriptors hold."""
    if isinstance(value, partial):
        return [value.func, *value.args]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, tuple | list):
        return list(value)
    names = ("fget", "func", "__func__")  # property, cached_property, classmethod
    return [getattr(value, name) for name in names if hasattr(value, name)]


def _parts(value: Any) -> Iterator[Any]:
    """What a value of the papers may use: globals, closures and defaults; fields and methods."""
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, FunctionType):
        yield from value.__defaults__ or ()
        yield from (cell.cell_contents for cell in value.__closure__ or ())
        for code in _codes(value.__code__):
            yield from _meant(code.co_names, value.__globals__)
    elif isinstance(value, type):
        yield from vars(value).values()
    elif not isinstance(value, ModuleType):
        yield type(value)
        if is_dataclass(value):
            yield from (getattr(value, field.name) for field in fields(value))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _meant(names: Sequence[str], globals_: Mapping[str, Any]) -> Iterator[Any]:
    """What names stand for: globals, and what they may be of a module of the papers."""
    prefixes = tuple(f"{package}." for package in packages())
    values = [globals_[name] for name in names if name in globals_]
    values += [import_module(n) for n in names if n.startswith(("fluidkv.", *prefixes))]
    for value in values:
        yield value
        if isinstance(value, ModuleType) and value.__name__.startswith(prefixes):
            values += [getattr(value, name) for name in names if hasattr(value, name)]
