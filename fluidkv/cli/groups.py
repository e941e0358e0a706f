"""Options that go together: a record in the signature of a command, single options to a reader."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

import typer

from fluidkv.cli.asked import begin
from fluidkv.cli.options import keyword, part_of
from fluidkv.cli.output_files import places
from fluidkv.questions.options import Option


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a parameter for each field of a parameter that is a dataclass.

    A field is declared as a parameter would be: name, annotation and default; an option as typer
    has it, or as questions do. The command gets the
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

    parameters = [_typed(each) for each in parameters]

    @wraps(command)
    def run(running: typer.Context, **written: Any) -> Any:
        shown = {name: part_of(each, lambda text: text.shown) for name, each in written.items()}
        begin(command.__name__, shown, running)
        places(written.get("out"), written.get("html"), f"{command.__name__}.json")
        values = {name: part_of(each, lambda text: text.value) for name, each in written.items()}
        for name, group in groups.items():
            values[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
        return command(**values)

    # By name only: then one without a default may stand behind one with it.
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _typed(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter that is declared as those of questions are, as typer reads it."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    option = next((each for each in metadata if isinstance(each, Option)), None)
    return parameter if option is None else keyword(parameter.name, option, parameter.default)
