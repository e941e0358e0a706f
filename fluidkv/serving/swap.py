"""Memory of the host, and the bus to it: where an evicted request's cache may wait."""

import sys
from dataclasses import dataclass

from fluidkv.errors import InputError
from fluidkv.runs.checks import count

UNLIMITED = 2**30
"""Stands for no cap where an engine wants a number; above any count of requests or tokens here."""


@dataclass(frozen=True)
class Swap:
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
        if not isinstance(self.shared, bool):
            raise InputError("shared", self.shared, "True or False")

    @property
    def tokens(self) -> int:
        """That the host can hold; a number above all others where it has no limit."""
        return UNLIMITED if self.pool is None else min(self.pool, UNLIMITED)
