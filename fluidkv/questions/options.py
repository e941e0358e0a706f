"""Options of a question: declared in the signature of a function, read alike wherever they stand.

A parameter `seeds: Annotated[int, Option("--seeds N", Whole(1, 1000), "Number of runs.")] = 5` is
an option of the command, a row of its help, a key of the JSON's inputs, a setting of a sweep and,
with `checked`, a check of what is passed in Python. A parameter that options make together is
declared with `Made`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, cleandoc, signature
from textwrap import fill, indent
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Kind, Reads, Whole

# Panels of the help of a command.
WHO, SERVER, RUN, OUTPUT = "Who asks", "The server", "The run", "Output"

_DEFAULT = r"\s*\\?\[default: (.*?)\]"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One option.

    Fields:
        spec: its name, other names, and behind them the name of its value: "--rate --qps R"; of an
            argument the name alone: "SOURCE"; of a flag "--affinity" or "--answers/--no-answers".
        kind: how it is read; None: a flag.
        help: what it is, in a sentence.
        panel: of the help.
        many: whether it may be repeated; its value is then a sequence.
        title: of its coordinate in a sweep, in a few words; "": as its help says.
        unit: of that coordinate.
        in_sweep: what a spec may say, where that is not what a command line may; it is passed as
            it is.
        means: names of arguments that errors speak of where this option is meant.
        settings: of values NAME=VALUE: what a sweep may set by name, as options of their own.
        json_key: its name in JSON, where that is not its own: "lengths" of "LENGTH".
    """

    spec: str
    kind: Reads | None
    help: str
    panel: str | None = RUN
    many: bool = False
    title: str = ""
    unit: str = "1"
    in_sweep: Kind | None = None
    means: tuple[str, ...] = ()
    settings: Mapping[str, "Option"] = field(default_factory=dict)
    json_key: str = ""

    @property
    def flag(self) -> str:
        """As users write it: "--rate", "SOURCE"."""
        return self.spec.split()[0].split("/")[0]

    @property
    def key(self) -> str:
        """Its name in JSON and in a sweep: "rate", "source"."""
        return self.json_key or self.flag.lstrip("-").replace("-", "_").lower()

    def read(self, argument: str, said: Any) -> Any:
        """The value of what is written, or of a value itself.

        Raises:
            InputError: what its kind refuses.
        """
        if self.kind is None:
            return said
        if self.many and not isinstance(said, str):
            return [self.kind.read(argument, each) for each in said]
        return self.kind.read(argument, said)


@dataclass(frozen=True)
class Made:
    """An argument that options make on the command line; in Python it is passed.

    Fields:
        by: makes it; its signature declares the options.
        doing: what takes its time, such as "reading requests": it comes after all that does not.
    """

    by: Callable[..., Any]
    doing: str = ""


class Declared(NamedTuple):
    """An option where it is declared.

    Fields:
        name: of the parameter.
        option: what it is.
        default: where nobody says; `Parameter.empty`: somebody has to.
    """

    name: str
    option: Option
    default: Any

    @property
    def required(self) -> bool:
        """Whether somebody has to say it."""
        return self.default is Parameter.empty


def seed_of(what: str) -> Option:
    """The option `--seed`."""
    return Option("--seed N", Whole(0, 2**31), f"Seed of {what}.")


def declared(function: Callable[..., Any]) -> dict[str, Declared]:
    """Key -> option of a function's signature and of what makes its arguments, those that have to
    be given first, those of the run last; what the function declares itself stands for both.
    """
    own = {each.option.key: each for each in _own(function)}
    made = [each for by in _makers(function) for each in declared(by).values()]
    others = {each.option.key: each for each in made if each.option.key not in own}
    every = [*others.values(), *own.values()]
    runs = [each for each in own.values() if each.option.panel == RUN]
    runs += [each for each in others.values() if each.option.panel == RUN]
    ordered = [each for each in every if each.required]
    ordered += [each for each in every if each not in runs and each not in ordered]
    return {each.option.key: each for each in [*ordered, *runs]}


def flags_of(function: Callable[..., Any]) -> dict[str, str]:
    """Argument that an error may speak of -> the option as users write it."""
    flags: dict[str, str] = {}
    for key, each in declared(function).items():
        names = (key, each.name, each.name.rstrip("_"), *each.option.means)
        flags |= dict.fromkeys(names, each.option.flag)
    return flags


def filled(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    *,
    doing: str = "",
    progress: Callable[[str], AbstractContextManager[Any]] | None = None,
    **hooks: Any,
) -> Any:
    """What the function makes of options.

    Args:
        values: key -> value of every option.
        doing: what takes its time in it; "": nothing does.
        progress: surrounds what takes its time, and counts it where the function says how far it
            is (`on_progress`), and says what it does where the function says that (`on_step`), and
            what is known before the rest (`on_first`, lines); None: nobody waits.
        hooks: name of a parameter -> what it gets in every function that has it.
    """
    arguments = arguments_of(function, values, progress=progress, **hooks)
    if progress is None or not doing:
        return function(**arguments)
    with progress(doing) as line:
        tells = {"on_progress": line.count, "on_step": line.show, "on_first": line.tell}
        parameters = signature(function).parameters
        arguments |= {name: tells[name] for name in tells if name in parameters}
        return function(**arguments)


def arguments_of(
    function: Callable[..., Any],
    values: Mapping[str, Any],
    *,
    progress: Callable[[str], AbstractContextManager[Any]] | None = None,
    **hooks: Any,
) -> dict[str, Any]:
    """What the function gets of options; as of `filled`."""
    parameters = signature(function).parameters
    arguments = {name: hooks[name] for name in parameters if name in hooks}
    made: dict[str, Made] = {}
    for name, parameter in parameters.items():
        declaration = _declaration(parameter)
        if isinstance(declaration, Option):
            arguments[name] = values[declaration.key]
        elif declaration is not None:
            made[name] = declaration
    for name, each in sorted(made.items(), key=lambda item: bool(item[1].doing)):
        arguments[name] = filled(each.by, values, doing=each.doing, progress=progress, **hooks)
    return arguments


def exactly_one(**given: object) -> None:
    """Refuse two sources of requests, and none.

    Args:
        given: `source` for the argument SOURCE, and options by their names.
    """
    names = {"source": "SOURCE"}
    named = [names.get(name, f"--{name}") for name, value in given.items() if value]
    if len(named) != 1:
        options = ", ".join(names.get(name, f"--{name}") for name in given)
        raise InputError("SOURCE", " and ".join(named) or "none", f"exactly one of {options}")


def only_with(option: str, value: object, other: str, there: object) -> None:
    """Refuse an option that means nothing without another."""
    if value is not None and not there:
        raise InputError(option, str(value), f"together with {other}")


@contextmanager
def as_options(
    names: Mapping[str, str], written: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
) -> Iterator[None]:
    """What the reader wrote, in messages about arguments of functions.

    Args:
        names: argument -> option.
        written: option -> of a value that an error has, what is shown: as it was written, where the
            error speaks of what that became.
    """
    try:
        yield
    except InputError as error:
        name = names.get(error.argument, error.argument)
        value = written[name](error.value) if name in written else error.value
        raise InputError(name, value, error.allowed) from None


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which reads its options as the command line does: names become members, and
    what a kind refuses is refused before anything runs. Its docstring says what the options say.
    """
    own = {each.name: each for each in _own(function)}

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = signature(function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in own and value is not own[name].default:
                bound.arguments[name] = own[name].option.read(name, value)
        return function(*bound.args, **bound.kwargs)

    called.__doc__ = _documented(cleandoc(function.__doc__ or ""), own.values())
    return called


def _documented(text: str, own: Iterable[Declared]) -> str:
    """A docstring whose `Args:` say of options what their help says."""
    head, args, tail = text.partition("\n\nArgs:\n")
    lines, gap, rest = tail.partition("\n\n")
    helps = {each.name: re.sub(_DEFAULT, r" None: \1.", each.option.help) for each in own}
    entries = (
        fill(f"{name}: {help}", 88, subsequent_indent="    ") for name, help in helps.items()
    )
    said = indent("\n".join(entries), "    ")
    return f"{head}{args}{lines}\n{said}{gap}{rest}" if args else text


def _own(function: Callable[..., Any]) -> Iterator[Declared]:
    for name, parameter in signature(function).parameters.items():
        option = _declaration(parameter)
        if isinstance(option, Option):
            yield Declared(name, option, parameter.default)


def _makers(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    made = map(_declaration, signature(function).parameters.values())
    return [each.by for each in made if isinstance(each, Made)]


def _declaration(parameter: Parameter) -> Option | Made | None:
    """What the annotation of a parameter declares."""
    metadata = getattr(parameter.annotation, "__metadata__", ())
    return next((each for each in metadata if isinstance(each, Option | Made)), None)
