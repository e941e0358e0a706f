"""Lanes: what WAIT and Nested WAIT do with a table of prompts before anybody asks for the time.

A *lane* is a type (WAIT) or a segment (Nested WAIT), with a threshold n. It runs whenever it is in
the batch; its runs are numbered b = 1, 2, ...

Theorem. While nobody is evicted, the table of prompts alone decides, for every lane,

1. who is in its b-th run, and at which stage. The i-th prompt that comes to the lane belongs to
   cohort c = ceil(i / n), starts in run c, and computes stage `start + b - c` in run b, until the
   last stage that it has in this lane;
2. hence how many tokens the b-th run holds, what its prompts hold while the lane pauses after b
   runs, how many prompts have completed or gone on to the next lane;
3. when its b-th run is possible: once the (n b)-th prompt has come, which is an arrival time where
   prompts come from outside, and a number of runs of the lane before where they come from there.

Time only says when each lane runs next.

Proof. A lane that runs takes exactly n prompts at its first stage, for it runs only where so many
wait, and the first that came, since all lists are kept in order of admission. By induction over its
runs each later stage then holds one cohort less those who completed: n at most, and all of them
advance. So cohorts keep in step, 2 and 3 count them, and a lane hands its prompts on in the order
in which it took them. []

For Nested WAIT more follows: segment 1 is in every batch, so that iteration i is its i-th run, and
by 3 the whole sequence of batches is decided too: with g(b) the runs of segment k that prompts
suffice for after b runs of segment k - 1, its runs by then are R(b + 1) = min(R(b) + 1, g(b)).
Thinning and waiting before later segments do not depend on the clock at all; only the idle time
before a batch does. For WAIT the clock decides which types meet in a batch.

Source: ours; WAIT, Algorithms 1 and 2, say what a lane takes.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.reference import MOST_TOKENS


class Lane(NamedTuple):
    """One lane, by prompt and by run. Arrays by run have an entry for b = 0 too: no run yet.

    Fields:
        start: its first stage; where no prompt gets there, the one after the last there is.
        threshold: n, prompts that each run takes in; one more than there are, where it is more.
        follows: prompts come out of the lane before; False: from outside.
        prompts: rows of the table, in the order in which they come to the lane.
        last: the last stage of each prompt in this lane.
        gate: [b] what makes run b + 1 possible: the arrival time of its last newcomer or, where
            the lane follows another, the number of runs of that one. Infinite: it is never.
        size, tokens: [b] prompts in run b, and what they hold in it.
        paused, paused_tokens: [b] prompts in the lane after b runs, and what they hold until the
            next; without those that wait for their first run.
        completed, completed_outputs: [b] prompts that complete in run b, and their output tokens.
        computed: [b] tokens computed in run b.
        passed: [b] prompts that have gone on to the next lane within b runs.
        before_tokens: [i] what the first i prompts hold while they wait for their first run.
    """

    start: int
    threshold: int
    follows: bool
    prompts: Int[np.ndarray, " prompt"]
    last: Int[np.ndarray, " prompt"]
    gate: Float[np.ndarray, " run"]
    size: Int[np.ndarray, " run"]
    tokens: Int[np.ndarray, " run"]
    paused: Int[np.ndarray, " run"]
    paused_tokens: Int[np.ndarray, " run"]
    completed: Int[np.ndarray, " run"]
    completed_outputs: Int[np.ndarray, " run"]
    computed: Int[np.ndarray, " run"]
    passed: Int[np.ndarray, " run"]
    before_tokens: Int[np.ndarray, " place"]

    @property
    def runs(self) -> int:
        """Most runs that there can ever be."""
        return self.gate.size - 1


def lanes_of(requests: Requests, policy: Policy) -> list[Lane]:
    """The lanes of a run: one for each type, or for each segment.

    Args:
        requests: `output_length` is the paper's l', `class_index` the type.
        policy: with a threshold for each type, or a last segment that no output outlasts.

    Raises:
        InputError: prompts of 2^53 tokens or more in all.
    """
    total = float((requests.input_length + requests.output_length).sum(dtype=np.float64))
    if total >= MOST_TOKENS:
        raise InputError("requests", f"{total:.3g} tokens in all", "fewer than 2^53")
    if isinstance(policy, Wait):
        return _types(requests, policy)
    return list(_segments(requests, policy))


def _types(requests: Requests, policy: Wait) -> list[Lane]:
    lanes, never = [], len(requests) + 1
    for index, threshold in enumerate(policy.thresholds):
        rows = np.flatnonzero(requests.class_index == index)
        ends = requests.output_length[rows]
        lanes.append(_lane(requests, rows, requests.arrival[rows], min(threshold, never), ends))
    return lanes


def _segments(requests: Requests, policy: NestedWait) -> Iterable[Lane]:
    rows, come = np.arange(len(requests)), requests.arrival
    # What a policy says may be beyond 64 bits; above these, no number makes a difference.
    longest, never = int(requests.output_length.max()), len(requests) + 1
    for first, final, n in zip(policy.starts, policy.ends, policy.thresholds, strict=True):
        start, end, threshold = min(first, longest + 1), min(final, longest), min(n, never)
        ends = np.minimum(requests.output_length[rows], end)
        lane = _lane(requests, rows, come, threshold, ends, start=start)
        yield lane
        cohorts = _cohorts(lane.runs * threshold, threshold)
        comes_out = cohorts + (end - start)  # of those that go on: in which run
        goes_on = requests.output_length[rows[: cohorts.size]] > end
        goes_on &= comes_out <= lane.runs
        rows = rows[: cohorts.size][goes_on]
        come = comes_out[goes_on].astype(np.float64)


def _lane(
    requests: Requests,
    rows: Int[np.ndarray, " prompt"],
    come: Float[np.ndarray, " prompt"],
    threshold: int,
    last: Int[np.ndarray, " prompt"],
    *,
    start: int = 0,
) -> Lane:
    """The lane of these prompts, who come at times, or after runs of the lane before, `come`."""
    runs = rows.size // threshold
    taken = rows[: runs * threshold]
    last_taken = last[: taken.size]
    inputs, outputs = requests.input_length[taken], requests.output_length[taken]
    final = _cohorts(taken.size, threshold) + last_taken - start  # run of its last stage here

    def leave(values: np.ndarray) -> Int[np.ndarray, " run"]:
        """The sum over those who are in the lane for the last time, by run."""
        # A float holds it: see MOST_TOKENS.
        return np.bincount(np.minimum(final, runs + 1), values, runs + 2)[:-1].astype(np.int64)

    def enter(values: np.ndarray) -> Int[np.ndarray, " run"]:
        """The sum over the newcomers of each run."""
        return np.concatenate([[0], values.reshape(runs, threshold).sum(axis=1)])

    completes = outputs == last_taken
    waits_with = requests.input_length[rows] + start - 1 if start else np.zeros_like(rows)
    left, left_tokens = leave(np.ones(taken.size)), leave(inputs + last_taken)
    completed = leave(completes)
    size = np.cumsum(enter(np.ones_like(taken)) - _later(left))
    paused = size - left
    tokens = np.cumsum(enter(inputs + start) - _later(left_tokens) + _later(paused))
    return Lane(
        start=start,
        threshold=threshold,
        follows=start > 0,
        prompts=rows,
        last=last,
        gate=np.append(come[threshold - 1 : taken.size : threshold], np.inf),
        size=size,
        tokens=tokens,
        paused=paused,
        paused_tokens=tokens - left_tokens,
        completed=completed,
        completed_outputs=leave(np.where(completes, outputs, 0)),
        computed=size + (0 if start else enter(inputs - 1)),
        passed=np.cumsum(left - completed),
        before_tokens=np.concatenate([[0], np.cumsum(waits_with)]),
    )


def _cohorts(size: int, threshold: int) -> Int[np.ndarray, " prompt"]:
    """The cohort of each of the first prompts, from 1."""
    return np.arange(size) // threshold + 1


def _later(values: Int[np.ndarray, " run"]) -> Int[np.ndarray, " run"]:
    """By run, what was so in the run before."""
    return np.concatenate([[0], values[:-1]])
