"""Examples of the papers print what stands there."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import fluidkv_papers
from tests.examples.public import FLAGS, GIVEN

(FOLDER,) = map(Path, fluidkv_papers.__path__)
MODULES = [
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for path in sorted(FOLDER.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    outcome = doctest.testmod(import_module(name), extraglobs=GIVEN, optionflags=FLAGS)
    assert outcome.failed == 0


def test_the_theory_has_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    theory = [name for name in MODULES if name.startswith("fluidkv_papers.theory.")]
    examples = [test for name in theory for test in finder.find(import_module(name))]
    assert len([test for test in examples if test.examples]) > 40
