"""Public names are few and have examples; every example runs and prints what it says."""

import doctest

import pytest

from tests.examples.public import FLAGS, PACKAGE, Public, examples, public

ROOMS = sorted({path.name.removesuffix(".py") for path in PACKAGE.iterdir()} - {"__init__"})
MOST = 300  # what pages and notebooks use, and what that is called with


def test_public_names_are_few() -> None:
    assert len(public()) <= MOST


@pytest.mark.parametrize("name", public(), ids=lambda p: p.name)
def test_a_public_name_has_an_example(name: Public) -> None:
    """Or, where it only names a type, says what that is."""
    if name.alias:
        assert name.doc
    else:
        assert name.name in {e.name for e in examples(name.room) if e.module == name.module}


@pytest.mark.parametrize(
    "test", [pytest.param(e.test, id=f"{r}-{e.name}") for r in ROOMS for e in examples(r)]
)
def test_example_prints_what_it_says(test, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)
