"""The clock of a point: a name, numbers, or none for the theory's, where an iteration lasts 1."""

from functools import cache

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Number
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.named import named_clock

_NUMBERS = "D0[:D1[:D2[:D3]]] in seconds, such as 0.015:2.6e-7:8.7e-5, or a name"


@cache
def clock_of(text: str | None) -> IterationClock:
    """The clock of a setting.

    Raises:
        InputError: neither numbers nor a name that is known.
    """
    if text is None:
        return IterationClock.iterations()
    parts = text.split(":")
    try:
        numbers = [Number(least=0).read("clock", part) for part in parts]
    except InputError:
        if text[:1].isdigit():
            raise InputError("clock", text, _NUMBERS) from None
        return named_clock(text).clock
    if len(numbers) > 4:
        raise InputError("clock", text, _NUMBERS)
    base, per_kv, per_prefill, per_pair = (*numbers, 0.0, 0.0, 0.0)[:4]
    return IterationClock(base, per_kv, per_prefill, per_prefill_pair=per_pair)
