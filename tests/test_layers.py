"""Imports point one way: the picture of the rooms, held by reading every module.

Every import statement counts, also inside functions and under TYPE_CHECKING: a layer that needs a
name from above only for a type knows the layer above.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import fluidkv

PACKAGE = Path(fluidkv.__file__).parent

GROUND = {"text", "errors", "reading", "files", "verdict", "workload"}
READERS = {"traces", "measured"}
SIBLINGS = {"exact", "fluid"}
SUBJECTS = {"wait", "prefix", "preempt", "tokenpd"}
LABORATORY = GROUND | READERS | SIBLINGS | SUBJECTS | {"runs", "serving"}

# room -> rooms of the package that it may import, besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "text": set(),
    "errors": {"text"},
    "reading": {"text", "errors"},
    "files": {"text", "errors"},
    "verdict": {"text", "errors"},
    "workload": {"text", "errors"},
    "runs": GROUND,
    "exact": GROUND,
    "fluid": GROUND | {"runs"},
    **dict.fromkeys(READERS, GROUND),
    "serving": GROUND | SIBLINGS | {"runs"},
    **dict.fromkeys(SUBJECTS, GROUND | SIBLINGS | {"runs", "serving"}),
    "answers": LABORATORY,
    "ledger": GROUND,
    # A figure may show what an answer found; it knows no paper.
    "figures": LABORATORY | {"answers"},
    "papers": LABORATORY | {"answers", "ledger", "figures"},
}
MAY_IMPORT["cli"] = set(MAY_IMPORT)
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["__init__"] = set(MAY_IMPORT) - {"cli", "__main__"}  # the lazy list of public names

# library -> rooms that may import it; a library that is not named here is free.
WITHOUT_JAX = GROUND | READERS | {"exact", "ledger", "__init__", "__main__"}
MAY_USE: dict[str, set[str]] = {
    **dict.fromkeys(("jax", "jaxlib", "equinox"), set(MAY_IMPORT) - WITHOUT_JAX),
    "matplotlib": {"figures", "papers"},
    "typer": {"cli"},
    "rich": {"cli"},
}


@dataclass(frozen=True)
class Import:
    """One imported module or name, fully dotted, and the line that imports it."""

    target: str
    line: int


def violations(module: str, source: str) -> list[str]:
    """One line for each import that points the wrong way.

    Args:
        module: path inside the package, as in "exact/roots/winding.py".
        source: its text.
    """
    room = module.removesuffix(".py").split("/")[0]
    if room not in MAY_IMPORT:
        return [f"fluidkv/{module}: {room!r} has no place in the layers; give it one in MAY_IMPORT"]
    found = []
    for imported in _imports(module, source):
        wrong = _wrong(room, imported.target)
        if wrong:
            found.append(f"fluidkv/{module}:{imported.line}: {wrong}")
    return found


def _wrong(room: str, target: str) -> str | None:
    """Why `room` may not import the dotted name; None if it may."""
    library, *inside = target.split(".")
    if library != "fluidkv":
        if room in MAY_USE.get(library, {room}):
            return None
        return f"{room} imports {library}, which only {_listed(MAY_USE[library])} may use"
    if not inside or inside[0] == "__version__":
        return None
    # `from fluidkv import study_system` reaches the module where the public name lives.
    home = fluidkv._HOMES.get(inside[0], inside[0]).split(".")[0]
    if home == room or home in MAY_IMPORT[room]:
        return None
    return f"{room} imports {home}, but may import only {_listed(MAY_IMPORT[room])}"


def _imports(module: str, source: str) -> Iterator[Import]:
    tree = ast.parse(source, filename=module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
                if alias.name == "fluidkv":  # loads its names lazily: what is used counts
                    yield from _attributes(tree, alias.asname or alias.name)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            # from fluidkv import exact: the name is the module that counts
            for alias in node.names:
                yield Import(f"{origin}.{alias.name}", node.lineno)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, node.lineno)


def _attributes(tree: ast.AST, package: str) -> Iterator[Import]:
    """fluidkv.x for each attribute x that is taken of the name `package`."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == package:
                yield Import(f"fluidkv.{attribute}", node.lineno)


def _origin(module: str, node: ast.ImportFrom) -> str:
    """The dotted module of `from ... import`, relative levels resolved."""
    if not node.level:
        return node.module or ""
    folder = ["fluidkv", *module.split("/")[:-1]]
    parts = folder[: len(folder) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _listed(rooms: set[str]) -> str:
    return ", ".join(sorted(rooms)) or "nothing"


def _modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("module", _modules())
def test_imports_point_one_way(module: str) -> None:
    wrong = violations(module, (PACKAGE / module).read_text(encoding="utf-8"))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("exact/new.py", "import jax.numpy as jnp", "exact imports jax, which only"),
        ("exact/new.py", "def f():\n    from jax import lax", "exact/new.py:2: exact imports jax"),
        ("exact/new.py", "from fluidkv.fluid import simulate", "exact imports fluid"),
        ("exact/new.py", "from fluidkv import fluid", "exact imports fluid"),
        ("exact/new.py", "from fluidkv import simulate", "exact imports fluid"),
        ("exact/new.py", "from ..fluid.model import MassModel", "exact imports fluid"),
        ("exact/new.py", "from .. import answers", "exact imports answers"),
        (
            "exact/new.py",
            "import fluidkv\nfluidkv.simulate()",
            "exact imports fluid",
        ),
        ("exact/new.py", "import fluidkv as kv\nkv.fluid.model", "exact imports fluid"),
        ("exact/new.py", "import_module('fluidkv.fluid')", "exact imports fluid"),
        ("fluid/new.py", "from fluidkv.exact import survival", "fluid imports exact"),
        ("traces/new.py", "import fluidkv.exact.mass", "traces imports exact"),
        ("traces/new.py", "from fluidkv.measured import measure", "traces imports measured"),
        ("measured.py", "import equinox", "measured imports equinox"),
        ("workload.py", "from fluidkv.verdict import Verdict", "workload imports verdict"),
        ("serving/new.py", "from fluidkv.traces import Trace", "serving imports traces"),
        ("runs/new.py", "from fluidkv.serving import serve", "runs imports serving"),
        ("wait/new.py", "from fluidkv.prefix import tree", "wait imports prefix"),
        ("answers/new.py", "import matplotlib.pyplot", "answers imports matplotlib"),
        ("answers/new.py", "from fluidkv.figures import render", "answers imports figures"),
        ("papers/new.py", "from fluidkv.cli import app", "papers imports cli"),
        ("figures/new.py", "from rich import print", "figures imports rich"),
        ("cli/new.py", "from matplotlib import pyplot", "cli imports matplotlib"),
        (
            "exact/new.py",
            "from typing import TYPE_CHECKING as T\nif T:\n    from fluidkv.answers import S",
            "exact/new.py:3: exact imports answers",
        ),
        ("novel/new.py", "", "'novel' has no place in the layers"),
    ],
)
def test_a_wrong_import_is_named(module: str, source: str, said: str) -> None:
    (message,) = violations(module, source)
    assert said in message


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("exact/new.py", "import numpy as np\nfrom fluidkv.workload import System"),
        ("exact/new.py", "from .winding import Series\nfrom ..errors import InputError"),
        ("exact/new.py", "import fluidkv\nfluidkv.__version__"),
        ("fluid/new.py", "import jax\nfrom fluidkv.fluid.model import MassModel"),
        ("serving/new.py", "from fluidkv.exact.mass import iterate\nfrom fluidkv import fluid"),
        ("wait/new.py", "from fluidkv import __version__, simulate"),
        ("figures/new.py", "import matplotlib\nfrom fluidkv.answers.study import StudyResult"),
        ("cli/new.py", "import typer\nfrom fluidkv.figures import render"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert violations(module, source) == []


def test_the_picture_has_no_cycle() -> None:
    above: set[str] = set()
    waiting = dict(MAY_IMPORT)
    while waiting:
        ready = {room for room, below in waiting.items() if below - {room} <= above}
        assert ready, f"these rooms import each other: {_listed(set(waiting))}"
        above |= ready
        for room in ready:
            del waiting[room]
