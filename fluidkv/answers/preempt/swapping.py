"""What swapping costs, as options say it: a price, a bus, or measured times."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.server_options import ABOVE_0
from fluidkv.errors import InputError
from fluidkv.questions.kinds import Text, Whole
from fluidkv.questions.options import Made, Option, as_options, only_with

if TYPE_CHECKING:
    from fluidkv.report.page import Row
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.swap import Swap

_GIGA = 10**9
_option = partial(Option, panel="Swapping")
_TOKENS = Whole(0, 10**12)
_PER_TOKEN = _option(
    "--swap-per-token S",
    ABOVE_0,
    "Time to copy the KV of a token to the host or back; iterations without --clock.",
)
_GBPS = _option(
    "--swap-gbps G",
    ABOVE_0,
    "Bandwidth of the bus to the host, 10^9 bytes per second; with --kv-bytes and --clock.",
)
_POOL = _option(
    "--swap-pool TOKENS",
    _TOKENS,
    r"Tokens that the host can hold. \[default: what --host-memory holds, else no limit]",
)
_HOST = _option(
    "--host-memory GB", ABOVE_0, "Memory of the host for the pool, 10^9 bytes; with --kv-bytes."
)
_SPOT = _option(
    "--sweet-spot TOKENS",
    _TOKENS,
    r"Tokens from which --restore cheaper swaps. \[default: of the profile, or clock and bus]",
)
_PROFILE = _option(
    "--profile FILE",
    Text(),
    "CSV with the columns length, recompute_s and swap_s (out and in): measured times, to which "
    "the price and the sweet spot are fitted.",
)


@dataclass(frozen=True)
class Prices:
    """What the options say of swapping; None: nothing.

    Fields:
        per_token, gbps, profile: three ways to give a price.
        pool, sweet_spot: tokens; host_memory: 10^9 bytes.
        memory: says the bytes of a token.
    """

    per_token: Annotated[Fraction | None, _PER_TOKEN] = None
    gbps: Annotated[Fraction | None, _GBPS] = None
    pool: Annotated[int | None, _POOL] = None
    host_memory: Annotated[Fraction | None, _HOST] = None
    sweet_spot: Annotated[int | None, _SPOT] = None
    profile: Annotated[str | None, _PROFILE] = None
    memory: Annotated[LoggedMemory, Made(LoggedMemory)] = UNSAID_MEMORY

    def __post_init__(self) -> None:
        """Refuse what means nothing alone, and two prices."""
        prices = {
            "--swap-per-token": self.per_token,
            "--swap-gbps": self.gbps,
            "--profile": self.profile,
        }
        named = [name for name, value in prices.items() if value is not None]
        if len(named) > 1:
            raise InputError(named[1], str(prices[named[1]]), f"not together with {named[0]}")
        kv_bytes = self.memory.per_token()
        for name, value in (("--swap-pool", self.pool), ("--sweet-spot", self.sweet_spot)):
            only_with(name, value, "--swap-per-token, --swap-gbps or --profile", named)
        only_with("--host-memory", self.host_memory, "--kv-bytes", kv_bytes)
        only_with("--swap-gbps", self.gbps, "--kv-bytes", kv_bytes)
        if self.pool is not None and self._most is not None and self.pool > self._most:
            allowed = (
                f"at most {self._most:,} tokens, which {float(self.host_memory or 0):g} GB hold"
            )
            raise InputError("--swap-pool", self.pool, allowed)

    @property
    def _most(self) -> int | None:
        """Tokens that the host's memory holds; None: it is not known."""
        if self.host_memory is None:
            return None
        return int(self.host_memory * _GIGA / (self.memory.per_token() or 1))

    def check(self, clock: "IterationClock | None", restores: Iterable[Enum]) -> None:
        """Refuse a price in seconds on a clock of iterations, and swaps without a price."""
        from fluidkv.serving.rules import Restore

        timed = ("--swap-gbps", self.gbps) if self.gbps else ("--profile", self.profile)
        if timed[1] is not None and (clock is None or clock.unit != "s"):
            raise InputError(timed[0], str(timed[1]), "together with a --clock in seconds")
        swaps = [each.name.lower() for each in restores if each is not Restore.RECOMPUTE]
        if swaps and self.per_token is None and timed[1] is None:
            allowed = "together with a price: --swap-per-token, --swap-gbps or --profile"
            raise InputError("--restore", ", ".join(swaps), allowed)

    def swap(self, clock: "IterationClock | None") -> "tuple[Swap, list[Row]]":
        """What swapping costs, and a row on a profile.

        The sweet spot is of the profile, or of the clock and the bus, where no option says it.
        """
        from fluidkv.serving.swap import Swap

        pool = self._most if self.pool is None else self.pool
        if self.profile is not None:
            swap, text = _of_profile(self.profile, pool)
            rows: list[Row] = [("profile", text)]
        elif self.gbps is None and self.per_token is None:
            return Swap(), []
        else:
            kv_bytes = self.memory.per_token() or 1
            copied = self.per_token or kv_bytes / ((self.gbps or 1) * _GIGA)
            swap, rows = Swap(float(copied), pool=pool), []
            swap = replace(swap, sweet_spot=break_even(clock, swap))
        if self.sweet_spot is not None:
            swap = replace(swap, sweet_spot=self.sweet_spot)
        return swap, rows


def _of_profile(path: str, pool: int | None) -> "tuple[Swap, str]":
    """Fits to measured times, and in words where they cross."""
    from fluidkv.preempt.restoring.latency import fit_recompute, fit_swap
    from fluidkv.preempt.restoring.profile import profile_from
    from fluidkv.preempt.restoring.spots import swap_of, sweet_spots

    with as_options(dict.fromkeys(("profile", "seconds", "lengths", "swap"), "--profile")):
        recompute = fit_recompute(profile_from(path, column="recompute_s"))
        copies = fit_swap(profile_from(path, column="swap_s"))
        swap = swap_of(recompute, copies, pool=pool)
        spots = sweet_spots(recompute, copies)
    alpha, beta, _, _ = recompute.parameters
    fit = f"recompute grows as length^{beta:.2f}" if alpha else "recompute grows as a line"
    if not spots:
        return swap, f"{fit}; no length at which swapping and recomputing take the same time"
    spot = spots[-1]
    error = f" ± {spot.standard_error:,.0f}" if math.isfinite(spot.standard_error) else ""
    where = "" if spot.measured else ", beyond what was measured"
    return swap, f"{fit}; sweet spot {spot.tokens:,.0f}{error} tokens (standard error){where}"


def break_even(clock: "IterationClock | None", swap: "Swap") -> int:
    """Tokens from which copying there and back is faster than computing again on this clock."""
    from fluidkv.serving.swap import UNLIMITED

    if clock is None:
        return UNLIMITED
    # d3 / 2 S^2 + (d2 + d3 / 2 - 2 per_token) S - 2 per_copy changes its sign at most once.
    square = clock.per_prefill_pair / 2
    line = clock.per_prefill_token + square - 2 * swap.per_token
    root = math.sqrt(line**2 + 8 * square * swap.per_copy)
    if square:
        return min(math.ceil((root - line) / (2 * square)), UNLIMITED)
    return math.ceil(2 * swap.per_copy / line) if line > 0 else UNLIMITED
