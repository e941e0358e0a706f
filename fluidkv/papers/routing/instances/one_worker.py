"""Table 3's requests: one worker, 64 groups of 32, one of each group in turn."""

from fractions import Fraction
from functools import cache
from typing import Any

from fluidkv import prefix
from fluidkv.papers.routing.instances import printed
from fluidkv.papers.routing.instances.setting import Setting

PRINTED = {name: float(row.hit_rate) for name, row in printed.TABLE_3.items()}
"""Policy -> hit rate of Table 3, per cent."""
OPTIONS: tuple[tuple[str, Any], ...] = (
    ("groups", printed.ONE_WORKER_GROUPS),
    ("order", "round-robin"),
)


def setting(capacity: int) -> Setting:
    """With arrivals and the clock: 12 requests a second."""
    return Setting(options=OPTIONS, workers=1, capacity=capacity)


@cache
def trie() -> "prefix.Trie":
    """Prompts with answers, in single tokens. The order is fixed; the seed draws times alone."""
    _, prompts = prefix.shared_prefixes(0, **dict(OPTIONS))
    return prefix.trie_of(prompts, answers=True)


def round_tokens() -> int:
    """Prompts and answers of one request of each group."""
    groups = range(printed.ONE_WORKER_GROUPS)
    return sum(printed.LENGTHS[group % len(printed.LENGTHS)] + 4 for group in groups)


def ceiling() -> float:
    """The hit rate of a cache that holds everything."""
    queries = printed.REQUESTS_A_GROUP
    return float(Fraction(printed.SHARED) * Fraction(queries - 1, queries))
