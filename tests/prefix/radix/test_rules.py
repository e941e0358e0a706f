"""Each of SGLang's rules by hand; and a wrong rule is seen, here and in records."""

import re
from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import content
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.operations import Operations
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import SplitBirth
from tests.prefix.radix.calls import rows
from tests.prefix.radix.hand_lists import HAND_LISTS, HandList
from tests.prefix.radix.test_oracles import NAMES, oracle, recorded
from tests.prefix.radix.wrong_rules import (
    WRONG_POOLS,
    WRONG_TREES,
    InsertDoesNotStamp,
    OnlyTheEndIsStamped,
    PriorityIsNotCopied,
    RestIsRaised,
)

NOT_IN_ORACLES = (OnlyTheEndIsStamped, InsertDoesNotStamp, RestIsRaised, PriorityIsNotCopied)
"""Wrong rules under which SGLang's 8 records are what they are: the source alone decides."""

WRONG = [
    *((tree, Operations) for tree in WRONG_TREES),
    *((RadixTree, pool) for pool in WRONG_POOLS),
]


@pytest.mark.parametrize("by_hand", HAND_LISTS, ids=lambda each: each.rule[:40])
def test_every_row_is_as_by_hand(by_hand: HandList) -> None:
    for birth in by_hand.births:
        empty = RadixTree(by_hand.page_size, by_hand.policy, birth)
        assert rows(empty, by_hand.capacity, by_hand.ops) == by_hand.rows


@pytest.mark.parametrize(("tree", "pool"), WRONG)
def test_a_wrong_rule_is_seen_by_hand(tree: type[RadixTree], pool: type[Operations]) -> None:
    assert any(
        found(tree(each.page_size, each.policy, birth), each.capacity, each.ops, pool) != each.rows
        for each in HAND_LISTS
        for birth in each.births
    )


@pytest.mark.daily(5)
@pytest.mark.parametrize(
    ("tree", "pool"), [pair for pair in WRONG if pair[0] not in NOT_IN_ORACLES]
)
def test_a_wrong_rule_is_seen_in_records(tree: type[RadixTree], pool: type[Operations]) -> None:
    assert not all(equal_to_record(name, tree, pool) for name in NAMES)


@pytest.mark.thorough  # 15 s
@pytest.mark.parametrize("tree", NOT_IN_ORACLES)
def test_records_do_not_show_these_wrong_rules(tree: type[RadixTree]) -> None:
    assert all(equal_to_record(name, tree, Operations) for name in NAMES)


def equal_to_record(name: str, tree: type[RadixTree], pool: type[Operations]) -> bool:
    """Of RadixCache; the first 500 calls come first, as most wrong rules show there."""
    record = oracle(name)
    for calls in (500, len(record["ops"])):
        empty = tree(record["page_size"], Policy(record["policy"]), SplitBirth.NEW)
        ours = found(empty, record["capacity_tokens"], record["ops"][:calls], pool)
        if ours != recorded(record, SplitBirth.NEW)[:calls]:
            return False
    return True


def found(tree: RadixTree, capacity: int, ops: list[Any], pool: type[Operations]) -> Any:
    """The rows; or what was said where a wrong rule led to a call that cannot be made."""
    try:
        return rows(tree, capacity, ops, pool)
    except InputError as error:
        return error


def test_the_birth_of_splits_is_seen_in_a_record_of_each_tree() -> None:
    record = oracle("api_ps16_fifo")
    tree = RadixTree(record["page_size"], Policy(record["policy"]), SplitBirth.NEW)
    ours = rows(tree, record["capacity_tokens"], record["ops"])
    assert ours == recorded(record, SplitBirth.NEW) != recorded(record, SplitBirth.OLD)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([["L", 0]], "request: got 0; allowed: one that matched or allocated before"),
        ([["A", 0, 2], ["L", 0]], "request: got 0; allowed: one whose last match is still"),
        ([["M", 0, []], ["U", 0]], "request: got 0; allowed: one that has a lock"),
        ([["A", 0, 2], ["I", 0, [[1, 3]], 0, 0]], "sequence: got '3 tokens'; allowed: the 2 of"),
    ],
)
def test_a_call_that_no_server_makes_is_refused(calls: list[Any], said: str) -> None:
    with pytest.raises(InputError, match="^" + re.escape(said)):
        rows(RadixTree(), 9, calls)


def test_what_was_evicted_is_not_held() -> None:
    on = Operations(RadixTree(), 9)
    on.allocate(0, 3)
    on.insert(0, content([[1, 3]]), 0, 0)
    on.match(1, content([[1, 2]]))
    on.evict(9)
    with pytest.raises(InputError, match="one whose last match is still in the tree"):
        on.lock(1)
    on.allocate(0, 4)
    with pytest.raises(InputError, match="one whose beginning is locked"):
        on.insert(0, content([[1, 4]]), 0, 0)


@pytest.mark.parametrize(
    ("page_size", "policy", "said"),
    [
        (0, Policy.LRU, "page_size: got 0; allowed: a whole number of at least 1"),
        (1, Policy.OPT, "policy: got 'opt'; allowed: one of lru, mru, fifo, filo, lfu"),
    ],
)
def test_what_sglang_does_not_have_is_refused(page_size, policy, said) -> None:
    with pytest.raises(InputError, match="^" + re.escape(said)):
        RadixTree(page_size, policy)
