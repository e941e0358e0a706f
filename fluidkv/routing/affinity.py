"""How much affinity: weights of a rule against what it finds in the caches and how uneven it is.

The more a rule insists on the worker that has a prefix, the more it finds there, and the longer the
queue before a worker whose prefix is asked for often.
"""

from collections.abc import Sequence

from fluidkv.errors import InputError
from fluidkv.routing.affine import CacheAware, LinearScore

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)
"""Affinity over load, in the linear score."""

THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of a prompt, in SGLang's rule."""


def affinity_weights(weights: Sequence[float] = WEIGHTS) -> list[LinearScore]:
    """The linear score with affinity of these weights and load of weight 1.

    Raises:
        InputError: no weight, or one below 0.

    Examples:
        >>> from fluidkv.routing import affinity_weights
        >>> [(router.affinity, router.load) for router in affinity_weights([0.5, 2.0])]
        [(0.5, 1.0), (2.0, 1.0)]
    """
    if not weights:
        raise InputError("weights", weights, "at least one")
    return [LinearScore(weight, 1.0) for weight in weights]


def affinity_thresholds(
    thresholds: Sequence[float] = THRESHOLDS, *, balance_abs: int = 32, balance_rel: float = 1.0001
) -> list[CacheAware]:
    """SGLang's rule with these thresholds.

    Raises:
        InputError: no threshold, or one outside 0 to 1.

    Examples:
        >>> from fluidkv.routing import affinity_thresholds
        >>> [router.cache_threshold for router in affinity_thresholds([0.1, 0.5])]
        [0.1, 0.5]
    """
    if not thresholds:
        raise InputError("thresholds", thresholds, "at least one")
    return [CacheAware(each, balance_abs, balance_rel) for each in thresholds]
