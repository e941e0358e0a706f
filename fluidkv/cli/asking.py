"""The command of a question: its options, what is refused, where the answer goes."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter, Signature
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from fluidkv.answers.memory import Amount
from fluidkv.cli.arguments import as_options, places
from fluidkv.cli.asked import begin, note_read
from fluidkv.cli.codes import DIFFERS
from fluidkv.cli.options import Html, Json, argument, flag, option, out
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.questions.options import Declared, filled
from fluidkv.questions.question import Question


@dataclass(frozen=True)
class _Read:
    """What was written, and the value that it is."""

    text: str
    value: Any

    @property
    def shown(self) -> Any:
        """As JSON has it among the inputs: numbers as numbers, else what was written."""
        number = isinstance(self.value, int | Fraction | Amount) or hasattr(self.value, "_fields")
        if isinstance(self.value, tuple) and all(isinstance(each, int) for each in self.value):
            number = True
        return self.value if number else self.text


def command_of(question: Question) -> Callable[..., int]:
    """A function whose signature typer reads."""
    options = question.options
    names = {key: f"{key}_" if iskeyword(key) else key for key in options}
    parameters = [_parameter(names[key], each) for key, each in options.items()]
    output: dict[str, tuple[Any, Any]] = {
        "out": (Annotated[Path | None, out("JSON, tables and figures")], None),
        "html": (Html, None),
        "json_": (Json, False),
    }
    parameters += [_keyword(name, *each) for name, each in output.items()]

    def run(running: typer.Context, *, json_: bool, **given: Any) -> int:
        values = {key: _each(given[name], lambda read: read.value) for key, name in names.items()}
        places(given["out"], given["html"], f"{question.name}.json")
        inputs = {key: _each(given[name], lambda read: read.shown) for key, name in names.items()}
        begin(question.name, inputs, running)
        with as_options(question.flags):
            question.check(values)
            notes = question.notes(values)
            doing = question.doing or question.name
            answer = filled(question.ask, values, doing=doing, progress=progress, on_read=note_read)

        give(
            answer.to_dict,
            lambda page: question.tell(page, answer, values),
            as_json=json_,
            out=given["out"],
            html=given["html"],
            name=f"{question.name}.json",
            beside=lambda: _beside(question, answer),
            time=question.time,
            notes=notes,
            assumes=question.assumes,
        )
        return DIFFERS if question.differs(answer) else 0

    context = Parameter("running", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    run.__signature__ = Signature([context, *parameters])  # read by typer
    run.__name__, run.__doc__ = question.name, question.help
    return run


def _beside(question: Question, answer: Any) -> Any:
    tables = {name: text.encode() for name, text in question.tables(answer).items()}
    return tables, question.figures(answer)


def _parameter(key: str, each: Declared) -> Parameter:
    about = each.option
    if about.kind is None:
        kind = bool | None if each.default is None else bool
        annotation = Annotated[kind, flag(about.spec, about.help, about.panel)]
        return _keyword(key, annotation, each.default)
    read = about.kind.read

    def reads(name: str, text: str) -> _Read:
        return _Read(text, read(name, text))

    if about.spec.startswith("-"):
        said = option(about.spec, reads, about.help, about.panel)
    else:
        said = argument(about.spec, reads, about.help)
    kind = list[str] if about.many else str
    return _keyword(key, Annotated[kind if each.required else kind | None, said], each.default)


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _each(given: Any, part: Callable[[_Read], Any]) -> Any:
    """That part of what was read, of every value of an option that may be repeated; a default as it
    is, None in place of no value.
    """
    if isinstance(given, list):
        return [_each(one, part) for one in given] or None
    return part(given) if isinstance(given, _Read) else given
