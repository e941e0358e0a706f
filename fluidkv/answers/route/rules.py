"""Routers by name, as users write them: NAME or NAME:PARAMETER=VALUE,..."""

from dataclasses import fields, replace

from fluidkv.errors import InputError
from fluidkv.routing import (
    LBGR,
    SGLANG,
    SGLANG_0_4_6,
    LeastLoaded,
    LinearCost,
    LinearScore,
    LoadAware,
    PowerOfTwo,
    Random,
    RoundRobin,
    Router,
)

ROUTERS: dict[str, Router] = {
    "random": Random(),
    "round-robin": RoundRobin(),
    "least-loaded": LeastLoaded(),
    "two-choices": PowerOfTwo(),
    "cache-aware": SGLANG,
    "cache-aware-0.4.6": SGLANG_0_4_6,
    "linear-score": LinearScore(),
    "load-aware": LoadAware(),
    "linear-cost": LinearCost(),
    "lbgr": LBGR(),
}
"""All that are compared where nobody says which; each as its source has it by default."""


def router_of(text: str) -> Router:
    """A router from its name and parameters: "cache-aware:cache_threshold=0.3,balance_abs=64".

    Raises:
        InputError: an unknown name or parameter, and what the router refuses.
    """
    name, _, rest = text.partition(":")
    if name not in ROUTERS:
        raise InputError("router", text, f"one of {', '.join(ROUTERS)}")
    router, given = ROUTERS[name], {}
    usual = [field.name for field in fields(router)]  # pyright: ignore[reportArgumentType]
    for part in rest.split(",") if rest else ():
        parameter, equals, value = part.partition("=")
        if not equals or parameter not in usual:
            said = f"PARAMETER=VALUE, of {', '.join(usual)}" if usual else "no parameters"
            raise InputError("router", text, f"{name} with {said}")
        given[parameter] = _value(value)
    return replace(router, **given)  # pyright: ignore[reportArgumentType]


def _value(text: str) -> int | float | str:
    for reads in (int, float):
        try:
            return reads(text)
        except ValueError:
            continue
    return text
