"""Whom to preempt: CacheOPT's order (3.4), or another one."""

from collections.abc import Collection
from dataclasses import replace

from fluidkv.preempt.cacheopt.settings import CacheOpt
from fluidkv.preempt.cacheopt.state import Request, Server
from fluidkv.serving.engines import VLLM
from fluidkv.serving.kernel.victims import Candidate
from fluidkv.serving.rules import EngineRules


def rules_of(settings: CacheOpt) -> EngineRules:
    """The order as an engine's rules have it; all else of them is vLLM's and not looked at."""
    return replace(
        VLLM, name="cacheopt", version="", victim=settings.victim, ranges=settings.ranges
    )


def next_victim(server: Server, kept: Collection[Request]) -> Request | None:
    """Who goes next; None: nobody.

    Passed over is who gives nothing back, since all that it has is its host's or its guests', and,
    if the settings say so, who has emitted nothing since it was let in.

    Args:
        server: the state.
        kept: those that do not go.
    """
    memory, spares = server.memory, server.settings.spares_newcomers
    found = [
        request
        for request in server.running
        if request not in kept
        and not (spares and request.is_new)
        and memory.returns(request.index) > 0
    ]
    if not found:
        return None
    for request in found:
        request.blocks = server.limits.blocks_of(memory.allocated(request.index))
    urgency = sorted((request.priority, request.index) for request in found)
    victim = server.rules.victim
    read = found if victim.first_of_equals else reversed(found)  # `max` keeps the first of equals
    return max(read, key=lambda request: victim.key(_candidate(server, request, urgency)))


def _candidate(server: Server, request: Request, urgency: list[tuple[int, int]]) -> Candidate:
    """What the rule may look at."""
    ranges = server.rules.ranges
    return Candidate(
        index=request.index,
        input=request.input_length,
        max_output=request.max_output,
        predicted=request.predicted,
        outputs=request.outputs,
        computed=request.computed,
        blocks=request.blocks,
        own_blocks=request.blocks,
        rank=urgency.index((request.priority, request.index)),
        looseness=ranges.looseness(request.tbt_slo),
        range_tokens=ranges.tokens,
        evictions=request.evictions,
        seed=server.limits.seed,
        iteration=server.iteration,
    )
