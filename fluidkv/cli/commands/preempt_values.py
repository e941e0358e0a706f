"""From the text of `fluidkv preempt` to rules, objectives and what swapping costs."""

import math
from dataclasses import replace
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
    from fluidkv.answers.preempt.rules import rule_of

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
            name = "--predictor" if named else f"--predictor {text}, {error.argument}"
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


def swap(
    per_token: Fraction | None,
    gbps: Fraction | None,
    kv_bytes: int | None,
    pool: int | None,
    host_memory: Fraction | None,
    sweet_spot: int | None,
) -> "Swap | None":
    """What swapping costs; None where nobody gave it a price.

    The sweet spot is left at 0 where none is given: it follows from the clock.
    """
    from fluidkv.serving.swap import Swap

    priced = per_token is not None or gbps is not None
    prices = "--swap-per-token, --swap-gbps or --profile"
    for name, value in (("--swap-pool", pool), ("--sweet-spot", sweet_spot)):
        read.only_with(name, value, prices, priced)
    read.only_with("--host-memory", host_memory, "--kv-bytes", kv_bytes)
    read.only_with("--swap-gbps", gbps, "--kv-bytes", kv_bytes)
    if per_token is not None and gbps is not None:
        raise InputError("--swap-gbps", str(gbps), "not together with --swap-per-token")
    if not priced:
        return None
    size = Fraction(kv_bytes or 1)
    seconds = per_token if gbps is None else size / (gbps * _GIGA)
    found = Swap(float(seconds or 0), pool=pool, sweet_spot=sweet_spot or 0)
    if host_memory is None:
        return found
    most = int(host_memory * _GIGA / size)
    if pool is not None and pool > most:
        allowed = f"at most {most:,} tokens, which {float(host_memory):g} GB hold"
        raise InputError("--swap-pool", pool, allowed)
    return replace(found, pool=most if pool is None else pool)


def break_even(clock: "IterationClock | None", swap: "Swap") -> int:
    """Tokens from which copying there and back is faster than computing again on this clock."""
    from fluidkv.serving.swap import UNLIMITED

    each = (clock.per_prefill_token if clock else 0.0) - 2 * swap.per_token
    return math.ceil(2 * swap.per_copy / each) if each > 0 else UNLIMITED
