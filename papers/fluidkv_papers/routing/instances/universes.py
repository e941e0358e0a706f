"""Sets of paths, and everything that can be asked of them: games against the optimum, small."""

from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

from fluidkv.prefix.paging.adversaries import batches_of_tails, in_a_loop, tails
from fluidkv.prefix.paging.bounds import optimum_in_a_phase
from fluidkv.prefix.paging.games import Online, Worst, play, worst
from fluidkv.prefix.paging.lru import accesses
from fluidkv.prefix.paging.marking import accessed, mark
from fluidkv.prefix.paging.tokens import Path, Request, Token, singles
from fluidkv_papers.theory.paging.cases import forests, sequences
from fluidkv_papers.theory.paging.nodes import serve_nodes
from fluidkv_papers.theory.paging.phases import Course, Phase, followed

Universe = tuple[int, int, tuple[Token, ...]]
"""Capacity B, least length L, tokens of a forest: each path of L to B tokens may be asked for."""


def universes(*sizes: tuple[int, int], shortest: int = 1) -> Iterator[Universe]:
    """All with such capacities and numbers of tokens, smallest first.

    Args:
        sizes: (B, tokens); a forest has in it what smaller ones have.
        shortest: least L.
    """
    for capacity, tokens in sizes:
        for least in range(capacity, shortest - 1, -1):
            for forest in forests(tokens):
                lengths = [len(token) for token in forest]
                if max(lengths) <= capacity and least in lengths:
                    yield capacity, least, forest


def batched(*sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int, tuple[Token, ...]]]:
    """(B, L, beta, tokens) with paths of L to B / beta tokens; sizes are (B, beta, tokens)."""
    for capacity, size, tokens in sizes:
        for least in range(capacity // size, 0, -1):
            for forest in forests(tokens):
                ends = [token for token in forest if len(token) >= least]
                fits = max(map(len, forest)) <= capacity // size
                if fits and len(ends) >= size and least in map(len, ends):
                    yield capacity, least, size, forest


def requests_of(shortest: int, forest: Iterable[Token], size: int = 1) -> tuple[Request, ...]:
    """Single paths, or all batches of so many distinct ones, of at least so many tokens."""
    ends = [token for token in forest if len(token) >= shortest]
    return tuple(combinations(ends, size))


def small_sequences(
    *sizes: tuple[int, int], longest: int | None = None
) -> Iterator[tuple[int, int, tuple[Path, ...]]]:
    """(B, L, paths) for all sequences of so many paths, L their least length; sizes are (B, count).

    Sequences of fewer paths come first.
    """
    for capacity, most in sizes:
        for count in range(1, most + 1):
            found = sequences(count, 1, longest or capacity)
            for paths in sorted(found, key=lambda paths: sum(map(len, paths))):
                yield capacity, min(map(len, paths)), paths


# --- online sides of games ----------------------------------------------------------------------


def leaf_lru(capacity: int) -> Online:
    def online(cached: Any, request: Request) -> tuple[Hashable, int]:
        missed = 0
        for step in accesses(cached, request, capacity):
            cached, missed = step.after, missed + step.missed
        return cached, missed

    return online


def node_lru(capacity: int) -> Online:
    return lambda cached, request: serve_nodes(cached, request[0], capacity)


def rlt(capacity: int) -> Online:
    """What is marked and the chances of every cache; expected misses, exactly."""

    def online(state: Any, request: Request) -> tuple[Hashable, Fraction]:
        marked, chances = state[0], dict(state[1])
        missed = Fraction(0)
        for access in mark(marked, request, capacity):
            marked = access.marked
            chances, more = accessed(chances, access, capacity)
            missed += more
        return (marked, frozenset(chances.items())), missed

    return online


RLT_START: Hashable = (frozenset(), frozenset({(frozenset(), Fraction(1))}))


def lemma_1(capacity: int) -> Online:
    """What Lemma 1 says of each phase that ends, but for the first."""

    def online(state: Any, request: Request) -> tuple[Hashable, Fraction]:
        begun, course = state
        course = followed(course, request, capacity)
        claimed = Fraction(0)
        for phase in course.ended:
            claimed += optimum_in_a_phase(phase.clean) if begun else 0
            begun = True
        # Of the phase that goes on, neither the order nor the misses matter.
        new, before = (tuple(sorted(each)) for each in (course.phase.new, course.phase.before))
        plain = Course(course.cached, Phase(new=new, clean=course.phase.clean, before=before))
        return (begun, plain), claimed

    return online


# --- the largest ratios -------------------------------------------------------------------------


def largest(capacity: int, requests: tuple[Request, ...], start: Hashable, online: Online) -> Worst:
    """Against the optimum, in the long run, over all sequences of the requests."""
    found = worst(play(requests, capacity, start, online))
    return found or Worst(Fraction(1), 1, requests[:1])


@cache
def worst_for_lru(capacity: int, shortest: int, forest: tuple[Token, ...], size: int = 1) -> Worst:
    """The largest ratio of Leaf-LRU where all paths, or batches of so many, may be asked for."""
    return largest(capacity, requests_of(shortest, forest, size), (), leaf_lru(capacity))


@cache
def worst_for_rlt(capacity: int, shortest: int, forest: tuple[Token, ...], size: int = 1) -> Worst:
    """The same of the repaired RLT, in expected misses."""
    return largest(capacity, requests_of(shortest, forest, size), RLT_START, rlt(capacity))


@cache
def on_tails(capacity: int, shortest: int, size: int = 1) -> Worst:
    """The largest ratio of Leaf-LRU over all sequences of the adversary's requests."""
    requests = (
        batches_of_tails(capacity, shortest, size)
        if size > 1
        else singles(tails(capacity, shortest))
    )
    return largest(capacity, requests, (), leaf_lru(capacity))


def looped(capacity: int, shortest: int, loops: int) -> tuple[Request, ...]:
    """The requests of Theorem 4's lower bound."""
    return in_a_loop(singles(tails(capacity, shortest)), loops)
