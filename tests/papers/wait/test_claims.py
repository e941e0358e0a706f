"""Checks of WAIT's statements notice what is wrong."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fluidkv import wait
from fluidkv.ledger.registry import select
from fluidkv.verdict import Verdict


def verdict_of(name: str) -> Verdict:
    (claim,) = (claim for claim in select([name]) if claim.id == name)
    return claim.check().verdict


def test_a_wrong_equilibrium_is_noticed(monkeypatch):
    right = wait.fluid_equilibrium
    monkeypatch.setattr(
        wait, "fluid_equilibrium", lambda system: replace(right(system), memory=system.base)
    )
    assert verdict_of("wait.equations-7-to-10") is Verdict.FAILS


@pytest.mark.parametrize(
    ("name", "more"), [("wait.lemma-2.buffer", 1), ("wait.lemma-2.arrivals-on-top", 2)]
)
def test_a_longer_queue_is_noticed(monkeypatch, name, more):
    right = wait.queue_path

    def longer(*args: Any) -> Any:
        path = right(*args)
        return replace(path, queue=path.queue + more)

    monkeypatch.setattr(wait, "queue_path", longer)
    assert verdict_of(name) is Verdict.FAILS


def test_less_memory_than_the_thresholds_hold_is_noticed(monkeypatch):
    right = wait.integer_thresholds

    def less(*args: Any) -> Any:
        found = right(*args)
        return replace(found, memory=found.memory - 1)

    monkeypatch.setattr(wait, "integer_thresholds", less)
    assert verdict_of("wait.theorem-1.memory") is Verdict.FAILS


def test_completions_above_what_work_allows_are_noticed(monkeypatch):
    # The bound of a smaller memory than that of the runs, which are kept.
    from fluidkv_papers.wait.claims import proposition_1

    assert verdict_of("wait.proposition-1.at-one") is Verdict.HOLDS
    monkeypatch.setattr(proposition_1, "MEMORY", 10)
    assert verdict_of("wait.proposition-1.at-one") is Verdict.FAILS


def test_an_undecided_reading_holds_where_its_counterexample_goes(monkeypatch):
    right = wait.lindley_path
    assert verdict_of("wait.lemma-2") is Verdict.UNDECIDED
    monkeypatch.setattr(wait, "lindley_path", lambda steps: right(steps) + 3)
    assert verdict_of("wait.lemma-2") is Verdict.HOLDS


def test_memory_below_that_of_merged_segments_is_noticed(monkeypatch):
    assert verdict_of("wait.theorem-4.frequency") is Verdict.HOLDS
    right = wait.theorem_2_memory
    monkeypatch.setattr(
        wait,
        "theorem_2_memory",
        lambda *args, **more: replace(right(*args, **more), batch=Fraction(0)),
    )
    assert verdict_of("wait.theorem-4.frequency") is Verdict.FAILS


def test_bounds_that_do_not_add_up_are_noticed(monkeypatch):
    right = wait.theorem_1_gap

    def more(*args: Any) -> Any:
        found = right(*args)
        return replace(found, throughput_gap=found.throughput_gap * (1 + len(found.types)))

    monkeypatch.setattr(wait, "theorem_1_gap", more)
    assert verdict_of("wait.section-4-4.decoupled") is Verdict.FAILS


@pytest.mark.thorough
def test_more_tokens_than_come_are_noticed(monkeypatch):
    from fluidkv_papers.wait.claims import proposition_2

    right = proposition_2.outputs

    def twice(*args: Any):
        done, came = right(*args)
        return 2 * done, came

    monkeypatch.setattr(proposition_2, "outputs", twice)
    assert verdict_of("wait.proposition-2") is Verdict.FAILS


def test_wait_that_serves_less_is_noticed(monkeypatch):
    from fluidkv_papers.wait.claims import thresholds

    assert verdict_of("wait.remark-1") is Verdict.HOLDS
    right = thresholds.serve

    def slower(tables: Any, policy: Any, clock: Any, **more: Any):
        own = clock if isinstance(policy, str) else replace(clock, base=2 * clock.base)
        return right(tables, policy, own, **more)

    monkeypatch.setattr(thresholds, "serve", slower)
    assert verdict_of("wait.remark-1") is Verdict.UNDECIDED  # other settings may meet it


def test_few_runs_need_a_wider_margin():
    from fluidkv_papers.wait.instances.statistics import margin

    few, many = [0.0, 1.0] * 3, [0.0, 1.0] * 300
    # Standard errors: the variance is 1/4 times runs over runs less one. Its quantile of 1 - 1e-6
    # is 4.75 for a normal law; Student's has fatter tails, more so the fewer the runs.
    assert 4.75 < margin(many) / (1 / 4 / 599) ** 0.5 < 5
    assert margin(few) / (1 / 4 / 5) ** 0.5 > 20
