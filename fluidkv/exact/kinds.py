"""A wrong kind of object ends in one line, at the door: one check for all public functions here."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TypeVar, cast

from fluidkv.errors import InputError

_Function = TypeVar("_Function", bound=Callable[..., object])

_ALLOWED = {
    "System": "a System, as in System(workload, capacity)",
    "Workload": "a Workload, as that of a System",
    "SurvivalWeights": "SurvivalWeights, as from survival_weights(workload)",
    "LengthMix": "a LengthMix, as in LengthMix((5, 9), [Fraction(1, 2)])",
    "LimitRoot": "a LimitRoot, as from limit_roots(mix)",
    "Cycle": "a Cycle, as among equilibria(system).cycles",
    "Capture": "a Capture, as from captured_start(system, target)",
    "PulseCycle": "a PulseCycle, as from pulse_cycle(system)",
}


def kinds_checked(function: _Function) -> _Function:
    """Decorates a function whose arguments are records, as annotated: any of `_ALLOWED`.

    Raises:
        InputError: on a call, for an argument of another kind.
    """
    checked = [
        (place, parameter.name, parameter.annotation)
        for place, parameter in enumerate(signature(function).parameters.values())
        if _kind_name(parameter) in _ALLOWED
    ]

    @wraps(function)
    def called(*args: object, **named: object) -> object:
        for place, name, kind in checked:
            given = args[place : place + 1] or ([named[name]] if name in named else [])
            for value in given:
                if not isinstance(value, kind):
                    raise InputError(name, value, _ALLOWED[kind.__name__])
        return function(*args, **named)

    return cast("_Function", called)


def _kind_name(parameter: Parameter) -> str:
    return getattr(parameter.annotation, "__name__", "")
