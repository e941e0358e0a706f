"""Lots that fall at once have the law of draws one after the other."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

import pytest
from scipy.stats import chi2

from fluidkv.prefix.on_trie.cache import TraceCache
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import Piece
from fluidkv.prefix.policies import TOKENS, Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.reference import LiteralCache, Prefix, units

SEEDS = 3000

# Segments: a few stretches of few tokens each, so that leaves are used up and parents follow.
SIBLINGS = [((0, 1), (1, 1)), ((0, 1), (2, 2)), ((3, 2),), ((4, 2),), ((5, 4),)]
CHAIN = [((0, 1), (1, 1), (2, 1)), ((0, 1), (1, 1), (3, 1)), ((4, 2),), ((6, 2),), ((5, 5),)]
TWO_LONG = [((0, 6),), ((1, 6),), ((2, 9),)]
"""Nine of twelve among two leaves: counted by a multinomial."""
PHASES = [((0, 2), (1, 1)), ((0, 2), (2, 1)), ((3, 2),), ((4, 3),), ((0, 2), (5, 1)), ((6, 2),)]

CASES = {
    "siblings": (SIBLINGS, 8),
    "chain": (CHAIN, 8),
    "two long": (TWO_LONG, 12),
    "phases": (PHASES, 7),
}

Outcome = tuple[int, ...]
"""Units held of each prompt, at the end."""


class _MoreError(Exception):
    def __init__(self, candidates: int) -> None:
        self.candidates = candidates


def literal(said: Sequence[Prefix], capacity: int, policy: Policy) -> dict[Outcome, Fraction]:
    """Every end that the literal cache can come to, and how likely it is."""
    found: defaultdict[Outcome, Fraction] = defaultdict(Fraction)
    todo: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while todo:
        choices, likely = todo.pop()
        left = list(choices)

        def draw(candidates: Sequence[Prefix], left: list[int] = left) -> Prefix:
            if not left:
                raise _MoreError(len(candidates))
            return sorted(candidates)[left.pop(0)]

        cache = LiteralCache(capacity, policy, draw)
        try:
            for path in said:
                cache.request(path)
        except _MoreError as more:
            n = more.candidates
            todo += [((*choices, choice), likely / n) for choice in range(n)]
            continue
        end = (sum(path[:size] in cache.held for size in range(1, len(path) + 1)) for path in said)
        found[tuple(end)] += likely
    return found


@pytest.mark.daily(3)
@pytest.mark.parametrize("policy", [Policy.RLT, Policy.RANDOM])
@pytest.mark.parametrize("name", CASES)
def test_ends_come_as_often_as_the_literal_cache_has_them(name: str, policy: Policy) -> None:
    segments, capacity = CASES[name]
    contents = [tuple(Piece(segment, 0, n) for segment, n in path) for path in segments]
    trie = trie_of(Prompts(contents, [(Piece(99, 0, 1),)] * len(contents)))
    exact = literal([units(of, TOKENS) for of in contents], capacity, policy)
    assert sum(exact.values()) == 1
    seen: Counter[Outcome] = Counter()
    for seed in range(SEEDS):
        cache = TraceCache(trie, capacity, policy, seed)
        for request in range(len(trie)):
            cache.request(request)
        seen[tuple(cache.found(request) for request in range(len(trie)))] += 1
    assert seen.keys() <= exact.keys()
    rare = {end for end, likely in exact.items() if SEEDS * likely < 5}
    bins = [({end}, likely) for end, likely in exact.items() if end not in rare]
    if rare:
        bins.append((rare, sum((exact[end] for end in rare), Fraction())))
    statistic = sum(
        float((sum(seen[end] for end in ends) - SEEDS * likely) ** 2 / (SEEDS * likely))
        for ends, likely in bins
    )
    # Seeds are fixed, so it fails everywhere or nowhere; a right law would once in a thousand.
    assert len(bins) > 1
    assert statistic < chi2.ppf(0.999, len(bins) - 1)
