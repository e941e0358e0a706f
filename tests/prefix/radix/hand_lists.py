"""Short lists of calls whose rows were worked out by hand from SGLang's rules, one or two a rule.

A row here: the call; its result; total, evictable, protected, available; nodes, leaves; what went,
as (tokens before it, its tokens, segment and offset of its first).
"""

from dataclasses import dataclass
from typing import Any

from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import SplitBirth


@dataclass(frozen=True)
class HandList:
    """Calls on an empty tree and a full pool, and the row after each."""

    rule: str
    calls: tuple[tuple[Any, ...], ...]
    capacity: int = 20
    page_size: int = 1
    policy: Policy = Policy.LRU
    births: tuple[SplitBirth, ...] = tuple(SplitBirth)  # trees for which it holds

    @property
    def ops(self) -> list[list[Any]]:
        """The calls as record files have them."""
        return [list(call[0]) for call in self.calls]

    @property
    def rows(self) -> list[list[Any]]:
        """The rows in all columns, as record files have them, but for empty lists at their end."""
        found = []
        for (name, *_), result, *counts in self.calls:
            *levels, last = counts if isinstance(counts[-1], list) else [*counts, []]
            tokens = sum(each[1] for each in last)
            found.append([name, result, tokens, len(last), *levels, [list(each) for each in last]])
        return found


def _leaf(request: int, tokens: list[list[int]], priority: int = 0, inserted: int = 0) -> Any:
    return ("I", request, tokens, priority, inserted)


_PAGES = HandList(
    "1: whole pages; what parts inside a page shares nothing of it",
    (
        (("A", 0, 6), 8, 0, 0, 0, 32, 0, 0),
        (_leaf(0, [[1, 6]]), 0, 4, 4, 0, 32, 1, 1),
        (("F", 0), 4, 4, 4, 0, 36, 1, 1),
        (("M", 1, [[1, 5], [2, 9]]), 4, 4, 4, 0, 36, 1, 1),
        (("M", 2, [[1, 3], [2, 9]]), 0, 4, 4, 0, 36, 1, 1),
        (("M", 3, [[1, 3]]), 0, 4, 4, 0, 36, 1, 1),
        (("A", 4, 8), 8, 4, 4, 0, 28, 1, 1),
        (_leaf(4, [[1, 3], [2, 5]]), 0, 12, 12, 0, 28, 2, 2),
    ),
    capacity=40,
    page_size=4,
)
_SPLIT = HandList(
    "2: a match that ends inside a node splits it",
    (
        (("A", 0, 6), 6, 0, 0, 0, 14, 0, 0),
        (_leaf(0, [[1, 6]]), 0, 6, 6, 0, 14, 1, 1),
        (("M", 1, [[1, 4], [2, 1]]), 4, 6, 6, 0, 14, 2, 1),
        (("M", 1, [[1, 4], [2, 1]]), 4, 6, 6, 0, 14, 2, 1),
        (("E", 1), 2, 4, 4, 0, 16, 1, 1, [(4, 2, 1, 4)]),
    ),
)
_REFRESHED = HandList(
    "3: what a match left of a node that it split counts as used, too",
    (
        (("A", 0, 5), 5, 0, 0, 0, 15, 0, 0),
        (_leaf(0, [[1, 5]]), 0, 5, 5, 0, 15, 1, 1),
        (("A", 1, 3), 3, 5, 5, 0, 12, 1, 1),
        (_leaf(1, [[2, 3]]), 0, 8, 8, 0, 12, 2, 2),
        (("M", 2, [[1, 2]]), 2, 8, 8, 0, 12, 3, 2),
        (("E", 1), 3, 5, 5, 0, 15, 2, 1, [(0, 3, 2, 0)]),
    ),
)
_PATH_STAMPED = HandList(
    "2: a match stamps the whole path: with two hits each, the first of it outlasts another leaf",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 16, 1, 1),
        (_leaf(0, [[1, 2], [2, 2]]), 2, 4, 4, 0, 16, 2, 1),
        (("A", 1, 2), 2, 4, 4, 0, 14, 2, 1),
        (_leaf(1, [[3, 2]]), 0, 6, 6, 0, 14, 3, 2),
        (_leaf(1, [[3, 2]]), 2, 6, 6, 0, 14, 3, 2),
        (("M", 2, [[1, 2], [2, 2]]), 4, 6, 6, 0, 14, 3, 2),
        (("E", 4), 4, 2, 2, 0, 18, 1, 1, [(2, 2, 2, 0), (0, 2, 3, 0)]),
    ),
    policy=Policy.LFU,
)
_TWO_LEAVES_AND_A_SPLIT = (
    (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
    (_leaf(0, [[1, 4]]), 0, 4, 4, 0, 16, 1, 1),
    (("A", 1, 2), 2, 4, 4, 0, 14, 1, 1),
    (_leaf(1, [[2, 2]]), 0, 6, 6, 0, 14, 2, 2),
    (("M", 2, [[1, 2]]), 2, 6, 6, 0, 14, 3, 2),
    (("E", 2), 2, 4, 4, 0, 16, 2, 2, [(2, 2, 1, 2)]),
)
_OLD_BIRTH = HandList(
    "4: in the unified tree the upper part of a split is as old as the node",
    (*_TWO_LEAVES_AND_A_SPLIT, (("E", 2), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 1, 0)])),
    policy=Policy.FIFO,
    births=(SplitBirth.OLD,),
)
_NEW_BIRTH = HandList(
    "4: in RadixCache it is born with the split",
    (*_TWO_LEAVES_AND_A_SPLIT, (("E", 2), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 2, 0)])),
    policy=Policy.FIFO,
    births=(SplitBirth.NEW,),
)
_COPIED_HITS = HandList(
    "4: the upper part has the node's hits: two, against the one of what comes later",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 4]]), 0, 4, 4, 0, 16, 1, 1),
        (_leaf(0, [[1, 4]]), 4, 4, 4, 0, 16, 1, 1),
        (("M", 2, [[1, 2]]), 2, 4, 4, 0, 16, 2, 1),
        (("E", 2), 2, 2, 2, 0, 18, 1, 1, [(2, 2, 1, 2)]),
        (("A", 1, 2), 2, 2, 2, 0, 16, 1, 1),
        (_leaf(1, [[3, 2]]), 0, 4, 4, 0, 16, 2, 2),
        (("E", 1), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 3, 0)]),
    ),
    policy=Policy.LFU,
)
_COPIED_PRIORITY = HandList(
    "4: and its priority: 2, against the 1 of what comes later",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 4]], 2), 0, 4, 4, 0, 16, 1, 1),
        (("M", 2, [[1, 2]]), 2, 4, 4, 0, 16, 2, 1),
        (("E", 2), 2, 2, 2, 0, 18, 1, 1, [(2, 2, 1, 2)]),
        (("A", 1, 2), 2, 2, 2, 0, 16, 1, 1),
        (_leaf(1, [[3, 2]], 1), 0, 4, 4, 0, 16, 2, 2),
        (("E", 1), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 3, 0)]),
    ),
    policy=Policy.PRIORITY,
)
_COPIED_LOCKS = HandList(
    "4: and its locks: both parts are protected, and one unlock frees both",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 4]]), 0, 4, 4, 0, 16, 1, 1),
        (("M", 0, [[1, 4]]), 4, 4, 4, 0, 16, 1, 1),
        (("L", 0), -4, 4, 0, 4, 16, 1, 1),
        (("M", 1, [[1, 3]]), 3, 4, 0, 4, 16, 2, 1),
        (("E", 9), 0, 4, 0, 4, 16, 2, 1),
        (("U", 0), 4, 4, 4, 0, 16, 2, 1),
        (("E", 4), 4, 0, 0, 0, 20, 0, 0, [(3, 1, 1, 3), (0, 3, 1, 0)]),
    ),
)
_RAISED = HandList(
    "5: an insert raises the priority of what it passes",
    (
        (("A", 0, 2), 2, 0, 0, 0, 18, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 18, 1, 1),
        (("A", 1, 2), 2, 2, 2, 0, 16, 1, 1),
        (_leaf(1, [[4, 2]], 1), 0, 4, 4, 0, 16, 2, 2),
        (_leaf(0, [[1, 2]], 3), 2, 4, 4, 0, 16, 2, 2),
        (_leaf(0, [[1, 2]], 0), 2, 4, 4, 0, 16, 2, 2),
        (("E", 1), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 4, 0)]),
    ),
    policy=Policy.PRIORITY,
)
_REST_NOT_RAISED = HandList(
    "5: not of the rest of a node that it ends in",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 4]]), 0, 4, 4, 0, 16, 1, 1),
        (("A", 1, 2), 2, 4, 4, 0, 14, 1, 1),
        (_leaf(1, [[4, 2]], 1), 0, 6, 6, 0, 14, 2, 2),
        (_leaf(0, [[1, 2]], 3), 2, 6, 6, 0, 14, 3, 2),
        (("E", 1), 2, 4, 4, 0, 16, 2, 2, [(2, 2, 1, 2)]),
    ),
    policy=Policy.PRIORITY,
)
_HITS = HandList(
    "5: nodes that end beyond what the request has inserted count a hit, the others do not",
    (
        (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 16, 1, 1),
        (_leaf(0, [[1, 2], [2, 2]], 0, 2), 2, 4, 4, 0, 16, 2, 1),
        (("A", 1, 2), 2, 4, 4, 0, 14, 2, 1),
        (_leaf(1, [[3, 2]]), 0, 6, 6, 0, 14, 3, 2),
        (("E", 4), 4, 2, 2, 0, 18, 1, 1, [(2, 2, 2, 0), (0, 2, 1, 0)]),
    ),
    policy=Policy.LFU,
)
_STAMPED = HandList(
    "5: an insert stamps the path",
    (
        (("A", 0, 2), 2, 0, 0, 0, 18, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 18, 1, 1),
        (("A", 1, 2), 2, 2, 2, 0, 16, 1, 1),
        (_leaf(1, [[2, 2]]), 0, 4, 4, 0, 16, 2, 2),
        (_leaf(0, [[1, 2]]), 2, 4, 4, 0, 16, 2, 2),
        (("E", 1), 2, 2, 2, 0, 18, 1, 1, [(0, 2, 2, 0)]),
    ),
)
_ANCESTORS = HandList(
    "6: a lock protects what is before the node, not what is behind it",
    (
        (("A", 0, 6), 6, 0, 0, 0, 14, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 14, 1, 1),
        (_leaf(0, [[1, 2], [2, 2]]), 2, 4, 4, 0, 14, 2, 1),
        (_leaf(0, [[1, 2], [2, 2], [3, 2]]), 4, 6, 6, 0, 14, 3, 1),
        (("M", 1, [[1, 2], [2, 2]]), 4, 6, 6, 0, 14, 3, 1),
        (("L", 1), -4, 6, 2, 4, 14, 3, 1),
        (("M", 1, [[1, 2]]), 2, 6, 2, 4, 14, 3, 1),
        (("L", 1), 0, 6, 2, 4, 14, 3, 1),
        (("E", 20), 2, 4, 0, 4, 16, 2, 1, [(4, 2, 3, 0)]),
        (("U", 1), 2, 4, 2, 2, 16, 2, 1),
        (("E", 20), 2, 2, 0, 2, 18, 1, 1, [(2, 2, 2, 0)]),
        (("U", 1), 2, 2, 2, 0, 18, 1, 1),
        (("E", 20), 2, 0, 0, 0, 20, 0, 0, [(0, 2, 1, 0)]),
    ),
)
_WHOLE_LEAVES = HandList(
    "7: one token is wanted, five go; a parent that is a leaf now goes in the same pass",
    (
        (("A", 0, 7), 7, 0, 0, 0, 13, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 13, 1, 1),
        (_leaf(0, [[1, 2], [2, 5]]), 2, 7, 7, 0, 13, 2, 1),
        (("E", 0), 0, 7, 7, 0, 13, 2, 1),
        (("E", 1), 5, 2, 2, 0, 18, 1, 1, [(2, 5, 2, 0)]),
        (("A", 1, 7), 7, 2, 2, 0, 11, 1, 1),
        (_leaf(1, [[1, 2], [2, 5]]), 2, 7, 7, 0, 13, 2, 1),
        (("E", 6), 7, 0, 0, 0, 20, 0, 0, [(2, 5, 2, 0), (0, 2, 1, 0)]),
    ),
)


def order_of(policy: Policy, segments: str) -> HandList:
    """Four leaves a, b, c, d of one token, born in this order, last used b, d, a, c.

    Hits a 1, b 3, c 2, d 1; priorities a 1, b 0, c 1, d 2.
    """
    one = [(number, [[number, 1]]) for number in range(4)]
    priorities = (1, 0, 1, 2)
    grow = [
        row
        for number, own in one
        for row in (
            (("A", number, 1), 1, number, number, 0, 19 - number, number, number),
            (
                *(_leaf(number, own, priorities[number]), 0, number + 1, number + 1),
                *(0, 19 - number, number + 1, number + 1),
            ),
        )
    ]
    full = (4, 4, 0, 16, 4, 4)
    used = (
        (_leaf(1, [[1, 1]]), 1, *full),
        (_leaf(1, [[1, 1]]), 1, *full),
        (("M", 9, [[3, 1]]), 1, *full),
        (("M", 9, [[0, 1]]), 1, *full),
        (_leaf(2, [[2, 1]]), 1, *full),
    )
    gone = [(0, 1, "abcd".index(letter), 0) for letter in segments]
    last = (("E", 4), 4, 0, 0, 0, 20, 0, 0, gone)
    return HandList(f"8: the order of {policy.value}", (*grow, *used, last), policy=policy)


_ORDERS = (
    order_of(Policy.LRU, "bdac"),
    order_of(Policy.MRU, "cadb"),
    order_of(Policy.FIFO, "abcd"),
    order_of(Policy.FILO, "dcba"),
    order_of(Policy.LFU, "dacb"),
    order_of(Policy.SLRU, "dabc"),
    order_of(Policy.PRIORITY, "bacd"),
)
_PATH = (
    (("A", 0, 4), 4, 0, 0, 0, 16, 0, 0),
    (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 16, 1, 1),
    (("A", 1, 2), 2, 2, 2, 0, 14, 1, 1),
    (_leaf(1, [[3, 2]]), 0, 4, 4, 0, 14, 2, 2),
    (_leaf(0, [[1, 2], [2, 2]]), 2, 6, 6, 0, 14, 3, 2),
    (("A", 2, 2), 2, 6, 6, 0, 12, 3, 2),
    (_leaf(2, [[4, 2]]), 0, 8, 8, 0, 12, 4, 3),
    (("M", 3, [[1, 2]]), 2, 8, 8, 0, 12, 4, 3),
)
_FROM_ITS_END = HandList(
    "9: under lru the beginning of a path, just used, outlasts another leaf",
    (*_PATH, (("E", 6), 6, 2, 2, 0, 18, 1, 1, [(0, 2, 3, 0), (2, 2, 2, 0), (0, 2, 4, 0)])),
)
_AS_ITS_KEY_SAYS = HandList(
    "9: under fifo it goes as soon as it is a leaf, as old as it is",
    (*_PATH, (("E", 6), 6, 2, 2, 0, 18, 1, 1, [(0, 2, 3, 0), (2, 2, 2, 0), (0, 2, 1, 0)])),
    policy=Policy.FIFO,
)
_PROMPT_AND_OUTPUT = HandList(
    "10: the prompt, inserted after prompt and output, is split off; the output goes alone",
    (
        (("M", 0, [[1, 2]]), 0, 0, 0, 0, 20, 0, 0),
        (("L", 0), 0, 0, 0, 0, 20, 0, 0),
        (("A", 0, 5), 5, 0, 0, 0, 15, 0, 0),
        (_leaf(0, [[1, 3], [2, 2]]), 0, 5, 5, 0, 15, 1, 1),
        (_leaf(0, [[1, 3]], 1), 3, 5, 5, 0, 15, 2, 1),
        (("U", 0), 0, 5, 5, 0, 15, 2, 1),
        (("E", 1), 2, 3, 3, 0, 17, 1, 1, [(3, 2, 2, 0)]),
    ),
    policy=Policy.PRIORITY,
)
_SHORTFALL = HandList(
    "11: an allocation evicts what is missing, not what is asked for",
    (
        (("A", 0, 2), 2, 0, 0, 0, 4, 0, 0),
        (_leaf(0, [[1, 2]]), 0, 2, 2, 0, 4, 1, 1),
        (("A", 1, 2), 2, 2, 2, 0, 2, 1, 1),
        (_leaf(1, [[2, 2]]), 0, 4, 4, 0, 2, 2, 2),
        (("A", 2, 4), 4, 2, 2, 0, 0, 1, 1, [(0, 2, 1, 0)]),
        (("A", 2, 3), 0, 2, 2, 0, 0, 1, 1),
        (("A", 3, 3), -1, 0, 0, 0, 2, 0, 0, [(0, 2, 2, 0)]),
        (("F", 2), 4, 0, 0, 0, 6, 0, 0),
    ),
    capacity=6,
)
_TWICE = HandList(
    "what two requests computed is kept once; the second copy goes back to the pool",
    (
        (("A", 0, 3), 3, 0, 0, 0, 17, 0, 0),
        (("A", 1, 4), 4, 0, 0, 0, 13, 0, 0),
        (_leaf(0, [[1, 3]]), 0, 3, 3, 0, 13, 1, 1),
        (_leaf(1, [[1, 4]]), 3, 4, 4, 0, 16, 2, 1),
        (_leaf(1, [[1, 2]]), 2, 4, 4, 0, 16, 3, 1),
        (("F", 1), 0, 4, 4, 0, 16, 3, 1),
    ),
)

HAND_LISTS = (
    *(
        _PAGES,
        _SPLIT,
        _PATH_STAMPED,
        _REFRESHED,
        _OLD_BIRTH,
        _NEW_BIRTH,
        _COPIED_HITS,
        _COPIED_PRIORITY,
    ),
    *(
        _COPIED_LOCKS,
        _RAISED,
        _REST_NOT_RAISED,
        _HITS,
        _STAMPED,
        _ANCESTORS,
        _WHOLE_LEAVES,
        *_ORDERS,
    ),
    *(_FROM_ITS_END, _AS_ITS_KEY_SAYS, _PROMPT_AND_OUTPUT, _SHORTFALL, _TWICE),
)
