"""Every module of the library serves its users: theory that only claims call is the papers'.

Users are the commands, the answers, what is swept, timed and explored, and whoever reads the pages:
a public name that a page, a notebook or a benchmark tells of has a use.
"""

import ast
import re
from collections.abc import Iterable
from functools import cache

from tests.test_layers import PACKAGE, _dotted, _imports, _origin, _sources, parsed

ROOT = PACKAGE.parent
SOURCES = _sources()
USERS = {"cli", "answers", "questions", "sweeps", "suite", "explore", "report", "__main__"}
FOR_CLAIMS = {  # module -> why the library has what only claims call
    "fluidkv.ledger.outcomes": "with these a plug-in writes its claims",
    "fluidkv.ledger.ranges": "with these a plug-in writes its claims",
    "fluidkv.ledger.lazy": "with these a plug-in writes its claims",
    "fluidkv.ledger.statements": "with these a plug-in writes its claims",
    "fluidkv.exact.open_mass": "the literal reference of fluid/open",
    "fluidkv.tokenpd.knapsack.literal": "the literal reference of knapsack/compiled",
    "fluidkv.tokenpd.knapsack.heap": "the literal reference of knapsack/compiled",
}
PUBLIC = {
    f"{_dotted(stub)}.{alias.name}": f"{_origin(stub, node)}.{alias.name}"
    for stub, source in SOURCES.items()
    if stub.endswith(".pyi")
    for node in ast.walk(ast.parse(source))
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
"""Public name -> where it is defined."""
MODULES = {_dotted(module): module for module in SOURCES if module.endswith(".py")}


def _module(target: str) -> str | None:
    """The module that a dotted name leads to, also through names that rooms load on first use."""
    while target not in MODULES:
        if target in PUBLIC:
            target = PUBLIC[target]
        elif "." in target:
            target = target.rpartition(".")[0]
        else:
            return None
    return target


@cache
def _used_by(name: str) -> set[str]:
    """Modules that a module imports from, also through names that rooms load on first use."""
    source = SOURCES[MODULES[name]]
    rooms = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    named = {imported.target for imported in _imports(MODULES[name], source)}
    named |= {
        f"{rooms[first]}.{rest}"
        for first, rest in re.findall(r"\b(\w+)\.(\w+)", source)
        if first in rooms
    }
    return {home for target in named if (home := _module(target))}


def _reached(starts: Iterable[str]) -> set[str]:
    reached, left = set[str](), list(starts)
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += _used_by(name)
    return reached


def _told_of() -> set[str]:
    """Modules with a public name that a page, a notebook or a benchmark has as code."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    texts = [page.read_text(encoding="utf-8") for page in [*pages, *ROOT.glob("benchmarks/*.py")]]
    text = "\n".join(texts)
    words = set(re.findall(r"(?:[.`]|import |, )(\w+)", text))
    named = {name for name in PUBLIC if name.rpartition(".")[2] in words}
    named |= set(re.findall(r"\bfluidkv(?:\.\w+)+", text))
    return {home for name in named if (home := _module(name))}


def test_no_module_of_the_library_is_reached_by_papers_alone() -> None:
    starts = {name for name in MODULES if {*name.split(".")[1:2]} & USERS} | _told_of()
    users = _reached(starts)
    papers = _reached(name for name in MODULES if name.startswith("fluidkv_papers"))
    alone = {name for name in papers - users if name.startswith("fluidkv.") and _has_code(name)}
    assert alone == set(FOR_CLAIMS)


def _has_code(name: str) -> bool:
    return not MODULES[name].endswith("__init__.py")
