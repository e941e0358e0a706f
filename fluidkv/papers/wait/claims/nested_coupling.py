"""WAIT, Lemmas 7 and 9: what dominates the queue before a segment, and its mean.

The formulas of the lemmas are lost. As given back, the queue is at most n + Q, where Q is the
Lindley chain of the same arrivals; the words say that the coupled process starts n above.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import decimal, holds_for
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import numpy as np

_SIZES, _MOST_ARRIVALS, _LONGEST = (1, 2, 3), 4, 5
_PATHS = (
    f"n = 1, 2, 3; all paths of up to {_LONGEST} batches that bring up to {_MOST_ARRIVALS} each"
)
_SHARES = sorted({Fraction(a, b) for b in range(1, 7) for a in range(1, b + 1)})
_BATCHES = 8


def _paths(length: int, most: int = _MOST_ARRIVALS) -> "np.ndarray":
    import numpy as np

    return np.array(list(product(range(most + 1), repeat=length)))


def _above(buffer, outside: bool = False) -> str | None:
    """The first path on which the queue is above buffer(n) + Q; `outside`: of the next batch."""
    from fluidkv.wait.theory.lindley import lindley_path, queue_path

    for n in _SIZES:
        for length in range(1, _LONGEST + 1):
            x = _paths(length)
            path, chain = queue_path(x, n), lindley_path(x - n)
            held = path.outside if outside else path.queue
            bad = (held > buffer(n) + chain).any(axis=1)
            if bad.any():
                first = int(bad.argmax())
                return (
                    f"n = {n}, arrivals {', '.join(map(str, x[first]))}: a queue of "
                    f"{held[first, -1]}, above {buffer(n)} + {chain[first, -1]}"
                )
    return None


def _as_given() -> Outcome:
    bad = _above(lambda n: n)
    return as_read(
        holds_for(
            bad,
            ours="at most 2 n - 1 + Q (wait.lemma-7.buffer)",
            paper="a coupled process that is lost; given back as n + Q",
            note="A queue of n - 1 is stuck and still takes all that comes. With 2 n instead, both "
            "cases of the proof go through.",
        )
    )


def _dominates() -> Outcome:
    return holds_for(
        _above(lambda n: 2 * n - 1),
        ours="at most 2 n - 1 + Q",
        paper="the coupled process dominates",
        note="Paths up to that length; longer ones by induction: a queue below n is at most n - 1.",
        evidence=Evidence.SAMPLED,
    )


def _least() -> Outcome:
    """Arrivals n - 1, then n."""
    from fluidkv.wait.theory.lindley import lindley_path, queue_path

    bad = None
    for n in range(1, 50):
        x = [n - 1, n]
        over = queue_path(x, n).queue[-1] - lindley_path([each - n for each in x])[-1]
        if over != 2 * n - 1:
            bad = bad or f"n = {n}"
    return holds_for(
        bad,
        ours="arrivals n - 1 and n make a queue of 2 n - 1, and Q = 0",
        paper="not given",
        note="Our own statement; binomial arrivals do so wherever n_(k-1) >= n_k.",
        evidence=Evidence.SAMPLED,
    )


def _outside() -> Outcome:
    return holds_for(
        _above(lambda n: n - 1, outside=True),
        ours="at most n - 1 + Q",
        paper="n_k and what the tail adds",
        note="W - n if W >= n, else W: who holds memory beside the batch.",
        evidence=Evidence.SAMPLED,
    )


def _before_arrivals() -> Outcome:
    """max(coupled - n, n) + X from n, the other process that the proof's two cases fit."""
    import numpy as np

    from fluidkv.wait.theory.lindley import queue_path

    bad = None
    for n in _SIZES:
        for length in range(1, _LONGEST + 1):
            x = _paths(length)
            held = queue_path(x, n).queue
            coupled = np.full(len(x), n)
            for batch in range(length):
                coupled = np.maximum(coupled - n, n) + x[:, batch]
                if (held[:, batch] > coupled).any():
                    bad = bad or f"n = {n}, {length} batches"
    return holds_for(
        bad,
        ours="W <= n + X + Q, with Q of the batch before",
        paper="a safety buffer of n",
        note="Our own statement: a form in which a buffer of n is enough and both cases of the "
        "proof go through. Its mean is at most n + E[X] + Var / (2 |drift|).",
        evidence=Evidence.SAMPLED,
    )


def _varying() -> Outcome:
    """Paths x <= y: Q(x) <= Q(y) and W(x) <= 2 n - 1 + Q(y)."""
    import numpy as np

    from fluidkv.wait.theory.lindley import lindley_path, queue_path

    x = _paths(4, most=2)
    below = (x[:, None] <= x[None]).all(axis=-1)
    bad = None
    for n in _SIZES:
        chain, held = lindley_path(x - n), queue_path(x, n).queue
        higher = chain[:, None] > chain[None]
        over = below & (higher | (held[:, None] > 2 * n - 1 + chain[None])).any(axis=-1)
        if over.any():
            i, j = np.argwhere(over)[0]
            bad = bad or f"n = {n}, {x[i].tolist()} below {x[j].tolist()}"
    return holds_for(
        bad,
        ours="Q rises with the arrivals, and W <= 2 n - 1 + Q*",
        paper="the time-invariant process dominates",
        note="W itself does not rise: with n = 2 one more arrival may let the batch go.",
        evidence=Evidence.SAMPLED,
    )


def _thinned() -> Outcome:
    """Sums of coins with p_i <= p* against Binomial(n, p*): P(X > x), exactly."""
    from random import Random

    draw, bad = Random(1), None
    for _ in range(200):
        size, worst = draw.randint(1, 8), Fraction(draw.randint(1, 12), 12)
        shares = [worst * Fraction(draw.randint(0, 12), 12) for _ in range(size)]
        ours, theirs = _law(shares), _law([worst] * size)
        if any(sum(ours[k:]) > sum(theirs[k:]) for k in range(size + 1)):
            bad = bad or f"p* = {worst}, {[str(p) for p in shares]}"
    return holds_for(
        bad,
        ours="P(X > x) <= P(X* > x) in 200 random batches (seed 1), in rationals",
        paper="X is dominated by Binomial(n_(k-1), p*)",
        note="p* is the largest share at any time: who waits together may have come at any.",
        evidence=Evidence.SAMPLED,
    )


def _law(shares: list[Fraction]) -> list[Fraction]:
    law = [Fraction(1)]
    for p in shares:
        law = [(1 - p) * a + p * b for a, b in zip([*law, 0], [0, *law], strict=True)]
    return law


# --- means --------------------------------------------------------------------------------------


def _means(n_prev: int, p: Fraction, n: int, batches: int = _BATCHES) -> Iterator[Fraction]:
    """E[W] after each batch, in rationals."""
    law = [comb(n_prev, x) * p**x * (1 - p) ** (n_prev - x) for x in range(n_prev + 1)]
    queue = {0: Fraction(1)}
    for _ in range(batches):
        after: dict[int, Fraction] = {}
        for (held, chance), (x, q) in product(queue.items(), enumerate(law)):
            if q:
                left = (held - n if held >= n else held) + x
                after[left] = after.get(left, Fraction(0)) + chance * q
        queue = after
        yield sum((held * chance for held, chance in queue.items()), Fraction(0))


def _queues(most: int) -> Iterator[tuple[int, int, Fraction]]:
    """(n_prev, n, p) by the sum of both sizes, with negative drift."""
    sizes = sorted(product(range(1, most + 1), repeat=2), key=lambda pair: (sum(pair), pair))
    for (n_prev, n), p in product(sizes, _SHARES):
        if p * n_prev < n:
            yield n_prev, n, p


def _mean_as_given() -> Outcome:
    from fluidkv.wait.theory.lindley import kingman

    given = "E[W] <= n + Var / (2 |drift|)"
    for n_prev, n, p in _queues(4):
        bound = n + kingman(p * n_prev - n, n_prev * p * (1 - p))
        for batch, mean in enumerate(_means(n_prev, p, n), start=1):
            if mean > bound:
                bad = (
                    f"n_(k-1) = {n_prev}, p = {p}, n_k = {n}: E[W] = {mean} after batch {batch}, "
                    f"above {bound}"
                )
                return as_read(
                    holds_for(
                        bad,
                        ours="2 n - 1 + Var / (2 |drift|) (wait.appendix-c-2.mean-queue.buffer)",
                        paper=f"lost; given back as {given}",
                        note="Long-run means exceed it too: with X = 3 always and n = 4 the queue "
                        "goes round 3, 6, 5, 4: 4.5 in the mean.",
                    )
                )
    return holds_for(
        None, ours="never exceeded", paper=f"lost; given back as {given}", evidence=Evidence.SAMPLED
    )


def _mean_of_two() -> Outcome:
    from fluidkv.wait.theory.lindley import mean_queue_bound

    bad, tried, nearest = None, 0, Fraction(0)
    for n_prev, n, p in _queues(4):
        tried += 1
        bound = mean_queue_bound(n, p * n_prev, n_prev * p * (1 - p))
        worst = max(_means(n_prev, p, n))
        nearest = max(nearest, worst / bound)
        if worst > bound:
            bad = bad or f"n_(k-1) = {n_prev}, p = {p}, n_k = {n}"
    return holds_for(
        bad,
        ours=f"{tried} queues, in rationals; E[W] up to {decimal(nearest, 2)} of the bound",
        paper="a bound that is finite for each segment",
        evidence=Evidence.SAMPLED,
    )


_GRID = f"n_(k-1), n_k <= 4, p with denominators up to 6, {_BATCHES} batches"

CLAIMS: tuple[Claim, ...] = (
    wait(
        "lemma-7",
        "The queue before a segment is below a coupled process that is lost, given back as the "
        "Lindley chain from n.",
        "Lemma 7",
        _as_given,
        kind="lemma",
        expected=Verdict.UNDECIDED,
        checked=_PATHS,
    ),
    wait(
        "lemma-7.buffer",
        "The queue before a segment is at most 2 n - 1 above the Lindley chain.",
        "Lemma 7",
        _dominates,
        kind="lemma",
        checked=_PATHS,
    ),
    wait(
        "lemma-7.least-buffer",
        "No Lindley chain from less than 2 n - 1 stays above the queue before a segment.",
        "Lemma 7 (our own)",
        _least,
        kind="remark",
        checked="n = 1..49",
    ),
    wait(
        "lemma-7.outside",
        "Who waits beside a segment's next batch is at most n - 1 above the Lindley chain: (14) "
        "needs no more.",
        "Lemma 7 and appendix C.4",
        _outside,
        kind="lemma",
        checked=_PATHS,
    ),
    wait(
        "lemma-7.buffer-before-arrivals",
        "A coupled process from n dominates if it is held up at n before a batch's arrivals are "
        "added.",
        "proof of Lemma 7 (our own)",
        _before_arrivals,
        kind="remark",
        checked=_PATHS,
    ),
    wait(
        "appendix-c-2.mean-queue",
        "The mean queue before a segment has a bound that is lost, given back as "
        "n + Var / (2 |drift|).",
        "appendix C.2, below Lemma 7",
        _mean_as_given,
        kind="equation",
        expected=Verdict.UNDECIDED,
        checked=_GRID,
    ),
    wait(
        "appendix-c-2.mean-queue.buffer",
        "The mean queue before a segment is at most 2 n - 1 + Var / (2 |drift|).",
        "appendix C.2, below Lemma 7",
        _mean_of_two,
        kind="equation",
        checked=_GRID,
    ),
    wait(
        "lemma-9",
        "With shares that vary, a coupled process that is lost dominates, given back as the "
        "Lindley chain from n.",
        "Lemma 9",
        _as_given,
        kind="lemma",
        expected=Verdict.UNDECIDED,
        checked=_PATHS,
    ),
    wait(
        "lemma-9.buffer",
        "With shares that vary, the Lindley chain of the largest share, from 2 n - 1, dominates.",
        "Lemma 9",
        _varying,
        kind="lemma",
        checked="n = 1, 2, 3; all pairs of paths of 4 batches, one below the other",
    ),
    wait(
        "lemma-9.thinned",
        "Who goes on, each with a share of at most p*, is dominated by Binomial(n, p*).",
        "appendix D.2",
        _thinned,
        kind="lemma",
        checked="200 random batches of up to 8 prompts",
    ),
)
