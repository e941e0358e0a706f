"""Into memory, and what those who wait do to the tree."""

from collections.abc import Collection, Sequence
from itertools import islice

from fluidkv.prefix.policies import Policy
from fluidkv.serving.caching.sglang.pool import Pool
from fluidkv.serving.caching.sglang.seen import Happened
from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.sglang_settings import TOUCH_EVERY, TOUCHED


class Touches:
    """Now and then those who wait touch their prefixes, the head of the queue last."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._attempts = 0

    def attempt(self, waiting: Collection[Request]) -> None:
        """One more attempt to admit. Only under LRU is it of use."""
        if not waiting or self._pool.settings.policy is not Policy.LRU:
            return
        if self._attempts % TOUCH_EVERY == 0:
            for request in reversed(list(islice(waiting, TOUCHED))):
                self._pool.touch(request)
        self._attempts += 1


def enter(pool: Pool, admitted: Sequence[Request], happened: Happened, now: float) -> None:
    """They get their memory. In pages the source makes room for one more each."""
    page = pool.settings.page_size
    computes = sum(request.end - request.prefix for request in admitted)
    pool.make_room(computes + (len(admitted) * page if page > 1 else 0))
    for request in admitted:
        pool.grow(request, request.end)
        happened.recomputed += max(0, min(request.end, request.highest) - request.prefix)
        request.highest = max(request.highest, request.end)
        if request is happened.going_on:
            continue
        if request.retracted:
            happened.resumed.add(request)
            request.retracted = False
        if request.admitted_at is None:
            request.admitted_at = now
            request.first_hit_tokens = request.prefix
        request.hit_tokens += request.prefix
    happened.admitted = list(admitted)
