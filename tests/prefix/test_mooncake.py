"""The caches on Mooncake's conversation trace, where it is there."""

from pathlib import Path

import pytest

from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.stacks import every_size
from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.policies import TOKENS, Granularity, Policy
from fluidkv.prefix.prompts import Prompts, prompts_of_blocks
from fluidkv.traces import Trace, read_trace

BLOCKS = Granularity(512, "counted")


@pytest.fixture(scope="module")
def trace(traces_dir: Path) -> Trace:
    return read_trace(traces_dir / "mooncake_conversation.jsonl").trace


@pytest.fixture(scope="module")
def prompts(trace: Trace) -> Prompts:
    blocks, size = trace.prefix_blocks, trace.prefix_block_size
    assert blocks is not None
    assert size is not None
    return prompts_of_blocks(blocks, size, trace.input_lengths, trace.decode_lengths)


@pytest.fixture(scope="module")
def blocks(prompts: Prompts) -> Trie:
    return trie_of(prompts, BLOCKS)


@pytest.mark.thorough
def test_a_cache_that_never_evicts_finds_every_id_that_came_before(
    trace: Trace, prompts: Prompts, blocks: Trie
) -> None:
    seen: set[int] = set()
    hits, tokens = [], 0
    for ids, size in zip(trace.prefix_blocks or (), trace.input_lengths, strict=True):
        found = len(seen.intersection(ids))  # an id stands for all before it: they come first
        hits.append(found)
        tokens += min(found * 512, size)
        seen.update(ids)
    run = run_cache(blocks, blocks.total * 512, Policy.LRU)
    assert run.hit_units.tolist() == hits
    assert (blocks.total, sum(hits), run.units.sum()) == (182_790, 105_710, 288_500)
    assert run.evicted.sum() == 0
    by_token = trie_of(prompts, TOKENS)
    alone = run_cache(by_token, by_token.total, Policy.LRU)
    assert alone.hit_tokens.sum() == run.hit_tokens.sum() == tokens
    assert round(run.hit_rate("units"), 3) == 0.366
    assert round(run.hit_rate(), 3) == 0.374


@pytest.mark.thorough
def test_one_pass_for_all_sizes_is_a_run_at_some(blocks: Trie) -> None:
    found = every_size(blocks, Policy.LRU)
    for units in (600, 6_000, 60_000):
        run = run_cache(blocks, units * 512, Policy.LRU)
        assert found.hits(units) == (run.hit_units.sum(), run.hit_tokens.sum())


@pytest.mark.thorough
def test_one_pass_of_the_optimum_is_a_run_at_some_sizes(prompts: Prompts) -> None:
    for trie in (trie_of(prompts, BLOCKS), trie_of(prompts)):
        found, page = every_size(trie, Policy.OPT), trie.granularity.page
        for capacity in (300_000, 3_000_000, 30_000_000):
            run = run_cache(trie, capacity, Policy.OPT)
            assert found.hits(capacity // page) == (run.hit_units.sum(), run.hit_tokens.sum())
