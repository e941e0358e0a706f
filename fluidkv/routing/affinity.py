"""How much affinity: weights of a rule against what it finds in the caches and how uneven it is.

The more a rule insists on the worker that has a prefix, the more it finds there, and the longer the
queue before a worker whose prefix is asked for often.
"""

from collections.abc import Sequence

from fluidkv.errors import InputError
from fluidkv.routing.affine import LinearScore

WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)
"""Affinity over load, in the linear score."""


def affinity_weights(weights: Sequence[float] = WEIGHTS) -> list[LinearScore]:
    """The linear score with affinity of these weights and load of weight 1.

    Raises:
        InputError: no weight, or one below 0.

    Examples:
        >>> from fluidkv.routing.affinity import affinity_weights
        >>> [(router.affinity, router.load) for router in affinity_weights([0.5, 2.0])]
        [(0.5, 1.0), (2.0, 1.0)]
    """
    if not weights:
        raise InputError("weights", weights, "at least one")
    return [LinearScore(weight, 1.0) for weight in weights]
