"""WAIT, appendix B: Lemmas 4 and 5, what the queue of one type is on average.

Laws of a few batches are computed exactly or in balls. Lemma 5's formula is lost; Lemmas 1 to 4,
with the buffer n, would give E[W_N] <= n + sqrt(n N), and with slack n + Var(X) / (2 (n - E[X])).
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import factorial
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from flint import arb

_BITS = 128
_STEPS = 6  # of the walks of Lemma 4 with exact laws
_LAWS = {
    "-1 or 1": {-1: Fraction(1, 2), 1: Fraction(1, 2)},
    "-2, 0 or 3": {-2: Fraction(1, 2), 0: Fraction(1, 6), 3: Fraction(1, 3)},
    "Binomial(3, 1/2) - 2": {
        k - 2: Fraction(factorial(3), 8 * factorial(k) * factorial(3 - k)) for k in range(4)
    },
    "Binomial(4, 3/4) - 3": {
        k - 3: Fraction(factorial(4) * 3**k, 256 * factorial(k) * factorial(4 - k))
        for k in range(5)
    },
}


def _lemma_4() -> Outcome:
    """E[max(0, S_1, ..., S_N)] against the sum of E[S_k^+] / k, law by law, in rationals."""
    bad = None
    for name, law in _LAWS.items():
        paths = {(0, 0): Fraction(1)}  # (S_k, maximum so far) -> probability
        right = Fraction(0)
        for k in range(1, _STEPS + 1):
            after: dict[tuple[int, int], Fraction] = {}
            for (at, top), chance in paths.items():
                for step, weight in law.items():
                    to = (at + step, max(top, at + step))
                    after[to] = after.get(to, Fraction(0)) + chance * weight
            paths = after
            left = sum(top * chance for (_, top), chance in paths.items())
            right += sum(max(at, 0) * chance for (at, _), chance in paths.items()) / k
            if left != right:
                bad = bad or f"steps {name}, N={k}: {left}, {right}"
    return sampled(
        bad,
        f"equal for {len(_LAWS)} laws, N = 1 ... {_STEPS}, in rationals",
        "E[max of S_k] = sum of E[S_k^+] / k",
    )


def _lemma_4_poisson() -> Outcome:
    """S_k = X_1 + ... + X_k - k n. As E[S_N] = 0, by reversal E[max S] = E[max -S], which only
    looks at what is below 0: finitely many paths. E[S_k^+] = m e^-m m^m / m! with m = k n."""
    from flint import arb

    from fluidkv.exact.precision import working

    bad, worst = None, 0.0
    with working(_BITS):
        for n in (1, 2, 3):
            right = arb(0)
            paths = {(0, 0): arb(1)}  # (arrivals so far, maximum of k n - arrivals)
            frozen = arb(0)  # expected maximum of those with too many arrivals to rise again
            for k in range(1, 6):
                last = 5 * n
                weights = _poisson(n, last)
                after: dict[tuple[int, int], arb] = {}
                for (came, top), chance in paths.items():
                    rest = arb(1)
                    for x in range(last - came + 1):
                        to = (came + x, max(top, k * n - came - x))
                        after[to] = after.get(to, arb(0)) + chance * weights[x]
                        rest -= weights[x]
                    frozen += top * chance * rest
                paths = after
                m = k * n
                right += m * (-arb(m)).exp() * arb(m) ** m / factorial(m) / k
                left = frozen + sum((top * chance for (_, top), chance in paths.items()), arb(0))
                gap = left - right
                worst = max(worst, float(abs(gap).upper()))
                if not gap.contains(0):
                    bad = bad or f"n={n}, N={k}: {left}, {right}"
    return sampled(
        bad,
        f"equal to {worst:.0e} for n = 1, 2, 3, N = 1 ... 5, in balls",
        "E[max of S_k] = sum of E[S_k^+] / k",
        refuted=Evidence.BALL,
    )


def _cauchy_schwarz() -> Outcome:
    """E[S_k^+] = m e^-m m^m / m! <= sqrt(m) / 2 for m = k n, and their sum over k / k."""
    from flint import arb

    from fluidkv.exact.precision import working

    bad = None
    with working(_BITS):
        for n in (1, 2, 5):
            total = arb(0)
            for k in range(1, 41):
                m = k * n
                part = m * (-arb(m)).exp() * arb(m) ** m / factorial(m)
                total += part / k
                if not (part < arb(m).sqrt() / 2 and total < arb(m).sqrt()):
                    bad = bad or f"n={n}, k={k}"
    return sampled(
        bad,
        "below sqrt(kn)/2, sums below sqrt(nN), n = 1, 2, 5, N = 1 ... 40, in balls",
        "E[S_k^+] <= sqrt(kn)/2, E[max] <= sqrt(nN)",
        refuted=Evidence.BALL,
    )


# --- the queue in the mean ----------------------------------------------------------------------


def _poisson(mean: Fraction | int, most: int) -> "list[arb]":
    """P(X = 0), ..., P(X = most)."""
    from flint import arb, fmpq

    rate = arb(fmpq(Fraction(mean).numerator, Fraction(mean).denominator))
    found = [(-rate).exp()]
    for k in range(1, most + 1):
        found.append(found[-1] * rate / k)
    return found


@cache
def _mean_queue(n: int, mean: Fraction, batches: int) -> "tuple[arb, ...]":
    """E[W_N] for N = 1..batches with X ~ Poisson(mean), by Lemma 1 from P(W_b < n).

    A queue that is n (N - b) + n or more after b batches is not stuck before N: it may be left out.
    """
    from flint import arb

    from fluidkv.exact.precision import working

    with working(_BITS):
        weights = _poisson(mean, n * batches + n)
        law, stuck, found = [arb(1)], arb(0), []
        for b in range(1, batches + 1):
            stuck += sum(law[:n], arb(0))
            size = n * (batches - b) + n
            after = [arb(0)] * size
            for held, chance in enumerate(law):
                left = held - n if held >= n else held
                for x in range(size - left):
                    after[left + x] += chance * weights[x]
            law = after
            drift = Fraction(b) * (mean - n)
            found.append(n * stuck + arb(drift.numerator) / drift.denominator)
    return tuple(found)


def _mean_bound(buffer: Callable[[int], int], most: int, batches: int, *, slack: bool) -> Outcome:
    """E[W_N] <= buffer + sqrt(n N) at E[X] = n; or + Kingman's term at 3n/4."""
    from flint import arb

    bad, seen = None, "no"
    for n in range(1, most + 1):
        mean = Fraction(3 * n, 4) if slack else Fraction(n)
        for b, queue in enumerate(_mean_queue(n, mean, batches), start=1):
            # mean / (2 (n - mean)) = 3/2
            above = arb(3) / 2 if slack else arb(n * b).sqrt()
            bound = buffer(n) + above
            if not queue < bound and bad is None:
                if not queue > bound:
                    raise ArithmeticError(f"n={n}, N={b}: not decided in {_BITS} bits")
                seen = f"E[W] = {queue.str(5, radius=False)} > {bound.str(5, radius=False)}"
                bad = f"n={n}, E[X]={mean}, N={b}: {seen}"
    bound = "Var(X) / (2 (n - E[X]))" if slack else "sqrt(nN)"
    return sampled(
        bad,
        f"below in balls, n = 1 ... {most}, N = 1 ... {batches}" if bad is None else seen,
        f"lost; given back as E[W_N] <= n + {bound}",
        "With the buffer 2n - 1 it follows from Lemmas 1 to 4, with either drift."
        if bad is None
        else "The order in n and N stands, with the buffer 2n - 1 instead.",
        refuted=Evidence.BALL,
    )


def _as_given(most: int, batches: int, *, slack: bool) -> Outcome:
    return as_read(_mean_bound(lambda n: n, most, batches, slack=slack))


def _lemma(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    checked: str,
    *,
    expected: Verdict = Verdict.HOLDS,
) -> Claim:
    return wait(id, statement, place, check, kind="lemma", expected=expected, checked=checked)


CLAIMS: tuple[Claim, ...] = (
    _lemma(
        "lemma-4",
        "The mean maximum of a walk is the sum of E[S_k^+] / k.",
        "Lemma 4",
        _lemma_4,
        f"{len(_LAWS)} laws of a step, N = 1 ... {_STEPS}",
    ),
    _lemma(
        "lemma-4.poisson",
        "For Poisson arrivals at zero drift the mean maximum is the sum of E[S_k^+] / k too.",
        "Lemma 4",
        _lemma_4_poisson,
        "Poisson(n) - n, n = 1, 2, 3, N = 1 ... 5",
    ),
    _lemma(
        "lemma-4.cauchy-schwarz",
        "E[S_k^+] is at most sqrt(kn)/2 at zero drift, so that the mean maximum is below sqrt(nN).",
        "below Lemma 4",
        _cauchy_schwarz,
        "Poisson(n) - n, n = 1, 2, 5, N = 1 ... 40",
    ),
    _lemma(
        "lemma-5",
        "At zero drift the mean queue after N batches has a bound that is lost, given back as "
        "n + sqrt(nN).",
        "Lemma 5, with the buffer of Lemma 2",
        lambda: _as_given(9, 4, slack=False),
        "Poisson(n), n = 1 ... 9, N = 1 ... 4",
        expected=Verdict.UNDECIDED,
    ),
    _lemma(
        "lemma-5.buffer",
        "At zero drift the mean queue after N batches is at most 2n - 1 + sqrt(nN).",
        "Lemma 5, another constant",
        lambda: _mean_bound(lambda n: 2 * n - 1, 9, 4, slack=False),
        "Poisson(n), n = 1 ... 9, N = 1 ... 4",
    ),
    _lemma(
        "appendix-b.negative-drift",
        "With slack the mean queue has a bound that is lost, given back as "
        "n + Var(X) / (2 (n - E[X])).",
        "appendix B, Case 2, with the buffer of Lemma 2",
        lambda: _as_given(8, 6, slack=True),
        "Poisson(3n/4), n = 1 ... 8, N = 1 ... 6",
        expected=Verdict.UNDECIDED,
    ),
    _lemma(
        "appendix-b.negative-drift.buffer",
        "With slack the mean queue is at most 2n - 1 + Var(X) / (2 (n - E[X])).",
        "appendix B, Case 2, another constant",
        lambda: _mean_bound(lambda n: 2 * n - 1, 8, 6, slack=True),
        "Poisson(3n/4), n = 1 ... 8, N = 1 ... 6",
    ),
)
