"""Routing, Theorem 8 and Corollary 9 with (18) to (32): random requests, where none is better.

N requests that differ in their last token, N = B - L + 2, or N = B - L - beta + 3 batches of which
the last path differs: one more than fit. Each is drawn uniformly, again and again.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

from fluidkv.ledger import Origin, Range, Seen
from fluidkv.prefix.paging.adversaries import batches_of_tails, tails
from fluidkv.prefix.paging.bounds import harmonic
from fluidkv.prefix.paging.games import optimum_rate
from fluidkv.prefix.paging.lru import lru_misses
from fluidkv.prefix.paging.optimum import fewest_misses
from fluidkv.prefix.paging.tokens import Request, singles
from fluidkv_papers.routing.paper import statements
from fluidkv_papers.theory.paging.phases import phases

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)

Case = tuple[int, int, int]
"""B, L, beta."""


def _cases(*, batches: bool, most: int = 5) -> Iterator[Case]:
    """Those with N = 2 ... most, smallest first."""
    sizes = (2, 3) if batches else (1,)
    found = [
        (capacity, shortest, size)
        for size in sizes
        for capacity in range(1, 7)
        for shortest in range(1, capacity // size + 1)
        if 2 <= capacity - shortest - size + 3 <= most
    ]
    yield from sorted(found, key=lambda case: (case[0] - case[1] - case[2], case))


_SINGLE = Range("B = 1 ... 6 with N = 2 ... 5", lambda: _cases(batches=False))
_BATCHES = Range("beta = 2, 3, B = 2 ... 6 with N = 2 ... 5", lambda: _cases(batches=True))
_ROOM = _SINGLE.where("B > L", lambda capacity, shortest, _: capacity > shortest)
_BATCH_ROOM = _BATCHES.where("N > 2", lambda b, shortest, size: b - shortest - size > -1)
_TWO = Range(
    "B = 1 ... 6, beta = 1, 2, 3, with N = 2",
    lambda: (*_cases(batches=False, most=2), *_cases(batches=True, most=2)),
)


def _requests(capacity: int, shortest: int, size: int) -> tuple[Request, ...]:
    if size == 1:
        return singles(tails(capacity, shortest))
    return batches_of_tails(capacity, shortest, size)


@cache
def _optimum(capacity: int, shortest: int, size: int) -> tuple[int, Fraction]:
    """N, and misses of the optimum per request in the long run."""
    requests = _requests(capacity, shortest, size)
    return len(requests), optimum_rate(requests, capacity)


def _named(capacity: int, shortest: int, size: int) -> str:
    return f"B = {capacity}, L = {shortest}" + (f", beta = {size}" if size > 1 else "")


def _expected(case: Case, count: int) -> Fraction:
    """Misses of Leaf-LRU from the empty cache, over all sequences of so many requests."""
    requests = _requests(*case)
    every = product(requests, repeat=count)
    return Fraction(sum(lru_misses(each, case[0]) for each in every), len(requests) ** count)


@READING.fails(
    "equations-18-and-27",
    "(18) and (27)",
    over=lambda: (
        (*case, n)
        for n in range(1, 5)
        for case in (*_cases(batches=False, most=4), *_cases(batches=True, most=4))
    ),
)
def _eq_18(capacity: int, shortest: int, size: int, n: int) -> bool | str:
    """Of n requests a deterministic policy is expected to miss B + (n - N + 1) / N tokens, n of at
    least N - 1.

    Checked: B = 1 ... 6 with N = 2, 3, 4; n up to 4 requests, beta = 1, 2, 3
    Ours: fewer: the first N - 1 distinct requests take longer than N - 1 draws
    Paper: an equality, followed by an inequality
    Note: Equality for N = 2, and where the first N - 1 requests are distinct, as the paper's words
    take it. The inequality >= n / N, which is used, holds.
    Holds: equations-18-and-27.used"""
    case, number = (capacity, shortest, size), len(_requests(capacity, shortest, size))
    if n < number - 1:
        return True
    found, said = _expected(case, n), capacity + Fraction(n - number + 1, number)
    return found == said or f"{_named(*case)}, n = {n}: {found}, not {said}"


@CLAIMS.claim(
    "equations-18-and-27.used",
    "(18) and (27), the inequality",
    over=lambda: (
        (*case, n)
        for n in range(1, 5)
        for case in (*_cases(batches=False, most=4), *_cases(batches=True, most=4))
    ),
)
def _eq_18_used(capacity: int, shortest: int, size: int, n: int) -> bool | Seen:
    """Of n requests a deterministic policy is expected to miss n / N tokens at least.

    Checked: B = 1 ... 6 with N = 2, 3, 4; n up to 4 requests, beta = 1, 2, 3
    Ours: Leaf-LRU, over all sequences, in all {count} cases
    Paper: >= n / N
    Note: Whatever is cached, at least one of N equally likely requests misses."""
    found = _expected((capacity, shortest, size), n)
    return found >= Fraction(n, len(_requests(capacity, shortest, size))) and Seen(found)


@CLAIMS.claim(
    "equations-19-and-28",
    "(19) and (28)",
    over=lambda: (
        (*case, each)
        for case in (*_cases(batches=False, most=3), *_cases(batches=True, most=3))
        if case[0] < 5
        for n in range(1, 7)
        for each in product(_requests(*case), repeat=n)
    ),
)
def _eq_19(
    capacity: int, shortest: int, size: int, requests: tuple[Request, ...]
) -> bool | str | Seen:
    """The optimum misses at least as many tokens as there are phases.

    Checked: B = 1 ... 4 with N = 2, 3; all sequences of up to 6 requests, beta = 1, 2, 3
    Ours: in all {count} sequences, the last phase counted
    Paper: Miss_OPT >= V
    Note: What stands between them, max(c/2, 1) over all phases, is routing.lemma-1."""
    least, number = fewest_misses(requests, capacity), len(phases(requests, capacity))
    return Seen(least) if least >= number else f"{_named(capacity, shortest, size)}: {requests}"


@CLAIMS.fails("equations-20-and-21", "(20) and (21)", over=_ROOM)
def _eq_20(capacity: int, shortest: int, size: int) -> bool | str:
    """From one miss of the optimum to the next N H_N requests come, in expectation, so that it
    misses n / (N H_N) tokens in n requests, in the long run.

    Ours: N H_(N-1), one less
    Paper: E[y - w] = (B - L + 2) H_(B - L + 2)
    Note: The request that misses is itself one of the N, and it is not evicted for itself: all N -
    1 others have to come, which takes N (1 + 1/2 + ... + 1/(N-1)) requests. N H_N counts the
    requests with both misses, so that (21) counts each miss twice."""
    number, rate = _optimum(capacity, shortest, size)
    said = number * harmonic(number)
    return 1 / rate == said or f"{_named(capacity, shortest, size)}: {1 / rate}, not {said}"


@CLAIMS.fails("equations-22-to-26", "(22) to (26)", over=_ROOM)
def _eq_22(capacity: int, shortest: int, size: int) -> bool | str:
    """On these requests no policy is better than H_(B-L+2) times the optimum.

    Ours: H_(B-L+1) times, in expectation, for every policy that evicts only when it must
    Paper: H_(B - L + 2)
    Note: For B = L every policy misses the same (routing.theorem-8.every-policy), and H_2 = 3/2. It
    holds with H_(B-L+1), as it is known for paging, so the order stays.
    Holds: theorem-8"""
    number, rate = _optimum(capacity, shortest, size)
    ratio, said = 1 / (number * rate), harmonic(number)
    return ratio >= said or f"{_named(capacity, shortest, size)}: {ratio} < {said}"


@CLAIMS.claim("theorem-8", "Theorem 8", over=_SINGLE)
def _theorem_8(capacity: int, shortest: int, size: int) -> bool | str | Seen:
    """On these requests every policy, random or not, is expected to miss at least H_(B-L+1) times
    what the optimum misses, which is of the order of log(B - L).

    Ours: exactly H_(B-L+1) where only what must go is evicted, in all {count} cases
    Paper: no better than Theta(log(B - L))
    Note: The optimum's misses are those of a chain of states solved in rationals; a policy misses
    one request in N at least. For B = L the logarithm is none."""
    number, rate = _optimum(capacity, shortest, size)
    ratio = 1 / (number * rate)
    right = ratio == harmonic(capacity - shortest + 1)
    return Seen(ratio) if right else f"{_named(capacity, shortest, size)}: {ratio}"


@CLAIMS.fails("equations-29-and-30", "(29) and (30)", over=_BATCH_ROOM)
def _eq_29(capacity: int, shortest: int, size: int) -> bool | str | Seen:
    """In batches N H_N requests come from one miss of the optimum to the next, in expectation.

    Ours: N H_(N-1)
    Paper: (B - L - beta + 3) H_(B - L - beta + 3)
    Note: As (20) and (21); the paper counts tokens, of which each request has one that may miss."""
    return _eq_20(capacity, shortest, size)


@CLAIMS.fails("equations-31-and-32", "(31) and (32)", over=_BATCH_ROOM)
def _eq_31(capacity: int, shortest: int, size: int) -> bool | str | Seen:
    """On these batches no policy is better than H_(B-L-beta+3) times the optimum.

    Ours: H_(B-L-beta+2) times
    Paper: H_(B - L - beta + 3)
    Note: With N = 2 every policy misses the same (routing.theorem-8.every-policy). It holds with
    H_(B-L-beta+2).
    Holds: corollary-9"""
    return _eq_22(capacity, shortest, size)


@CLAIMS.claim("corollary-9", "Corollary 9", over=_BATCHES)
def _corollary_9(capacity: int, shortest: int, size: int) -> bool | str | Seen:
    """On these batches every policy, random or not, is expected to miss at least H_(B-L-beta+2)
    times what the optimum misses, which is of the order of log(B - L - beta).

    Ours: exactly H_(B-L-beta+2) in all {count} cases
    Paper: no better than Theta(log(B - L - beta))"""
    number, rate = _optimum(capacity, shortest, size)
    ratio = 1 / (number * rate)
    right = ratio == harmonic(capacity - shortest - size + 2)
    return Seen(ratio) if right else f"{_named(capacity, shortest, size)}: {ratio}"


@READING.claim("theorem-8.every-policy", "Theorem 8 and Corollary 9, least case", over=_TWO)
def _every_policy(capacity: int, shortest: int, size: int) -> bool | str | Seen:
    """With N = 2 every sequence of these requests costs every policy the same that evicts only when
    it must.

    Ours: Leaf-LRU misses what the optimum misses in every sequence of 5, in all {count} cases
    Paper: at least H_2 = 3/2 times
    Note: Each request fills the cache, so that nothing is left to choose."""
    requests = _requests(capacity, shortest, size)
    for each in product(requests, repeat=5):
        if lru_misses(each, capacity) != fewest_misses(each, capacity):
            return f"{_named(capacity, shortest, size)}: {each}"
    return Seen(1)
