"""CacheOPT, (1) to (3): how often a length passes its prediction by the padding, and by which.

A law is a finite distribution of one request's length, in rationals; its range is that of its
lengths, which is the narrowest that (1) allows.
"""

from fractions import Fraction
from itertools import pairwise, product

from fluidkv.ledger import Finding, Origin, Range, Seen
from fluidkv.preempt.padding.hoeffding import hoeffding_padding
from fluidkv_papers import theory
from fluidkv_papers.cacheopt.paper import statements

CLAIMS = statements(origin=Origin.READING)

Law = tuple[tuple[int, Fraction], ...]

TENTHS = tuple(Fraction(n, 10) for n in range(1, 10))
_THREE = "every law of up to three lengths up to 5 and probabilities over up to 6"
_LAWS = Range(_THREE, lambda: theory.small_laws(atoms=3, longest=5, denominator=6))
_PROMISES = Range(
    f"{_THREE}, c = 1/10 ... 9/10",
    lambda: product(theory.small_laws(atoms=3, longest=5, denominator=6), TENTHS),
)
_SMALL = Range(
    "every law of up to three lengths up to 4 and probabilities over up to 4, c = 1/10 ... 9/10",
    lambda: product(theory.small_laws(atoms=3, longest=4, denominator=4), TENTHS),
)


def _sums(first: Law, second: Law) -> dict[int, Fraction]:
    """The law of the sum of two independent lengths."""
    found: dict[int, Fraction] = {}
    for (x, p), (y, q) in product(first, second):
        found[x + y] = found.get(x + y, Fraction()) + p * q
    return found


def _passes(law: dict[int, Fraction], squares: int) -> int | None:
    """The first value that is passed more often than (1) says; None if there is none.

    Between two values the left side of (1) stays and the right side falls: the values decide.
    """
    mean = sum((x * p for x, p in law.items()), Fraction())
    for value in sorted(law):
        reached = sum((p for x, p in law.items() if x >= value), Fraction())
        far = value - mean
        if far > 0 and not theory.at_most_exp(reached, 2 * far**2 / squares):
            return value
    return None


@CLAIMS.claim(
    "equation-1",
    "(1)",
    over=lambda: product(tuple(theory.small_laws(atoms=3, longest=3, denominator=3)), repeat=2),
    origin=Origin.PRINTED,
)
def _equation_1(first: Law, second: Law) -> bool | str:
    """A sum of independent bounded lengths passes its mean by t no more often than (1) says.

    Checked: one law and every pair of laws of up to three lengths up to 3, over up to 3
    Ours: for one and two lengths, at every t
    Paper: P(S - E[S] >= t) <= exp(...)"""
    spreads = [law[-1][0] - law[0][0] for law in (first, second)]
    both = _passes(_sums(first, second), sum(s**2 for s in spreads))
    alone = _passes(dict(first), spreads[0] ** 2)
    return both is None and alone is None


@CLAIMS.claim("equation-2.mean", "(2)", over=_LAWS, origin=Origin.PRINTED)
def _equation_2(*law: tuple[int, Fraction]) -> bool | str:
    """A length passes its prediction no more often than (2) says, where the prediction is the mean.

    Ours: at every t
    Paper: P(X - X^ >= t) <= exp(-2 t^2 / (b - a)^2)
    Note: (1) for one variable; what (2) needs besides is that X^ = E[X]."""
    return _passes(dict(law), (law[-1][0] - law[0][0]) ** 2) is None


def _broken(law: Law, predicted: int, confidence: Fraction) -> str:
    """Words for a law whose promise is broken; "" where it is kept."""
    short = theory.falls_short(law, Fraction(predicted), confidence)
    if short <= 1 - confidence:
        return ""
    lengths = ", ".join(f"{x} with probability {p}" for x, p in law)
    return f"lengths {lengths}; predicted {predicted}, c = {confidence}: short with {short}"


@CLAIMS.fails("equation-2.any-prediction", "(2)", over=_SMALL)
def _any_prediction(law: Law, confidence: Fraction) -> bool | str:
    """(2) holds for a prediction that is a possible length, whatever the mean is.

    Ours: not for X^ below the mean
    Paper: X^ its predicted length
    Note: The text does not say that X^ is the mean; two lengths, equally likely, are enough.
    Holds: equation-2.mean"""
    return next(filter(None, (_broken(law, x, confidence) for x, _ in law)), True)


@CLAIMS.fails("equation-2.mode", "(2)", over=_SMALL)
def _mode(law: Law, confidence: Fraction) -> bool | str:
    """(2) holds where the prediction is the most likely length.

    Ours: one length more likely than the other, and predicted
    Paper: X^ its predicted length
    Note: What a classifier of lengths says. Laws with one mode only."""
    most, *others = theory.modes(law)
    return bool(others) or _broken(law, most, confidence) or True


@CLAIMS.fails("equation-2.median", "(2)", over=_SMALL)
def _median(law: Law, confidence: Fraction) -> bool | str:
    """(2) holds where the prediction is the median.

    Ours: the same law
    Paper: X^ its predicted length
    Note: What least absolute errors find. Laws with one median; up to c = 1/2 it holds there."""
    middle, *others = theory.medians(law)
    return bool(others) or _broken(law, middle, confidence) or True


@CLAIMS.claim("equation-3", "(3)", origin=Origin.PRINTED)
def _equation_3() -> Finding:
    """The padding t of (3) is where the right side of (2) is 1 - c.

    Checked: as formulas
    Paper: solving the equation"""
    from sympy import exp, log, simplify, sqrt, symbols

    c, width = symbols("c width", positive=True)
    t = sqrt(-(width**2) / 2 * log(1 - c))
    rest = simplify(exp(-2 * t**2 / width**2) - (1 - c))
    return Finding(rest == 0, f"rest {rest}")


@CLAIMS.fails("equation-3.equality", "(3), sentence before it", over=_PROMISES)
def _equality(law: Law, confidence: Fraction) -> bool | str:
    """With the padding of (3) a request falls short with probability 1 - c.

    Ours: less often: (2) is an inequality
    Paper: P(X - X^ >= t) = 1 - c
    Note: The equation that is solved is that of the bound.
    Holds: equation-3.past-the-range"""
    short = theory.falls_short(law, theory.expected(law), confidence)
    return short == 1 - confidence or f"lengths {_words(law)}, c = {confidence}: {short}"


def _words(law: Law) -> str:
    return ", ".join(f"{x} ({p})" for x, p in law)


@CLAIMS.claim(
    "equation-3.increases",
    "(3)",
    over=lambda: pairwise(Fraction(n, 100) for n in range(1, 100)),
    origin=Origin.PRINTED,
)
def _increases(lower: Fraction, higher: Fraction) -> bool:
    """A higher confidence leads to more padding.

    Checked: c = 1/100 ... 99/100
    Ours: strictly, from each hundredth to the next
    Paper: higher c, more padding, and vice versa"""
    both = hoeffding_padding([float(lower), float(higher)], 0, 1)
    between = Fraction(float(both.mean()))
    one = Fraction(1)
    return theory.reaches(between, one, lower) and not theory.reaches(between, one, higher)


@CLAIMS.claim("equation-3.past-the-range", "(3) with section 5")
def _past_the_range() -> Finding:
    """At the default confidence of 90 % the padding is more than the whole range of lengths.

    Paper: not said
    Note: added to any prediction in [a, b] it passes b: every request is given more memory than any
    of them can use"""
    # So is it from 1 - e^-2 on: nobody's length, whatever was predicted, is so far away.
    one, default = Fraction(1), Fraction(9, 10)
    longer = not theory.reaches(one, one, default)
    # The confidence from which on it is, to four digits.
    least = next(n for n in range(10**4) if not theory.reaches(one, one, Fraction(n, 10**4)))
    return Finding(
        longer,
        f"{float(hoeffding_padding(0.9, 0, 1)):.4f} (b - a); more than b - a from "
        f"c = {least / 10**4} on",
    )


@CLAIMS.claim("equation-3.least", "(3)", over=_PROMISES)
def _least(law: Law, confidence: Fraction) -> bool | Seen:
    """Less padding than (3) keeps the promise: min(b - m, (m - a) c / (1 - c)) for the mean m.

    Ours: never more than (3), by Markov's inequality for X - a
    Paper: not said
    Note: For one variable (1) is not sharp; this is, where only the mean and the range are known.
    """
    low, high, mean = law[0][0], law[-1][0], theory.expected(law)
    padding = min(high - mean, (mean - low) * confidence / (1 - confidence))
    short = sum(p for x, p in law if x > mean + padding)
    more = theory.reaches(padding, Fraction(high - low), confidence)
    return short <= 1 - confidence and not more and Seen(padding)


@CLAIMS.claim(
    "section-6.independence",
    "section 6",
    over=lambda: (
        (parts, c) for parts in product(range(5), repeat=4) if sum(parts) == 4 for c in TENTHS
    ),
)
def _independence(parts: tuple[int, int, int, int], confidence: Fraction) -> bool:
    """The promise to each request is kept however requests depend on one another.

    Checked: every law of two requests of length 1 or 2, probabilities over 4, c = 1/10 ... 9/10
    Ours: (2) is about one variable
    Paper: independence might not hold perfectly
    Note: That it does not hold costs the promise nothing. What section 6 does not name is that the
    prediction is the mean."""
    both, first, second, _ = (Fraction(n, 4) for n in parts)
    for long in (both + first, both + second):
        if 0 < long < 1:
            law = ((1, 1 - long), (2, long))
            if theory.falls_short(law, 1 + long, confidence) > 1 - confidence:
                return False
    return True
