"""WAIT, appendix B: Lemmas 1 to 3, the queue of one type batch by batch, on all short paths.

The formulas are lost; they are given back as follows. W' = W + X - n if W >= n, else W + X (a stuck
iteration), from 0. Q' = max(Q + X - n, 0), from 0: the Lindley chain, which Lemma 2 starts "with a
safety buffer". How large it is, is lost. Read as n, the chain does not dominate; from 2n - 1 on it
does, and with 2n the two printed cases of the proof go through as they stand.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.wait.claims._systems import hello
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import numpy as np

_MOST_N, _LONGEST = 4, 5
_PATHS = f"all arrivals of 0 ... 2n a batch, n = 1 ... {_MOST_N}, up to {_LONGEST} batches"
_RUNS = 20


@cache
def _paths(n: int, batches: int) -> "np.ndarray":
    """Every sequence of so many arrivals of 0 to 2n: shape (path, batch), the smallest first."""
    import numpy as np

    found = np.array(list(product(range(2 * n + 1), repeat=batches)), np.int64)
    return found[np.lexsort([*found.T[::-1], found.sum(axis=1)])]


def _all_paths() -> "Iterator[tuple[int, np.ndarray]]":
    for n, batches in product(range(1, _MOST_N + 1), range(1, _LONGEST + 1)):
        yield n, _paths(n, batches)


def _witness(n: int, arrivals: "np.ndarray", said: str) -> str:
    return f"n={n}, arrivals {', '.join(map(str, arrivals.tolist()))}: {said}"


def _lemma_1() -> Outcome:
    """Queue, stuck iterations and identity, each batch written out."""
    from fluidkv.wait.theory.lindley import queue_path

    bad, tried = None, 0
    for n, paths in _all_paths():
        tried += len(paths)
        held, stuck = 0 * paths[:, 0], 0 * paths[:, 0]
        for x in paths.T:
            serves = held >= n
            stuck = stuck + ~serves
            held = held + x - n * serves
        right = paths.sum(axis=1) - n * (paths.shape[1] - stuck)
        wrong = (held != right) | (queue_path(paths, n).queue[:, -1] != held)
        if wrong.any() and bad is None:
            bad = _witness(n, paths[wrong][0], f"{held[wrong][0]}, {right[wrong][0]}")
    return sampled(
        bad,
        f"equal on each of {tried} paths",
        "E[W_N] = N E[X] - n (N - E[stuck])",
        "Path by path, so in the mean under any law; the state transition, summed, is a proof.",
    )


def _exceeds(buffer: str) -> Outcome:
    """W <= buffer + Q on every path?"""
    from fluidkv.wait.theory.lindley import lindley_path, queue_path

    bad, tried = None, 0
    for n, paths in _all_paths():
        tried += len(paths)
        above = n if buffer == "n" else 2 * n - 1
        queue, bound = queue_path(paths, n).queue, above + lindley_path(paths - n)
        wrong = (queue > bound).any(axis=1)
        if wrong.any() and bad is None:
            place = int((queue > bound)[wrong][0].argmax())
            bad = _witness(
                n,
                paths[wrong][0][: place + 1],
                f"W = {queue[wrong][0][place]} > {bound[wrong][0][place]} = {buffer} + Q",
            )
    found = sampled(
        bad,
        f"W <= {buffer} + Q on {tried} paths" if bad is None else f"W > {buffer} + Q",
        "W <= W~ for all b; W~ and its buffer are lost",
        "Given back as the Lindley chain from n. A stuck queue of n - 1 takes X = n, and then "
        "W = 2n - 1, Q = 0. With 2n instead, Case 2 of the proof goes through: W + X < n + X <= "
        "W~ + X - n."
        if buffer == "n"
        else "By induction: stuck, W' <= n - 1 + X <= 2n - 1 + Q' as Q' >= X - n; else W and Q "
        "change alike.",
    )
    return as_read(found) if buffer == "n" else found


def _least_buffer() -> Outcome:
    from fluidkv.wait.theory.lindley import lindley_path, queue_path

    needed = []
    for n in range(1, _MOST_N + 1):
        paths = _paths(n, _LONGEST)
        needed.append(int((queue_path(paths, n).queue - lindley_path(paths - n)).max()))
    bad = next((f"n={i + 1}: {c}" for i, c in enumerate(needed) if c != 2 * i + 1), None)
    return holds_for(
        bad,
        ours=", ".join(map(str, needed)) + " for n = 1, 2, 3, 4",
        paper="lost",
        note="2n - 1: arrivals n - 1, then n.",
        evidence=Evidence.SAMPLED,
    )


def _arrivals_on_top() -> Outcome:
    """W~' = max(W~ - n, n) + X from n: the form under which the two printed cases are a proof."""
    import numpy as np

    from fluidkv.wait.theory.lindley import queue_path

    bad, tried = None, 0
    for n, paths in _all_paths():
        tried += len(paths)
        above = np.full(len(paths), n)
        queue = queue_path(paths, n).queue
        for batch, x in enumerate(paths.T):
            above = np.maximum(above - n, n) + x
            wrong = queue[:, batch] > above
            if wrong.any() and bad is None:
                bad = _witness(n, paths[wrong][0], f"W > {above[wrong][0]}")
    return sampled(
        bad,
        f"W <= W~ on {tried} paths",
        "W <= W~ for all b",
        "With W~' = max(W~ - n, n) + X, W~_0 = n. Both printed cases go through, word for word; "
        "but this W~ may exceed n + Q by X, up to 2n + Q.",
    )


def _algorithm_1() -> Outcome:
    """One type under Algorithm 1 itself, prompt by prompt; no two come at once."""
    import numpy as np

    from fluidkv.runs.requests import Requests
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.theory.lindley import lindley_path

    bad, batches = None, 0
    for seed in range(_RUNS):
        n = 1 + seed % 4
        system = hello(n)
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.integers(1, 128 // n, 120)) / 64
        table = Requests([1] * 120, [1] * 120, arrival=times, class_index=[0] * 120)
        run = run_policy(table, Wait((n,)), clock=system.clock, backend="reference")
        ends = run.time.values[0]
        starts = np.unique(run.admitted.values[0])
        if len(starts) != len(ends) or (run.admit_new.values != n).any():
            raise ArithmeticError(f"seed {seed}: a batch that does not take n")
        came = np.searchsorted(times, ends, side="right")
        during = came - np.searchsorted(times, starts, side="right")
        queue = came - n * np.arange(1, len(ends) + 1)
        batches += len(ends)
        wrong = queue > n + lindley_path(during - n)
        if wrong.any():
            bad = bad or f"seed {seed}, batch {int(wrong.argmax()) + 1}"
    return sampled(
        bad,
        f"W <= n + Q in {batches} batches",
        "W <= n + Q, with X the arrivals during a batch",
        "Algorithm 1 waits for the n-th prompt and no longer, so that W' = max(W - n, 0) + X, "
        "which is Q + X <= n + Q'. The appendix lets a stuck iteration last a whole batch.",
    )


def _lemma_3(reversed_: bool) -> Outcome:
    """Q_N against the maximum over the walk, backward in time or of the reversed walk."""
    import numpy as np

    from fluidkv.wait.theory.lindley import lindley_path, max_partial_sums

    bad, tried = None, 0
    for n, paths in _all_paths():
        tried += len(paths)
        steps = paths - n
        by_step = 0 * paths[:, 0]
        for x in steps.T:  # the recursion itself
            by_step = np.maximum(by_step + x, 0)
        if reversed_:
            ours = max_partial_sums(steps[:, ::-1])[:, -1]
        else:
            sums = np.concatenate([0 * steps[:, :1], steps.cumsum(axis=1)], axis=1)
            ours = (sums[:, -1:] - sums).max(axis=1)
        wrong = (ours != by_step) | (lindley_path(steps)[:, -1] != by_step)
        if wrong.any() and bad is None:
            bad = _witness(n, paths[wrong][0], f"{by_step[wrong][0]}, {ours[wrong][0]}")
    return sampled(
        bad,
        f"equal on {tried} paths",
        "max of S_k, reversed in time" if reversed_ else "max over k of S_N - S_k",
        "Independent steps are as likely in either order." if reversed_ else "",
    )


def _lemma(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    *,
    expected: Verdict = Verdict.HOLDS,
    checked: str = _PATHS,
) -> Claim:
    return wait(id, statement, place, check, kind="lemma", expected=expected, checked=checked)


CLAIMS: tuple[Claim, ...] = (
    _lemma(
        "lemma-1",
        "The queue after N batches is what came less n for each batch that was not stuck.",
        "Lemma 1",
        _lemma_1,
    ),
    _lemma(
        "lemma-2",
        "The queue stays below the Lindley chain from a buffer that is lost, given back as n.",
        "Lemma 2",
        lambda: _exceeds("n"),
        expected=Verdict.UNDECIDED,
    ),
    _lemma(
        "lemma-2.buffer",
        "The queue stays below the Lindley chain with a buffer of 2n - 1.",
        "Lemma 2, another constant",
        lambda: _exceeds("2n - 1"),
    ),
    _lemma(
        "lemma-2.least-buffer",
        "No buffer below 2n - 1 keeps the Lindley chain above the queue.",
        "Lemma 2, another constant",
        _least_buffer,
        checked=f"n = 1 ... {_MOST_N}",
    ),
    _lemma(
        "lemma-2.arrivals-on-top",
        "The queue stays below W~, where W~' = max(W~ - n, n) + X from W~ = n.",
        "Lemma 2, read so that its proof goes through",
        _arrivals_on_top,
    ),
    _lemma(
        "lemma-2.algorithm-1",
        "Under Algorithm 1 with one type, the Lindley chain from a buffer of n is above the queue.",
        "Lemma 2, for the algorithm instead of the appendix's chain",
        _algorithm_1,
        checked=f"{_RUNS} runs of 120 prompts (seeds 0 to {_RUNS - 1}), n = 1 ... 4",
    ),
    _lemma(
        "lemma-3",
        "The Lindley chain after N steps is the largest of S_N - S_k over k <= N.",
        "Lemma 3",
        lambda: _lemma_3(False),
    ),
    _lemma(
        "lemma-3.reversed",
        "By time reversal the Lindley chain has the law of the maximum of its walk.",
        "below Lemma 3",
        lambda: _lemma_3(True),
    ),
)
