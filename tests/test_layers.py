"""Imports point one way: the picture of the rooms, held by reading every module.

Every import statement counts, also inside functions and under TYPE_CHECKING: a layer that needs a
name from above only for a type knows the layer above.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

import fluidkv
import fluidkv_papers

PACKAGE = Path(fluidkv.__file__).parent
PAPERS = Path(fluidkv_papers.__file__).parent
PUBLIC = {
    alias.name: node.module
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
"""Name at the top level -> the module where it lives."""

GROUND = {
    *("plain", "kinds", "record", "keys", "text", "errors", "reading", "files", "labels"),
    *("processes", "systems", "verdict", "workload"),
}
READERS = {"traces", "measured"}
FILES = READERS | {"logs"}
SIBLINGS = {"exact", "fluid"}
SUBJECTS = {"wait", "routing", "preempt", "tokenpd"}
LABORATORY = (
    GROUND | FILES | SIBLINGS | SUBJECTS | {"symbolic", "footprints", "runs", "prefix", "serving"}
)

# room -> rooms of the package that it may import, besides itself.
MAY_IMPORT: dict[str, set[str]] = {
    "plain": set(),
    "text": set(),
    "errors": {"text"},
    "kinds": {"text", "errors"},
    "record": {"plain", "kinds"},
    "keys": {"plain", "record"},
    "reading": {"text", "errors"},
    "files": {"text", "errors"},
    "processes": {"text", "errors", "files"},
    "verdict": {"text", "errors"},
    "workload": {"text", "errors", "record"},
    "systems": {"text", "errors", "kinds", "workload"},
    "labels": {"text", "errors", "workload"},
    "runs": GROUND,
    "exact": GROUND,
    "symbolic": GROUND | {"exact"},
    "fluid": GROUND | {"runs"},
    "footprints": GROUND | {"exact", "runs"},
    **dict.fromkeys(READERS, GROUND),
    "logs": GROUND | READERS,
    # What a cache keeps is a matter of prompts alone; engines and routers have caches.
    "prefix": GROUND | {"runs"},
    "serving": GROUND | SIBLINGS | {"runs", "prefix"},
    **dict.fromkeys(SUBJECTS, GROUND | SIBLINGS | {"runs", "prefix", "serving"}),
    # What a figure is, and how any answer is shown: they know no answer and no paper.
    "figures": LABORATORY | {"plugins"},
    "report": GROUND | {"figures"},
    # What a question is, and what follows from its declaration; it knows none.
    "questions": GROUND | {"figures", "report"},
    "answers": LABORATORY | {"figures", "report", "questions"},
    # A sweep runs any analysis by its name; the measured suite times whatever there is.
    "sweeps": LABORATORY | {"questions", "answers"},
    "suite": LABORATORY | {"answers", "sweeps"},
    # What other distributions list, by entry points: the library imports none of them.
    "plugins": {"text", "errors"},
    "ledger": GROUND | {"plugins"},
    "papers": LABORATORY | {"answers", "ledger", "figures"},  # a distribution of its own
    # The page one can touch: the theory's numbers for JavaScript's.
    "explore": GROUND | SIBLINGS | {"footprints", "runs", "traces", "figures", "report"},
}
MAY_IMPORT["cli"] = set(MAY_IMPORT) - {"papers"}
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["__init__"] = set(MAY_IMPORT) - {
    "papers",
    "cli",
    "__main__",
}  # the lazy list of public names

# library -> rooms that may import it; a library that is not named here is free.
WITHOUT_JAX = GROUND | FILES | {"exact", "symbolic", "plugins", "ledger", "__init__", "__main__"}
MAY_USE: dict[str, set[str]] = {
    **dict.fromkeys(("jax", "jaxlib", "equinox"), set(MAY_IMPORT) - WITHOUT_JAX),
    "matplotlib": {"figures", "answers", "papers", "report"},
    "fluidkv_papers": {"papers"},
    "typer": {"cli"},
    "rich": {"cli", "report"},
    "numba": {"runs"},
    "zarr": {"sweeps"},
    "dask": {"sweeps"},
    "distributed": {"sweeps"},
}


@dataclass(frozen=True)
class Import:
    """One imported module or name, fully dotted, and the line that imports it."""

    target: str
    line: int


def violations(module: str, source: str) -> list[str]:
    """One line for each import that points the wrong way.

    Args:
        module: path inside the package, as in "exact/roots/winding.py", or of a stub, whose names
            are loaded on first use; "papers/..." is one of `fluidkv_papers`.
        source: its text.
    """
    room = module.removesuffix(".pyi").removesuffix(".py").split("/")[0]
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
    home = PUBLIC.get(inside[0], inside[0]).split(".")[0]
    if home == room or home in MAY_IMPORT[room]:
        return None
    return f"{room} imports {home}, but may import only {_listed(MAY_IMPORT[room])}"


@cache
def parsed(source: str) -> ast.Module:
    """A module's syntax: several tests look at all of them."""
    return ast.parse(source)


def _imports(module: str, source: str) -> Iterator[Import]:
    tree = parsed(source)
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
    folder = _package(module).split("/")[:-1]
    parts = folder[: len(folder) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _listed(rooms: set[str]) -> str:
    return ", ".join(sorted(rooms)) or "nothing"


def _sources() -> dict[str, str]:
    return {
        front + path.relative_to(package).as_posix(): path.read_text(encoding="utf-8")
        for front, package in (("", PACKAGE), ("papers/", PAPERS))
        for path in package.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }


def test_imports_point_one_way() -> None:
    wrong = [line for each in sorted(_sources().items()) for line in violations(*each)]
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
        ("exact/__init__.pyi", "from ..fluid.model import f as f", "exact imports fluid"),
        (
            "exact/new.py",
            "import fluidkv\nfluidkv.simulate()",
            "exact imports fluid",
        ),
        ("exact/new.py", "import fluidkv as kv\nkv.fluid.model", "exact imports fluid"),
        ("exact/new.py", "import_module('fluidkv.fluid')", "exact imports fluid"),
        ("exact/new.py", "from fluidkv.symbolic import Z", "exact imports symbolic"),
        ("symbolic/new.py", "from fluidkv.wait import WaitSystem", "symbolic imports wait"),
        ("fluid/new.py", "from fluidkv.exact import survival", "fluid imports exact"),
        ("traces/new.py", "import fluidkv.exact.mass", "traces imports exact"),
        ("traces/new.py", "from fluidkv.measured import measure", "traces imports measured"),
        ("traces/new.py", "from fluidkv.logs import read_log", "traces imports logs"),
        ("logs/new.py", "from fluidkv.serving import serve", "logs imports serving"),
        ("logs/new.py", "import jax", "logs imports jax"),
        ("measured.py", "import equinox", "measured imports equinox"),
        ("workload.py", "from fluidkv.verdict import Verdict", "workload imports verdict"),
        ("serving/new.py", "from fluidkv.traces import Trace", "serving imports traces"),
        ("runs/new.py", "from fluidkv.serving import serve", "runs imports serving"),
        ("prefix/new.py", "from fluidkv.serving import serve", "prefix imports serving"),
        ("wait/new.py", "from fluidkv.routing import routers", "wait imports routing"),
        ("serving/new.py", "import matplotlib.pyplot", "serving imports matplotlib"),
        ("figures/new.py", "from fluidkv.answers import study_system", "figures imports answers"),
        ("papers/new.py", "from fluidkv.cli import app", "papers imports cli"),
        ("papers/new.py", "from fluidkv.sweeps import sweep", "papers imports sweeps"),
        ("cli/new.py", "from fluidkv_papers import ledger", "cli imports fluidkv_papers"),
        ("ledger/new.py", "import fluidkv_papers.ledger", "ledger imports fluidkv_papers"),
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
        ("answers/new.py", "import matplotlib\nfrom fluidkv.figures.figure import Figure"),
        ("cli/new.py", "import typer\nfrom fluidkv.figures import render"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert violations(module, source) == []


def test_the_picture_has_no_cycle() -> None:
    circle = _in_circles(MAY_IMPORT)
    assert not circle, f"these rooms import each other: {_listed(circle)}"


# ------------------------------------------------------------------------------ inner rooms, cycles


def circles(sources: Mapping[str, str]) -> list[str]:
    """One line for each folder whose files and inner rooms import each other in a circle.

    An import counts between the two children, files or folders, of the lowest folder that holds
    both ends. So no modules import each other in a circle, and no inner rooms do. What an
    `__init__` imports does not count: rooms load their public names lazily, and a name that is
    taken of a room counts as the module where it lives.

    Args:
        sources: path inside the package -> text; of all modules, and of stubs.
    """
    homes = {_dotted(module): _dotted(module) for module in sources if module.endswith(".py")}
    for stub in (module for module in sources if module.endswith(".pyi")):
        for node in ast.walk(parsed(sources[stub])):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    homes.setdefault(f"{_dotted(stub)}.{alias.name}", _origin(stub, node))
    arrows: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, source in sources.items():
        if module.endswith((".pyi", "__init__.py")):
            continue
        for imported in _imports(module, source):
            here, there = _dotted(module).split("."), _home(imported.target, homes).split(".")
            shared = _shared(here, there)
            if shared < min(len(here), len(there)):
                arrows[".".join(here[:shared])][here[shared]].add(there[shared])
    found = [(folder, _in_circles(of)) for folder, of in sorted(arrows.items())]
    return [f"{folder}: {_listed(circle)} import each other" for folder, circle in found if circle]


def _shared(here: list[str], there: list[str]) -> int:
    """How many folders both paths begin with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False))
    return sum(1 for _ in same)


def _dotted(module: str) -> str:
    return _package(module).rsplit(".", 1)[0].replace("/", ".").removesuffix(".__init__")


def _package(module: str) -> str:
    """The path of a module with its package before it."""
    inside = module.removeprefix("papers/")
    return f"fluidkv/{module}" if inside == module else f"fluidkv_papers/{inside}"


def _home(target: str, homes: Mapping[str, str]) -> str:
    """The module that an imported name lives in."""
    while target not in homes and "." in target:
        target = target.rsplit(".", 1)[0]
    return homes.get(target, target)


def _in_circles(arrows: Mapping[str, set[str]]) -> set[str]:
    """Nodes on circles, or between two: what is left without beginnings and ends."""
    left = {node: set(to) - {node} for node, to in arrows.items()}
    while True:
        reached = set().union(*left.values())
        kept = {node: to & left.keys() for node, to in left.items() if to & left.keys()}
        kept = {node: to for node, to in kept.items() if node in reached}
        if kept == left:
            return set(left)
        left = kept


def test_no_files_and_no_inner_rooms_import_each_other() -> None:
    assert circles(_sources()) == []


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (
            {
                "fluid/a.py": "from fluidkv.fluid.b import f",
                "fluid/b.py": "def g():\n    from fluidkv.fluid.c import h",
                "fluid/c.py": "from .a import i",
            },
            "fluidkv.fluid: a, b, c import each other",
        ),
        (
            {
                "exact/one/a.py": "from fluidkv.exact.two.b import f",
                "exact/two/b.py": "",
                "exact/two/c.py": "from fluidkv.exact.one.d import f",
                "exact/one/d.py": "",
            },
            "fluidkv.exact: one, two import each other",
        ),
        (
            {
                "exact/inner/a.py": "from fluidkv.exact.b import f",
                "exact/b.py": "from fluidkv.exact import public",
                "exact/__init__.py": "",
                "exact/__init__.pyi": "from .inner.c import public as public",
                "exact/inner/c.py": "",
            },
            "fluidkv.exact: b, inner import each other",
        ),
    ],
)
def test_a_circle_is_named(sources: dict[str, str], said: str) -> None:
    assert circles(sources) == [said]


def test_a_straight_line_is_no_circle() -> None:
    lines = {"fluid/a.py": "from fluidkv.fluid.in_it.b import f", "fluid/in_it/b.py": ""}
    assert circles(lines | {"fluid/c.py": "from fluidkv.fluid import a"}) == []


def test_the_page_on_architecture_names_every_room_at_the_top() -> None:
    """`docs/_site/rooms.py` makes a page of all rooms and files."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}/`" not in page} == set()
