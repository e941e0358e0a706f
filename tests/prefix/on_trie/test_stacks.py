"""One pass for all sizes against a run at every size."""

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.stacks import every_size
from fluidkv.prefix.policies import Policy
from tests.prefix.cases import case

NESTED = (Policy.LRU, Policy.RELEASED, Policy.OPT)


def equal_at_every_size(seed: int, policy: Policy) -> None:
    of = case(seed)
    trie, page = of.trie, of.trie.granularity.page
    found = every_size(trie, policy, order=of.order)
    for units in range(max(trie.longest, 1), trie.total + 3):
        run = run_cache(trie, units * page, policy, order=of.order)
        assert found.hits(units) == (run.hit_units.sum(), run.hit_tokens.sum())
        assert (found.asked_units, found.asked_tokens) == (run.units.sum(), run.tokens.sum())


@pytest.mark.parametrize("policy", NESTED)
def test_one_pass_is_a_run_at_every_size(policy: Policy) -> None:
    for seed in range(60):
        equal_at_every_size(seed, policy)


@pytest.mark.thorough
@pytest.mark.parametrize("policy", NESTED)
def test_one_pass_is_a_run_at_every_size_of_many_cases(policy: Policy) -> None:
    for seed in range(1000, 3000):
        equal_at_every_size(seed, policy)


def test_smaller_caches_and_other_policies_are_refused() -> None:
    trie = case(1).trie
    with pytest.raises(InputError, match="capacity"):
        every_size(trie, Policy.LRU).hits(trie.longest - 1)
    with pytest.raises(InputError, match="policy"):
        every_size(trie, Policy.LFU)
