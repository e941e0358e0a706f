"""Records of vLLM's scheduler with other victims: equal, with a cache too; a wrong rule is seen."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.engines import VLLM_LCF, VLLM_PRIORITY
from fluidkv.serving.records.replay import VllmRecord, replay
from fluidkv.serving.rules import EngineRules, Gate, Requeue, Victim
from tests.serving.records.record_copies import OURS, changed_record, record_of
from tests.serving.records.wrong_caches import WRONG_ROUNDS, changed

PRIORITY = sorted(path.stem for path in OURS.glob("priority_*.json"))
LEAST = sorted(path.stem for path in OURS.glob("least_computed_*.json"))
CACHED = sorted(path.stem for path in (OURS / "with_cache").glob("*.json"))


def recorded(name: str) -> VllmRecord:
    return record_of(OURS / f"{name}.json", VllmRecord)


def with_cache(name: str) -> VllmRecord:
    return recorded(f"with_cache/{name}")


def some_differs(names: list[str], changes: dict[str, Any]) -> bool:
    records = map(recorded, names)
    wrong = (replace(each, rules=replace(each.rules, **changes)) for each in records)
    return not all(replay(each).equal for each in wrong)


# ---------------------------------------------------------------------------------- without a cache


def test_the_settings_say_who_goes():
    assert (len(PRIORITY), len(LEAST), len(CACHED)) == (6, 2, 4)
    for names, rules in ((PRIORITY, VLLM_PRIORITY), (LEAST, VLLM_LCF)):
        for name in names:
            found = recorded(name).rules
            assert (found.victim, found.requeue) == (rules.victim, rules.requeue)
            assert (found.in_turn, found.asker_stays) == (True, rules.asker_stays)


@pytest.mark.parametrize(
    "changes",
    [
        {"victim": Victim.LAST_ADMITTED},
        {"victim": Victim.LEAST_COMPUTED},
        {"requeue": Requeue.HEAD},
        {"requeue": Requeue.TAIL},
        {"asker_stays": True},
        {"admits_after_eviction": True},
    ],
    ids=str,
)
def test_one_wrong_rule_is_seen_under_priority(changes):
    assert some_differs(PRIORITY, changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"victim": Victim.LAST_ADMITTED},
        {"victim": Victim.MOST_COMPUTED},
        {"victim": Victim.FEWEST_BLOCKS},
        {"asker_stays": False},
        {"asker_stays": False, "in_turn": False},
    ],
    ids=str,
)
def test_one_wrong_rule_is_seen_with_least_computed(changes):
    assert some_differs(LEAST, changes)


@pytest.mark.parametrize("name", WRONG_ROUNDS)
def test_one_wrong_round_is_seen(name, monkeypatch):
    assert replay(recorded(f"priority_{name}")).equal
    changed(monkeypatch, WRONG_ROUNDS[name])
    assert not replay(recorded(f"priority_{name}")).equal


def test_who_evicts_itself_does_not_end_the_round():
    """In step 2 the first goes for its own growth; the one behind it takes the block and ends."""
    record = recorded("priority_after_itself")
    step = dict(zip(record.columns, record.rows[2], strict=True))
    assert (step["preempt"], step["completed"], step["tokens"]) == (1, 1, 1)
    assert record.arrivals.requests.priority.tolist() == [1, 0]


# ------------------------------------------------------------------------------------ with a cache


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CACHED)
def test_every_row_with_a_cache_is_equal(name, compiled):
    record = with_cache(name)
    result = record.replay(lambda _: None, compiled=compiled)
    assert (result.equal, result.rows, record.notes) == (True, len(record.rows), ())
    assert result.evictions > 4
    found = record.columns.index("hit_tokens")
    assert sum(row[found] for row in record.rows) > 70


@pytest.mark.parametrize(
    "changes",
    [
        {"victim": Victim.LAST_ADMITTED},
        {"victim": Victim.COST_AWARE},
        {"requeue": Requeue.BY_PRIORITY, "victim": Victim.LEAST_COMPUTED},
        {"gate": Gate.FIRST_CHUNK},
    ],
    ids=str,
)
def test_one_wrong_rule_is_seen_with_a_cache(changes):
    records = map(with_cache, CACHED)
    wrong = (replace(each, rules=replace(each.rules, **changes)) for each in records)
    assert not all(each.replay(lambda _: None).equal for each in wrong)


def test_what_other_victims_ask_for_is_refused_beside_a_cache():
    """Asked all at once, requests would take blocks in another order than vLLM's."""
    record = with_cache(CACHED[0])
    at_once = replace(record.rules, victim=Victim.RANDOM, asker_stays=False, in_turn=False)
    with pytest.raises(InputError, match="one of vLLM's rules, for a prefix cache"):
        replay(replace(record, rules=at_once))


# ---------------------------------------------------------------------------- what files may say


def rules_of(path: Path) -> EngineRules:
    return record_of(path, VllmRecord).rules


def test_policy_and_victim_are_two_settings(tmp_path):
    changed = partial(changed_record, tmp_path)
    both = rules_of(changed(policy="priority", preemption_victim="lcf"))
    assert (both.victim, both.requeue) == (Victim.LEAST_COMPUTED, Requeue.BY_PRIORITY)
    neither = rules_of(changed(policy="fcfs", preemption_victim="fcfs"))
    assert neither == rules_of(changed())


def test_without_priorities_all_are_alike(tmp_path):
    record = record_of(changed_record(tmp_path, policy="priority"), VllmRecord)
    assert set(record.arrivals.requests.priority.tolist()) == {0}


def test_priorities_of_0_11_are_noted(tmp_path):
    """There, who evicts itself ends the round."""
    record = record_of(changed_record(tmp_path, "version_0_11", policy="priority"), VllmRecord)
    assert record.notes == ("version 0.11.0: replayed under the rules of 0.33.0",)


def test_priorities_go_by_the_place_in_the_file(tmp_path):
    """A file of the other kind may list who comes later first."""
    fields = {
        "engine": "vllm",
        "version": "0.33.0",
        "block_size": 4,
        "usable_blocks": 9,
        "prefix_caching": True,
        "async_scheduling": False,
        "max_num_batched_tokens": 64,
        "max_num_seqs": 8,
        "watermark": 0.0,
        "reserve_full_isl": True,
        "policy": "priority",
        "requests": [[1, [[1, 8]], [3, 1]], [0, [[2, 8]], [4, 1]]],
        "priorities": [7, -1],
        "columns": ["arrived"],
        "records": [[1]],
    }
    record = record_of(changed_record(tmp_path, **fields), VllmRecord)
    assert record.arrivals.requests.priority.tolist() == [-1, 7]
