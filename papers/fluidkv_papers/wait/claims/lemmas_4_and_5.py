"""WAIT, appendix B: Lemmas 4 and 5, what the queue of one type is on average.

Laws of a few batches are computed exactly or in balls. Lemma 5's formula is lost; Lemmas 1 to 4,
with the buffer n, would give E[W_N] <= n + sqrt(n N), and with slack n + Var(X) / (2 (n - E[X])).
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import factorial

from fluidkv import exact
from fluidkv.ledger import Evidence, Origin, Range, flint
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING)
APPENDIX_B = CLAIMS.section("appendix-b", "appendix B, Case 2", refuted=Evidence.BALL, kind="lemma")

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

# --- the maximum of a walk ----------------------------------------------------------------------


@CLAIMS.claim(
    "lemma-4", "Lemma 4", over=_LAWS, checked=f"{len(_LAWS)} laws of a step, N = 1 ... {_STEPS}"
)
def _lemma_4(name: str) -> bool | str:
    """The mean maximum of a walk is the sum of E[S_k^+] / k.

    Paper: E[max of S_k] = sum of E[S_k^+] / k"""
    # E[max(0, S_1, ..., S_N)] against the sum, from all paths.
    paths = {(0, 0): Fraction(1)}  # (S_k, maximum so far) -> probability
    right = Fraction(0)
    for k in range(1, _STEPS + 1):
        after: dict[tuple[int, int], Fraction] = {}
        for (at, top), chance in paths.items():
            for step, weight in _LAWS[name].items():
                to = (at + step, max(top, at + step))
                after[to] = after.get(to, Fraction(0)) + chance * weight
        paths = after
        left = sum(top * chance for (_, top), chance in paths.items())
        right += sum(max(at, 0) * chance for (at, _), chance in paths.items()) / k
        if left != right:
            return f"steps {name}, N={k}: {left}, {right}"
    return True


def _poisson(mean: Fraction | int, most: int) -> "list[flint.arb]":
    """P(X = 0), ..., P(X = most)."""
    rate = exact.to_ball(mean)
    found = [(-rate).exp()]
    for k in range(1, most + 1):
        found.append(found[-1] * rate / k)
    return found


def _above_0(m: int) -> "flint.arb":
    """E[(X - m)^+] = m e^-m m^m / m! for X ~ Poisson(m)."""
    return m * (-flint.arb(m)).exp() * flint.arb(m) ** m / factorial(m)


def _mean_maxima(n: int, batches: int) -> "Iterator[flint.arb]":
    """E[max of S_k over k <= N] for N = 1, ..., S_k = X_1 + ... + X_k - k n.

    As E[S_N] = 0, by reversal E[max S] = E[max -S], which only looks at what is below 0: finitely
    many paths.
    """
    last = batches * n
    weights = _poisson(n, last)
    paths = {(0, 0): flint.arb(1)}  # (arrivals so far, maximum of k n - arrivals)
    frozen = flint.arb(0)  # expected maximum of those with too many arrivals to rise again
    for k in range(1, batches + 1):
        after: dict[tuple[int, int], flint.arb] = {}
        for (came, top), chance in paths.items():
            rest = flint.arb(1)
            for x in range(last - came + 1):
                to = (came + x, max(top, k * n - came - x))
                after[to] = after.get(to, flint.arb(0)) + chance * weights[x]
                rest -= weights[x]
            frozen += top * chance * rest
        paths = after
        yield frozen + sum((top * chance for (_, top), chance in paths.items()), flint.arb(0))


@CLAIMS.claim("lemma-4.poisson", "Lemma 4", over=(1, 2, 3), refuted=Evidence.BALL)
def _lemma_4_poisson(n: int) -> bool | str:
    """For Poisson arrivals at zero drift the mean maximum is the sum of E[S_k^+] / k too.

    Checked: Poisson(n) - n, n = 1, 2, 3, N = 1 ... 5
    Ours: equal to 1e-30, in balls
    Paper: E[max of S_k] = sum of E[S_k^+] / k"""
    from fluidkv.exact.precision import working

    with working(_BITS):
        right = flint.arb(0)
        for k, left in enumerate(_mean_maxima(n, 5), start=1):
            right += _above_0(k * n) / k
            gap = left - right
            if not (gap.contains(0) and abs(gap) < 1e-30):
                return f"n={n}, N={k}: {left}, {right}"
    return True


@CLAIMS.claim("lemma-4.cauchy-schwarz", "below Lemma 4", over=(1, 2, 5), refuted=Evidence.BALL)
def _cauchy_schwarz(n: int) -> bool | str:
    """E[S_k^+] is at most sqrt(kn)/2 at zero drift, so that the mean maximum is below sqrt(nN).

    Checked: Poisson(n) - n, n = 1, 2, 5, N = 1 ... 40
    Paper: E[S_k^+] <= sqrt(kn)/2, E[max] <= sqrt(nN)"""
    from fluidkv.exact.precision import working

    with working(_BITS):
        total = flint.arb(0)
        for k in range(1, 41):
            part = _above_0(k * n)
            total += part / k
            if not (part < flint.arb(k * n).sqrt() / 2 and total < flint.arb(k * n).sqrt()):
                return f"n={n}, k={k}"
    return True


# --- the queue in the mean ----------------------------------------------------------------------


@cache
def _mean_queue(n: int, mean: Fraction, batches: int) -> "tuple[flint.arb, ...]":
    """E[W_N] for N = 1..batches with X ~ Poisson(mean), by Lemma 1 from P(W_b < n).

    A queue that is n (N - b) + n or more after b batches is not stuck before N: it may be left out.
    """
    from fluidkv.exact.precision import working

    with working(_BITS):
        weights = _poisson(mean, n * batches + n)
        law, stuck, found = [flint.arb(1)], flint.arb(0), []
        for b in range(1, batches + 1):
            stuck += sum(law[:n], flint.arb(0))
            size = n * (batches - b) + n
            after = [flint.arb(0)] * size
            for held, chance in enumerate(law):
                left = held - n if held >= n else held
                for x in range(size - left):
                    after[left + x] += chance * weights[x]
            law = after
            drift = Fraction(b) * (mean - n)
            found.append(n * stuck + exact.to_ball(drift))
    return tuple(found)


def _below(n: int, mean: Fraction, b: int, batches: int, bound: "flint.arb") -> bool | str:
    """Whether E[W_b] is proved to be below a bound, or proved to be above it."""
    queue = _mean_queue(n, mean, batches)[b - 1]
    if queue < bound:
        return True
    if not queue > bound:
        raise ArithmeticError(f"n={n}, N={b}: not decided in {_BITS} bits")
    shown = f"E[W] = {queue.str(5, radius=False)} > {bound.str(5, radius=False)}"
    return f"n={n}, E[X]={mean}, N={b}: {shown}"


def _root(n: int, b: int) -> "flint.arb":
    return flint.arb(n * b).sqrt()


def _cases(most: int, batches: int) -> Iterator[tuple[int, int]]:
    return ((n, b) for n in range(1, most + 1) for b in range(1, batches + 1))


_ZERO = Range("Poisson(n), n = 1 ... 9, N = 1 ... 4", lambda: _cases(9, 4))
_SLACK = Range("Poisson(3n/4), n = 1 ... 8, N = 1 ... 6", lambda: _cases(8, 6))
_KINGMAN = Fraction(3, 2)  # Var(X) / (2 (n - E[X])) where E[X] = 3n/4
_ORDER = "The order in n and N stands, with the buffer 2n - 1 instead."
_FOLLOWS = "With the buffer 2n - 1 it follows from Lemmas 1 to 4, with either drift."


@CLAIMS.undecided(
    "lemma-5", "Lemma 5, with the buffer of Lemma 2", over=_ZERO, note=_ORDER, refuted=Evidence.BALL
)
def _lemma_5(n: int, b: int) -> bool | str:
    """At zero drift the mean queue after N batches has a bound that is lost, given back as n +
    sqrt(nN).

    Ours: above it
    Paper: lost; given back as E[W_N] <= n + sqrt(nN)"""
    return _below(n, Fraction(n), b, 4, n + _root(n, b))


@CLAIMS.claim(
    "lemma-5.buffer", "Lemma 5, another constant", over=_ZERO, note=_FOLLOWS, refuted=Evidence.BALL
)
def _lemma_5_buffer(n: int, b: int) -> bool | str:
    """At zero drift the mean queue after N batches is at most 2n - 1 + sqrt(nN).

    Paper: lost; given back as E[W_N] <= n + sqrt(nN)"""
    return _below(n, Fraction(n), b, 4, 2 * n - 1 + _root(n, b))


def _slack(n: int, b: int, buffer: int) -> bool | str:
    bound = buffer + exact.to_ball(_KINGMAN)
    return _below(n, Fraction(3 * n, 4), b, 6, bound)


@APPENDIX_B.undecided("negative-drift", ", with the buffer of Lemma 2", over=_SLACK, note=_ORDER)
def _negative_drift(n: int, b: int) -> bool | str:
    """With slack the mean queue has a bound that is lost, given back as n + Var(X) / (2 (n -
    E[X])).

    Ours: above it
    Paper: lost; given back as E[W_N] <= n + Var(X) / (2 (n - E[X]))"""
    return _slack(n, b, n)


@APPENDIX_B.claim("negative-drift.buffer", ", another constant", over=_SLACK, note=_FOLLOWS)
def _negative_drift_buffer(n: int, b: int) -> bool | str:
    """With slack the mean queue is at most 2n - 1 + Var(X) / (2 (n - E[X])).

    Paper: lost; given back as E[W_N] <= n + Var(X) / (2 (n - E[X]))"""
    return _slack(n, b, 2 * n - 1)
