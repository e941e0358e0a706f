"""Curves of hit rates: what follows from the caches that they are made of, and what is refused."""

import json

import numpy as np
import pytest
from scipy.stats import t

from fluidkv import cache_study
from fluidkv.answers import prompted_generator, prompted_trace
from fluidkv.answers.cache.question import HIT_RATES, hit_rates
from fluidkv.answers.cache.study import CacheAnswer, sizes_between, usual_policies
from fluidkv.answers.intervals import half_width
from fluidkv.answers.prompted import Prompted
from fluidkv.errors import InputError
from fluidkv.prefix import Granularity, Policy
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.traces import Trace

GSP = prompted_generator(
    "gsp", parameters={"groups": 6, "queries": 8, "lengths": (10, 20), "order": "round-robin"}
)


def _blocks() -> Prompted:
    """A, AB, AC, A: one block of four tokens comes back three times, once in part."""
    trace = Trace(
        input_lengths=(4, 8, 7, 4),
        decode_lengths=(1, 1, 1, 1),
        arrival_times_s=(0.0, 1.0, 2.0, 3.0),
        prefix_blocks=((0,), (0, 1), (0, 2), (0,)),
        prefix_block_size=4,
    )
    return prompted_trace(trace)


@pytest.fixture(scope="module")
def gsp() -> CacheAnswer:
    return cache_study(GSP, (40, 60, 90, 200), seeds=3)


def test_an_infinite_cache_finds_what_came_before() -> None:
    found = cache_study(_blocks())
    assert (found.ceiling, found.ceiling_units) == (12 / 23, 3 / 6)
    assert found.page == 4
    assert not found.answers
    assert (found.longest, found.whole) == (8, 12)


def test_curves_are_runs_of_caches(gsp: CacheAnswer) -> None:
    trie = trie_of(GSP.prompts, Granularity(), answers=True)
    for curve in gsp.curves:
        for place, size in enumerate(gsp.capacities):
            runs = [run_cache(trie, size, curve.policy, seed=seed) for seed in range(curve.seeds)]
            assert curve.hit_rate[place] == np.mean([run.hit_rate() for run in runs])
            assert curve.hit_rate_units[place] == np.mean([run.hit_rate("units") for run in runs])
            assert curve.evicted[place] == np.mean([run.evicted.sum() for run in runs])


def test_nobody_is_above_opt_or_the_ceiling(gsp: CacheAnswer) -> None:
    best = gsp.curves[0]
    assert best.policy is Policy.OPT
    for curve in gsp.curves:
        assert (curve.hit_rate <= best.hit_rate + 1e-12).all()
    assert (np.diff(best.hit_rate) >= 0).all()
    assert best.hit_rate[-1] <= gsp.ceiling == 0.5 * 7 / 8


def test_only_policies_that_draw_have_a_margin(gsp: CacheAnswer) -> None:
    for curve in gsp.curves:
        assert curve.seeds == (3 if curve.policy.draws else 1)
        assert (curve.margin[:-1] > 0).any() == curve.policy.draws


def test_one_seed_says_nothing_of_others() -> None:
    found = cache_study(GSP, (40,), policies=["lru", Policy.RLT], seeds=1)
    lru, rlt = found.curves
    assert lru.margin.tolist() == [0]
    assert np.isnan(rlt.margin).all()
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))["policies"]
    assert [each["margin"] for each in said] == [[0], [None]]


def test_margins_are_students() -> None:
    values = np.array([0.1, 0.2, 0.4])
    expected = t.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    assert half_width(values) == pytest.approx(expected, rel=1e-12)  # another order of rounding


def test_policies_that_are_left_out_are_l_lru_here() -> None:
    left_out = [policy for policy in Policy if policy not in usual_policies()]
    found = cache_study(GSP, (40, 60), policies=[Policy.LRU, *left_out])
    lru = found.curve("lru")
    assert lru is not None
    assert lru is found.curve(Policy.LRU)
    assert len(found.curves) == 3
    assert all((curve.hit_rate == lru.hit_rate).all() for curve in found.curves)


@pytest.mark.parametrize(("longest", "whole"), [(1, 1), (5, 6), (126_464, 93_588_480)])
def test_sizes_lie_between_the_longest_request_and_all_of_it(longest: int, whole: int) -> None:
    sizes = sizes_between(longest, whole)
    assert (sizes[0], sizes[-1]) == (longest, whole)
    assert list(sizes) == sorted(set(sizes))
    assert len(sizes) == min(10, whole - longest + 1)
    if whole > 100 * longest:  # two digits move a size by a tenth at most
        ratios = np.diff(np.log(sizes))
        assert ratios == pytest.approx(np.log(whole / longest) / 9, abs=np.log(1.1))


def test_blocks_of_prompts_have_no_answers() -> None:
    with pytest.raises(InputError, match="answers: got True; allowed: False: blocks"):
        cache_study(_blocks(), answers=True)


def test_every_policy_looks_like_no_other() -> None:
    assert set(HIT_RATES.looks) == {policy.value for policy in Policy}
    assert len(set(HIT_RATES.looks.values())) == len(HIT_RATES.looks)


def test_curves_on_each_other_are_named() -> None:
    three = [Policy.LRU, Policy.RELEASED, Policy.MRU]
    data = hit_rates(cache_study(GSP, (40, 60), policies=three))
    text = HIT_RATES.coinciding(data)
    assert text == " L-LRU and least recently released lie on each other."
    assert data["capacity"].tolist() == [40, 60]
