"""What no mutant of WAIT's statements reaches: a reading left open, and a margin of chance."""

import pytest

from fluidkv.ledger.registry import claim_of
from fluidkv.verdict import Verdict
from fluidkv_papers.wait.claims import lindley
from fluidkv_papers.wait.instances.statistics import margin


def test_an_undecided_reading_holds_where_its_counterexample_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    claim, right = claim_of("wait.lemma-2"), lindley.lindley_path
    assert claim.check().verdict is Verdict.UNDECIDED
    monkeypatch.setattr(lindley, "lindley_path", lambda steps: right(steps) + 3)
    assert claim.check().verdict is Verdict.HOLDS


def test_few_runs_need_a_wider_margin() -> None:
    few, many = [0.0, 1.0] * 3, [0.0, 1.0] * 300
    # Standard errors: the variance is 1/4 times runs over runs less one. Its quantile of 1 - 1e-6
    # is 4.75 for a normal law; Student's has fatter tails, more so the fewer the runs.
    assert 4.75 < margin(many) / (1 / 4 / 599) ** 0.5 < 5
    assert margin(few) / (1 / 4 / 5) ** 0.5 > 20
