"""Small laws of one request's length, in rationals, and what padding by (3) leaves of a promise.

The padding is the square root of a rational times a logarithm. It is compared with rationals by
balls: no positive rational equals it (a logarithm of a rational other than 1 is none), so that some
precision decides every comparison.

Source: CacheOPT, section 3.2, (2) and (3).
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise

from fluidkv.exact.precision import to_ball, working

Law = tuple[tuple[int, Fraction], ...]
"""(length, probability), lengths rising, probabilities above 0 with the sum 1."""


def expected(law: Law) -> Fraction:
    """The expected length.

    Examples:
        >>> from fluidkv_papers.theory import expected
        >>> expected(((1, Fraction(3, 4)), (5, Fraction(1, 4))))
        Fraction(2, 1)
    """
    return sum((length * p for length, p in law), Fraction())


def modes(law: Law) -> tuple[int, ...]:
    """The most likely lengths.

    Examples:
        >>> from fluidkv_papers.theory import modes
        >>> modes(((1, Fraction(2, 5)), (5, Fraction(2, 5)), (9, Fraction(1, 5))))
        (1, 5)
    """
    most = max(p for _, p in law)
    return tuple(length for length, p in law if p == most)


def medians(law: Law) -> tuple[int, ...]:
    """The lengths with at most half of the law on either side.

    Examples:
        >>> from fluidkv_papers.theory import medians
        >>> medians(((1, Fraction(1, 2)), (5, Fraction(1, 4)), (9, Fraction(1, 4))))
        (1, 5)
    """
    half = Fraction(1, 2)
    return tuple(
        length
        for length, _ in law
        if sum(p for x, p in law if x < length) <= half
        and sum(p for x, p in law if x > length) <= half
    )


def spread(law: Law) -> int:
    """b - a."""
    return law[-1][0] - law[0][0]


def reaches(deviation: Fraction, spread: Fraction, confidence: Fraction) -> bool:
    """Whether a deviation is at least the padding t of (3).

    Args:
        deviation: X less its prediction, tokens, of either sign.
        spread: b - a, at least 0.
        confidence: c, in [0, 1).

    Examples:
        >>> from fluidkv_papers.theory import reaches
        >>> [reaches(Fraction(d), Fraction(9), Fraction(1, 2)) for d in (5, 6)]  # t = 5.3
        [False, True]
    """
    if not spread or not confidence:
        return deviation >= 0
    if deviation <= 0:
        return False
    return not at_most_exp(1 - confidence, 2 * (deviation / spread) ** 2)


def at_most_exp(probability: Fraction, exponent: Fraction) -> bool:
    """Whether a probability, in (0, 1), is at most exp(-exponent); an exponent above 0.

    Examples:
        >>> from fluidkv_papers.theory import at_most_exp
        >>> [at_most_exp(Fraction(n, 100), Fraction(1)) for n in (36, 37)]  # 1/e = 0.3679
        [True, False]
    """
    bits = 64
    while True:
        with working(bits):
            difference = to_ball(exponent) + to_ball(probability).log()
            if difference > 0 or difference < 0:
                return bool(difference < 0)
        bits *= 2


def falls_short(law: Law, predicted: Fraction, confidence: Fraction) -> Fraction:
    """P(X - X^ >= t), the left side of (2), with t of (3) and the range of the law.

    Examples:
        >>> from fluidkv_papers.theory import falls_short
        >>> law = ((1, Fraction(1, 2)), (3, Fraction(1, 4)), (10, Fraction(1, 4)))
        >>> falls_short(law, Fraction(3), Fraction(1, 2))  # 5.3 tokens are added, and 10 is 7 above
        Fraction(1, 4)
    """
    b_minus_a = Fraction(spread(law))
    return sum(
        (p for length, p in law if reaches(length - predicted, b_minus_a, confidence)), Fraction()
    )


def covered(
    law: Law, predicted: Fraction, confidence: Fraction, accuracy: Fraction | None = None
) -> Fraction:
    """P(X <= estimate), where the padded prediction is rounded up to whole tokens, at least 1.

    Args:
        accuracy: None: padding is added. Else a classifier is right with this probability, whatever
            the length, and padding is subtracted where it says that X <= X^.

    Examples:
        >>> from fluidkv_papers.theory import covered
        >>> law = ((1, Fraction(1, 2)), (3, Fraction(1, 4)), (10, Fraction(1, 4)))
        >>> covered(law, Fraction(3), Fraction(1, 2))  # whose estimate is 9: all but the longest
        Fraction(3, 4)
    """
    found = Fraction()
    for length, p in law:
        added, subtracted = _is_covered(law, length, predicted, confidence)
        if accuracy is None:
            found += p * added
        else:
            says_under = accuracy if length > predicted else 1 - accuracy
            found += p * (says_under * added + (1 - says_under) * subtracted)
    return found


def _is_covered(
    law: Law, length: int, predicted: Fraction, confidence: Fraction
) -> tuple[bool, bool]:
    """Whether the estimate reaches a length, with padding added and with padding subtracted.

    A whole length is at most a number rounded up if less one it is below that number.
    """
    b_minus_a, deviation = Fraction(spread(law)), length - 1 - predicted
    added = not reaches(deviation, b_minus_a, confidence)
    none = not b_minus_a or not confidence
    subtracted = -deviation > 0 if none else reaches(-deviation, b_minus_a, confidence)
    return added or length == 1, subtracted or length == 1


def small_laws(*, atoms: int, longest: int, denominator: int) -> Iterator[Law]:
    """All laws up to a size, smallest first: by atoms, longest length, denominator.

    From two atoms on: (1) speaks of t > 0, and of a length that is certain (3) makes t = 0.

    Args:
        atoms: most lengths that a law has; longest: its longest length at most; denominator: of its
            probabilities, at most.

    Examples:
        >>> from fluidkv_papers.theory import small_laws
        >>> [[(n, str(p)) for n, p in law] for law in small_laws(atoms=2, longest=2, denominator=3)]
        [[(1, '1/2'), (2, '1/2')], [(1, '1/3'), (2, '2/3')], [(1, '2/3'), (2, '1/3')]]
    """
    for count in range(2, atoms + 1):
        for last in range(count, longest + 1):
            for whole in range(count, denominator + 1):
                for cuts in combinations(range(1, whole), count - 1):
                    edges = (0, *cuts, whole)
                    parts = [Fraction(b - a, whole) for a, b in pairwise(edges)]
                    if max(p.denominator for p in parts) < whole:
                        continue  # seen with a smaller denominator
                    for lower in combinations(range(1, last), count - 1):
                        yield tuple(zip((*lower, last), parts, strict=True))
