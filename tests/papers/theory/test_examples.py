"""Examples of the theory print what stands there."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

from fluidkv_papers import theory
from tests.examples.public import FLAGS, GIVEN

MODULES = [found.name for found in walk_packages(theory.__path__, f"{theory.__name__}.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    outcome = doctest.testmod(import_module(name), extraglobs=GIVEN, optionflags=FLAGS)
    assert outcome.failed == 0


def test_the_theory_has_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [t for name in MODULES for t in finder.find(import_module(name)) if t.examples]
    assert len(examples) > 40
