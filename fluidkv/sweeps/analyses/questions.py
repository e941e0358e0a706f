"""Any question at many points: its options are settings, the numbers of its answer variables."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any

from fluidkv.errors import InputError
from fluidkv.questions.answer import Answer, Part, inner_answer
from fluidkv.questions.kinds import Kind, Member, Word, Written
from fluidkv.questions.options import Declared, Option, arguments_of
from fluidkv.questions.question import Question, Sweep, Swept
from fluidkv.sweeps.analyses.systems import CLASSES, workload_of
from fluidkv.sweeps.analysis import REQUIRED, SEED, Analysis, Row, Setting, Variable


def analysis_of(question: Question) -> Analysis:
    """What a sweep sets and finds of a question."""
    sweep, options = question.sweep or Sweep(), question.options
    usual = (key for key, each in options.items() if _kind(each.option))
    keys = {sweep.names.get(key, key): key for key in sweep.settings or usual}
    settings = [one for name, key in keys.items() for one in _settings(name, options[key], sweep)]
    answer = inner_answer(question.ask.__annotations__["return"])
    assert answer is not None  # a question has one
    taken = {each.name for each in settings}
    named = sweep.variables or {path: path for path in _numbers(answer) if path not in taken}
    swept = {name: Swept(each) if isinstance(each, str) else each for name, each in named.items()}

    def arguments(row: Row) -> dict[str, Any]:
        values = {key: each.default for key, each in options.items()} | dict(sweep.fixed)
        for name, key in keys.items():
            values[key] = _value(name, options[key].option, row, name in sweep.required)
        python = {name: row[key] for name, key in sweep.python.items()}
        return arguments_of(question.ask, values, **python)

    return Analysis(
        name=question.name,
        title=sweep.title or question.title,
        call=f"fluidkv.{sweep.call or question.ask.__name__}",
        settings=tuple(settings),
        variables=tuple(_variable(answer, name, each) for name, each in swept.items()),
        admit=arguments,
        find=lambda asked: question.ask(**asked),
        chunk=8 if sweep.slow else 32,
        quick=not sweep.slow,
    )


def _kind(option: Option) -> Kind | None:
    """What its values are in a spec; None: a spec cannot say them."""
    kind = option.in_sweep or option.kind
    if isinstance(kind, Member):
        return Word(tuple(each.value for each in kind.members()))
    return kind if hasattr(kind, "between") else None  # type: ignore[return-value]  # then it is one


def _settings(name: str, each: Declared, sweep: Sweep) -> Iterator[Setting]:
    """One of an option, or one of each name that its values may have; of classes their lengths and
    shares. At a point there is one value of an option that may be repeated, and somebody has to say
    it."""
    option = each.option
    if option.key == "class":
        yield from CLASSES
        return
    for key, inner in option.settings.items():
        words = inner.title or f"{inner.help}; none: as the generator has it"
        yield Setting(key, _checked(inner), words, inner.unit, default=None)
    if option.settings:
        return
    if option.key == SEED.name:
        yield SEED
        return
    missing = each.required or option.many or name in sweep.required
    default = sweep.defaults.get(name, REQUIRED if missing else each.default)
    if isinstance(default, Enum):
        default = default.value
    title = option.title or re.sub(r"\s*\\?\[default:.*?\]", "", option.help).rstrip(".")
    yield Setting(name, _checked(option), title, option.unit, default)


def _checked(option: Option) -> Kind:
    kind = _kind(option)
    assert kind is not None, option.flag  # a spec can say what a question names as a setting
    return kind


def _value(name: str, option: Option, row: Row, required: bool) -> Any:
    """What the function gets of the settings at a point."""
    if option.key == "class":
        classes = workload_of(row).classes
        return [f"{c.input_length}:{c.decode_length}:{c.share}" for c in classes]
    if option.settings:
        pairs = [(key, row[key]) for key in option.settings if row.get(key) is not None]
        if required and not pairs:
            first, *others = option.settings
            raise InputError(first, "none", f"a value, or one of {', '.join(others)}")
        return option.read(name, pairs)
    value = row[name]
    if isinstance(option.kind, Member | Written) and value is not None:
        value = option.kind.read(name, value)
    return [value] if option.many and value is not None else value


def _numbers(answer: type[Answer]) -> Iterator[str]:
    """Fields that are single numbers."""
    for each in answer.parts():
        if each.type in (int, float, bool):
            yield each.name


def _variable(answer: type[Answer], name: str, swept: Swept) -> Variable:
    part = _part(answer, swept.path)
    title, unit = swept.title or part.about.title, swept.unit or part.about.unit
    whole = swept.whole or part.about.whole or part.type in (int, bool)
    return Variable(
        name, title, unit, "int" if whole else "float", at=partial(_value_at, path=swept.path)
    )


def _part(answer: type[Answer], path: str) -> Part:
    """The field at the end of a path through answers, or the mapping that it goes on into."""
    first, _, rest = path.partition(".")
    part = next(each for each in answer.parts() if each.name == first)
    inner = inner_answer(part.type)
    return part if inner is None or not rest else _part(inner, rest)


def _value_at(answer: Any, path: str) -> Any:
    """The value under names with points between them, of attributes or keys; None where there is
    none. Of several answers and of an array it is the first, as at a point there is one; of several
    things at the end it is how many.
    """
    value = answer
    for name in path.split("."):
        value = value[0] if isinstance(value, tuple) else value
        if value is None:
            return None
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
    if isinstance(value, tuple):
        return len(value)
    return value if value is None or not getattr(value, "ndim", 0) else value[0]
