"""WAIT, Lemma 9 and appendix D.2, equation (21): shares that vary, and the worst of them."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

from fluidkv import exact
from fluidkv.ledger import Evidence, Origin, Range, flint, np
from fluidkv.wait import theory
from fluidkv.wait.theory.lindley import lindley_path, queue_path
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING)

_PAIRS = Range(
    "n = 1, 2, 3; all pairs of paths of 4 batches of up to 2, one below the other",
    lambda: (1, 2, 3),
)


@cache
def _below() -> "tuple[np.ndarray, np.ndarray]":
    """All paths, and which lies below which: x <= y batch by batch."""
    x = np.array(list(product(range(3), repeat=4)))
    return x, np.all(x[:, None] <= x[None], axis=-1)


def _dominated(n: int, buffer: int) -> bool | str:
    """Paths x <= y: Q(x) <= Q(y) and W(x) <= buffer + Q(y)."""
    x, below = _below()
    chain, held = lindley_path(x - n), queue_path(x, n).queue
    higher = chain[:, None] > chain[None]
    over = below & (higher | (held[:, None] > buffer + chain[None])).any(axis=-1)
    if not over.any():
        return True
    i, j = np.argwhere(over)[0]
    return (
        f"n = {n}, {x[i].tolist()} below {x[j].tolist()}: queues {held[i].tolist()}, "
        f"{buffer} + {chain[j].tolist()}"
    )


@CLAIMS.undecided("lemma-9", "Lemma 9", over=_PAIRS)
def _as_given(n: int) -> bool | str:
    """With shares that vary, a coupled process that is lost dominates, given back as the Lindley
    chain of the largest share from n.

    Ours: at most 2 n - 1 + Q* (wait.lemma-9.buffer)
    Paper: a coupled process that is lost; given back as n + Q*
    Note: A queue of n - 1 is stuck and still takes all that comes."""
    return _dominated(n, n)


@CLAIMS.claim("lemma-9.buffer", "Lemma 9", over=_PAIRS)
def _buffer(n: int) -> bool | str:
    """With shares that vary, the Lindley chain of the largest share, from 2 n - 1, dominates.

    Ours: Q rises with the arrivals, and W <= 2 n - 1 + Q*
    Paper: the time-invariant process dominates
    Note: W itself does not rise: with n = 2 one more arrival may let the batch go."""
    return _dominated(n, 2 * n - 1)


def _law(shares: list[Fraction]) -> list[Fraction]:
    law = [Fraction(1)]
    for p in shares:
        law = [(1 - p) * a + p * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    return law


def _batches() -> "Iterator[tuple[list[Fraction], Fraction]]":
    draw = Random(1)
    for _ in range(200):
        size, worst = draw.randint(1, 8), Fraction(draw.randint(1, 12), 12)
        yield [worst * Fraction(draw.randint(0, 12), 12) for _ in range(size)], worst


@CLAIMS.claim("lemma-9.thinned", "appendix D.2", over=_batches)
def _thinned(shares: list[Fraction], worst: Fraction) -> bool | str:
    """Who goes on, each with a share of at most p*, is dominated by Binomial(n, p*).

    Checked: 200 random batches of up to 8 prompts (seed 1)
    Paper: X is dominated by Binomial(n_(k-1), p*)
    Note: p* is the largest share at any time: who waits together may have come at any."""
    # Sums of coins with p_i <= p* against Binomial(n, p*): P(X > x), exactly.
    ours, theirs = _law(shares), _law([worst] * len(shares))
    below = all(sum(ours[k:]) <= sum(theirs[k:]) for k in range(len(shares) + 1))
    return below or f"p* = {worst}, {[str(p) for p in shares]}"


def _varying() -> "Iterator[tuple[int, int, list[Fraction]]]":
    """(n_(k-1), n_k, shares over time), each with negative drift and a finite root."""
    draw = Random(2)
    for _ in range(60):
        n_prev = draw.randint(3, 40)
        n = draw.randint(2, n_prev - 1)
        yield n_prev, n, [Fraction(n, n_prev) * Fraction(draw.randint(1, 19), 20) for _ in range(4)]


@CLAIMS.claim("equation-21", "equation (21)", over=_varying, refuted=Evidence.BALL)
def _equation_21(n_prev: int, n: int, shares: list[Fraction]) -> bool | str:
    """The positive root of (21), with the worst share p*, is the smallest of the roots at all
    shares, and its memory the largest; it is at least 8 (n_k - p* n_(k-1)) / n_(k-1).

    Checked: 60 random sets of 4 shares (seed 2), n_(k-1) <= 40
    Ours: in balls; below the root E e^(eta (X - n)) < 1, above it > 1
    Paper: the unique positive solution, the smallest, hence the largest memory bound"""
    worst = max(shares)
    root = theory.boundary_queue.eta(n_prev, worst, n)
    smallest, p = root.ball, exact.to_ball(worst)
    if smallest is None:
        raise ArithmeticError(f"no root for {n_prev}, {worst}, {n}")

    def mean(x: flint.arb) -> flint.arb:
        return (1 - p + p * x.exp()) ** n_prev * (-n * x).exp()

    unique = mean(smallest * flint.arb("0.999")) < 1 and mean(smallest * flint.arb("1.001")) > 1
    balls = [theory.boundary_queue.eta(n_prev, share, n).ball for share in shares if share != worst]
    ordered = all(ball is not None and ball > smallest for ball in balls)
    least = Fraction(8) * (n - worst * n_prev) / n_prev
    bounded = smallest >= exact.to_ball(least)
    found = bool(unique and ordered and bounded)
    return found or f"n = {n_prev}, {n}, shares {[str(share) for share in shares]}"
