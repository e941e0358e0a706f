"""The command of a question: its options, what is refused, where the answer goes."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from fluidkv.answers.memory import CAPACITY, Amount
from fluidkv.cli.asked import begin, note_read
from fluidkv.cli.codes import FAILS
from fluidkv.cli.options import Html, Json, keyword, out, part_of
from fluidkv.cli.output import give
from fluidkv.cli.output_files import places
from fluidkv.cli.progress import progress
from fluidkv.questions.options import as_options, filled
from fluidkv.questions.question import Question


def command_of(question: Question) -> Callable[..., int]:
    """A function whose signature typer reads."""
    options = question.options
    names = {key: f"{key}_" if iskeyword(key) else key for key in options}
    parameters = [keyword(names[key], each.option, each.default) for key, each in options.items()]
    output: dict[str, tuple[Any, Any]] = {
        "out": (Annotated[Path | None, out("JSON, tables and figures")], None),
        "html": (Html, None),
        "json_": (Json, False),
    }
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in output.items()
    ]

    def run(running: typer.Context, *, json_: bool, **written: Any) -> int:
        values = {
            key: part_of(written[name], lambda each: each.value) for key, name in names.items()
        }
        places(written["out"], written["html"], f"{question.name}.json")
        inputs = {
            key: part_of(written[name], lambda each: each.shown) for key, name in names.items()
        }
        begin(question.name, inputs, running)
        with as_options(question.flags, _memory(values)):
            question.check(values)
            notes = question.notes(values)
            doing = question.doing or question.name
            answer = filled(question.ask, values, doing=doing, progress=progress, on_read=note_read)

        give(
            answer.to_dict,
            lambda page: question.tell(page, answer, values),
            as_json=json_,
            out=written["out"],
            html=written["html"],
            name=f"{question.name}.json",
            beside=lambda: _beside(question, answer),
            time=question.time(answer) if callable(question.time) else question.time,
            notes=notes,
            assumes=question.assumes,
            about=question.about(answer),
        )
        return FAILS if question.fails(answer) else 0

    context = Parameter("running", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    run.__signature__ = Signature([context, *parameters])  # read by typer
    run.__name__, run.__doc__ = question.name, question.help
    return run


def _memory(values: Mapping[str, Any]) -> dict[str, Callable[[Any], Any]]:
    """What shows the capacity as it was written where an error speaks of the tokens that it is."""
    capacity = values.get(CAPACITY.key)
    return {CAPACITY.flag: capacity.shown} if isinstance(capacity, Amount) else {}


def _beside(question: Question, answer: Any) -> Any:
    tables = {
        name: table.encode() if isinstance(table, str) else table
        for name, table in question.tables(answer).items()
    }
    return tables, question.figures_of(answer)
