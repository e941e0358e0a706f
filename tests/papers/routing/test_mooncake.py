"""Curves on record: they are those of the traces, where the traces are."""

from pathlib import Path

import pytest

from fluidkv.prefix import Granularity, Policy
from fluidkv.prefix.on_trie.run import run_cache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv_papers.routing.instances.mooncake import (
    CAPACITIES,
    POLICIES,
    TRACES,
    UNITS,
    computed_curve,
    computed_totals,
    curves,
    prompted,
    totals,
)

# Six digits are on record.
_DIGITS = 1e-5


def test_the_record_has_every_curve() -> None:
    wanted = {(trace, units, name) for trace in TRACES for units in UNITS for name in POLICIES}
    assert set(curves()) == wanted
    for points in curves().values():
        assert tuple(point.capacity for point in points) == CAPACITIES


def test_nobody_on_record_is_above_opt_or_the_ceiling() -> None:
    for trace, units, name in curves():
        best, known = curves()[trace, units, "opt"], totals()[trace]
        for point, most in zip(curves()[trace, units, name], best, strict=True):
            assert point.hit_rate <= most.hit_rate <= known.found_tokens / known.tokens + _DIGITS


@pytest.mark.parametrize("trace", TRACES)
def test_totals_are_those_of_the_trace(trace: str, traces_dir: Path) -> None:
    assert traces_dir
    known, found = totals()[trace], computed_totals(trace)
    assert found[:8] == known[:8]
    assert found[8:] == pytest.approx(known[8:], rel=_DIGITS)


@pytest.mark.thorough
def test_an_infinite_cache_finds_105_710_of_288_500_references(traces_dir: Path) -> None:
    """Through the cache, beside the count of ids on record: 36.6 %, and 37.4 % of tokens."""
    assert traces_dir
    trie = trie_of(prompted("conversation").prompts, Granularity(512, "counted"))
    run = run_cache(trie, 512 * trie.total, Policy.LRU)
    assert (run.hit_units.sum(), run.units.sum()) == (105_710, 288_500)
    assert (run.hit_tokens.sum(), run.tokens.sum()) == (54_098_411, 144_793_823)


@pytest.mark.parametrize(("units", "policy"), [("blocks", "lru"), ("nodes", "slru")])
def test_curves_are_those_of_the_trace(units: str, policy: str, traces_dir: Path) -> None:
    assert traces_dir
    place = CAPACITIES.index(2_000_000)
    (found,) = computed_curve("synthetic", units, policy, CAPACITIES[place : place + 1])
    known = curves()["synthetic", units, policy][place]
    assert found[:4] == known[:4]
    assert found[4:] == pytest.approx(known[4:], rel=_DIGITS)


@pytest.mark.thorough
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("policy", POLICIES)
def test_all_curves_are_those_of_the_trace(
    trace: str, units: str, policy: str, traces_dir: Path
) -> None:
    """Minutes; lots fall the same way on every machine."""
    assert traces_dir
    for found, known in zip(
        computed_curve(trace, units, policy), curves()[trace, units, policy], strict=True
    ):
        assert found[:4] == known[:4]
        assert found[4:] == pytest.approx(known[4:], rel=_DIGITS)
