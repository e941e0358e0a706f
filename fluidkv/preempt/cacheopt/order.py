"""Whom to preempt: CacheOPT's order (3.4), or another one."""

from collections.abc import Collection
from dataclasses import replace

from fluidkv.preempt.cacheopt.settings import CacheOpt
from fluidkv.preempt.cacheopt.state import Request, Server
from fluidkv.serving.decisions.choosing import first_to_go
from fluidkv.serving.engines import VLLM
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
    goes = first_to_go(server.rules, [*found], server.limits.seed, server.iteration)
    return found[[request.index for request in found].index(goes.index)]
