"""Table 3's worker with arrivals and a clock: 64 groups of 32 requests, one of each in turn."""

from fluidkv_papers.routing.instances.printed import ONE_WORKER_GROUPS
from fluidkv_papers.routing.instances.setting import Setting

THERE = 191_240
"""KV tokens where L-LRU on single tokens has the printed 6.06 %
(`routing.table-3.caches.tokens`)."""


def setting(capacity: int) -> Setting:
    """Plain service, 12 requests a second."""
    options = (("groups", ONE_WORKER_GROUPS), ("order", "round-robin"))
    return Setting(options=options, workers=1, capacity=capacity)
