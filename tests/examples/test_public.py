"""Every public name has an example, and every example runs and prints what it says."""

import doctest

import pytest

from tests.examples.public import FLAGS, examples, public

ROOMS = sorted({each.room for each in public()})


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_has_an_example(room):
    shown = {each.name for each, _ in examples(room)}
    names = {each.name for each in public() if each.room == room and not each.alias}
    assert sorted(names - shown) == []


ALIASES = [each for each in public() if each.alias]


@pytest.mark.parametrize("name", ALIASES, ids=lambda each: each.name)
def test_a_name_of_a_type_says_what_it_is(name):
    assert name.doc


@pytest.mark.parametrize(
    "test", [pytest.param(t, id=f"{p.room}-{p.name}") for r in ROOMS for p, t in examples(r)]
)
def test_example_prints_what_it_says(test, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)
