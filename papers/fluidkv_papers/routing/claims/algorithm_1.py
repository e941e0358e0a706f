"""Routing, Algorithm 1 and the rule of the optimum (section 3.2): what they are, literally."""

from fluidkv.ledger import Origin, Range, Seen
from fluidkv.prefix.paging.marking import marking
from fluidkv.prefix.paging.optimum import fewest_misses, furthest_misses, unlocked_furthest
from fluidkv.prefix.paging.tokens import Path, Token, closed, leaves, singles
from fluidkv_papers.routing.instances.universes import small_sequences
from fluidkv_papers.routing.paper import statements
from fluidkv_papers.theory.paging.printed import Eviction, printed_evictions

CLAIMS = statements(origin=Origin.READING)
ALGORITHM_1 = CLAIMS.section("algorithm-1", "Algorithm 1", kind="definition")

_SEQUENCES = Range(
    "all sequences of up to 3 paths for B = 1, 2, 3, and of 4 paths for B = 2",
    lambda: small_sequences((1, 3), (2, 4), (3, 3)),
)


def _name(token: Token) -> str:
    return "".join(map(str, token))


def _said(capacity: int, paths: tuple[Path, ...], found: Eviction) -> str:
    held, marked = (
        ", ".join(sorted(map(_name, tokens))) for tokens in (found.cached, found.access.marked)
    )
    gone = f"evicts {_name(found.gone)}" if found.gone else "no leaf without a mark"
    return (
        f"B = {capacity}, paths {', '.join(map(_name, paths))}: loading {_name(found.access.token)}"
        f" into {{{held}}} with marks {{{marked}}}: {gone}"
    )


@ALGORITHM_1.fails("leaf-without-mark", ", lines 13 to 15", over=_SEQUENCES, origin=Origin.PRINTED)
def _leaf_without_mark(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str:
    """When a missing token meets a full cache, some leaf token in it has no mark.

    Ours: none may be left from three requests on
    Paper: RLT evicts an unmarked leaf token uniformly at random
    Note: Line 9 takes the marks of the path in process, up to the token; its last token is then a
    marked leaf above which no mark is. The lock on that path, which is not printed, is assumed
    here; without it the same sequence fails one time in two. It holds where the path keeps its
    marks.
    Holds: algorithm-1.repaired"""
    for found in printed_evictions(paths, capacity, lock=True):
        if found.gone is None:
            return _said(capacity, paths, found)
    return True


@ALGORITHM_1.fails("keeps-its-path", ", lines 9 and 14", over=_SEQUENCES)
def _keeps_its_path(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str:
    """Read literally, RLT never evicts a token of the path that it is loading.

    Ours: it may evict the parent of the token loaded, from two requests on
    Paper: U is all leaf tokens of the cache without T
    Note: After line 9 only the new token is marked, so its parent is a leaf that may go. The text
    wants the whole path in the cache, so a lock is meant or line 9 keeps the path's marks."""
    for found in printed_evictions(paths, capacity):
        if found.of_its_path:
            return _said(capacity, paths, found)
    return True


@ALGORITHM_1.claim("repaired", ", repaired", over=_SEQUENCES)
def _repaired(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str | Seen:
    """If the path in process keeps its marks when all others go, marks are closed under parents,
    there always is a leaf without a mark, and none of the path in process goes.

    Ours: along every choice in all {count} cases
    Paper: not said
    Note: Proof: at most B tokens are marked, one of them not cached; so a cached one is not, nor is
    what is below it, down to a leaf."""
    for access in (each for accesses in marking(singles(paths), capacity) for each in accesses):
        if not closed(access.marked) or len(access.marked) > capacity:
            return f"B = {capacity}, {paths}: marks {sorted(access.marked)}"
    for found in printed_evictions(paths, capacity, repaired=True):
        if found.gone is None or found.of_its_path:
            return _said(capacity, paths, found)
    return Seen(paths)


@CLAIMS.claim("section-3-2.optimum", "section 3.2", over=_SEQUENCES, kind="definition")
def _optimum(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str | Seen:
    """Evicting the leaf whose next use lies furthest in the future, off the path in process, misses
    as few tokens as any policy, one that evicts early included.

    Ours: the dynamic program over all caches agrees in all {count} cases
    Paper: OPT evicts the leaf token whose next appear lies furthest in the future
    Note: A parent is used whenever a child is, so a token used last is a leaf, the deepest of
    several: this is Belady's rule."""
    requests = singles(paths)
    least = fewest_misses(requests, capacity, eager=True)
    taken = furthest_misses(requests, capacity)
    return Seen(least) if taken == least else f"B = {capacity}, {paths}: {taken}, least {least}"


@CLAIMS.fails("section-3-2.without-a-lock", "section 3.2", over=_SEQUENCES, kind="definition")
def _without_a_lock(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str:
    """Read literally, OPT keeps the path that it is loading.

    Ours: it may evict the parent of the token loaded
    Paper: evicts the leaf token whose next appear lies furthest in the future
    Note: The proof of Lemma 1 has the entire path in the cache of OPT after it was processed; so a
    lock on it is meant.
    Holds: section-3-2.optimum"""
    for loaded, gone in unlocked_furthest(paths, capacity):
        if loaded[: len(gone)] == gone:
            return (
                f"B = {capacity}, paths {', '.join(map(_name, paths))}: {_name(gone)} goes for "
                f"{_name(loaded)}"
            )
    return True


@ALGORITHM_1.fails(
    "load-where-full", ", lines 13 to 17", over=lambda: small_sequences((1, 1), (2, 1), (3, 1))
)
def _load_where_full(capacity: int, _: int, paths: tuple[Path, ...]) -> bool | str:
    """With LOAD inside of the case of a full cache, as lines are indented in our copy, what is
    missed is loaded.

    Checked: B = 1, 2, 3; one path
    Ours: an empty cache is never full, so nothing is ever loaded
    Paper: line 17 is indented like lines 14 to 16
    Note: Indentation may be our copy's. All else here loads every missing token."""
    cached: set[Token] = set()
    for token in (path[: i + 1] for path in paths for i in range(len(path))):
        if token not in cached and len(cached) == capacity:
            cached.difference_update(leaves(cached)[:1])
            cached.add(token)
    return set(paths) <= cached or f"B = {capacity}, path {_name(paths[0])}: nothing is cached"
