"""Published numbers that picks quote are those of the claims that they name; none is settled."""

import pytest

from fluidkv.answers.served.published import published
from fluidkv.ledger.registry import claim_of
from fluidkv.verdict import Verdict
from fluidkv_papers.vllm.instances.misses import computed


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
    if one.chance is None:
        assert outcome.verdict is Verdict.HOLDS  # that whole prompts fall short of it
    else:
        within = abs(one.published - one.ours) <= one.chance
        assert outcome.verdict is (Verdict.UNDECIDED if within else Verdict.FAILS)
