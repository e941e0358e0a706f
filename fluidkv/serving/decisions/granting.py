"""How much memory a request is given when it is admitted, and who has outgrown it.

A grant is for a request's input and the outputs that it is estimated to have (CacheOPT, sections
2.1 and 3.3: its demand, M = prompt + estimated output), without the cache of the last token, which
is never stored. It is held from admission on, whether it is filled or not, in whole blocks; a
request has outgrown it when its next token needs one block more.

A grant never makes a request impossible to admit. It is at least what its present length needs, and
else at most what the memory can hold at all.
"""

from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.progress import Request
from fluidkv.serving.rules import Allocation, EngineRules, Growth, Guard


def held_blocks(rules: EngineRules, limits: Limits, request: Request, tokens: int) -> int:
    """Blocks that it holds once so many more tokens are computed; none is given back."""
    held = request.computed + tokens + rules.reserved_tokens
    return max(request.blocks, limits.blocks_of(held))


def given_blocks(rules: EngineRules, limits: Limits, request: Request, computed: int) -> int:
    """Blocks that it gets when it is admitted; `computed`: what holds the tokens it computes."""
    if rules.allocation is Allocation.BY_BLOCK:
        return computed
    least = limits.blocks_of(request.length + rules.reserved_tokens)
    wanted = limits.blocks_of(rules.peak_tokens(request.input_length, request.estimated))
    return max(least, min(wanted, most_granted(rules, limits)))


def given_at_start(rules: EngineRules, limits: Limits, table: Requests, outputs: list[int]) -> int:
    """Blocks of the first requests of a table, in all, if they run with so many outputs each."""
    columns = (table.input_length, table.output_length, table.max_output, table.arrival)
    held = 0
    for index, emitted in enumerate(outputs):
        request = Request(index, *(column[index].item() for column in columns))
        request.outputs, request.estimated = emitted, int(table.estimated_output[index])
        computed = limits.blocks_of(request.length - 1 + rules.reserved_tokens)
        held += given_blocks(rules, limits, request, computed)
    return held


def most_granted(rules: EngineRules, limits: Limits) -> int:
    """Blocks that an empty memory has for one request, beside those that must stay free."""
    free = limits.watermark_blocks if rules.guard is Guard.ALWAYS else 0
    return limits.blocks - max(free, 1 if rules.growth is Growth.ONE_FREE else 0)


def outgrown(rules: EngineRules, limits: Limits, request: Request) -> bool:
    """Whether a running request must go, since what it was given does not hold its next token."""
    if not rules.allocation.evicts_itself:
        return False
    return limits.blocks_of(request.length + rules.reserved_tokens) > request.blocks


def next_estimate(rules: EngineRules, limits: Limits, request: Request) -> int:
    """Outputs that memory is given for when it comes back; more than the memory holds are none."""
    if rules.allocation is Allocation.ESTIMATE_THEN_DOUBLE:
        more = request.input_length + 2 * request.estimated  # twice the demand, input and outputs
    else:
        more = request.outputs + limits.more_outputs
    return min(more, limits.blocks * limits.block_size)
