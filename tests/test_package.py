"""The package as its users meet it: names that resolve, and an import that is instant."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from inspect import unwrap
from pathlib import Path

import pytest

import fluidkv

# Each takes from a tenth of a second to seconds to import.
HEAVY = {"jax", "jaxlib", "equinox", "numpy", "scipy", "sympy", "matplotlib", "xarray", "flint"}


def _loaded_by(code: str) -> set[str]:
    """Top-level names in sys.modules of a fresh interpreter after `code`."""
    report = "import json, sys; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not _loaded_by("import fluidkv; dir(fluidkv)") & HEAVY


@pytest.mark.parametrize(
    "arguments", [["--help"], ["study", "--help"], ["verify", "--help"], ["figure", "--help"]]
)
def test_asking_for_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from fluidkv.cli import main\n"
        f"sys.argv = ['fluidkv', *{arguments!r}]\n"
        "try:\n"
        "    code = main()\n"
        "except SystemExit as stop:\n"
        "    code = stop.code\n"
        "assert not code, code\n"
    )
    loaded = _loaded_by(code)
    assert "typer" in loaded  # the help really was asked for
    assert not loaded & HEAVY


def test_the_probe_sees_what_is_loaded() -> None:
    assert "numpy" in _loaded_by("import fluidkv.exact.roots.winding") & HEAVY


STUBS = sorted(Path(fluidkv.__file__).parent.rglob("__init__.pyi"))


def _listed(stub: Path) -> list[tuple[str, str]]:
    """(module, name) of each import in a stub; module "" for a room."""
    nodes = ast.parse(stub.read_text(encoding="utf-8")).body
    found = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return [(node.module or "", alias.name) for node in found for alias in node.names]


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_each_public_name_of_a_room_is_there_once_and_no_file_hides_it(stub: Path) -> None:
    package = ".".join(["fluidkv", *stub.parent.relative_to(STUBS[0].parent).parts])
    room = import_module(package)
    names = [name for _, name in _listed(stub)]
    assert len(set(names)) == len(names)
    files = {path.stem for path in stub.parent.iterdir() if path.name != "__init__.py"}
    for module, name in _listed(stub):
        home = import_module(f"{package}.{module}") if module else room
        # A file or folder of that name would take its place as soon as it is imported.
        assert not module or name not in files, name
        assert unwrap(getattr(room, name)) is unwrap(getattr(home, name))
        assert name in dir(room)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No fluidkv attribute simulat"):
        _ = getattr(fluidkv, "simulat")  # noqa: B009 (pyright knows that it is not there)


@pytest.mark.thorough
def test_importing_everything_leaves_the_configuration_of_jax_alone() -> None:
    code = (
        "import jax\n"
        "before = dict(jax.config.values)\n"
        "import importlib, pkgutil, fluidkv\n"
        "for found in pkgutil.walk_packages(fluidkv.__path__, 'fluidkv.'):\n"
        "    if not found.name.endswith('__main__'):\n"
        "        importlib.import_module(found.name)\n"
        "assert not jax.config.jax_enable_x64\n"
        "assert dict(jax.config.values) == before\n"
    )
    assert "fluidkv" in _loaded_by(code)
