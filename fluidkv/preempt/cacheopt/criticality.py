"""Which requests must run next: slack, and critical requests (CacheOPT, 3.3.2)."""

from collections.abc import Iterable

from fluidkv.preempt.cacheopt.settings import Overdue
from fluidkv.preempt.cacheopt.state import Request, Server


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
