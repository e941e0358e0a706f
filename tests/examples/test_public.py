"""Public names are few and have examples; every example runs and prints what it says."""

import doctest

import pytest

from tests.examples.public import FLAGS, PACKAGE, Public, examples, public

ROOMS = sorted({path.name.removesuffix(".py") for path in PACKAGE.iterdir()} - {"__init__"})
MOST = 480  # what pages and notebooks use, what that is called with, and what claims are made of


def test_public_names_are_few() -> None:
    assert len(public()) <= MOST


@pytest.mark.parametrize("name", [p for p in public() if not p.alias], ids=lambda p: p.name)
def test_a_public_name_has_an_example(name: Public) -> None:
    assert name.name in {e.name for e in examples(name.room) if e.module == name.module}


ALIASES = [each for each in public() if each.alias]


@pytest.mark.parametrize("name", ALIASES, ids=lambda each: each.name)
def test_a_name_of_a_type_says_what_it_is(name):
    assert name.doc


@pytest.mark.parametrize(
    "test", [pytest.param(e.test, id=f"{r}-{e.name}") for r in ROOMS for e in examples(r)]
)
def test_example_prints_what_it_says(test, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)
