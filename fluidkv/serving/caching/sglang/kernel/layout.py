"""What the kernel carries from one iteration to the next, as arrays of records.

The records of its tree, and of what requests say, are `prefix.radix.kernel.layout`'s.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from fluidkv.prefix.radix.kernel.layout import NONE as NONE
from fluidkv.prefix.radix.kernel.layout import SPANS, TREE, Records, integers
from fluidkv.prefix.radix.kernel.layout import Number as Number
from fluidkv.prefix.radix.kernel.layout import Record as Record

# What a pass computes.
PREFILL, MIXED, DECODE, IDLE = range(4)

# What admission says of the next request in the queue: it may be tried, memory is short, the tokens
# of this pass are spent.
GO_ON, NO_MEMORY, SPENT = range(3)

# What a call of the kernel ends with.
ENDED, FULL, TIRED, SHORT = range(4)
"""The run ends, or stops where it was asked to; there is no row left for the next window; a call
has done enough; there may be too few nodes for the next iteration."""


def _numbers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.float64) for name in names]


_SETTINGS = [
    *integers("requests", "tokens", "radix", "max_running", "overlap", "clip"),
    *integers("mixed", "jumps"),
    *integers("clients"),  # 0: requests come at their arrival times
    *integers("offered"),  # nobody comes by itself
    *integers("glides"),  # passes in which nothing happens are not looked at one by one
    *integers("in_full"),  # all that may still be emitted is reserved, instead of the ratio of it
    *integers("known"),  # nobody ends early and no tree keeps anything
    *integers("chunk"),  # most prompt tokens of a pass; NONE: prompts are not cut
    *integers("prefill_tokens"),  # most of a pass
    *integers("by_priority", "least_urgent"),  # the queue; who is retracted first
    *_numbers("ratio_first", "ratio_least", "ratio_step"),
    *_numbers("base", "per_kv", "per_prefill", "per_pair"),  # of the clock
    *_numbers("per_request", "experts", "expert_share"),
]
_STATE = [
    *integers("iteration", "arrived", "done", "aborted"),  # aborted ones are done, too
    *integers("stuck", "in_memory"),  # in memory: admitted and not done
    *integers("head", "tail", "unsorted"),  # of the queue; by priority, since somebody joined it
    *integers("decoding", "full"),  # full: nobody is admitted before one of these leaves
    *integers("left"),  # somebody was done in the last iteration
    *integers("chunked", "attempts"),  # the request in the middle of its prompt; to admit
    *integers("pass_mode", "pass_size", "pass_admitted", "pass_chunked"),  # of the last iteration
    *integers("launched", "flying"),  # passes; there is one whose tokens are not known
    *integers("flight_size", "flight_admitted"),  # of that one; those who were prefilled come first
    *integers("available"),  # tokens
    *integers("glided", "spare", "held"),  # see `glide`
    *integers("row", "open"),  # window; it is not whole
    *_numbers("now", "ratio", "flight_ended"),
    *_numbers("first_landing", "last_landing", "longest_gap"),  # of the passes glided
]
_PASS = [
    *integers("admitted", "cut", "prompt_left", "chunk_left"),
    *integers("at_once"),  # tokens of memory that the pass itself takes
    *integers("releases"),  # how many are in order; NONE: not looked at
    *integers("first", "resumed"),  # admitted without the prompt that goes on; retracted before
    *integers("prefill", "pairs", "hits", "recomputed"),  # tokens
    *integers("retracted", "gone", "finished", "emitted"),  # gone: aborted
    *integers("noted"),  # events
    *_numbers("reserved"),
]
_SEEN = [
    *integers("seen_arrived", "seen_mode", "seen_batch", "seen_running", "seen_waiting"),
    *integers("seen_available", "seen_total", "seen_protected", "seen_full", "seen_chunked"),
    *_numbers("seen_ratio"),
]
RUN = np.dtype([*_SETTINGS, *TREE, *_STATE, *_PASS, *_SEEN])
"""A run: the server's settings, its tree, where it is, the pass that is put together, what a step
shows."""

REQUEST = np.dtype(
    [
        *integers("outputs", "target"),  # tokens emitted that the scheduler knows of; in the end
        *integers("slots"),  # tokens that have a place in memory
        *integers("input", "most"),  # tokens of its prompt; outputs that are asked for
        *integers("priority"),  # the lower, the more urgent
        *integers("prefix", "end"),  # that its next prefill need not compute; of its latest one
        *integers("shared"),  # of its slots, in the tree and locked; whole pages
        *integers("inserted", "node", "locked"),  # put into the tree; where its match or lock ends
        *integers("retracted"),  # and not admitted again yet
        *integers("finished", "aborted", "evictions"),
        *integers("middle_chunks"),  # passes in flight that do not end its prompt
        *integers("hit_tokens", "first_hit_tokens"),  # found in the tree
        *integers("highest"),  # most tokens ever computed: what lies below is computed again
        *integers("flown"),  # the last pass that it was in
        *SPANS,
        *_numbers("arrival", "admitted", "first_token", "last_token", "longest_gap"),
        *_numbers("halted", "since"),
    ]
)
"""A request and how far it is; NaN: not yet."""

EVENT = np.dtype(integers("kind", "request", "found", "computed"))
ADMITTED, RETRACTED, ABORTED, FINISHED = range(4)
"""Of an iteration: its kind, and the tokens of who was admitted."""

WAITING, DECODING, PASSING, FLYING, RELEASES, PHASES, SCRATCH = np.arange(7)
ROWS = 7
"""Lists of requests: the queue; who decodes; of the last pass, where it extends prompts; of the
pass whose tokens are not known; in the order in which they are done. Then how many of those who
decode hold so many tokens modulo a page; and space to put lists in order. These numbers are of one
type, so that what takes one of them is compiled once."""


class Space(NamedTuple):
    """One server: records, and lists by row and place."""

    requests: Records
    places: Int[np.ndarray, "row place"]
    nodes: Records
    strands: Records
    spans: Records
    events: Records


class State(NamedTuple):
    """A run's record, alone in an array, and its space."""

    runs: Records
    space: Space
