"""The package as its users meet it: names that resolve, and an import that is instant."""

import json
import subprocess
import sys

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


@pytest.mark.parametrize("name", fluidkv.__all__)
def test_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(fluidkv, name) is not None
    assert name in dir(fluidkv)


def test_public_list_has_one_home_for_each_name() -> None:
    assert sorted(fluidkv.__all__) == sorted(fluidkv._HOMES)
    assert len(set(fluidkv.__all__)) == len(fluidkv.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'fluidkv' has no attribute 'simulat'"):
        _ = fluidkv.simulat


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
