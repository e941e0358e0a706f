"""WAIT, Lemma 7: what dominates the queue before a segment.

The formula is lost. As given back, the queue is at most n + Q, where Q is the Lindley chain of the
same arrivals; the words say that the coupled process starts n above.
"""

from itertools import product
from typing import TYPE_CHECKING

from fluidkv import wait
from fluidkv.ledger.claim import Origin
from fluidkv.ledger.ranges import Range
from fluidkv.papers.wait.paper import statements
from fluidkv.verdict import Verdict

if TYPE_CHECKING:
    import numpy as np

CLAIMS = statements(origin=Origin.READING)

_SIZES, _MOST_ARRIVALS, _LONGEST = (1, 2, 3), 4, 5
_PATHS = Range(
    f"n = 1, 2, 3; all paths of up to {_LONGEST} batches that bring up to {_MOST_ARRIVALS} each",
    lambda: product(_SIZES, range(1, _LONGEST + 1)),
)


def _paths(length: int) -> "np.ndarray":
    import numpy as np

    return np.array(list(product(range(_MOST_ARRIVALS + 1), repeat=length)))


def above(n: int, length: int, buffer: int, *, outside: bool = False) -> bool | str:
    """Whether no path has a queue above the buffer + Q; else the first that has, in words.

    Args:
        n: of a batch.
        length: batches.
        buffer: added to the chain.
        outside: of the queue, only whom the next batch leaves behind.
    """
    x = _paths(length)
    path, chain = wait.queue_path(x, n), wait.lindley_path(x - n)
    held = path.outside if outside else path.queue
    bad = (held > buffer + chain).any(axis=1)
    if not bad.any():
        return True
    first = int(bad.argmax())
    return (
        f"n = {n}, arrivals {', '.join(map(str, x[first]))}: a queue of "
        f"{held[first, -1]}, above {buffer} + {chain[first, -1]}"
    )


@CLAIMS.over(
    _PATHS,
    "lemma-7",
    "Lemma 7",
    "The queue before a segment is below a coupled process that is lost, given back as the "
    "Lindley chain from n.",
    ours="at most 2 n - 1 + Q (wait.lemma-7.buffer)",
    paper="a coupled process that is lost; given back as n + Q",
    note="A queue of n - 1 is stuck and still takes all that comes. With 2 n instead, both "
    "cases of the proof go through.",
    expected=Verdict.UNDECIDED,
    lost=True,
)
def _as_given(n: int, length: int) -> bool | str:
    return above(n, length, n)


@CLAIMS.over(
    _PATHS,
    "lemma-7.buffer",
    "Lemma 7",
    "The queue before a segment is at most 2 n - 1 above the Lindley chain.",
    paper="the coupled process dominates",
    note="Paths up to that length; longer ones by induction: a queue below n is at most n - 1.",
)
def _dominates(n: int, length: int) -> bool | str:
    return above(n, length, 2 * n - 1)


@CLAIMS.over(
    Range("n = 1..49", lambda: range(1, 50)),
    "lemma-7.least-buffer",
    "Lemma 7 (our own)",
    "No Lindley chain from less than 2 n - 1 stays above the queue before a segment.",
    ours="arrivals n - 1 and n make a queue of 2 n - 1, and Q = 0",
    paper="not given",
    note="Our own statement; binomial arrivals do so wherever n_(k-1) >= n_k.",
    kind="remark",
)
def _least(n: int) -> bool | str:
    x = [n - 1, n]
    over = wait.queue_path(x, n).queue[-1] - wait.lindley_path([each - n for each in x])[-1]
    return bool(over == 2 * n - 1) or f"n = {n}"


@CLAIMS.over(
    _PATHS,
    "lemma-7.outside",
    "Lemma 7 and appendix C.4",
    "Who waits beside a segment's next batch is at most n - 1 above the Lindley chain: (14) "
    "needs no more.",
    paper="n_k and what the tail adds",
    note="W - n if W >= n, else W: who holds memory beside the batch.",
)
def _outside(n: int, length: int) -> bool | str:
    return above(n, length, n - 1, outside=True)


@CLAIMS.over(
    _PATHS,
    "lemma-7.buffer-before-arrivals",
    "proof of Lemma 7 (our own)",
    "A coupled process from n dominates if it is held up at n before a batch's arrivals are added.",
    ours="W <= n + X + Q, with Q of the batch before",
    paper="a safety buffer of n",
    note="Our own statement: a form in which a buffer of n is enough and both cases of the "
    "proof go through. Its mean is at most n + E[X] + Var / (2 |drift|).",
    kind="remark",
)
def _before_arrivals(n: int, length: int) -> bool | str:
    """max(coupled - n, n) + X from n, the other process that the proof's two cases fit."""
    import numpy as np

    x = _paths(length)
    held, coupled = wait.queue_path(x, n).queue, np.full(len(x), n)
    for batch in range(length):
        coupled = np.maximum(coupled - n, n) + x[:, batch]
        if (held[:, batch] > coupled).any():
            return f"n = {n}, {length} batches"
    return True
