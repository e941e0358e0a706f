"""Checks of WAIT's statements notice what is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from fluidkv.claims import select
from fluidkv.verdict import Verdict


def verdict_of(name: str) -> Verdict:
    (claim,) = (claim for claim in select([name]) if claim.id == name)
    return claim.check().verdict


def test_a_wrong_equilibrium_is_noticed(monkeypatch):
    from fluidkv.wait.theory import fluid

    right = fluid.fluid_equilibrium
    monkeypatch.setattr(
        fluid, "fluid_equilibrium", lambda system: replace(right(system), memory=system.base)
    )
    assert verdict_of("wait.equations-7-to-10") is Verdict.FAILS


@pytest.mark.parametrize(
    ("name", "more"), [("wait.lemma-2.buffer", 1), ("wait.lemma-2.arrivals-on-top", 2)]
)
def test_a_longer_queue_is_noticed(monkeypatch, name, more):
    from fluidkv.wait.theory import lindley

    right = lindley.queue_path

    def longer(*args: Any) -> lindley.QueuePath:
        path = right(*args)
        return replace(path, queue=path.queue + more)

    monkeypatch.setattr(lindley, "queue_path", longer)
    assert verdict_of(name) is Verdict.FAILS


def test_less_memory_than_the_thresholds_hold_is_noticed(monkeypatch):
    from fluidkv.wait.theory import thresholds

    right = thresholds.integer_thresholds

    def less(*args: Any) -> thresholds.Thresholds:
        found = right(*args)
        return replace(found, memory=found.memory - 1)

    monkeypatch.setattr(thresholds, "integer_thresholds", less)
    assert verdict_of("wait.theorem-1.memory") is Verdict.FAILS


def test_completions_above_what_work_allows_are_noticed(monkeypatch):
    # The bound of a smaller memory than that of the runs, which are kept.
    from fluidkv.claims.wait import proposition_1

    assert verdict_of("wait.proposition-1.at-one") is Verdict.HOLDS
    monkeypatch.setattr(proposition_1, "_MEMORY", 10)
    assert verdict_of("wait.proposition-1.at-one") is Verdict.FAILS
