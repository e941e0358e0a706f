"""Memory of the host, and the bus to it: where an evicted request's cache may wait.

What `Restore.SWAP` and `Restore.CHEAPER` mean, in every engine here:

- A victim is copied out if what it has computed fits in the pool beside what is there (and, with
  CHEAPER, is longer than the sweet spot); else it is computed again. A prompt that is half computed
  is copied, too, and goes on where it was.
- Who is evicted loses its blocks at once, and others may hold them; so an iteration begins to
  compute when the copies out of its victims are done.
- Who was copied out is admitted like the others, but takes the blocks of its whole length at once,
  under every gate, and nothing of the token budget. Its copy in is queued behind the copies out. It
  counts as running, and computes nothing before the first iteration that is scheduled at or after
  the end of its copy. An engine with nothing else to do waits for the earliest one.
- Its tokens stay in the pool until it is back. If it is evicted before, it returns to the queue and
  nothing is copied out; the copy under way is not called off.
- On a shared bus copies go one after the other, in the order in which they were queued. On a bus of
  its own each begins when its iteration does and lasts as if it were alone, as in the paper.

The k-th copy of an iteration ends at start + (per_token (tokens up to it) + per_copy k): one
product of integers in every engine, so that they agree to the bit.
"""

import sys
from dataclasses import dataclass

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count

UNLIMITED = 2**30
"""Stands for no cap where an engine wants a number; above any count of requests or tokens here."""


@dataclass(frozen=True)
class Swap(Record):
    """What it costs to copy a cache to the host and back (CacheOPT, section 3.5: L_s).

    Args:
        per_token: time to copy a token one way, at least 0, on the run's clock.
        per_copy: time that a copy takes besides, at least 0.
        pool: tokens that the host can hold; None: no limit.
        sweet_spot: tokens; with `Restore.CHEAPER` only who holds more is swapped.
        shared: one copy after the other, as on one bus; False: each as if it were alone, which is
            what the paper's model says.

    Raises:
        InputError: a number outside of what is said here.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Restore, Swap
        >>> rules = replace(fk.engine("vllm"), restore=Restore.SWAP)
        >>> for per_token in (0.0, 5.0):
        ...     limits = fk.Limits(16, swap=Swap(per_token))
        ...     run = fk.serve(fk.Requests([4, 4], [8, 8]), fk.Server(rules, limits))
        ...     print(run.evictions.sum().item(), run.last_token.max().item())
        ...
        1 12.0
        1 91.0
    """

    per_token: float = 0.0
    per_copy: float = 0.0
    pool: int | None = None
    sweet_spot: int = 0
    shared: bool = True

    def __post_init__(self) -> None:
        for name in ("per_token", "per_copy"):
            value = getattr(self, name)
            fine = isinstance(value, int | float) and not isinstance(value, bool)
            if not fine or not 0 <= value <= sys.float_info.max:
                raise InputError(name, value, "a finite number of at least 0")
            object.__setattr__(self, name, float(value))
        if self.pool is not None:
            object.__setattr__(self, "pool", count("pool", self.pool, least=0))
        object.__setattr__(self, "sweet_spot", count("sweet_spot", self.sweet_spot, least=0))

    @property
    def tokens(self) -> int:
        """That the host can hold; a number above all others where it has no limit."""
        return UNLIMITED if self.pool is None else min(self.pool, UNLIMITED)
