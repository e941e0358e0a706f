"""Values by name, as users write them: NAME or NAME:PARAMETER=VALUE,..."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from fluidkv.errors import InputError
from fluidkv.text import nearest

Value = TypeVar("Value")


def named(argument: str, text: str, known: Mapping[str, Value]) -> Value:
    """The value of a name, with the parameters that the text changes.

    Args:
        argument: what the caller's user calls it.
        text: "cache-aware:cache_threshold=0.3,balance_abs=64".
        known: dataclasses, each as it is without parameters.

    Raises:
        InputError: an unknown name or parameter, and what the dataclass refuses.
    """
    name, colon, rest = text.partition(":") if isinstance(text, str) else (text, "", "")
    if name not in known:
        raise InputError(argument, text, nearest(name, known))
    value: Any = known[name]
    usual = [
        field.name
        for field in fields(value)
        if field.init and isinstance(getattr(value, field.name), int | float | str)
    ]
    given: dict[str, int | float | str] = {}
    for part in rest.split(",") if colon else ():
        parameter, equals, said = part.partition("=")
        if not equals or parameter not in usual or parameter in given:
            allowed = (
                f"PARAMETER=VALUE, each once, of {', '.join(usual)}" if usual else "no parameters"
            )
            raise InputError(argument, text, f"{name} with {allowed}")
        given[parameter] = _value(said)
    return replace(value, **given)


def _value(text: str) -> int | float | str:
    for reads in (int, float):
        try:
            return reads(text)
        except ValueError:
            continue
    return text
