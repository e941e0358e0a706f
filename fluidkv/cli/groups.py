"""Options that go together: a record in the signature of a command, single options to a reader."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

import typer

from fluidkv.cli.arguments import places
from fluidkv.cli.asked import begin


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a parameter for each field of a parameter that is a dataclass.

    A field is declared as a parameter would be: name, annotation and default. The command gets the
    record that they make. What was asked is remembered, single options in their order.
    """
    signature = inspect.signature(command, eval_str=True)
    running = inspect.Parameter("running", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = [running]
    for parameter in signature.parameters.values():
        if is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            groups[parameter.name] = parameter.annotation
            own = inspect.signature(parameter.annotation, eval_str=True).parameters.values()
            parameters += own
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(running: typer.Context, **given: Any) -> Any:
        begin(command.__name__, dict(given), running)
        places(given.get("out"), given.get("html"), f"{command.__name__}.json")
        for name, group in groups.items():
            given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        return command(**given)

    # By name only: then one without a default may stand behind one with it.
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
