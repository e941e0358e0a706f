"""What must fit before the head of the queue is admitted.

A rule is a name, a sentence of help, and a function of numbers: a new one is a member of `Gate` and
the function of its name.
"""

from typing import NamedTuple

from fluidkv.runs.inlined import inlined, numbered
from fluidkv.serving.kernel.open_rules import OpenRule
from fluidkv.serving.kernel.ratio import SCALE


class Entering(NamedTuple):
    """What a rule may look at of the head of the queue and of the memory.

    Blocks that it finds in a prefix cache are not among those that it needs, but for those that
    nobody holds: these come out of the free ones, too.
    """

    free: int  # blocks, those of the watermark not among them
    chunk: int  # blocks that it needs for the tokens that it computes now
    whole: int  # for its whole current length
    granted: int  # that it is given under its allocation, which holds its length at least
    peak: int  # for its prompt and the most outputs that it may have
    to_come: int  # that those who run may take beyond what they hold, at most
    possible: int  # outputs that it may still emit, as far as they count
    reserved: int  # outputs still possible of those who run, over `SCALE`: newcomers' whole, else
    # the ratio's share
    block_size: int
    running: int  # requests
    waiting: int
    index: int  # place in order of arrival  # pyright: ignore[reportIncompatibleMethodOverride]
    input: int  # tokens of its prompt
    outputs: int  # emitted and kept
    evictions: int


class Gate(OpenRule):
    """What must fit in free memory before the head of the queue is admitted.

    A function that is added is of a `fluidkv.serving.kernel.gates.Entering`, and is true, or not 0,
    where the request may enter; whatever it says, what a request takes at once must be free.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Gate
        >>> for gate in (Gate.FULL_INPUT, Gate.FIRST_CHUNK):
        ...     limits = fk.Limits(30, max_num_batched_tokens=5)
        ...     rules = replace(fk.engine("vllm"), gate=gate)
        ...     run = fk.serve(fk.Requests([10, 20], [8, 8]), fk.Server(rules, limits))
        ...     print(run.admitted.values.tolist())
        ...
        [[0.0, 9.0]]
        [[0.0, 2.0]]
    """

    FIRST_CHUNK = "the tokens that this iteration computes"
    FULL_INPUT = "its whole current length"
    PEAK = "its whole current length, and the maximum outputs of all that run"
    RATIO = "its current length and remaining maximum outputs, past a share of everyone else's"


@inlined
def first_chunk(head: Entering) -> bool:
    return head.chunk <= head.free


@inlined
def full_input(head: Entering) -> bool:
    return head.granted <= head.free


@inlined
def peak(head: Entering) -> bool:
    return head.peak + head.to_come <= head.free


@inlined
def ratio(head: Entering) -> bool:
    needed = head.whole * head.block_size + head.possible
    return needed * SCALE + head.reserved <= head.free * head.block_size * SCALE


passes = numbered([gate.function for gate in Gate])
"""Whether the head of the queue enters under the rule of a number."""
