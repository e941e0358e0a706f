"""Turns: what WAIT and Nested WAIT do with a table of prompts, before time is computed.

A *segment* is one of Nested WAIT's, or all stages of a type of WAIT: what has a threshold n. It
runs whenever it is in the batch; these are its *turns*, numbered b = 1, 2, ...

Theorem. While nobody is evicted, the table of prompts alone decides, for every segment,

1. who is in its b-th turn, and at which stage. The i-th prompt that comes to the segment belongs to
   cohort c = ceil(i / n), starts in turn c, and computes stage `start + b - c` in turn b, until the
   last stage that it has in this segment;
2. hence how many tokens the b-th turn holds and computes, what its prompts hold while the segment
   pauses after b turns, how many prompts have completed or gone on to the next segment;
3. when its b-th turn is possible: once the (n b)-th prompt has come, which is an arrival time where
   prompts come from outside, and a number of turns of the segment before where they come from
   there.

Time only says when each segment runs next.

Proof. A segment that runs takes exactly n prompts at its first stage, for it runs only where so
many wait, and the first that came, since all lists are kept in order of admission. By induction
over its turns each later stage then holds one cohort less those who completed: n at most, and all
of them advance. So cohorts keep in step, 2 and 3 count them, and a segment hands its prompts on in
the order in which it took them. []

For Nested WAIT more follows: segment 1 is in every batch, so that iteration i is its i-th turn, and
by 3 the whole sequence of batches is decided too: with g(b) the turns of segment k that prompts
suffice for after b turns of segment k - 1, its turns by then are R(b + 1) = min(R(b) + 1, g(b)).
Thinning and waiting before later segments do not depend on the clock at all; only the idle time
before a batch does. For WAIT the clock decides which types meet in a batch.

Source: ours; WAIT, Algorithms 1 and 2, say what a segment takes.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.reference import MOST_TOKENS


class Segment(NamedTuple):
    """One segment, by prompt and by turn. Arrays by turn have an entry for b = 0 too: no turn yet.

    Fields:
        start: its first stage; where no prompt gets there, the one after the last there is.
        threshold: n, prompts that each turn takes in; one more than there are, where it is more.
        follows: prompts come out of the segment before; False: from outside.
        prompts: rows of the table, in the order in which they come to the segment.
        last: the last stage of each prompt in this segment.
        gate: [b] what makes turn b + 1 possible: the arrival time of its last newcomer or, where
            the segment follows another, the number of turns of that one. Infinite: it is never.
        size, tokens: [b] prompts in turn b, and what they hold in it.
        paused, paused_tokens: [b] prompts in the segment after b turns, and what they hold until
            the next; without those that wait for their first turn.
        completed, completed_outputs: [b] prompts that complete in turn b, and their output tokens.
        computed: [b] tokens computed in turn b.
        prefill: [b] of them, inputs of prompts at stage 0.
        passed: [b] prompts that have gone on to the next segment within b turns.
        before_tokens: [i] what the first i prompts hold while they wait for their first turn.
    """

    start: int
    threshold: int
    follows: bool
    prompts: Int[np.ndarray, " prompt"]
    last: Int[np.ndarray, " prompt"]
    gate: Float[np.ndarray, " turn"]
    size: Int[np.ndarray, " turn"]
    tokens: Int[np.ndarray, " turn"]
    paused: Int[np.ndarray, " turn"]
    paused_tokens: Int[np.ndarray, " turn"]
    completed: Int[np.ndarray, " turn"]
    completed_outputs: Int[np.ndarray, " turn"]
    computed: Int[np.ndarray, " turn"]
    prefill: Int[np.ndarray, " turn"]
    passed: Int[np.ndarray, " turn"]
    before_tokens: Int[np.ndarray, " place"]

    @property
    def turns(self) -> int:
        """Most turns that there can ever be."""
        return self.gate.size - 1


def segments_of(requests: Requests, policy: Policy) -> list[Segment]:
    """The segments of a run: one for each type, or those of the policy.

    Args:
        requests: `output_length` is the paper's l', `class_index` the type.
        policy: with a threshold for each type, or a last segment that no output outlasts.

    Raises:
        InputError: prompts of 2^53 tokens or more in all.
    """
    if (total := tokens_of(requests)) >= MOST_TOKENS:
        raise InputError("requests", f"{total:.3g} tokens in all", "fewer than 2^53")
    if isinstance(policy, Wait):
        return _types(requests, policy)
    return list(_nested(requests, policy))


def tokens_of(requests: Requests) -> float:
    """Inputs and outputs of all prompts."""
    return float((requests.input_length + requests.output_length).sum(dtype=np.float64))


def _types(requests: Requests, policy: Wait) -> list[Segment]:
    segments, never = [], len(requests) + 1
    for index, threshold in enumerate(policy.thresholds):
        rows = np.flatnonzero(requests.class_index == index)
        ends = requests.output_length[rows]
        segments.append(
            _segment(requests, rows, requests.arrival[rows], min(threshold, never), ends)
        )
    return segments


def _nested(requests: Requests, policy: NestedWait) -> Iterable[Segment]:
    rows, come = np.arange(len(requests)), requests.arrival
    # What a policy says may be beyond 64 bits; above these, no number makes a difference.
    longest, never = int(requests.output_length.max()), len(requests) + 1
    for first, final, n in zip(policy.starts, policy.ends, policy.thresholds, strict=True):
        start, end, threshold = min(first, longest + 1), min(final, longest), min(n, never)
        ends = np.minimum(requests.output_length[rows], end)
        segment = _segment(requests, rows, come, threshold, ends, start=start)
        yield segment
        cohorts = _cohorts(segment.turns * threshold, threshold)
        comes_out = cohorts + (end - start)  # of those that go on: in which turn
        goes_on = requests.output_length[rows[: cohorts.size]] > end
        goes_on &= comes_out <= segment.turns
        rows = rows[: cohorts.size][goes_on]
        come = comes_out[goes_on].astype(np.float64)


def _segment(
    requests: Requests,
    rows: Int[np.ndarray, " prompt"],
    come: Float[np.ndarray, " prompt"],
    threshold: int,
    last: Int[np.ndarray, " prompt"],
    *,
    start: int = 0,
) -> Segment:
    """Of these prompts, who come at times, or after turns of the segment before, `come`."""
    turns = rows.size // threshold
    taken = rows[: turns * threshold]
    last_taken = last[: taken.size]
    inputs, outputs = requests.input_length[taken], requests.output_length[taken]
    final = _cohorts(taken.size, threshold) + last_taken - start  # turn of its last stage here

    def leave(values: np.ndarray) -> Int[np.ndarray, " turn"]:
        """The sum over those who are in the segment for the last time, by turn."""
        # A float holds it: see MOST_TOKENS.
        return np.bincount(np.minimum(final, turns + 1), values, turns + 2)[:-1].astype(np.int64)

    def enter(values: np.ndarray) -> Int[np.ndarray, " turn"]:
        """The sum over the newcomers of each turn."""
        return np.concatenate([[0], values.reshape(turns, threshold).sum(axis=1)])

    completes = outputs == last_taken
    waits_with = requests.input_length[rows] + start - 1 if start else np.zeros_like(rows)
    left, left_tokens = leave(np.ones(taken.size)), leave(inputs + last_taken)
    completed = leave(completes)
    size = np.cumsum(enter(np.ones_like(taken)) - _later(left))
    paused = size - left
    tokens = np.cumsum(enter(inputs + start) - _later(left_tokens) + _later(paused))
    return Segment(
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
        prefill=enter(np.zeros_like(inputs) if start else inputs),
        passed=np.cumsum(left - completed),
        before_tokens=np.concatenate([[0], np.cumsum(waits_with)]),
    )


def _cohorts(size: int, threshold: int) -> Int[np.ndarray, " prompt"]:
    """The cohort of each of the first prompts, from 1."""
    return np.arange(size) // threshold + 1


def _later(values: Int[np.ndarray, " turn"]) -> Int[np.ndarray, " turn"]:
    """By turn, what was so in the turn before."""
    return np.concatenate([[0], values[:-1]])
