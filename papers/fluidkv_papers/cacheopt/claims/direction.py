"""CacheOPT, section 3.2 and Figure 17h: padding subtracted where a prediction is too long.

What (2) promises of X - X^ it promises, mirrored, of X^ - X: a length lies t or more *below* its
prediction no more often than 1 - c. So an estimate of X^ - t is short with at least c.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

from fluidkv.ledger import Finding, Origin, Range
from fluidkv_papers import theory
from fluidkv_papers.cacheopt.claims.hoeffding import TENTHS, Law
from fluidkv_papers.cacheopt.paper import statements

CLAIMS = statements(origin=Origin.READING)

_DEFAULT = Fraction(9, 10)


def _two_lengths() -> list[Law]:
    """Laws of two lengths up to 6 over up to 4 whose mean is whole, as predictions are."""
    laws = theory.small_laws(atoms=2, longest=6, denominator=4)
    return [law for law in laws if theory.expected(law).denominator == 1]


_WHOLE_MEANS = Range(
    "laws of two lengths up to 6 and probabilities over up to 4 whose mean is whole, and predicted",
    lambda: ((law,) for law in _two_lengths()),
)
WHOLE_MEANS = CLAIMS.section(over=_WHOLE_MEANS)
_MIXED = Range(
    "every law of up to three lengths up to 5 and probabilities over up to 4, c = 1/10 ... 9/10, "
    "a classifier right in 0, 1/2, 3/4 and all of the cases",
    lambda: product(
        theory.small_laws(atoms=3, longest=5, denominator=4),
        TENTHS,
        (Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1)),
    ),
)


@WHOLE_MEANS.fails(
    "section-1.ensured", "section 1, component (1), and section 3.2", origin=Origin.PRINTED
)
def _ensured(law: Law) -> bool | str:
    """Padding added or subtracted by the deviation direction ensures a request's demand with the
    specified probability, here 90 %.

    Ours: half of the requests are given too little
    Paper: the demand is satisfied with a high specified probability
    Note: The prediction is the mean, the classifier always right, estimates are whole tokens.
    Holds: section-1.ensured.added, section-3-2.subtracted.left"""
    mean = theory.expected(law)
    left = theory.covered(law, mean, _DEFAULT, Fraction(1))
    lengths = ", ".join(f"{x} with probability {p}" for x, p in law)
    return left >= _DEFAULT or f"lengths {lengths}; predicted {mean}: covered with {left}"


@WHOLE_MEANS.claim("section-1.ensured.added", "section 1, component (1), and section 3.2")
def _ensured_if_added(law: Law) -> bool:
    """Padding that is always added ensures a request's demand with the specified probability.

    Ours: with 90 % it is never short at all
    Paper: the demand is satisfied with a high specified probability"""
    return theory.covered(law, theory.expected(law), _DEFAULT) == 1


def _reals(law: Law, confidence: Fraction, accuracy: Fraction) -> tuple[Fraction, Fraction]:
    """(P(X <= estimate), P(the classifier says "under")), estimates not rounded."""
    width, mean = Fraction(law[-1][0] - law[0][0]), theory.expected(law)
    covered = under = Fraction()
    for x, p in law:
        says_under = accuracy if x > mean else 1 - accuracy
        under += p * says_under
        # t is irrational: at most is below.
        added = not theory.reaches(x - mean, width, confidence)
        subtracted = theory.reaches(mean - x, width, confidence)
        covered += p * (says_under * added + (1 - says_under) * subtracted)
    return covered, under


@CLAIMS.claim("section-3-2.subtracted.left", "section 3.2, sentence after (3)", over=_MIXED)
def _subtracted(law: Law, confidence: Fraction, accuracy: Fraction) -> bool:
    """With padding subtracted by direction, no more than P(said to be under) + 1 - c is covered.

    Ours: q P(X > X^) + (1 - q) P(X <= X^) + 1 - c, for a classifier right in q of the cases
    Paper: not said
    Note: By (2) for X^ - X. A symmetric law with a perfect classifier: at most 60 % at c = 90 %."""
    covered, under = _reals(law, confidence, accuracy)
    return covered <= under + 1 - confidence


@CLAIMS.claim("section-3-2.subtracted.better-classifier", "section 3.2, sentence after (3)")
def _better_classifier() -> Finding:
    """A perfect classifier of directions may cover fewer requests than a coin.

    Checked: laws of two lengths up to 5 and probabilities over up to 4, c = 9/10
    Paper: not said
    Note: Whoever is rightly said to be over loses memory that it needs: what lies below its
    prediction seldom lies t below it."""
    fewer = []
    for law in theory.small_laws(atoms=2, longest=5, denominator=4):
        mean = theory.expected(law)
        qualities = Fraction(1), Fraction(1, 2)
        perfect, coin = (theory.covered(law, mean, _DEFAULT, q) for q in qualities)
        if perfect < coin:
            lengths = ", ".join(f"{x} with probability {p}" for x, p in law)
            fewer.append(f"lengths {lengths}; predicted {mean}: {perfect} against {coin}")
    return Finding(bool(fewer), fewer[0] if fewer else "in no case")


def _counted(errors: tuple[int, ...], padding: int) -> tuple[int, int]:
    """(over, under): estimates above and below the truth, padding by the true direction.

    Args:
        errors: X - X^ of each request.
    """
    left = [e - padding if e > 0 else e + padding for e in errors]
    return sum(e < 0 for e in left), sum(e > 0 for e in left)


_ERRORS = Range(
    "errors of up to three requests, up to 3 tokens either way",
    lambda: (
        (errors,)
        for count in (1, 2, 3)
        for errors in combinations_with_replacement((1, -1, 2, -2, 3, -3), count)
    ),
)


@CLAIMS.fails("figure-17.h.fewer", "section 5.4, Figure 17h", over=_ERRORS)
def _fewer(errors: tuple[int, ...]) -> bool | str:
    """With more padding, added and subtracted by direction, neither over- nor underpredictions
    become more.

    Ours: padding past an error turns it round
    Paper: fewer over- and underpredictions with more padding, positive and negative
    Note: The direction is always right here.
    Holds: figure-17.h.changed-places"""
    for padding in range(4):
        before, after = _counted(errors, padding), _counted(errors, padding + 1)
        if after[0] > before[0] or after[1] > before[1]:
            return (
                f"X - X^ = {', '.join(map(str, errors))}: over and under {before} at padding "
                f"{padding}, {after} at {padding + 1}"
            )
    return True


@CLAIMS.claim("figure-17.h.changed-places", "section 5.4, Figure 17h", over=_ERRORS)
def _changed_places(errors: tuple[int, ...]) -> bool:
    """Padding past the largest error changes over- and underpredictions into one another.

    Ours: as many over as there were under, and the reverse
    Paper: not said
    Note: At c = 90 % padding by (3) is past the largest error."""
    over, under = _counted(errors, 0)
    return _counted(errors, max(map(abs, errors)) + 1) == (under, over)
