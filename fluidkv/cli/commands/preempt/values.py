"""From the text of `fluidkv preempt` to rules, objectives and what swapping costs."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.cli import arguments as read
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from enum import Enum

    from fluidkv.answers.preempt.forecasts import Forecast
    from fluidkv.answers.preempt.objectives import Objectives
    from fluidkv.serving.clock import IterationClock
    from fluidkv.serving.swap import Swap

_UNITS = {"s": Fraction(1), "ms": Fraction(1, 1000), "": Fraction(1)}
_SLO = "ttft=2s, tbt=100ms, or a scale of the mean times: 1.5, or 0.5:2.5 drawn for each request"
_GIGA = 10**9


def rules(option: str, kind: "type[Enum]", texts: list[str] | None) -> "list[Enum] | None":
    """Rules by name; None: nothing was said."""
    from fluidkv.serving.rules import rule_of

    if texts is None:
        return None
    with read.as_options({kind.__name__.lower(): option}):
        return [rule_of(kind, text) for text in texts]


def forecasts(texts: list[str] | None) -> "dict[str, Forecast] | None":
    """Predictors by the text that says them; None: nothing was said."""
    from fluidkv.answers.preempt.forecasts import forecast_of

    found = {}
    for text in texts or ():
        try:
            found[text] = forecast_of(text)
        except InputError as error:
            named = error.argument in ("predictor", "predictions")
            kind = text.partition(":")[0]  # the rest is the reader's own, however long
            name = "--predictor" if named else f"--predictor {kind}:{error.argument}"
            raise InputError(name, error.value, error.allowed) from None
    return found or None


def objectives(texts: list[str] | None) -> "tuple[Objectives | None, bool]":
    """What is asked for each request, and whether in seconds."""
    from fluidkv.answers.preempt.objectives import Objectives

    times: dict[str, float] = {}  # of ttft and tbt
    seconds = False
    for text in texts or ():
        if "=" not in text:
            if len(texts or ()) > 1:
                raise InputError("--slo", text, "a scale alone, or ttft=TIME and tbt=TIME")
            return Objectives(scale=_scale(text)), False
        if "=-" in text:
            raise InputError("--slo", text, "a time above 0")
        name, bound, unit = read.metric_bound("--slo", text, needs=_SLO)
        if name not in ("ttft", "tbt") or name in times or unit not in _UNITS:
            raise InputError("--slo", text, f"{_SLO}; each once")
        if bound <= 0:
            raise InputError("--slo", text, "a time above 0")
        times[name] = float(bound * _UNITS[unit])
        seconds = seconds or bool(unit)
    found = Objectives(times.get("ttft"), times.get("tbt")) if times else None
    return found, seconds


def check_seconds(texts: list[str] | None, clock: "IterationClock | None") -> None:
    """Refuse bounds in seconds on a clock of iterations."""
    if clock is None or clock.unit != "s":
        raise InputError(
            "--slo", " ".join(texts or ()), "numbers of iterations, or --clock for seconds"
        )


def _scale(text: str) -> tuple[float, float]:
    parts = text.split(":")
    numbers = [float(read.positive_number("--slo", part, _SLO)) for part in parts]
    if len(numbers) > 2 or numbers[0] > numbers[-1]:
        raise InputError("--slo", text, "a scale above 0, or two, the least first")
    return numbers[0], numbers[-1]


@dataclass(frozen=True)
class Prices:
    """What the options say of swapping; None: nothing.

    Fields:
        per_token, gbps, profile: three ways to give a price.
        kv_bytes: of a token; pool, sweet_spot: tokens; host_memory: 10^9 bytes.
    """

    per_token: Fraction | None = None
    gbps: Fraction | None = None
    profile: str | None = None
    kv_bytes: int | None = None
    pool: int | None = None
    host_memory: Fraction | None = None
    sweet_spot: int | None = None

    def check(self) -> None:
        """Refuse what means nothing alone, and two prices."""
        prices = {
            "--swap-per-token": self.per_token,
            "--swap-gbps": self.gbps,
            "--profile": self.profile,
        }
        given = [name for name, value in prices.items() if value is not None]
        if len(given) > 1:
            raise InputError(given[1], str(prices[given[1]]), f"not together with {given[0]}")
        for name, value in (("--swap-pool", self.pool), ("--sweet-spot", self.sweet_spot)):
            read.only_with(name, value, "--swap-per-token, --swap-gbps or --profile", given)
        read.only_with("--host-memory", self.host_memory, "--kv-bytes", self.kv_bytes)
        read.only_with("--swap-gbps", self.gbps, "--kv-bytes", self.kv_bytes)
        if self.pool is not None and self._most is not None and self.pool > self._most:
            allowed = (
                f"at most {self._most:,} tokens, which {float(self.host_memory or 0):g} GB hold"
            )
            raise InputError("--swap-pool", self.pool, allowed)

    @property
    def timed(self) -> tuple[str, str] | None:
        """The option whose price is in seconds, and its text."""
        if self.gbps is not None:
            return "--swap-gbps", str(self.gbps)
        return None if self.profile is None else ("--profile", self.profile)

    @property
    def _most(self) -> int | None:
        """Tokens that the host's memory holds; None: not said."""
        if self.host_memory is None:
            return None
        return int(self.host_memory * _GIGA / (self.kv_bytes or 1))

    def swap(self, clock: "IterationClock | None") -> "tuple[Swap | None, str]":
        """What swapping costs, and what to say of it; None where nobody gave it a price.

        The sweet spot is of the profile, or of the clock and the bus, where none is given.
        """
        from fluidkv.serving.swap import Swap

        self.check()
        pool = self._most if self.pool is None else self.pool
        said = ""
        if self.profile is not None:
            found, said = _of_profile(self.profile, pool)
        elif self.gbps is not None:
            found = Swap(float((self.kv_bytes or 1) / (self.gbps * _GIGA)), pool=pool)
        elif self.per_token is not None:
            found = Swap(float(self.per_token), pool=pool)
        else:
            return None, ""
        if self.sweet_spot is not None:
            return replace(found, sweet_spot=self.sweet_spot), said
        if self.profile is None:
            found = replace(found, sweet_spot=break_even(clock, found))
        return found, said


def _of_profile(path: str, pool: int | None) -> "tuple[Swap, str]":
    """Fits to measured times, and in words where they cross."""
    from fluidkv.preempt.restoring.latency import fit_recompute, fit_swap
    from fluidkv.preempt.restoring.profile import profile_from
    from fluidkv.preempt.restoring.spots import swap_of, sweet_spots

    with read.as_options(dict.fromkeys(("profile", "seconds", "lengths", "swap"), "--profile")):
        recompute = fit_recompute(profile_from(path, column="recompute_s"))
        copies = fit_swap(profile_from(path, column="swap_s"))
        found = swap_of(recompute, copies, pool=pool)
        spots = sweet_spots(recompute, copies)
    alpha, beta, _, _ = recompute.parameters
    fit = f"recompute grows as length^{beta:.2f}" if alpha else "recompute grows as a line"
    if not spots:
        return found, f"{fit}; no length at which swapping and recomputing take the same time"
    spot = spots[-1]
    error = f" ± {spot.standard_error:,.0f}" if math.isfinite(spot.standard_error) else ""
    where = "" if spot.measured else ", beyond what was measured"
    return found, f"{fit}; sweet spot {spot.tokens:,.0f}{error} tokens (standard error){where}"


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
