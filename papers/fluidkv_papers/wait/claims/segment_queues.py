"""WAIT, appendices C.1, C.2 and D.1: queues before segments, and their means by Kingman.

The formulas are lost; Lindley's chain from a buffer of n gives n + Var / (2 |drift|).
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb

from fluidkv import wait
from fluidkv.ledger import Evidence, Origin, Range, np
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.theory.lindley import kingman, lindley_path, mean_queue_bound
from fluidkv_papers.wait.instances.nested import four_types
from fluidkv_papers.wait.paper import LOST, statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)
APPENDIX_C_2 = CLAIMS.section("appendix-c-2", "appendix C.2")

# --- the first segment --------------------------------------------------------------------------


@CLAIMS.claim(
    "appendix-c-1.first-segment", "appendix C.1", over=range(10), paper=LOST, kind="lemma"
)
def _first_segment(seed: int) -> bool | str:
    """The queue before segment 1 is at most n_1 above the Lindley chain of what comes in each
    batch.

    Checked: l = 4, outputs 2, 4, 6, 8, n = 7, 6, 5, 3: 10 runs of 400 prompts (seeds 0 to 9)
    Note: Each batch of Algorithm 2 takes n_1 from this queue, so that W' = max(W - n_1, 0) + X <=
    n_1 + Q': here a buffer of n_1 is enough, whatever the later segments do."""
    prompts = wait.poisson_prompts(four_types(), rng=seed, count=400)
    policy = wait.NestedWait((2, 4, 6, 8), (7, 6, 5, 3))
    engine = WaitEngine(prompts, policy, four_types().clock)
    came, queue = [], []
    while (batch := engine.select()) is not None:
        before = engine.arrived
        engine.execute(batch)
        engine.arrive()
        came.append(engine.arrived - before)
        queue.append(len(engine.waiting))
    wrong = np.array(queue) > 7 + lindley_path(np.array(came) - 7)
    return not wrong.any() or f"seed {seed}, batch {int(wrong.argmax()) + 1}"


# --- later segments -----------------------------------------------------------------------------

_BATCHES = 8
_SHARES = sorted({Fraction(a, b) for b in range(1, 7) for a in range(1, b + 1)})


def _means(n_prev: int, p: Fraction, n: int) -> Iterator[Fraction]:
    """E[W] after each batch, in rationals."""
    law = [comb(n_prev, x) * p**x * (1 - p) ** (n_prev - x) for x in range(n_prev + 1)]
    queue = {0: Fraction(1)}
    for _ in range(_BATCHES):
        after: dict[int, Fraction] = {}
        for (held, chance), (x, q) in product(queue.items(), enumerate(law)):
            if q:
                left = (held - n if held >= n else held) + x
                after[left] = after.get(left, Fraction(0)) + chance * q
        queue = after
        yield sum((held * chance for held, chance in queue.items()), Fraction(0))


def _queues() -> Iterator[tuple[int, int, Fraction]]:
    """(n_prev, n, p) by the sum of both sizes, with negative drift."""
    sizes = sorted(product(range(1, 5), repeat=2), key=lambda pair: (sum(pair), pair))
    for (n_prev, n), p in product(sizes, _SHARES):
        if p * n_prev < n:
            yield n_prev, n, p


_GRID = Range(f"n_(k-1), n_k <= 4, p with denominators up to 6, {_BATCHES} batches", _queues)
_GIVEN = f"{LOST}; given back as E[W] <= n + Var / (2 |drift|)"


def _mean_below(n_prev: int, n: int, p: Fraction, buffer: int) -> bool | str:
    bound = buffer + kingman(p * n_prev - n, n_prev * p * (1 - p))
    for batch, mean in enumerate(_means(n_prev, p, n), start=1):
        if mean > bound:
            return (
                f"n_(k-1) = {n_prev}, p = {p}, n_k = {n}: E[W] = {mean} after batch {batch}, "
                f"above {bound}"
            )
    return True


@APPENDIX_C_2.undecided("mean-queue", ", below Lemma 7", over=_GRID, paper=_GIVEN, kind="equation")
def _mean_as_given(n_prev: int, n: int, p: Fraction) -> bool | str:
    """The mean queue before a segment has a bound that is lost, given back as n + Var / (2
    |drift|).

    Ours: 2 n - 1 + Var / (2 |drift|) (wait.appendix-c-2.mean-queue.buffer)
    Note: Long-run means exceed it too: with X = 3 always and n = 4 the queue goes round 3, 6, 5, 4:
    4.5 in the mean."""
    return _mean_below(n_prev, n, p, n)


@APPENDIX_C_2.claim("mean-queue.buffer", ", below Lemma 7", over=_GRID, kind="equation")
def _mean_of_two(n_prev: int, n: int, p: Fraction) -> bool | str:
    """The mean queue before a segment is at most 2 n - 1 + Var / (2 |drift|).

    Paper: a bound that is finite for each segment"""
    if mean_queue_bound(n, p * n_prev, n_prev * p * (1 - p)) != 2 * n - 1 + kingman(
        p * n_prev - n, n_prev * p * (1 - p)
    ):
        raise ArithmeticError("the bound of the laboratory is another")
    return _mean_below(n_prev, n, p, 2 * n - 1)
