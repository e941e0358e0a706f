"""Predecessor-gap vectors: which of the l1 positions are live, up to rotation.

m live positions on a circle of l1 have m gaps, positive integers with sum l1: gap h is the number
of stages from the position before to position h. A rotation of the vector is the same pattern seen
at another iteration. The canonical rotation is the lexicographically largest, so the largest gap
comes first.

Source: Congestion, Appendix A.1 (predecessor gaps) and Proposition 8.
"""

from collections.abc import Iterator, Sequence
from math import comb, gcd
from operator import index
from typing import SupportsIndex

from fluidkv.errors import InputError

Gaps = tuple[int, ...]
"""g_0 ... g_{m-1}: positive integers, in circular order."""


def canonical_gaps(gaps: Sequence[int]) -> Gaps:
    """The lexicographically largest rotation.

    Raises:
        InputError: no gaps, or one that is not a positive integer.

    Examples:
        >>> from fluidkv.exact.one_class.gaps import canonical_gaps
        >>> canonical_gaps([1, 3, 1, 4])
        (4, 1, 3, 1)
    """
    checked = checked_gaps(gaps)
    return max(checked[h:] + checked[:h] for h in range(len(checked)))


def cycle_name(gaps: Sequence[int]) -> str:
    """What the balanced cycle with these gaps is called.

    "fixed point" where all gaps are 1 (also for l1 = 1, where it is the maximal-eviction cycle
    too), "maximal-eviction cycle" for one gap, otherwise "balanced cycle (4,1,3,1)" with the gaps
    in canonical rotation.

    Raises:
        InputError: as `canonical_gaps`.
    """
    canonical = canonical_gaps(gaps)
    if canonical[0] == 1:
        return "fixed point"
    if len(canonical) == 1:
        return "maximal-eviction cycle"
    return f"balanced cycle ({','.join(map(str, canonical))})"


def rotational_order(gaps: Sequence[int]) -> int:
    """How many rotations map the vector to itself: m for equal gaps, 1 without symmetry.

    Examples:
        >>> from fluidkv.exact.one_class.gaps import rotational_order
        >>> rotational_order([2, 1, 2, 1]), rotational_order([2, 2]), rotational_order([3, 1])
        (2, 2, 1)
    """
    checked = checked_gaps(gaps)
    return sum(checked[h:] + checked[:h] == checked for h in range(len(checked)))


def checked_gaps(gaps: Sequence[int], decode_length: int | None = None) -> Gaps:
    """The gaps as plain integers.

    Raises:
        InputError: no gaps, one that is not a positive integer, or, where `decode_length` is
            given, gaps whose sum is another.
    """
    allowed = "positive integers"
    if decode_length is not None:
        allowed += f" that sum to {decode_length}, the decode length"
    try:
        values = list(gaps)
    except TypeError:
        raise InputError("gaps", gaps, allowed) from None
    checked = tuple(g for g in map(whole_number, values) if g is not None and g > 0)
    if not values or len(checked) < len(values):
        raise InputError("gaps", gaps, allowed)
    if decode_length is not None and sum(checked) != decode_length:
        raise InputError("gaps", checked, f"{allowed}, not to {sum(checked)}")
    return checked


def whole_number(value: object) -> int | None:
    """The value as a plain integer; None for what is not one, a bool among it."""
    if type(value) is int:  # the common case, some fifty times faster than the protocol below
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    return index(value)


def gap_vectors(decode_length: int, live: int | None = None) -> Iterator[Gaps]:
    """Every gap vector with sum l1, once up to rotation, in canonical rotation.

    Args:
        decode_length: l1, at least 1.
        live: m, number of live positions, 1 ... l1; None for all, most live positions first.

    Yields in lexicographic order for each m. The work is in proportion to what is yielded, up to
    a small factor: necklaces are grown letter by letter and never filtered from all compositions.

    Raises:
        InputError: a length or a number of live positions out of range.

    Examples:
        >>> from fluidkv.exact.one_class.gaps import gap_vectors
        >>> list(gap_vectors(4))
        [(1, 1, 1, 1), (2, 1, 1), (2, 2), (3, 1), (4,)]
    """
    decode_length = _count("decode_length", decode_length, None)
    if live is not None:
        yield from _necklaces(decode_length, _count("live", live, decode_length))
        return
    for m in range(decode_length, 0, -1):
        yield from _necklaces(decode_length, m)


def count_gap_vectors(decode_length: int, live: int | None = None) -> int:
    """How many `gap_vectors` there are, without listing them: binary necklaces.

    A pattern is a necklace of l1 beads with m of them live; by Burnside's lemma their number is
    (1/l1) sum over d | gcd(l1, m) of phi(d) C(l1/d, m/d).

    Examples:
        >>> from fluidkv.exact.one_class.gaps import count_gap_vectors
        >>> count_gap_vectors(4), count_gap_vectors(4, live=2), count_gap_vectors(100)
        (5, 2, 12676506002282305273966813559)
    """
    decode_length = _count("decode_length", decode_length, None)
    if live is None:
        return sum(count_gap_vectors(decode_length, m) for m in range(1, decode_length + 1))
    live = _count("live", live, decode_length)
    common = gcd(decode_length, live)
    divisors = [d for d in range(1, common + 1) if common % d == 0]
    total = sum(_totient(d) * comb(decode_length // d, live // d) for d in divisors)
    return total // decode_length


def _necklaces(total: int, live: int) -> Iterator[Gaps]:
    """Lexicographically largest rotations of length `live` and the given sum.

    The recursion of Fredricksen, Kessler and Maiorana, read downwards: `period` is the length of
    the longest Lyndon prefix so far. The next letter may not exceed the one a period back; equal
    keeps the period, smaller makes the whole prefix the new period. A full word is a necklace if
    its period divides its length.
    """
    word = [0] * live

    def grow(place: int, period: int, rest: int) -> Iterator[Gaps]:
        if place == live:
            if rest == 0 and live % period == 0:
                yield tuple(word)
            return
        after = live - place - 1
        ceiling = word[place - period] if place else total
        # All letters to come are at most the first one, and at least 1.
        first = word[0] if place else ceiling
        low = max(1, rest - after * first)
        for letter in range(low, min(ceiling, rest - after) + 1):
            word[place] = letter
            same = place > 0 and letter == ceiling
            yield from grow(place + 1, period if same else place + 1, rest - letter)

    yield from grow(0, 1, total)


def _totient(n: int) -> int:
    return sum(gcd(n, k) == 1 for k in range(1, n + 1))


def _count(argument: str, value: object, most: int | None) -> int:
    number = whole_number(value)
    if number is None or number < 1 or (most is not None and number > most):
        allowed = "an integer of at least 1" if most is None else f"an integer from 1 to {most}"
        raise InputError(argument, value, allowed)
    return number
