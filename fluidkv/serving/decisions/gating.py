"""What must fit before the head of the queue is admitted, literally; and the ratio of one gate."""

from fluidkv.serving.decisions.granting import given_blocks, held_blocks
from fluidkv.serving.limits import Limits
from fluidkv.serving.progress import Computing, Request
from fluidkv.serving.rules import EngineRules, Gate, NewTokenRatio, RatioReset


def passes(
    rules: EngineRules,
    limits: Limits,
    ratio: int,
    request: Request,
    chunk: int,
    free: int,
    running: list[Request],
    admitted: Computing,
) -> bool:
    """Whether a request may enter that would compute `chunk` tokens now, with `free` blocks.

    Args:
        ratio: share of their outputs that running requests reserve, over `NewTokenRatio.SCALE`.
        running: with those admitted in this iteration, which stand in `admitted` too.
    """
    whole = held_blocks(rules, limits, request, request.length)
    match rules.gate:
        case Gate.FIRST_CHUNK:
            return held_blocks(rules, limits, request, chunk) <= free
        case Gate.FULL_INPUT:
            return given_blocks(rules, limits, request, whole) <= free
        case Gate.PEAK:
            to_come = sum(_peak(rules, limits, r) - r.blocks for r in running)
            return _peak(rules, limits, request) + to_come <= free
        case Gate.RATIO:
            # Who was admitted in this iteration reserves its outputs whole, the others a share.
            size, scale = limits.block_size, NewTokenRatio.SCALE
            reserved = sum(
                _possible(rules, r) * (scale if r in admitted else ratio) for r in running
            )
            needed = whole * size + _possible(rules, request)
            return needed * scale + reserved <= free * size * scale


def next_ratio(
    rules: EngineRules, ratio: int, running: list[Request], evicted: list[Request]
) -> int:
    """A step down in an iteration that evicts nobody; reset in one that does, and when idle."""
    start, least, decay = rules.ratio.scaled
    if not running or (evicted and rules.ratio.reset is RatioReset.START):
        return start
    if not evicted:
        return max(ratio - decay, least)
    outputs = sum(r.outputs + rules.ratio.ahead for r in running)
    most = sum(r.max_output for r in running)
    return min(NewTokenRatio.SCALE, NewTokenRatio.SCALE * outputs // most)


def _possible(rules: EngineRules, request: Request) -> int:
    """Outputs that it may still emit, as far as they are counted."""
    return min(request.max_output - request.outputs, rules.ratio.clip)


def _peak(rules: EngineRules, limits: Limits, request: Request) -> int:
    return limits.blocks_of(rules.peak_tokens(request.input_length, request.max_output))
