"""How the cache of an evicted request comes back: what is copied out, and how long copies take."""

from enum import Enum

from fluidkv.runs.inlined import inlined


class Restore(Enum):
    """How the cache of an evicted request comes back. `Limits.swap` has the numbers.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Restore
        >>> for restore in (Restore.RECOMPUTE, Restore.SWAP):
        ...     rules = replace(fk.engine("vllm"), restore=restore)
        ...     run = fk.serve(fk.Requests([4, 4], [8, 8]), fk.Server(rules, fk.Limits(16)))
        ...     print(restore.name, run.tokens.sum().item())
        ...
        RECOMPUTE 30
        SWAP 22
    """

    RECOMPUTE = "computed again"
    SWAP = "copied to the host and back, where the pool has room; else computed again"
    CHEAPER = "swapped if it is longer than the sweet spot, else computed again"


RESTORES = {restore: number for number, restore in enumerate(Restore)}
RECOMPUTE, CHEAPER = RESTORES[Restore.RECOMPUTE], RESTORES[Restore.CHEAPER]


@inlined
def copied_out(restore: int, tokens: int, held: int, pool: int, sweet_spot: int) -> bool:
    """Whether a victim's tokens go to the host, which holds so many already."""
    if restore == RECOMPUTE or held + tokens > pool:
        return False
    return restore != CHEAPER or tokens > sweet_spot


@inlined
def end_of_copies(
    start: float, per_token: float, tokens: int, per_copy: float, copies: int
) -> float:
    """Of copies one after the other: one product for all of them, as `swap` says."""
    return start + (per_token * tokens + per_copy * copies)
