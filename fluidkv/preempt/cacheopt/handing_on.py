"""A request that is cut inherits memory that another releases just before it runs out (3.3.2)."""

from fluidkv.preempt.cacheopt.state import Request, Server


def name_giver(server: Server, heir: Request, more: int) -> bool:
    """Promise it what it still wants of a request that completes in time; whether there is one.

    The giver has, not promised yet, at least what is wanted, and is estimated to complete before
    the heir runs out; of these the last one.
    """
    memory = server.memory
    lasts = memory.allocated(heir.index) - (heir.length - 1)  # iterations until it runs out
    found = [
        request
        for request in server.running
        if request is not heir
        and request.to_come <= lasts
        and memory.returns(request.index) - sum(memory.promised(request.index).values()) >= more
    ]
    already = any(heir.index in memory.promised(request.index) for request in server.running)
    if not found or already:
        return False
    giver = max(found, key=lambda request: request.to_come)
    memory.promise(giver.index, heir.index, more)
    return True
