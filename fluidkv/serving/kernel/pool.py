"""vLLM's pool of blocks in constant time a block: the line of free ones, and what each says.

Each text has a number (`BlockNames`). The line is a ring, whose place behind the last block is both
of its ends. Blocks that say the same are a list, the oldest first.
"""

from typing import Any

from fluidkv.runs.inlined import inlined
from fluidkv.serving.kernel.layout import NONE, Blocks, Record, Records
from fluidkv.serving.kernel.linked import append, remove
from fluidkv.serving.kernel.memory import blocks_of


@inlined
def clear(run: Record, blocks: Blocks) -> None:
    """All blocks are free, in their order, and say nothing."""
    line, size = blocks.line, blocks.line.size
    for block in range(size):
        line[block].after = block + 1 if block + 1 < size else 0
        line[block].before = block - 1 if block > 0 else size - 1
        line[block].holders = 0
        line[block].name = line[block].newer = line[block].older = NONE
    for name in range(blocks.copies.size):
        blocks.copies[name].oldest = blocks.copies[name].newest = NONE
    run.known = run.distinct = 0


@inlined
def look_up(run: Record, request: Record, blocks: Blocks, r: int) -> tuple[Any, Any]:
    """Leading blocks of a request that are known, one token left to compute; it changes nothing.

    Returns:
        How many, and how many of them nobody holds.
    """
    found, unheld = 0, 0
    most = (request.input + request.outputs - 1) // run.block_size
    while found < most:
        block = blocks.copies[blocks.names[blocks.first[r] + found]].oldest
        if block == NONE:
            break
        unheld += blocks.line[block].holders == 0
        found += 1
    return found, unheld


@inlined
def share(run: Record, request: Record, blocks: Blocks, r: int, found: int) -> None:
    """It holds the blocks that were found, with all that they say."""
    at = blocks.first[r]
    for place in range(found):
        block = blocks.copies[blocks.names[at + place]].oldest
        if blocks.line[block].holders == 0:
            _unlink(run, blocks.line, block)
        blocks.line[block].holders += 1
        blocks.held[at + place] = block
    request.blocks = found
    request.computed = found * run.block_size


@inlined
def compute(run: Record, request: Record, blocks: Blocks, r: int, tokens: int) -> None:
    """It takes the blocks of its next tokens; those that will be full are known at once."""
    at, computed, size = blocks.first[r], request.computed, run.block_size
    for place in range(request.blocks, blocks_of(run, computed + tokens)):
        blocks.held[at + place] = _take(run, blocks)
        request.blocks = place + 1
    for place in range(computed // size, (computed + tokens) // size):
        _write(run, blocks, blocks.held[at + place], blocks.names[at + place])
    request.tokens = tokens


@inlined
def release(run: Record, request: Record, blocks: Blocks, r: int) -> None:
    """One holder less for each of its blocks, from its last to its first.

    What nobody holds any more is free: at the front of the line if it says nothing, else at its
    end.
    """
    line, ends = blocks.line, blocks.line.size - 1
    for place in range(request.blocks - 1, -1, -1):
        block = blocks.held[blocks.first[r] + place]
        line[block].holders -= 1
        if line[block].holders == 0:
            _link(run, line, block, ends if line[block].name == NONE else line[ends].before)
    request.blocks = 0


@inlined
def own_blocks(request: Record, blocks: Blocks, r: int) -> int:
    """How many of its blocks nobody else holds."""
    own = 0
    for place in range(request.blocks):
        own += blocks.line[blocks.held[blocks.first[r] + place]].holders == 1
    return own


@inlined
def note(run: Record, memory: Any, kind: int, r: int, found: int, computed: int) -> None:
    """An event of this iteration; `memory`: what has `events`, here and in SGLang's kernel."""
    event = memory.events[run.noted]
    event.kind, event.request, event.found, event.computed = kind, r, found, computed
    run.noted += 1


@inlined
def _take(run: Record, blocks: Blocks) -> Any:
    """The first of the line; what it said is forgotten."""
    line = blocks.line
    block = line[line.size - 1].after
    _unlink(run, line, block)
    line[block].holders = 1
    name = line[block].name
    if name == NONE:
        return block
    remove(blocks.copies[name], line, block)
    if blocks.copies[name].oldest == NONE:
        run.distinct -= 1
    line[block].name = NONE
    run.known -= 1
    run.forgotten += 1
    return block


@inlined
def _write(run: Record, blocks: Blocks, block: Any, name: Any) -> None:
    """It is full, and says this from now on."""
    blocks.line[block].name = name
    run.distinct += blocks.copies[name].newest == NONE
    append(blocks.copies[name], blocks.line, block)
    run.known += 1


@inlined
def _unlink(run: Record, line: Records, block: int) -> None:
    after, before = line[block].after, line[block].before
    line[before].after, line[after].before = after, before
    run.free -= 1


@inlined
def _link(run: Record, line: Records, block: Any, behind: Any) -> None:
    after = line[behind].after
    line[behind].after, line[block].before = block, behind
    line[block].after, line[after].before = after, block
    run.free += 1
