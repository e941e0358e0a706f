"""What the kernel carries from one iteration to the next, as arrays of records.

A request that runs is *loose* while its prompt is computed or its cache is copied back, and
afterwards *locked*: then it computes one token in every iteration that decodes, as all others that
are locked. These iterations are counted as *passes*. What is written at a locked request is how it
was `base` passes ago; nothing is written again before something happens to it, known ahead:

    finish      its last output
    no longer silent   a restart has emitted what its client has seen, and goes on
    grow        the blocks it was given are full; from then on it needs one every `block_size`
    fall        of `Gate.RATIO`: outputs that may come are fewer than are counted

So who is locked stands in a calendar, in the bucket of the pass of its next event; and how many
need a block in a pass is kept by residue. An iteration without an event costs the same however many
requests run.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.serving.counts import COUNTS, WITH_CACHE

Record = Any
Records = Any
"""A row of an array of records, whose fields are attributes in a kernel; and such an array."""

COLUMNS = len(COUNTS)
CACHED_COLUMNS = len(WITH_CACHE)
NONE = -1
"""No request, no residue, no place."""

# Marks of a request.
LOOSE, LOCKED, SILENT, FALLING, OUTGROWN, HALTED = 1, 2, 4, 8, 16, 32
RUNS = LOOSE | LOCKED

# What a call of the kernel ends with.
ENDED, FULL, TIRED = 0, 1, 2
"""All runs are done; there is no row left for the next window; a call has done enough."""

_LIMITS = (
    "index",  # among all
    "row",  # of what is found
    "table",  # that of the tables that has its requests
    "requests",
    "blocks",
    "block_size",
    "watermark",  # blocks
    "sequences",
    "budget",
    "rate",  # numerator, 0: no limit
    "rate_unit",  # denominator
    "clients",
    "started",  # requests that run at the start
    "pool",
    "sweet_spot",
    "shared",
    "more_outputs",
    "seed",
)
_RULES = (
    "victim",
    "own_victim",  # the address of a function, where the number is `OWN`
    "first_of_equals",
    "counts_blocks",  # a victim's rule looks at blocks that are held
    "counts_own",  # or at those of them that nobody else holds
    "requeue",
    "gate",
    "own_gate",
    "counts_peaks",  # a gate looks at blocks that may be taken
    "counts_possible",  # or at outputs that may come
    "restore",
    "allocation",
    "grants",  # blocks beyond those of the tokens that a request computes
    "evicts_itself",
    "reserved",
    "keeps_outputs",
    "one_free",
    "always_guarded",
    "admits_after_eviction",
    "prefill_alone",
    "newcomers_first",
    "in_turn",  # only where it matters
    "asker_stays",
    "ratio_start",
    "ratio_least",
    "ratio_decay",
    "clip",
    "ahead",
    "estimates",  # the ratio after a retraction
    "range_tokens",
    "jumps",
    "keeps_times",
    "caching",  # with a prefix cache
    "finds",  # in which nothing is shared, so that requests find themselves alone
)
_COUNTERS = (
    "iteration",
    "arrived",
    "done",
    "stuck",
    "free",  # blocks
    "credit",  # admissions that the rate limit allows, times its denominator
    "ratio",
    "cached",  # tokens of who runs
    "running",
    "low",  # of `order`: nobody stands before
    "tail",  # nor from here on
    "head",  # of the queue
    "waiting",
    "loose",
    "locked",
    "silent",  # of who is locked
    "falling",
    "outgrown",
    "possible",  # outputs still to come of who runs, as far as they are counted
    "peaks",  # blocks that who runs may hold at most
    "may_admit",
    "asker",  # who asks in its turn; NONE: all at once
    "newcomers",  # admitted in this iteration
    "newcomers_hold",
    "newcomers_possible",
    "passes",
    "modulus",  # of residues
    "steep_from",
    "steep_to",
    "held",  # tokens in the host
    "out",  # tokens of the copies out of this iteration
    "leaving",
    "longest",  # of one
    "known",  # with a cache: blocks that say something, free or not
    "distinct",  # different contents among them
    "forgotten",  # in this iteration: contents lost
    "found",  # in this iteration: tokens
    "blank",  # where nothing is shared: free blocks that say nothing; the others stand in a line
    "oldest",  # request in this line, whose blocks are taken first
    "newest",
    "noted",  # where something is: events of this iteration
    "rows",  # windows
    "cost",  # of what a call has done, in about one instruction on a request
)
_NUMBERS = (
    "base",
    "per_kv",
    "per_prefill",
    "per_pair",
    "per_request",
    "experts",
    "expert_share",
    "per_token",
    "per_copy",
    "half",  # reserved tokens + block size - 1/2
    "inverse",  # 1 / block size
    "now",
    "free_at",  # end of the last copy
)
RUN = np.dtype(
    [(name, np.int64) for name in (*_LIMITS, *_RULES, *_COUNTERS)]
    + [(name, np.float64) for name in _NUMBERS]
)
"""A run: its numbers, its rules, and its counters."""

REQUEST = np.dtype(
    [
        (name, np.int32)
        for name in (
            "input",
            "target",  # output_length
            "most",  # max_output; 0 where no rule looks at it
            "marks",
            "outputs",
            "computed",
            "blocks",
            "highest",
            "kept",  # tokens in the host
            "evictions",
            "place",  # in the running list
            "tokens",  # to compute in this iteration, if loose
            "base",  # the pass at which what stands here was true, if locked
            "event",  # the pass of its next event
            "after",  # the next in its bucket
            "residue",  # of the passes that need a block; NONE: not yet
        )
    ]
)
"""A request that has come: a line of the processor's cache."""

ASIDE = np.dtype(
    [
        ("since", np.float64),  # start of a halt
        ("ready", np.float64),  # end of its copy in
        ("estimated", np.int32),
        ("rank", np.int32),  # by priority, then arrival
        ("who", np.int64),  # has this rank
        ("predicted", np.int32),
        ("looseness", np.int32),
        ("hit_tokens", np.int64),  # tokens found in the cache
        ("first_hit_tokens", np.int64),  # of these, at its first admission
        ("line", np.int64),  # its leading blocks in the line of free ones
        ("older", np.int32),  # the request that stands before it there
        ("newer", np.int32),
    ]
)
"""What only some rules look at, of each request; what they do not look at means nothing."""

LISTS = np.dtype([("running", np.int64), ("loose", np.int64), ("waiting", np.int64)])
"""Requests by place: who runs, in order of admission, with NONE where somebody left; who of them
is loose; who waits, a ring or, by priority, a heap of ranks."""

PASS = np.dtype(
    [
        ("first", np.int64),  # of the calendar, in this pass
        ("growing", np.int64),  # who need a block in passes of this residue
        ("tick", np.float64),  # the clock after it
        ("steep", np.float64),  # gaps between two passes that no later one reaches, falling
        ("steep_at", np.int64),  # the later of the two
    ]
)
"""Of passes, modulo more than any request is locked for."""

BLOCK = np.dtype(
    [
        (name, np.int32)
        for name in (
            "after",  # in the line of free blocks, towards its end
            "before",
            "holders",
            "name",  # what it says; NONE: nothing that is known
            "newer",  # copy of what it says
            "older",
        )
    ]
)
"""A block of a prefix cache that may be taken; and behind the last one, both ends of the line."""

NAME = np.dtype([("oldest", np.int32), ("newest", np.int32)])
"""The blocks that say one thing."""

EVENT = np.dtype([(name, np.int32) for name in ("kind", "request", "found", "computed")])
ENTERED, PREEMPTED, FINISHED = range(3)
"""Of an iteration: its kind, and the tokens of who entered."""

ADMITTED, FIRST, LAST, GAP, HALT, ARRIVAL = range(6)
TIMES = 6
"""Of each request, as in `RequestTimes`."""


class Tables(NamedTuple):
    """What is known of requests before a run; only read. Empty where no rule looks at it."""

    input: Int[np.ndarray, "table request"]
    output: Int[np.ndarray, "table request"]
    most: Int[np.ndarray, "table request"]  # max_output
    estimated: Int[np.ndarray, "table request"]
    rank: Int[np.ndarray, "table request"]  # by priority, then arrival
    predicted: Int[np.ndarray, "table request"]
    looseness: Int[np.ndarray, "table request"]
    start: Int[np.ndarray, "run started"]  # outputs of who runs at the start


class Space(NamedTuple):
    """Records of the one run that a thread is at, and times of the requests of all runs.

    One value for all runs: the compiler is slow where a kernel makes arrays.
    """

    requests: Records
    aside: Records
    lists: Records
    times: Float[np.ndarray, "run time request"]  # written, where `keeps_times`
    arrival: Float[np.ndarray, "table request"]  # only read


class NamedBlocks(NamedTuple):
    """The names of each request's full blocks, one request behind the other; only read."""

    names: Int[np.ndarray, " block"]
    first: Int[np.ndarray, " request"]  # where those of a request begin
    different: int


class Blocks(NamedTuple):
    """Of the one run that is being done, with a prefix cache; records, as named."""

    line: Records
    copies: Records  # by name
    names: Int[np.ndarray, " block"]
    first: Int[np.ndarray, " request"]
    held: Int[np.ndarray, " block"]  # by each request, in the places of their names
    events: Records


class Found(NamedTuple):
    """What is written of requests, where `keeps_times`."""

    outputs: Int[np.ndarray, "run request"]
    evictions: Int[np.ndarray, "run request"]
    finished: Bool[np.ndarray, "run request"]
    hits: Int[np.ndarray, "run kind request"]  # tokens found in a cache: in all, at first


class Batch(NamedTuple):
    """Runs of one group: `runs` are records, as `RUN`."""

    runs: Records
    space: Space
    tables: Tables
    found: Found
