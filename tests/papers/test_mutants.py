"""Statements made wrong: each check notices, so none of them can only agree."""

import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

from fluidkv.ledger.registry import claim_of
from fluidkv.ledger.verify import run
from tests.papers import mutants
from tests.papers.mutants import Mutant

TABLES = [import_module(f"{mutants.__name__}.{m.name}") for m in iter_modules(mutants.__path__)]
MUTANTS: list[Mutant] = [mutant for table in TABLES for mutant in table.MUTANTS]


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.claim)
def test_a_statement_made_wrong_is_noticed(mutant: Mutant) -> None:
    module = _mutated(mutant)
    (claim,) = [c for c in module.CLAIMS if c.id == mutant.claim]
    result = run(claim)
    assert result.error == ""
    assert not result.as_expected, result.to_dict()


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.__name__.rpartition(".")[2])
def test_what_is_made_wrong_stands_in_the_claims(table: ModuleType) -> None:
    """So that a claim in other words is noticed daily, not when its mutant is run."""
    for mutant in table.MUTANTS:
        module = sys.modules[claim_of(mutant.claim).check.__module__]
        assert _changed(mutant, module) != _text(module)


def _mutated(mutant: Mutant) -> ModuleType:
    """The claim's module, executed again from the changed text."""
    original = sys.modules[claim_of(mutant.claim).check.__module__]
    assert original.__file__ is not None
    module = ModuleType(original.__name__)
    module.__file__ = original.__file__
    exec(compile(_changed(mutant, original), original.__file__, "exec"), module.__dict__)
    return module


def _changed(mutant: Mutant, original: ModuleType) -> str:
    """The text of the claim's module, made wrong where the mutant says."""
    text = _text(original)
    near = mutant.near or _declared(text, mutant.claim.partition(".")[2])
    front, found, rest = text.partition(near)
    assert found, f"{near!r} is not in {original.__name__}"
    at = rest.find(mutant.old)
    assert at >= 0, f"{mutant.old!r} does not follow {near!r}"
    return front + found + rest[:at] + mutant.new + rest[at + len(mutant.old) :]


def _text(module: ModuleType) -> str:
    assert module.__file__ is not None
    return Path(module.__file__).read_text(encoding="utf-8")


def _declared(text: str, id: str) -> str:
    """What stands where a claim is declared: its id, or its own part of it in a section."""
    for name, front in re.findall(r'(\w+) = CLAIMS\.section\(\s*"([^"]+)"', text):
        own = re.escape(id.removeprefix(f"{front}."))
        if id.startswith(f"{front}.") and (at := re.search(rf'{name}\.\w+\(\s*"{own}"', text)):
            return at[0]
    return f'"{id}"'
