"""Without CacheOPT's selection (/RSA): first come, first served, each with its whole estimate."""

from fluidkv.preempt.cacheopt.proactive import gets_ahead
from fluidkv.preempt.cacheopt.sharing import serve_who_lacks
from fluidkv.preempt.cacheopt.state import Request, Server


def serve_first_come(server: Server) -> None:
    """Who runs and lacks memory gets it, ahead too; then from the head of the queue, who fits.

    As in vLLM, nobody is let in by an iteration that preempts.
    """
    memory = server.memory
    serve_who_lacks(server, [])
    for request in server.running:
        more = server.unmet(request)
        if gets_ahead(server, request) and 0 < more <= memory.pool:
            memory.take(request.index, more)
    while server.waiting and not server.evicted and not server.full:
        request = server.waiting[0]
        slots = _grant(server, request)
        if slots > memory.pool:
            return
        memory.take(request.index, slots)
        server.enter(request, server.budget_left)


def _grant(server: Server, request: Request) -> int:
    """Its estimated demand, as far as an empty memory has it; at least its present length."""
    most = (server.limits.blocks - server.settings.reserved_blocks) * server.block
    return max(server.in_blocks(request.length), min(server.in_blocks(request.demand), most))
