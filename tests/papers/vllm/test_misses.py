"""Published numbers that picks quote are those of the claims that they name, which fail."""

import pytest

from fluidkv.answers.served.published import published
from fluidkv.papers.ledger import claim_of
from fluidkv.papers.vllm.instances.misses import computed
from fluidkv.verdict import Verdict


def test_what_is_quoted_is_computed():
    assert computed() == published()


@pytest.mark.parametrize("one", published(), ids=lambda one: one.claim)
def test_each_names_a_claim_about_its_numbers(one):
    outcome = claim_of(one.claim).check()
    form = "{:.1f}"
    shown = (100 * v if one.unit == "share" else v for v in (one.published, one.ours))
    theirs, ours = (form.format(value) for value in shown)
    assert theirs in outcome.paper
    assert ours in outcome.ours
    expected = Verdict.HOLDS if one.knob == "victim" else Verdict.FAILS
    assert outcome.verdict is expected
