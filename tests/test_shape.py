"""What a file and a function may be: one idea each, so that a reader takes them in whole.

Examples in docstrings are not counted: they show what is said, and say nothing more.
"""

import ast
import doctest
from inspect import cleandoc
from pathlib import Path

import pytest

import fluidkv
import fluidkv_papers

LONGEST_FILE, LONGEST_FUNCTION = 400, 80
MODULES = {
    f"{package.name}/{path.relative_to(package).as_posix()}": path
    for package in (Path(fluidkv.__file__).parent, Path(fluidkv_papers.__file__).parent)
    for path in sorted(package.rglob("*.py"))
}


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_are_short(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    assert text.count("\n") - sum(map(_lines_of_examples, map(_said, nodes))) <= LONGEST_FILE
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 - _of_doc(f) for f in functions}
    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def _of_doc(function: ast.FunctionDef) -> int:
    return _lines_of_examples(ast.get_docstring(function) or "")


def _said(node: ast.AST) -> str:
    """The text that stands by itself: a docstring, or what is below a constant."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return cleandoc(text)
    return ""


def _lines_of_examples(text: str) -> int:
    found = doctest.DocTestParser().get_examples(text)
    heading = 2 * text.count("\nExamples:\n")  # and the blank line above it
    return heading + sum(each.source.count("\n") + each.want.count("\n") for each in found)
