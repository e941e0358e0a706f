"""Routers by name, as users write them: NAME or NAME:PARAMETER=VALUE,..."""

from fluidkv.answers.named import named
from fluidkv.routing import (
    LBGR,
    SGLANG,
    SGLANG_0_4_6,
    LeastLoaded,
    LinearCost,
    LinearScore,
    LoadAware,
    PowerOfTwo,
    Random,
    RoundRobin,
    Router,
)

ROUTERS: dict[str, Router] = {
    "random": Random(),
    "round-robin": RoundRobin(),
    "least-loaded": LeastLoaded(),
    "two-choices": PowerOfTwo(),
    "cache-aware": SGLANG,
    "cache-aware-0.4.6": SGLANG_0_4_6,
    "linear-score": LinearScore(),
    "load-aware": LoadAware(),
    "linear-cost": LinearCost(),
    "lbgr": LBGR(),
}
"""All that are compared where nobody says which; each as its source has it by default.

>>> from fluidkv.answers import ROUTERS
>>> list(ROUTERS)[:4]
['random', 'round-robin', 'least-loaded', 'two-choices']
>>> ROUTERS["cache-aware"].cache_threshold
0.3
"""


def router_of(text: str) -> Router:
    """A router from its name and parameters: "cache-aware:cache_threshold=0.3,balance_abs=64".

    Raises:
        InputError: an unknown name or parameter, and what the router refuses.

    Examples:
        >>> from fluidkv.answers import router_of
        >>> router_of("cache-aware:cache_threshold=0.5,balance_abs=64").cache_threshold
        0.5
    """
    return named("router", text, ROUTERS)
