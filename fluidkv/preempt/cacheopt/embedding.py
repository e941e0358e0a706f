"""A guest in memory that a host was given and does not use yet (CacheOPT, 3.3.1), derived anew.

A host has a slots and uses the first u of them. Each iteration it writes one more. A guest that
enters now writes its p prompt tokens at once and one token an iteration, and is gone after o
iterations, when the host's tip is at u + o. So it may lie in [s, s + p + o) if

    u + o + b <= s    the host stays b tokens before it to the end
    s + p + o <= a    it ends within the allocation

and such an s exists iff a - (u + o) - (p + o) >= b, which is the paper's condition. The lowest is
s = u + o + b. The paper's s0 = a - (u + o) - b is the length from there to the end of the
allocation: a place only where it is counted back from that end.

The cache of the last token is never stored, so that p + o - 1 slots would do; here, as in the
paper, a guest is lent p + o.
"""

from enum import Enum


class Place(Enum):
    """Where in the host's allocation a guest lies.

    Examples:
        >>> from fluidkv.preempt import CacheOpt, Place, serve_cacheopt
        >>> table = fk.Requests([2, 2], [20, 9], arrival=[0.0, 1.0], estimated_output=[20, 2])
        >>> for place in Place:  # the guest has more outputs than estimated, and its host grows
        ...     settings = CacheOpt(buffer=0, reserved_blocks=0, place=place)
        ...     run = serve_cacheopt(table, settings, fk.Limits(22))
        ...     print(place.name, run.evictions.values.tolist(), run.last_token.values.tolist())
        LOWEST [[0, 1]] [[20.0, 28.0]]
        HIGHEST [[0, 0]] [[20.0, 10.0]]
    """

    LOWEST = "b tokens past the host's tip when the guest is done (the paper)"
    HIGHEST = "at the end of what the host has: all that is left over is buffer"


def fits(allocated: int, used: int, prompt: int, outputs: int, buffer: int) -> bool:
    """Whether a guest may live in a host (CacheOPT, 3.3.1), all in tokens.

    Args:
        allocated, used: a and u of the host.
        prompt, outputs: p and o of the guest, which lives o iterations.
        buffer: b, tokens between the host's tip and the guest when that is done.
    """
    return allocated - (used + outputs) - (prompt + outputs) >= buffer


def start(
    allocated: int, used: int, prompt: int, outputs: int, buffer: int, place: Place = Place.LOWEST
) -> int:
    """The first slot of a guest that fits, counted from the beginning of the host's allocation."""
    if place is Place.LOWEST:
        return used + outputs + buffer
    return allocated - (prompt + outputs)
