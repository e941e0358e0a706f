"""The clock of a server: as it is written, and as plain values with how far off it may be."""

from typing import Any

from fluidkv.answers.served.clock_from import FROM, clock_from, log_behind
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, rational
from fluidkv.questions.options import as_options
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.against import caveat_of
from fluidkv.serving.machines.named import known, named_clock

_NUMBERS = "D0[:D1[:D2[:D3]]] in seconds, such as 0.015:2.6e-7:8.7e-5, D0 above 0"


def read_clock(argument: str, text: str) -> IterationClock:
    """Numbers, or a name: of `CLOCKS`, or MODEL@GPU; or "from LOG", which is fitted to a log.

    Raises:
        InputError: neither; for a name with those near it; what `clock_from` refuses.

    Examples:
        >>> from fluidkv.answers.served.clock import read_clock
        >>> read_clock("clock", "0.015:2.6e-7").base
        0.015
        >>> round(read_clock("clock", "from sample:vllm-rtx4090").base, 4)
        0.0149
    """
    if text.startswith(FROM):
        with as_options({"clock_from": argument, "source": argument}):
            return clock_from(text.removeprefix(FROM)).clock
    numbers = [rational(part, FEW_DIGITS) for part in text.split(":")]
    values = [float(value) for value in numbers if value is not None]
    if len(values) < len(numbers) and not (text[:1].isdigit() and ":" in text):
        try:
            return named_clock(text).clock
        except InputError as error:
            more = "" if "@" in text else f"; or numbers, {_NUMBERS}"
            raise InputError(argument, text, error.allowed + more) from None
    try:
        if len(values) == len(numbers) <= 4:
            base, per_kv, per_prefill, per_pair = (*values, 0.0, 0.0, 0.0)[:4]
            return IterationClock(base, per_kv, per_prefill, per_prefill_pair=per_pair)
    except InputError:
        pass  # said below
    raise InputError(argument, text, f"{_NUMBERS}; or a name")


CLOCK_KEYS = (
    ("unit", "text", "`s`, or `iteration`"),
    ("base", "time", "of an iteration without tokens"),
    ("per_kv_token", "time", "more for each KV token"),
    ("per_prefill_token", "time", "more for each token of prefill"),
    ("per_prefill_pair", "time", "for each pair of such a token and one that is not behind it"),
    ("per_request", "time", "more for each request that decodes"),
    ("experts", "time", "more for reading all experts"),
    ("expert_share", "share", "of the experts: those that one token goes through"),
    ("name", "text", "if it is the clock of a run, or has a name: null without one"),
    ("kind", "text", "if it has a name: how its numbers came about"),
    ("caveat", "text", "if it is modelled, or of another run's log: how far off they may be"),
)
"""Keys of `clock_values`, with units and what they are."""


def clock_values(clock: IterationClock) -> dict[str, Any]:
    """For JSON; `name`, `kind` and `caveat` are None of a clock without a name from here."""
    named, found = known(clock), log_behind(clock)
    if found is not None:
        name, kind, caveat = clock.name, "measured", found.caveat
    else:
        name, kind = (None, None) if named is None else (named.name, named.kind)
        caveat = (named and caveat_of(named)) or None
    return {
        "unit": clock.unit,
        "base": clock.base,
        "per_kv_token": clock.per_kv_token,
        "per_prefill_token": clock.per_prefill_token,
        "per_prefill_pair": clock.per_prefill_pair,
        "per_request": clock.per_request,
        "experts": clock.experts,
        "expert_share": clock.expert_share,
        "name": name,
        "kind": kind,
        "caveat": caveat,
    }
