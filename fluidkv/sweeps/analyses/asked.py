"""Any question at many points: its options are settings, the numbers of its answer variables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from fluidkv.questions.answer import Answer, inner_answer
from fluidkv.questions.kinds import Kind, Member, Word, Written
from fluidkv.questions.options import Declared, Option, filled
from fluidkv.questions.question import Question, Sweep
from fluidkv.sweeps.analysis import REQUIRED, SEED, Analysis, Row, Setting, Variable, one_by_one


def analysis_of(question: Question) -> Analysis:
    """What a sweep sets and finds of a question."""
    sweep, options = question.sweep or Sweep(), question.options
    keys = sweep.settings or tuple(key for key, each in options.items() if _kind(each.option))
    settings = [one for key in keys for one in _settings(options[key], sweep.defaults)]
    answer = inner_answer(question.ask.__annotations__["return"])
    assert answer is not None  # a question has one
    paths = sweep.variables or {path: path for path in _numbers(answer)}
    variables = tuple(_variable(answer, name, path.split(".")) for name, path in paths.items())

    def ask(row: Row) -> Answer:
        values = {key: each.default for key, each in options.items()} | dict(sweep.fixed)
        values |= {key: _value(options[key].option, row) for key in keys}
        python = {name: row[key] for name, key in sweep.python.items()}
        return filled(question.ask, values, **python)

    def find(row: Row) -> Mapping[str, Any]:
        found = ask(row)
        return {name: _at(found, path.split(".")) for name, path in paths.items()}

    return Analysis(
        name=question.name,
        title=question.title,
        call=f"fluidkv.{question.ask.__name__}",
        settings=tuple(settings),
        variables=variables,
        admit=ask,
        compute=one_by_one(variables, lambda row: row, find),
        chunk=sweep.chunk,
    )


def _kind(option: Option) -> Kind | None:
    """What its values are in a spec; None: a spec cannot say them."""
    kind = option.kind.in_sweep if isinstance(option.kind, Written) else option.kind
    if isinstance(kind, Member):
        return Word(tuple(each.value for each in kind.members()))
    return kind if hasattr(kind, "between") else None  # type: ignore[return-value]  # then it is one


def _settings(each: Declared, defaults: Mapping[str, Any]) -> Iterator[Setting]:
    """One of an option, or one of each name that its values may have. At a point there is one value
    of an option that may be repeated, and somebody has to say it."""
    option = each.option
    for name, inner in option.settings.items():
        words = f"{inner.help}; none: as the generator has it"
        yield Setting(name, _checked(inner), words, inner.unit, default=None, optional=True)
    if option.settings:
        return
    if option.key == SEED.name:
        yield SEED
        return
    missing = each.required or option.many
    default = defaults.get(option.key, REQUIRED if missing else each.default)
    if isinstance(default, Enum):
        default = default.value
    title = option.title or re.sub(r"\s*\\?\[default:.*?\]", "", option.help).rstrip(".")
    yield Setting(
        option.key, _checked(option), title, option.unit, default, optional=default is None
    )


def _checked(option: Option) -> Kind:
    kind = _kind(option)
    assert kind is not None, option.flag  # a spec can say what a question names as a setting
    return kind


def _value(option: Option, row: Row) -> Any:
    """What the function gets of the settings at a point."""
    if option.settings:
        return [(name, row[name]) for name in option.settings if row.get(name) is not None]
    value = row[option.key]
    if isinstance(option.kind, Written | Member) and value is not None:
        value = option.kind.read(option.key, str(value))
    return [value] if option.many and value is not None else value


def _numbers(answer: type[Answer]) -> Iterator[str]:
    """Fields that are single numbers."""
    for each in answer.parts():
        if each.type in (int, float, bool):
            yield each.name


def _variable(answer: type[Answer], name: str, path: Sequence[str]) -> Variable:
    part = next(each for each in answer.parts() if each.name == path[0])
    if len(path) > 1:
        inner = inner_answer(part.type)
        assert inner is not None  # paths go through answers
        return _variable(inner, name, path[1:])
    whole = part.about.whole or part.type in (int, bool)
    return Variable(name, part.about.title, part.about.unit, "int" if whole else "float")


def _at(answer: Any, path: Sequence[str]) -> Any:
    """The value at a path; of several, the only one."""
    value = getattr(answer, path[0])
    if len(path) > 1:
        return _at(value[0], path[1:])
    return value[0] if getattr(value, "ndim", 0) else value
