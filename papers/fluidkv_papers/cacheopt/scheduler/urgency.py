"""Which requests must run next (CacheOPT, 3.3.2), get memory before they ask (3.3.3), go (3.4)."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from fluidkv.serving.engines import VLLM
from fluidkv.serving.kernel.victims import Candidate
from fluidkv.serving.rules import EngineRules
from fluidkv_papers.cacheopt.scheduler.settings import Ahead, CacheOpt, Overdue
from fluidkv_papers.cacheopt.scheduler.state import Request, Server


def remaining_time(request: Request, now: float) -> float:
    """RT: until its next objective passes: of its first token, or after that of the next one."""
    if request.last_token_at is None:
        return request.arrival + request.ttft_slo - now
    return request.last_token_at + request.tbt_slo - now


def by_remaining_time(requests: Iterable[Request], now: float) -> list[Request]:
    """Ascending; of equals, who stands first."""
    return sorted(requests, key=lambda request: remaining_time(request, now))


def is_critical(server: Server, request: Request) -> bool:
    """Whether RT - T_max < epsilon, where T_max is the longest iteration so far."""
    left = remaining_time(request, server.now)
    if server.settings.overdue is Overdue.TOO_LATE and left < 0:
        return False
    return left - server.longest < server.settings.slack


def critical(server: Server) -> list[Request]:
    """N_w and N_r, in descending order of what each needs at least.

    Of those that run, only who has used up its memory is among them.
    """
    every = server.settings.preempted_are_critical
    waiting = [
        request
        for request in server.eligible()
        if (every or request.last_token_at is None) and is_critical(server, request)
    ]
    returned = [r for r in server.running if server.lacks(r) and is_critical(server, r)]
    found = by_remaining_time(waiting, server.now) + returned
    return sorted(found, key=server.basic, reverse=True)


def gets_ahead(server: Server, request: Request) -> bool:
    """Whether a running request, whose demand is not met, takes part before it has run out."""
    within = server.settings.iterations_ahead
    if not within:
        return False
    if server.settings.ahead is Ahead.COMPLETES:
        return request.predicted - request.outputs <= within
    return server.memory.allocated(request.index) - (request.length - 1) <= within


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
