"""Token-PD, sections 4 and 5: the predictor, what it computes and how long that takes.

Times are lower bounds from the peaks of the device's data sheet; the shape is Llama 7B's, since the
paper names no model.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

from fluidkv.ledger import Finding, Origin, Range, Seen
from fluidkv.tokenpd.objective import Objective, worth_of
from fluidkv_papers.tokenpd.instances import a100
from fluidkv_papers.tokenpd.instances.models import WEIGHTS, WORDS
from fluidkv_papers.tokenpd.paper import statements

CLAIMS = statements(origin=Origin.READING)

HIDDEN = 256
"""Section 5."""
STREAMS = 256
KERNEL_MS, KERNEL_SD_MS = Fraction("0.37"), Fraction("0.05")
"""Section 5."""
END_TO_END_MS = Fraction("0.9")
"""Section 4: below it."""

_PREDICTING = "section 4, predicting future attention"
_KERNEL = "section 5, GPU-side kernels and overhead"


def _operations(words: int) -> int:
    """Of one forward pass, counted layer by layer: a multiplication and an addition a weight."""
    return sum(2 * inputs * outputs for inputs, outputs in pairwise((words, HIDDEN, 1)))


@CLAIMS.claim(
    "section-4.operations",
    f"{_PREDICTING}, with section 5",
    over=lambda: (1000 * 2**k for k in range(9)),
)
def _linear(words: int) -> str | Seen:
    """A forward pass of the predictor is O(|V|), and below 1 % of what a 7-billion model computes
    for a token.

    Checked: vocabularies of 1,000 to 256,000 words
    Ours: 512 operations a word; up to {max:.2%} of the model's
    Paper: O(|V|) FLOPs, negligible
    Note: 256 hidden units; the constant is twice as many."""
    counted = _operations(words)
    share = Fraction(counted, 2 * WEIGHTS)
    linear = 2 * HIDDEN * words < counted <= 2 * HIDDEN * (words + 1)
    return Seen(share) if linear and share < Fraction(1, 100) else f"{words} words: {counted:,}"


@CLAIMS.claim("section-5.kernel", _KERNEL)
def _kernel() -> Finding:
    """The predictor can take 0.37 ms for 256 requests: reading logits and weights, and computing,
    take less.

    Checked: Llama's 32,000 words, and 128,000; 16 bits; an A100's peaks
    Paper: 0.37 +- 0.05 ms for a batch of 256 requests"""
    least = {words: _least_ms(words) for words in (WORDS, 4 * WORDS)}
    slow = [words for words, time in least.items() if time > KERNEL_MS]
    return Finding(
        not slow or f"{slow[0]:,} words",
        ", ".join(
            f"{1000 * float(time):.0f} us at least with {words:,} words"
            for words, time in least.items()
        ),
    )


def _least_ms(words: int) -> Fraction:
    moved = 2 * (STREAMS * words + words * HIDDEN + HIDDEN)
    times = Fraction(moved, a100.BANDWIDTH), Fraction(STREAMS * _operations(words), a100.FLOPS)
    return 1000 * max(times)


@CLAIMS.claim(
    "section-4.below-a-millisecond", "sections 4, 5 and 8, and the abstract", origin=Origin.PRINTED
)
def _below() -> Finding:
    """The kernel's 0.37 ms, two standard deviations more, is within the 0.9 ms end to end, and that
    within 1 ms.

    Checked: the printed numbers
    Paper: 0.37 +- 0.05 ms; < 0.9 ms; below 1 ms"""
    most = KERNEL_MS + 2 * KERNEL_SD_MS
    return Finding(
        most < END_TO_END_MS < 1 or f"{float(most)} ms",
        f"{float(most):.2f} < {float(END_TO_END_MS)} < 1",
    )


@CLAIMS.claim("section-5.hidden", _KERNEL)
def _hidden() -> Finding:
    """The kernel can run beside the next decoding step, which takes longer.

    Checked: Llama 7B in FP16, weights read once at the A100's bandwidth
    Paper: hidden under the decoder's own compute
    Note: Not beside its own step, whose logits it reads; so what it says of a token is known a step
    later."""
    step = Fraction(1000 * 2 * WEIGHTS, a100.BANDWIDTH)
    return Finding(
        step > KERNEL_MS + 2 * KERNEL_SD_MS or f"a step takes {float(step):.2f} ms",
        f"a step takes {float(step):.1f} ms or more",
    )


# --------------------------------------------------------------------------- what it is trained for

_GRID = [Fraction(n, 4) for n in range(5)]


def _laws() -> Iterator[tuple[tuple[Fraction, ...]]]:
    for size in range(1, 5):
        for law in combinations_with_replacement(_GRID, size):
            yield (law,)


def _mean(law: tuple[Fraction, ...]) -> Fraction:
    return sum(law, Fraction(0)) / len(law)


_OUTCOMES = Range("up to 4 equally likely returns, quarters from 0 to 1", _laws)


@CLAIMS.claim("section-4.squared-error", _PREDICTING, over=_OUTCOMES)
def _squared_error(law: tuple[Fraction, ...]) -> bool | str:
    """What minimises the squared error is the mean return, given the logits.

    Paper: minimise E[(f(z) - R)^2]
    Note: Against all predictions in 48ths, for one value of the logits."""

    def error(said: Fraction) -> Fraction:
        return _mean(tuple((said - value) ** 2 for value in law))

    least = min((Fraction(n, 48) for n in range(49)), key=error)
    return least == _mean(law) or f"returns {', '.join(map(str, law))}: {least}"


@CLAIMS.fails("section-4.one-output", f"{_PREDICTING}, with section 5", over=lambda: _pairs())
def _one_output(law: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool | str:
    """The one number that the predictor gives, R, determines the risk that it is asked for.

    Checked: pairs of laws of up to 4 equally likely returns
    Ours: tokens of one R have different risks
    Paper: f: R^|V| -> [0, 1]; the predictor is queried for R and sigma^2
    Note: A second output, or a rule such as sigma^2 = R (1 - R), is missing.
    Holds: section-4.risk-from-return"""
    first, second = (_mean(tuple((v - _mean(x)) ** 2 for v in x)) for x in (law, other))
    return (
        _mean(law) != _mean(other)
        or first == second
        or (
            f"{', '.join(map(str, law))}, and {', '.join(map(str, other))}: R = {_mean(law)}, "
            f"sigma^2 = {first} and {second}"
        )
    )


def _pairs() -> Iterator[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
    laws = [law for (law,) in _laws()]
    for place, law in enumerate(laws):
        for other in laws[:place]:
            yield other, law


@CLAIMS.claim(
    "section-4.risk-from-return",
    f"{_PREDICTING}, with sections 5 and 6",
    over=lambda: product([Fraction(n, 16) for n in range(16)], [Fraction(n, 8) for n in range(9)]),
)
def _risk_from_return(of: Fraction, aversion: Fraction) -> bool | str:
    """With sigma^2 = R (1 - R) tokens are ordered by R, for every lambda up to 1.

    Checked: R in sixteenths, lambda = 0, 1/8 ... 1
    Paper: lambda from 0 to 0.5: memory savings change by at most 3 %
    Note: So lambda then moves the level at which a token stays, and never which of two goes."""
    low, high = (
        worth_of(Objective.RULE, x, x * (1 - x), risk_aversion=aversion, penalty=0)
        for x in (of, of + Fraction(1, 16))
    )
    return low < high or f"lambda = {aversion}, R = {of}"


@CLAIMS.fails("equation-2.penalty.each", "(2), section 3", over=range(1, 41))
def _penalty_each(tokens: int) -> bool | str:
    """Recomputing tokens takes delta each: twice as many take twice as long.

    Checked: 1 to 40 evicted tokens of one request
    Ours: up to 153 take as long as one: the weights are read once
    Paper: recomputed at latency penalty delta; a sum over tokens
    Note: Lower bounds: Llama 7B in FP16, weights read once, or 2 operations a weight and token, at
    an A100's peaks. Keys and values of deeper layers need all earlier tokens' besides."""
    once, twice = (_recompute_ms(n) for n in (tokens, 2 * tokens))
    return twice == 2 * once or (
        f"{tokens} and {2 * tokens} tokens: {float(once):.1f} and {float(twice):.1f} ms"
    )


def _recompute_ms(tokens: int) -> Fraction:
    reading = Fraction(2 * WEIGHTS, a100.BANDWIDTH)
    computing = Fraction(2 * WEIGHTS * tokens, a100.FLOPS)
    return 1000 * max(reading, computing)
