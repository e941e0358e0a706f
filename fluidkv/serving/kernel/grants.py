"""How much memory a request is given when it is admitted, and what it is given past that.

A grant is for a request's input and the outputs that it is estimated to have (CacheOPT, sections
2.1 and 3.3: its demand, M = prompt + estimated output), without the cache of the last token, which
is never stored. It is held from admission on, whether it is filled or not, in whole blocks; a
request has outgrown it when its next token needs one block more.

A grant never makes a request impossible to admit. It is at least what its present length needs, and
else at most what the memory can hold at all.
"""

from enum import Enum

from fluidkv.runs.inlined import inlined


class Allocation(Enum):
    """How much memory a request is given when it is admitted, and what happens past it.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Allocation
        >>> rules = replace(fk.engine("vllm"), allocation=Allocation.ESTIMATE_THEN_MORE)
        >>> requests = fk.Requests([4, 4], [8, 8], estimated_output=[8, 5])
        >>> fk.serve(requests, fk.Server(rules, fk.Limits(100))).evictions.values.tolist()
        [[0, 1]]
        >>> Allocation.ESTIMATE_THEN_MORE.evicts_itself
        True
    """

    BY_BLOCK = "what it computes, a block at a time"
    ESTIMATE_THEN_BLOCKS = "its estimated length; past it a block at a time"
    ESTIMATE_THEN_MORE = "its estimated length; past it, it is evicted and given some more (RLP)"
    ESTIMATE_THEN_DOUBLE = "its estimated length; past it, it is evicted and given twice it (S3)"

    @property
    def evicts_itself(self) -> bool:
        """Whether a request that outgrows what it was given is the one that goes."""
        return self in (Allocation.ESTIMATE_THEN_MORE, Allocation.ESTIMATE_THEN_DOUBLE)


ALLOCATIONS = {allocation: number for number, allocation in enumerate(Allocation)}
BY_BLOCK = ALLOCATIONS[Allocation.BY_BLOCK]
DOUBLE = ALLOCATIONS[Allocation.ESTIMATE_THEN_DOUBLE]


@inlined
def granted(allocation: int, computed: int, length: int, estimated: int, most: int) -> int:
    """Blocks that a request gets when it is admitted.

    Args:
        computed, length, estimated: blocks that hold what it computes now, its current length, and
            its prompt with the outputs that it is estimated to have.
        most: that an empty memory has for one request.
    """
    if allocation == BY_BLOCK:
        return computed
    return max(length, min(estimated, most))


@inlined
def next_estimate(
    allocation: int, prompt: int, outputs: int, estimated: int, more: int, memory: int
) -> int:
    """Outputs that memory is given for when it comes back; more than the memory holds are none.

    Args:
        more: that are given at a time.
        memory: its tokens.
    """
    if allocation == DOUBLE:
        return min(prompt + 2 * estimated, memory)  # twice the demand, input and outputs
    return min(outputs + more, memory)


@inlined
def outgrown(needed: int, blocks: int) -> bool:
    """Whether what it was given does not hold its next token."""
    return needed > blocks
