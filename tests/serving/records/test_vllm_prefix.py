"""Records of vLLM with prefix caching: every row is equal, a wrong rule is seen."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.records.replay import VllmRecord, read_records, replay
from tests.serving.records.record_copies import CACHED, changed_cached, oracle, record_of
from tests.serving.records.wrong_caches import RENEWING, WRONG
from tests.serving.records.wrong_caches import changed as changed_rules

NAMES = (
    *("burst_same_prompt_bs16_chunked", "multiturn_bs16", "scan_loop_bs16"),
    *("shared_prompts_bs16", "tight_long_outputs_bs16", "tree_bs4_poisson"),
)


def recorded(name: str) -> VllmRecord:
    return record_of(oracle(f"vllm_prefix/{name}.json"), VllmRecord)


@pytest.fixture
def changed(tmp_path) -> Callable[..., Path]:
    return partial(changed_cached, tmp_path)


by_hand = partial(record_of, kind=VllmRecord)

# ------------------------------------------------------------------------------------ replayed


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_the_oracles_is_equal(name, compiled):
    record = recorded(name)
    result = record.replay(lambda _: None, compiled=compiled)
    assert (result.equal, result.rows, result.difference) == (True, len(record.rows), None)
    assert len(record.columns) == 17
    assert record.notes == ()


def test_there_are_six_oracles():
    folder = oracle("vllm_prefix/scan_loop_bs16.json").parent
    assert sorted(path.stem for path in folder.glob("*.json")) == sorted(NAMES)


def test_the_loop_hits_nothing_and_who_comes_back_finds_most_of_itself():
    """What the records' README says of these two."""
    loop = recorded("scan_loop_bs16")
    assert sum(row[loop.columns.index("hit_tokens")] for row in loop.rows) == 0
    tight, seen = recorded("tight_long_outputs_bs16"), set()
    again = [0, 0]
    for row in tight.rows:
        for request, found, computed in row[tight.columns.index("admissions")]:
            if request in seen:
                again[0], again[1] = again[0] + found, again[1] + found + computed
            seen.add(request)
    assert round(again[0] / again[1], 1) == 0.6


# ------------------------------------------------------------------------------ wrong rules


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_rule_is_seen_in_the_records(name, monkeypatch):
    """Otherwise they would say nothing about that rule."""
    changed_rules(monkeypatch, *WRONG[name])
    assert not all(recorded(each).replay(lambda _: None).equal for each in NAMES)


def test_the_records_do_not_tell_whether_a_lookup_in_vain_renews_what_it_found(monkeypatch):
    """So rule 9 rests on the source alone; docs/engines.md says so."""
    changed_rules(monkeypatch, *RENEWING)
    for name in NAMES:
        assert recorded(name).replay(lambda _: None).equal


# ---------------------------------------------------------------------------- what files may say


def test_a_record_by_hand(changed):
    record = by_hand(changed())
    assert replay(record).equal
    assert (record.notes, list(record.arrivals.places)) == ((), [1, 0])


def test_a_list_that_differs_is_named(changed):
    rows = [CACHED["records"][0], [1, 4, 3, 2, [[0, 8, 0]]]]
    result = replay(by_hand(changed(records=rows)))
    assert (result.equal, result.rows) == (False, 1)
    assert result.difference is not None
    assert result.difference.values == (("admissions", [[0, 8, 0]], [[0, 4, 4]]),)


def test_another_version_a_capacity_and_unknown_fields_are_noted(changed):
    record = by_hand(changed(version="0.19.0", capacity_tokens=24, seed=1))
    assert record.notes == (
        "usable_blocks 5, not the 6 of capacity_tokens: replayed with 5",
        "version 0.19.0: replayed under the rules of 0.33.0",
        "seed: not known, not used",
    )
    assert replay(record).equal


def test_the_gate_is_that_of_the_file(changed):
    requests = [[0, [[1, 9]], [10, 2]], [0, [[2, 12]], [11, 1]]]
    fields = {"max_num_batched_tokens": 13, "requests": requests, "columns": ["running"]}
    assert replay(by_hand(changed(records=[[1]], **fields))).equal
    assert replay(by_hand(changed(records=[[2]], reserve_full_isl=False, **fields))).equal


def test_without_prefix_caching_it_is_a_record_of_the_other_kind(changed):
    with pytest.raises(InputError, match="capacity_tokens: got 'no such field'"):
        read_records(changed(prefix_caching=False))


def test_rules_that_are_not_vllms_are_refused(changed):
    record = by_hand(changed())
    wrong = replace(record, rules=replace(record.rules, admits_after_eviction=True))
    with pytest.raises(InputError, match=r"^engine: got 'vllm 0\.33\.0'; allowed: one of vLLM's"):
        replay(wrong)
