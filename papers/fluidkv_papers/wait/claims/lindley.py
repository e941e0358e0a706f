"""WAIT, Lemmas 1 to 3 and 7: a queue batch by batch against Lindley's chain, on all short paths.

Lemmas 1 to 3 speak of one type and Poisson arrivals, Lemma 7 of the queue before a segment and
binomial ones; on paths they are one. The formulas are lost; they are given back as follows.
W' = W + X - n if W >= n, else W + X (a stuck iteration), from 0. Q' = max(Q + X - n, 0), from 0:
the Lindley chain, which Lemmas 2 and 7 start "with a safety buffer". How large it is, is lost. Read
as n, the chain does not dominate; from 2n - 1 on it does, and with 2n the two printed cases of the
proofs go through as they stand.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

from fluidkv import runs, wait
from fluidkv.ledger import Origin, Range, np
from fluidkv.wait.theory.lindley import lindley_path, max_partial_sums, queue_path
from fluidkv_papers.wait.instances.systems import hello
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING)

_MOST_N, _LONGEST = 4, 5


@cache
def _paths(most: int, batches: int) -> "np.ndarray":
    """Every sequence of so many arrivals of 0 to most: shape (path, batch), the smallest first."""
    found = np.array(list(product(range(most + 1), repeat=batches)), np.int64)
    return found[np.lexsort([*found.T[::-1], found.sum(axis=1)])]


def _sizes(most_n: int) -> "Iterator[tuple[int, int]]":
    return product(range(1, most_n + 1), range(1, _LONGEST + 1))


_PATHS = Range(
    f"all arrivals of 0 ... 2n a batch, n = 1 ... {_MOST_N}, up to {_LONGEST} batches",
    lambda: ((n, _paths(2 * n, batches)) for n, batches in _sizes(_MOST_N)),
)
_SEGMENTS = Range(
    f"n = 1, 2, 3; all paths of up to {_LONGEST} batches that bring up to 4 each",
    lambda: ((n, _paths(4, batches)) for n, batches in _sizes(3)),
)


def _equal(n: int, paths: "np.ndarray", ours: "np.ndarray", theirs: "np.ndarray") -> bool | str:
    """Row by row, or the first path on which they differ."""
    wrong = ours != theirs
    if not wrong.any():
        return True
    first = int(wrong.argmax())
    said = f"{ours[first]}, {theirs[first]}"
    return f"n={n}, arrivals {', '.join(map(str, paths[first].tolist()))}: {said}"


def _below(n: int, paths: "np.ndarray", queue: "np.ndarray", bound: "np.ndarray", said: str):
    """Batch by batch, or the first path on which the queue is above the bound."""
    wrong = (queue > bound).any(axis=1)
    if not wrong.any():
        return True
    first = int(wrong.argmax())
    batch = int((queue > bound)[first].argmax())
    arrivals = ", ".join(map(str, paths[first, : batch + 1].tolist()))
    return f"n={n}, arrivals {arrivals}: W = {queue[first, batch]} > {bound[first, batch]} = {said}"


@CLAIMS.claim("lemma-1", "Lemma 1", over=_PATHS)
def _lemma_1(n: int, paths: "np.ndarray") -> bool | str:
    """The queue after N batches is what came less n for each batch that was not stuck.

    Paper: E[W_N] = N E[X] - n (N - E[stuck])
    Note: Path by path, so in the mean under any law; the state transition, summed, is a proof."""
    # Queue, stuck iterations and identity, each batch written out.
    held, stuck = 0 * paths[:, 0], 0 * paths[:, 0]
    for x in paths.T:
        serves = held >= n
        stuck = stuck + ~serves
        held = held + x - n * serves
    right = paths.sum(axis=1) - n * (paths.shape[1] - stuck)
    same = _equal(n, paths, held, right)
    return same if same is not True else _equal(n, paths, queue_path(paths, n).queue[:, -1], held)


_LOST = "W <= W~ for all b; W~ and its buffer are lost"
PATHS = CLAIMS.section(over=_PATHS, paper=_LOST)
SEGMENTS = CLAIMS.section(over=_SEGMENTS, paper=_LOST)
_STUCK = (
    "A queue of n - 1 is stuck and still takes all that comes: X = n, and then W = 2n - 1, Q = 0. "
    "With 2n instead, Case 2 of the proof goes through: W + X < n + X <= W~ + X - n."
)
_INDUCTION = (
    "By induction: stuck, W' <= n - 1 + X <= 2n - 1 + Q' as Q' >= X - n; else W and Q change alike."
)


def above_chain(n: int, paths: "np.ndarray", buffer: int, said: str) -> bool | str:
    """Whether the queue stays at or below the buffer + Q; else the first path where it does not."""
    bound = buffer + lindley_path(paths - n)
    return _below(n, paths, queue_path(paths, n).queue, bound, said)


@PATHS.undecided(
    "lemma-2",
    "Lemma 2",
    "The queue stays below the Lindley chain from a buffer that is lost, given back as n.",
    ours="W > n + Q",
    note=_STUCK,
)
@SEGMENTS.undecided(
    "lemma-7",
    "Lemma 7",
    "The queue before a segment is below a coupled process that is lost, given back as the "
    "Lindley chain from n.",
    ours="W > n + Q",
    note=_STUCK,
)
def _buffer_of_n(n: int, paths: "np.ndarray") -> bool | str:
    return above_chain(n, paths, n, "n + Q")


@PATHS.claim(
    "lemma-2.buffer",
    "Lemma 2, another constant",
    "The queue stays below the Lindley chain with a buffer of 2n - 1.",
    note=_INDUCTION,
)
@SEGMENTS.claim(
    "lemma-7.buffer",
    "Lemma 7",
    "The queue before a segment is at most 2 n - 1 above the Lindley chain.",
    note=_INDUCTION,
)
def _buffer(n: int, paths: "np.ndarray") -> bool | str:
    return above_chain(n, paths, 2 * n - 1, "2n - 1 + Q")


@CLAIMS.claim(
    "lemma-2.least-buffer",
    "Lemma 2, another constant",
    over=range(1, _MOST_N + 1),
    checked=f"n = 1 ... {_MOST_N}, all arrivals of 0 ... 2n a batch, {_LONGEST} batches",
)
def _least_buffer(n: int) -> bool | str:
    """No buffer below 2n - 1 keeps the Lindley chain above the queue.

    Ours: 1, 3, 5, 7 for n = 1, 2, 3, 4
    Paper: lost
    Note: 2n - 1: arrivals n - 1, then n."""
    paths = _paths(2 * n, _LONGEST)
    needed = int((queue_path(paths, n).queue - lindley_path(paths - n)).max())
    return needed == 2 * n - 1 or f"n={n}: {needed}"


@CLAIMS.claim("lemma-7.least-buffer", "Lemma 7 (our own)", over=range(1, 50), kind="remark")
def _least_of_segment(n: int) -> bool | str:
    """No Lindley chain from less than 2 n - 1 stays above the queue before a segment.

    Checked: n = 1..49
    Ours: arrivals n - 1 and n make a queue of 2 n - 1, and Q = 0
    Paper: not given
    Note: Our own statement; binomial arrivals do so wherever n_(k-1) >= n_k."""
    x = [n - 1, n]
    over = queue_path(x, n).queue[-1] - lindley_path([each - n for each in x])[-1]
    return bool(over == 2 * n - 1) or f"n = {n}"


@CLAIMS.claim("lemma-7.outside", "Lemma 7 and appendix C.4", over=_SEGMENTS)
def _outside(n: int, paths: "np.ndarray") -> bool | str:
    """Who waits beside a segment's next batch is at most n - 1 above the Lindley chain: (14) needs
    no more.

    Paper: n_k and what the tail adds
    Note: W - n if W >= n, else W: who holds memory beside the batch."""
    bound = n - 1 + lindley_path(paths - n)
    return _below(n, paths, queue_path(paths, n).outside, bound, "n - 1 + Q")


_ON_TOP = (
    "With W~' = max(W~ - n, n) + X, W~_0 = n. Both printed cases go through, word for word; but "
    "this W~ may exceed n + Q by X, up to 2n + Q. Its mean is at most n + E[X] + Var / (2 |drift|)."
)


@PATHS.claim(
    "lemma-2.arrivals-on-top",
    "Lemma 2, read so that its proof goes through",
    "The queue stays below W~, where W~' = max(W~ - n, n) + X from W~ = n.",
    note=_ON_TOP,
)
@CLAIMS.claim(
    "lemma-7.buffer-before-arrivals",
    "proof of Lemma 7 (our own)",
    "A coupled process from n dominates if it is held up at n before a batch's arrivals are added.",
    over=_SEGMENTS,
    paper="a safety buffer of n",
    note=f"Our own statement. {_ON_TOP}",
    kind="remark",
)
def _arrivals_on_top(n: int, paths: "np.ndarray") -> bool | str:
    level, above = np.full(len(paths), n), []
    for x in paths.T:
        level = np.maximum(level - n, n) + x
        above.append(level)
    return _below(n, paths, queue_path(paths, n).queue, np.stack(above, axis=1), "W~")


@CLAIMS.claim(
    "lemma-2.algorithm-1",
    "Lemma 2, for the algorithm instead of the appendix's chain",
    over=range(20),
)
def _algorithm_1(seed: int) -> bool | str:
    """Under Algorithm 1 with one type, the Lindley chain from a buffer of n is above the queue.

    Checked: 20 runs of 120 prompts (seeds 0 to 19), n = 1 ... 4
    Paper: W <= n + Q, with X the arrivals during a batch
    Note: Algorithm 1 waits for the n-th prompt and no longer, so that W' = max(W - n, 0) + X, which
    is Q + X <= n + Q'. The appendix lets a stuck iteration last a whole batch."""
    # One type under Algorithm 1 itself, prompt by prompt; no two come at once.
    n = 1 + seed % 4
    times = np.cumsum(np.random.default_rng(seed).integers(1, 128 // n, 120)) / 64
    table = runs.Requests([1] * 120, [1] * 120, arrival=times, class_index=[0] * 120)
    run = wait.run_policy(table, wait.Wait((n,)), clock=hello(n).clock, backend="reference")
    ends, starts = run.time.values[0], np.unique(run.admitted.values[0])
    if len(starts) != len(ends) or (run.admit_new.values != n).any():
        raise ArithmeticError(f"seed {seed}: a batch that does not take n")
    came = np.searchsorted(times, ends, side="right")
    during = came - np.searchsorted(times, starts, side="right")
    queue = came - n * np.arange(1, len(ends) + 1)
    wrong = queue > n + lindley_path(during - n)
    return not wrong.any() or f"seed {seed}, batch {int(wrong.argmax()) + 1}"


def _by_step(steps: "np.ndarray") -> "np.ndarray":
    """Q_N by the recursion itself."""
    level = 0 * steps[:, 0]
    for x in steps.T:
        level = np.maximum(level + x, 0)
    return level


@CLAIMS.claim("lemma-3", "Lemma 3", over=_PATHS)
def _lemma_3(n: int, paths: "np.ndarray") -> bool | str:
    """The Lindley chain after N steps is the largest of S_N - S_k over k <= N.

    Paper: max over k of S_N - S_k"""
    steps = paths - n
    sums = np.concatenate([0 * steps[:, :1], steps.cumsum(axis=1)], axis=1)
    found = _equal(n, paths, (sums[:, -1:] - sums).max(axis=1), _by_step(steps))
    if found is not True:
        return found
    return _equal(n, paths, lindley_path(steps)[:, -1], _by_step(steps))


@CLAIMS.claim("lemma-3.reversed", "below Lemma 3", over=_PATHS)
def _reversed(n: int, paths: "np.ndarray") -> bool | str:
    """By time reversal the Lindley chain has the law of the maximum of its walk.

    Paper: max of S_k, reversed in time
    Note: Independent steps are as likely in either order."""
    steps = paths - n
    return _equal(n, paths, max_partial_sums(steps[:, ::-1])[:, -1], _by_step(steps))
