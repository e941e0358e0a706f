"""Which requests get memory before they ask (CacheOPT, 3.3.3)."""

from fluidkv.preempt.cacheopt.settings import Ahead
from fluidkv.preempt.cacheopt.state import Request, Server


def gets_ahead(server: Server, request: Request) -> bool:
    """Whether a running request, whose demand is not met, takes part before it has run out."""
    within = server.settings.iterations_ahead
    if not within:
        return False
    if server.settings.ahead is Ahead.COMPLETES:
        return request.predicted - request.outputs <= within
    return server.memory.allocated(request.index) - (request.length - 1) <= within
