"""Memory in an iteration: critical requests, all others, those that still lack some (3.3.2).

Without CacheOPT's selection (/RSA): first come, first served, each with its whole estimate.
"""

from fluidkv_papers.cacheopt.scheduler.cases import Wish, shared
from fluidkv_papers.cacheopt.scheduler.embedding import Hosts
from fluidkv_papers.cacheopt.scheduler.settings import Ahead
from fluidkv_papers.cacheopt.scheduler.state import Request, Server
from fluidkv_papers.cacheopt.scheduler.urgency import (
    by_remaining_time,
    critical,
    gets_ahead,
    next_victim,
    remaining_time,
)


def give_critical(server: Server, hosts: Hosts) -> list[Request]:
    """The critical ones get what they need at least: embedded, of the pool, of the preempted.

    Who runs may take from the reservation before anybody is preempted.

    Returns:
        N_w and N_r.
    """
    found = critical(server)
    left: list[Request] = []
    for request in found:
        if not _embedded(server, hosts, request):
            left.append(request)
    for request in left:
        short = server.memory.pool < sum(map(server.basic, left))
        if short and request in server.running and server.memory.reserve >= server.block:
            server.memory.take_reserved(request.index, server.block)
    left = [r for r in left if r not in server.running or server.lacks(r)]
    demanded = sum(map(server.basic, left))  # D
    while server.memory.pool < demanded and not server.full:
        goes = next_victim(server, found)
        if goes is None:
            break
        server.preempt(goes)
    hosts.changed()
    for request in left:
        _take(server, request, server.basic(request))
    return found


def share_rest(server: Server, hosts: Hosts, critical: list[Request]) -> None:
    """What is left goes to all whose demand is not met, and to those whom it lets in."""
    returned = _returned(server, hosts, critical)
    wishes = {request: _wish(server, request) for request in returned}
    least = sum(wish.least for wish in wishes.values())
    seats, room = server.limits.sequences - len(server.running), True
    budget = server.budget_left
    for request in by_remaining_time(server.eligible(), server.now):
        tokens = server.to_compute(request)
        if budget <= 0 or not seats:
            break
        if not (tokens <= budget and _embedded(server, hosts, request)):
            wish = _wish(server, request) if room else None
            if wish is None or least + wish.least > server.memory.pool:
                room = False  # nor is there for those behind it
                continue
            wishes[request] = wish
            least += wish.least
        seats, budget = seats - 1, budget - tokens
    if least > server.memory.pool:
        return  # not even who runs gets a block each: see `serve_who_lacks`
    amounts = shared(
        server.memory.pool, list(wishes.values()), server.settings.weights, server.block
    )
    for request, amount in zip(wishes, amounts, strict=True):
        _take(server, request, amount)
    for request, amount in zip(wishes, amounts, strict=True):
        if amount < wishes[request].most and server.settings.hands_on:
            _name_giver(server, request, wishes[request].most - amount)
    if all(wish.most == a for wish, a in zip(wishes.values(), amounts, strict=True)):
        _fill_up(server)


def serve_who_lacks(server: Server, kept: list[Request]) -> None:
    """Who has used up its memory gets a block: of the pool, the reservation, the preempted.

    Where nobody else can go, it goes itself.

    Args:
        server: the state.
        kept: who is not preempted for it.
    """
    memory = server.memory
    for request in list(server.running):
        while request in server.running and server.lacks(request):
            if memory.pool >= server.block:
                memory.take(request.index, server.block)
            elif memory.reserve >= server.block:
                memory.take_reserved(request.index, server.block)
            else:
                server.preempt(next_victim(server, kept) or request)


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


def _returned(server: Server, hosts: Hosts, critical: list[Request]) -> list[Request]:
    """Who runs and takes part: with a demand not met, if critical, out of memory, or ahead."""
    found: list[Request] = []
    for request in server.running:
        if not _most(server, request):
            continue
        asks = server.lacks(request) > 0 or gets_ahead(server, request)
        if request in critical or (asks and not _embedded(server, hosts, request)):
            found.append(request)
    return found


def _wish(server: Server, request: Request) -> Wish:
    most = _most(server, request)
    if request.index in server.memory.holders:
        least = server.block if server.lacks(request) else 0
    else:
        least = min(server.basic(request), most)
    left = remaining_time(request, server.now)
    return Wish(least, max(least, most), left, request.input_length, request.predicted)


def _most(server: Server, request: Request) -> int:
    """Its unmet demand. Who outgrew its estimate, and is to get more ahead, wants a block."""
    exhausts = server.settings.ahead is Ahead.EXHAUSTS and gets_ahead(server, request)
    outgrows = request in server.running and request.outputs >= request.estimated and exhausts
    return server.unmet(request) or (server.block if outgrows else 0)


def _embedded(server: Server, hosts: Hosts, request: Request) -> bool:
    """Embed it for the rest of its life; who waits enters with that, if all its input fits in.

    Who is copied back is not: when it would be done is not known.
    """
    life = request.to_come
    if request in server.running:
        return hosts.embed(request, life, max(server.unmet(request), life))
    if request.kept or server.full or request.length > server.budget_left:
        return False
    if not hosts.embed(request, life, request.length + life):
        return False
    server.enter(request, server.budget_left)
    return True


def _take(server: Server, request: Request, tokens: int) -> None:
    """Of the pool, if it is there; who waits enters with it."""
    runs = request in server.running
    if not tokens or tokens > server.memory.pool or (not runs and server.full):
        return
    server.memory.take(request.index, tokens)
    if not runs:
        server.enter(request, server.budget_left)


def _fill_up(server: Server) -> None:
    """Case 2: more enter past the token budget, until memory is full or an objective would pass.

    An objective that passes without them does not count.
    """
    if not server.settings.beyond_budget:
        return
    for request in by_remaining_time(server.eligible(), server.now):
        wish = _wish(server, request)
        seats = server.limits.sequences - len(server.running)
        if not seats or wish.most > server.memory.pool or not _in_time(server, request):
            return
        server.memory.take(request.index, wish.most)
        server.enter(request, request.length)


def _in_time(server: Server, newcomer: Request) -> bool:
    """Whether the iteration is short enough for all in it once the newcomer is, too."""
    without, within = server.duration(), server.duration(newcomer)
    times = (remaining_time(r, server.now) for r in (*server.computing, newcomer))
    return all(within <= left for left in times if without <= left)


def _name_giver(server: Server, heir: Request, more: int) -> bool:
    """Promise it what it still wants of a request that completes in time; whether there is one.

    So a request that is cut inherits memory that another releases just before it runs out.

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


def _grant(server: Server, request: Request) -> int:
    """Its estimated demand, as far as an empty memory has it; at least its present length."""
    most = (server.limits.blocks - server.settings.reserved_blocks) * server.block
    return max(server.in_blocks(request.length), min(server.in_blocks(request.demand), most))
