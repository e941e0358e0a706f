"""Public names, where each is defined, and the examples that docstrings hold."""

import ast
import doctest
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fluidkv

PACKAGE = Path(fluidkv.__file__).parent
FLAGS = doctest.ELLIPSIS
# What an example may use without an import; the page on the reference says so.
GIVEN = {"fk": fluidkv, "np": np, "Fraction": Fraction}
PRIVATE = ("cli", "figures")  # rooms that no user imports by name


@dataclass(frozen=True)
class Public:
    """A public name.

    Fields:
        name: as it is listed in the `__init__.pyi` of a room.
        module: file in which it is defined, relative to the package.
        doc: its docstring, or the string below a constant; "" where there is none.
        line: of the definition.
        alias: whether it only names a type, which nothing can run.
        listed: the rooms whose list has it, as in an import; "fluidkv" is the top level.
    """

    name: str
    module: str
    doc: str
    line: int
    alias: bool
    listed: tuple[str, ...] = ()

    @property
    def room(self) -> str:
        return self.module.removesuffix(".py").split("/")[0]


class Example(NamedTuple):
    """What a docstring shows, `name` as in `Class.method`, of a module's file."""

    module: str
    name: str
    test: doctest.DocTest


@cache
def public() -> tuple[Public, ...]:
    """Every public name once, in the order of its modules."""
    found = {}
    for stub in sorted(PACKAGE.rglob("__init__.pyi")):
        here = stub.parent.relative_to(PACKAGE)
        if here.parts[:1] and here.parts[0] in PRIVATE:
            continue
        for node in _body(stub):
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    name = defined(PACKAGE / here, node.module, each.name)
                    known = found.get((name.module, name.name), name)
                    listed = (*known.listed, ".".join(("fluidkv", *here.parts)))
                    found[name.module, name.name] = replace(name, listed=listed)
    return tuple(found[key] for key in sorted(found))


def defined(folder: Path, module: str, name: str) -> Public:
    """Where a name of a module below a folder is defined."""
    path = folder.joinpath(*module.split(".")) if module else folder
    if path.is_dir():
        stub = path / "__init__.pyi"
        path = stub if stub.is_file() else path / "__init__.py"
    else:
        path = path.with_suffix(".py")
    body = _body(path)
    for place, node in enumerate(body):
        doc, alias = None, False
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            if "overload" in map(ast.unparse, node.decorator_list):
                continue  # what is called, and has the docstring, comes last
            doc = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign | ast.AnnAssign) and name in _targets(node):
            doc, alias = _below(body, place), is_type(node)
        elif isinstance(node, ast.ImportFrom) and name in {a.asname or a.name for a in node.names}:
            told = next(a.name for a in node.names if (a.asname or a.name) == name)
            inside = node.module or ""
            if node.level == 1:
                return defined(path.parent, inside, told)
            if inside.split(".")[0] == "fluidkv":
                return defined(PACKAGE, inside.partition(".")[2], told)
        if doc is not None:
            return Public(name, path.relative_to(PACKAGE).as_posix(), doc, node.lineno, alias)
    raise LookupError(f"{name} is not defined in {path}")


@cache
def _body(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def _targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = [t for each in targets for t in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return {target.id for target in flat if isinstance(target, ast.Name)}


def is_type(node: ast.Assign | ast.AnnAssign) -> bool:
    """`X = Literal[...]`, `X = A | B`: what is on the right is a type."""
    value = node.value
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.BitOr)
    return isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name)


def _below(body: list[ast.stmt], place: int) -> str:
    after = body[place + 1 : place + 2]
    match after:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return text
    return ""


@cache
def examples(room: str) -> tuple[Example, ...]:
    """Every example of a room's docstrings, of public names or not."""
    found = []
    files = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").is_file() else []
    for path in (*files, *sorted((PACKAGE / room).rglob("*.py"))):
        module = path.relative_to(PACKAGE).as_posix()
        for name, line, doc in _documented(_body(path)):
            test = doctest.DocTestParser().get_doctest(doc, dict(GIVEN), name, module, line)
            if test.examples:
                found.append(Example(module, name, test))
    return tuple(found)


def _documented(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, int, str]]:
    """What has a docstring, functions in classes too: its name, line and docstring."""
    for place, node in enumerate(body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield within + node.name, node.lineno, ast.get_docstring(node) or ""
            yield from _documented(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in sorted(_targets(node)):
                yield within + name, node.lineno, _below(body, place)
