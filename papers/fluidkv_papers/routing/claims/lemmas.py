"""Routing, Lemmas 1 to 3 with (7) and (8): what a phase costs."""

from fractions import Fraction

from fluidkv.ledger import Finding, Origin, Range, Seen
from fluidkv.prefix.paging.bounds import lru_in_a_phase
from fluidkv.prefix.paging.games import play, walked, worst
from fluidkv.prefix.paging.tokens import Path, Token, singles
from fluidkv_papers.routing.instances import universes as small
from fluidkv_papers.routing.paper import statements
from fluidkv_papers.theory.paging.phases import Course, followed, phases

CLAIMS = statements()

_EVERY = "every sequence, of any length, of paths in all"


@CLAIMS.claim(
    "lemma-1",
    "Lemma 1",
    over=lambda: (*small.universes((2, 4), (3, 5)), *small.universes((4, 5), shortest=2)),
    checked=f"{_EVERY} forests of 4 tokens with B = 2, 5 with B = 3, 5 with B = 4 and L > 1",
)
def _lemma_1(capacity: int, shortest: int, forest: tuple[Token, ...]) -> bool | str | Seen:
    """Summed over phases, the optimum misses at least max(c/2, 1) in each, up to a constant.

    Ours: no cycle of requests has less; equality is reached
    Paper: amortized lower bound max{c/2, 1}
    Note: All states of Leaf-LRU, its phase and the optimum, and all cycles through them. Two sums,
    of c/2 and of 1, do not give that of the larger of both, as the proof concludes; what Theorems 4
    and 5 need are these sums alone. A single phase may cost nothing: B = 2, paths 0, 1, 2, 3, 0, 3.
    """
    requests = small.requests_of(shortest, forest)
    found = worst(play(requests, capacity, (False, Course()), small.lemma_1(capacity)))
    if found is None:
        return Seen(Fraction(0))
    return Seen(found.ratio) if found.ratio <= 1 else f"B = {capacity}: {found}"


_SEQUENCES = Range(
    "all sequences of up to 4 paths for B = 2, of up to 3 for B = 3",
    lambda: small.small_sequences((2, 4), (3, 3)),
)


@CLAIMS.fails(
    "lemma-2",
    "Lemma 2, equation (8)",
    over=_SEQUENCES,
    note=lambda _: (
        "A phase may start within a path, whose front is then no part of it but in the cache, and "
        f"end within one. With L < B too: {_shorter()}. Theorem 4 stands all the same. It holds "
        "with phases that have the whole path that they start in (routing.lemma-2.whole-phases)."
    ),
)
def _lemma_2(capacity: int, shortest: int, paths: tuple[Path, ...]) -> bool | str:
    """Leaf-LRU misses at most B - L + c tokens in a phase with c clean ones, if nothing evicted in
    it comes back.

    Ours: a phase that starts and ends within paths may have more
    Paper: at most B - L + c
    Holds: theorem-4.upper, lemma-2.whole-phases"""
    for number, phase in enumerate(phases(singles(paths), capacity), start=1):
        bound = lru_in_a_phase(capacity, shortest, phase.clean)
        if phase.misses > bound and number > 1 and not phase.returned:
            said = ", ".join("".join(map(str, path)) for path in paths)
            new = ", ".join("".join(map(str, token)) for token in phase.new)
            return (
                f"B = L = {capacity}, paths {said}: phase {number} is {{{new}}}, c = "
                f"{phase.clean}, {phase.misses} misses > {bound}"
            )
    return True


def _shorter() -> str:
    """A counterexample in which a cache holds more than a shortest path."""
    capacity, paths = 4, ((0, 0, 0), (1, 0, 0), (0, 0, 0, 0), (1, 0, 0))
    phase = phases(singles(paths), capacity)[2]
    bound = lru_in_a_phase(capacity, 3, phase.clean)
    said = ", ".join("".join(map(str, path)) for path in paths)
    return f"B = 4, L = 3, paths {said}: c = {phase.clean}, {phase.misses} misses, not {bound}"


@CLAIMS.fails("equation-7", "equation (7), in the proof of Lemma 2")
def _equation_7() -> Finding:
    """Where the path behind the first clean tokens is cut off by the end of the phase, at most B -
    z - (w + c_1) tokens of its front were evicted to load them.

    Checked: the counterexample of routing.lemma-2
    Paper: y <= B - z - (w + c_1)
    Note: When the phase starts, y, w and z are in the cache and c_1 are not: B >= y + z + w. With y
    <= c_1 the misses are at most 2 c."""
    capacity, paths = 2, ((0, 0), (0, 1), (1, 0), (0, 0))
    phase = phases(singles(paths), capacity)[2]
    first, cut_off = paths[2], paths[3]
    clean = [token for token in phase.new if token not in phase.before]  # of `first`, all of them
    front = [token for token in phase.before if token == first[: len(token)]]
    evicted = [token for token in phase.before if token == cut_off[: len(token)]]
    w, c_1, y = len(front), len(clean), len(evicted)
    z = capacity - w - y  # others in the cache: none
    bound = capacity - z - (w + c_1)
    return Finding(
        y <= bound or f"B = L = 2, paths 00, 01, 10, 00: w = {w}, c_1 = {c_1}, z = {z}",
        f"y = {y}, B - z - (w + c_1) = {bound}",
    )


@CLAIMS.claim(
    "lemma-2.whole-phases",
    "Lemma 2, with whole phases",
    over=lambda: (*small.universes((2, 5), (3, 4)), *small.universes((4, 5), shortest=2)),
    checked=f"{_EVERY} forests of 5 tokens with B = 2, 4 with B = 3, 5 with B = 4 and L > 1",
    origin=Origin.READING,
)
def _whole_phases(capacity: int, shortest: int, forest: tuple[Token, ...]) -> bool | str | Seen:
    """If a phase that starts within a path has the whole front of that path, Leaf-LRU misses at
    most B - L + c, and nothing evicted in it comes back.

    Ours: in each of {count} forests; equality is reached
    Paper: B - L + c, for phases that have the rest of the path only
    Note: Proof. Let the phase start at a token of depth d, not among the tokens of the phase
    before. Marks are closed under parents, so unmarked leaves are there to go and no token is
    missed twice: at most B - d + 1 misses. The rest of the path, to L, is clean: c >= 1 and c >= L
    - d + 1. So Theorem 4's upper bound follows, for every policy that keeps what was used in the
    phase."""

    def online(course: Course, request: tuple[Path, ...]) -> tuple[Course, int]:
        return followed(course, request, capacity, whole=True), 0

    for course in walked(small.requests_of(shortest, forest), Course(), online):
        for phase in (*course.ended, course.phase):
            bound = lru_in_a_phase(capacity, shortest, phase.clean)
            if phase.returned or (phase.new and phase.misses > bound):
                return f"B = {capacity}, L = {shortest}, {forest}: {phase}"
    return Seen(capacity)


@CLAIMS.claim(
    "lemma-3",
    "Lemma 3",
    over=lambda: (*small.universes((2, 5), (3, 4)), *small.universes((4, 5), shortest=2)),
    checked=f"{_EVERY} forests of 5 tokens with B = 2, 4 with B = 3, 5 with B = 4 and L > 1",
)
def _lemma_3(capacity: int, shortest: int, forest: tuple[Token, ...]) -> bool | str | Seen:
    """Under Leaf-LRU no token is accessed, evicted and accessed again in one phase.

    Ours: in each of {count} forests
    Paper: no old token reappears
    Note: With printed phases, which may start within a path."""

    def online(course: Course, request: tuple[Path, ...]) -> tuple[Course, int]:
        return followed(course, request, capacity), 0

    for course in walked(small.requests_of(shortest, forest), Course(), online):
        for phase in (*course.ended, course.phase):
            if phase.returned:
                return f"B = {capacity}, L = {shortest}, {forest}: {phase}"
    return Seen(capacity)
