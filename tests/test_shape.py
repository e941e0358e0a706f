"""What a file and a function may be: one idea each, so that a reader takes them in whole.

Examples in docstrings are not counted: they show what is said, and say nothing more.
"""

import ast
import doctest
from inspect import cleandoc
from pathlib import Path

import fluidkv
import fluidkv_papers

LONGEST_FILE, LONGEST_FUNCTION = 400, 80
PACKAGES = [Path(*package.__path__) for package in (fluidkv, fluidkv_papers)]


def test_files_and_functions_are_short() -> None:
    """Lines of what is longer, in files and in functions of them; of all modules at once."""
    lengths: dict[str, int] = {}
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        text, module = path.read_text(encoding="utf-8"), path.as_posix()
        nodes = list(ast.walk(ast.parse(text)))
        lengths[module] = text.count("\n")
        if lengths[module] > LONGEST_FILE:
            lengths[module] -= sum(map(_lines_of_examples, map(_said, nodes)))
        for each in nodes:
            if isinstance(each, ast.FunctionDef):
                lines = (each.end_lineno or 0) - each.lineno + 1
                lines -= _of_doc(each) if lines > LONGEST_FUNCTION else 0
                lengths[f"{module}:{each.lineno} {each.name}"] = lines
    assert len(lengths) > 2000
    allowed = {True: LONGEST_FILE, False: LONGEST_FUNCTION}
    assert {key: n for key, n in lengths.items() if n > allowed[key.endswith(".py")]} == {}


def test_a_constant_is_written_once() -> None:
    """Two merges may each bring the same one, and the later one wins in silence."""
    twice = [
        f"{path.name}: {name}"
        for package in PACKAGES
        for path in package.rglob("*.py")
        for name in _assigned_anew(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert twice == []
    assert _assigned_anew(ast.parse("A = 1\nB = A\nA = 2\nB = (*B, 3)")) == ["A"]


def _assigned_anew(module: ast.Module) -> list[str]:
    """Names that a module assigns again, but not from themselves."""
    names, again = set[str](), []
    for node in module.body:
        if isinstance(node, ast.Assign):
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            assigned = {target.id for target in node.targets if isinstance(target, ast.Name)}
            again += sorted(assigned & names - used)
            names |= assigned
    return again


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
