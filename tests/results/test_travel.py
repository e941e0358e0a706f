"""What public functions return travels: it pickles, copies, equals itself and is plain values."""

import ast
import copy
import inspect
import json
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import fluidkv
from fluidkv.plain import plain
from fluidkv.record import Record, same
from tests.conventions import complaints
from tests.results.examples import EXAMPLES

PACKAGE = Path(fluidkv.__file__).parent
ELSEWHERE = {"simulate_chain", "sweep"}
"""Held by tests/wait/chain/test_systems.py and tests/sweeps, which have them compiled."""

DEEPER = ("event_log", "basins", "convergence", "attractors", "evict")
"""Whose compilation takes seconds."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.thorough] if name in DEEPER else [])
        for name in EXAMPLES
    ],
)
def result(request: pytest.FixtureRequest) -> Any:
    return EXAMPLES[request.param]()


def test_it_pickles_and_copies_and_equals_itself(result: Any) -> None:
    again = pickle.loads(pickle.dumps(result, protocol=5))
    assert same(again, result)
    assert same(copy.deepcopy(result), result)
    if isinstance(result, Record):
        assert again == result
        assert hash(again) == hash(result)


def test_it_is_plain_values(result: Any) -> None:
    values = result if isinstance(result, list | tuple) else [result]
    for each in values:
        if isinstance(each, Record):
            assert json.dumps(each.to_dict(), allow_nan=False) == json.dumps(each.to_dict())
            assert len(each.to_dict()) > 0
        json.dumps(plain(each), allow_nan=False)


def test_states_and_stability_are_attributes_of_whatever_has_them(result: Any) -> None:
    for each in result if isinstance(result, list | tuple) else [result]:
        for name in ("states", "stability"):
            assert not callable(getattr(each, name, None)) or isinstance(each, xr.Dataset)


def test_its_datasets_keep_the_convention(result: Any) -> None:
    tables = [result] if isinstance(result, xr.Dataset) else []
    if isinstance(result, Record):
        tables += [made()] if (made := getattr(result, "to_xarray", None)) else []
    for table in tables:
        assert complaints(table) == []
        assert bytes(table.to_netcdf()) != b""


def _public_functions() -> dict[str, Any]:
    """Name -> what it is annotated to return, of all rooms but the sweeps'."""
    found: dict[str, Any] = {}
    for stub in sorted(PACKAGE.rglob("__init__.pyi")):
        parts = stub.parent.relative_to(PACKAGE).parts
        if {"sweeps", "suite"} & {*parts}:
            continue
        room = import_module(".".join(("fluidkv", *parts)))
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            names = node.names if isinstance(node, ast.ImportFrom) else []
            for name in (alias.asname or alias.name for alias in names):
                if inspect.isfunction(function := getattr(room, name)):
                    found[name] = inspect.signature(function).return_annotation
    return found


def test_every_function_that_returns_a_dataset_is_here() -> None:
    returned = {n for n, kind in _public_functions().items() if "Dataset" in str(kind)}
    assert len(returned) > 15
    assert returned - EXAMPLES.keys() == ELSEWHERE
