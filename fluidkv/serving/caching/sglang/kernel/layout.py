"""What the kernel carries from one iteration to the next, as arrays of records.

What requests say is *strands*, runs of pages that follow each other (`BlockNames`): a text is some
pages of one strand, then some of another that begins there. The tree keeps whole beginnings, so of
each strand it has the first pages, and how many is one number.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.values import POLICIES

Record = Any
Records = Any
"""A row of an array of records, whose fields are attributes in a kernel; and such an array."""

Number = int | np.integer

NONE = -1
"""No request, no node, no place."""
ROOT = 0
"""The node of nothing."""

NUMBERS = {policy: number for number, policy in enumerate(POLICIES)}
LRU, MRU, FIFO, FILO = (NUMBERS[Policy(name)] for name in ("lru", "mru", "fifo", "filo"))
LFU, SLRU = NUMBERS[Policy.LFU], NUMBERS[Policy.SLRU]

# What a pass computes.
PREFILL, MIXED, DECODE, IDLE = range(4)

# What admission says of the next request in the queue: it may be tried, memory is short, the tokens
# of this pass are spent.
GO_ON, NO_MEMORY, SPENT = range(3)

# What a call of the kernel ends with.
ENDED, FULL, TIRED, SHORT = range(4)
"""The run ends, or stops where it was asked to; there is no row left for the next window; a call
has done enough; there may be too few nodes for the next iteration."""


def _integers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.int64) for name in names]


def _numbers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.float64) for name in names]


_SETTINGS = [
    *_integers("requests", "tokens", "page", "radix", "max_running", "policy", "overlap", "clip"),
    *_integers("mixed", "jumps"),
    *_integers("clients"),  # 0: requests come at their arrival times
    *_integers("offered"),  # nobody comes by itself
    *_integers("glides"),  # passes in which nothing happens are not looked at one by one
    *_integers("in_full"),  # all that may still be emitted is reserved, instead of the ratio of it
    *_integers("known"),  # nobody ends early and no tree keeps anything
    *_integers("chunk"),  # most prompt tokens of a pass; NONE: prompts are not cut
    *_integers("prefill_tokens"),  # most of a pass
    *_integers("by_priority", "least_urgent"),  # the queue; who is retracted first
    *_numbers("ratio_first", "ratio_least", "ratio_step"),
    *_numbers("base", "per_kv", "per_prefill", "per_pair"),  # of the clock
    *_numbers("per_request", "experts", "expert_share"),
]
_STATE = [
    *_integers("iteration", "arrived", "done", "aborted"),  # aborted ones are done, too
    *_integers("stuck", "in_memory"),  # in memory: admitted and not done
    *_integers("head", "tail", "unsorted"),  # of the queue; by priority, since somebody joined it
    *_integers("decoding", "full"),  # full: nobody is admitted before one of these leaves
    *_integers("left"),  # somebody was done in the last iteration
    *_integers("chunked", "attempts"),  # the request in the middle of its prompt; to admit
    *_integers("pass_mode", "pass_size", "pass_admitted", "pass_chunked"),  # of the last iteration
    *_integers("launched", "flying"),  # passes; there is one whose tokens are not known
    *_integers(
        "flight_size", "flight_admitted"
    ),  # of that one; those who were prefilled come first
    *_integers("available", "total", "protected"),  # tokens; in the tree; of these, in use
    *_integers("tick", "heap"),  # of the tree; its nodes that may go
    *_integers("fresh", "given_back", "spare_nodes"),  # nodes never taken begin here; the others
    *_integers("glided", "spare", "held"),  # see `glide`
    *_integers("row", "open"),  # window; it is not whole
    *_integers("cost"),  # of an iteration, in about one instruction on a request
    *_numbers("now", "ratio", "flight_ended"),
    *_numbers("first_landing", "last_landing", "longest_gap"),  # of the passes glided
]
_PASS = [
    *_integers("admitted", "cut", "prompt_left", "chunk_left"),
    *_integers("at_once"),  # tokens of memory that the pass itself takes
    *_integers("releases"),  # how many are in order; NONE: not looked at
    *_integers("first", "resumed"),  # admitted without the prompt that goes on; retracted before
    *_integers("prefill", "pairs", "hits", "recomputed"),  # tokens
    *_integers("retracted", "gone", "finished", "emitted"),  # gone: aborted
    *_integers("noted"),  # events
    *_numbers("reserved"),
]
_SEEN = [
    *_integers("seen_arrived", "seen_mode", "seen_batch", "seen_running", "seen_waiting"),
    *_integers("seen_available", "seen_total", "seen_protected", "seen_full", "seen_chunked"),
    *_numbers("seen_ratio"),
]
RUN = np.dtype([*_SETTINGS, *_STATE, *_PASS, *_SEEN])
"""A run: the server's settings, where it is, the pass that is put together, what a step shows."""

REQUEST = np.dtype(
    [
        *_integers("outputs", "target"),  # tokens emitted that the scheduler knows of; in the end
        *_integers("slots"),  # tokens that have a place in memory
        *_integers("input", "most"),  # tokens of its prompt; outputs that are asked for
        *_integers("priority"),  # the lower, the more urgent
        *_integers("prefix", "end"),  # that its next prefill need not compute; of its latest one
        *_integers("shared"),  # of its slots, in the tree and locked; whole pages
        *_integers("inserted", "node", "locked"),  # put into the tree; where its match or lock ends
        *_integers("retracted"),  # and not admitted again yet
        *_integers("finished", "aborted", "evictions"),
        *_integers("middle_chunks"),  # passes in flight that do not end its prompt
        *_integers("hit_tokens", "first_hit_tokens"),  # found in the tree
        *_integers("highest"),  # most tokens ever computed: what lies below is computed again
        *_integers("flown"),  # the last pass that it was in
        *_integers("first_span", "last_span"),  # of what it says; the last is one more
        *_numbers("arrival", "admitted", "first_token", "last_token", "longest_gap"),
        *_numbers("halted", "since"),
    ]
)
"""A request and how far it is; NaN: not yet."""

NODE = np.dtype(
    [
        *_integers("parent"),  # or, of one that was given back, the next of those
        *_integers("end", "size"),  # tokens from the root to its last; its own
        *_integers("strand"),  # of its last page
        *_integers("children", "locks", "used", "born", "hits", "priority"),
        *_integers("place"),  # in the heap of those that may go; NONE: it may not
        *_integers("heap"),  # not its own: the node that stands at this place
    ]
)
"""A node of the tree."""

STRAND = np.dtype(
    [
        *_integers("parent", "base"),  # as in `names.Strands`
        *_integers("present"),  # tokens of it that are in the tree
        *_integers("deepest"),  # node that has the last of these
    ]
)
"""Pages that follow each other wherever they occur."""

SPAN = np.dtype(_integers("strand", "end"))
"""Some pages of a text, in one strand, and the tokens up to their end."""

EVENT = np.dtype(_integers("kind", "request", "found", "computed"))
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
