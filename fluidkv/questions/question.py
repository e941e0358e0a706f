"""A question: a function that answers it, and what is said and drawn of its answer.

From the options of its signature and the fields of its answer follow its command with help, checks
and refusals, its JSON, dataset, files and report, and what a sweep of it sets and finds.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc, signature
from pkgutil import resolve_name
from typing import Any

from fluidkv.figures.figure import Figure
from fluidkv.questions.options import Declared, declared, flags_of
from fluidkv.record import Record
from fluidkv.report.page import Page, Row


@dataclass(frozen=True)
class Late:
    """A function that is imported where it is first called: what writes and draws an answer.

    Fields:
        name: "fluidkv.answers.size.page:say_size".
    """

    name: str

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, also to `inspect.signature`."""
        return resolve_name(self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


@dataclass(frozen=True)
class Swept:
    """A variable of a sweep that no field describes by itself.

    Fields:
        path: where it is in the answer: "curves.hit_rate" of the first of several,
            "measures.makespan" in a mapping.
        title, unit: as of `Described`; "": as the field says.
        whole: whether it is a whole number, or a number of things, though the field is no number.
    """

    path: str
    title: str = ""
    unit: str = ""
    whole: bool = False


@dataclass(frozen=True)
class Sweep:
    """What a sweep of a question sets and finds, where that is not all that is a number or a word.

    Fields:
        settings: keys of options; empty: all that a spec can say.
        names: key of an option -> its name in a spec, where that is another one.
        variables: name in the store -> path in the answer; empty: every number of the answer.
        defaults: setting -> its value where a spec does not say, as it is not the command's.
        fixed: key of an option -> its value at every point, as it is not the command's.
        python: name of a parameter that is no option -> key of the option that it gets.
        required: settings that a spec has to say, also where the command has a default.
        title, call: what is asked, and what is called in Python, where the command has others.
        slow: whether an answer takes so long that only its options are looked at beforehand.
    """

    settings: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | Swept] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    python: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    title: str = ""
    call: str = ""
    slow: bool = False


@dataclass(frozen=True)
class Question:
    """What a user may ask.

    Fields:
        name: of its command and its analysis.
        ask: finds the answer; its signature declares the options, its docstring says what it asks.
            Keys, dataset and sweep are described where it is an `Answer`.
        say: writes the answer for a person; takes the values of `options`, too, or does not.
        figures: draws it, a figure or several; called only where files are written.
        about: title of the report of an answer that does not begin with one.
        assumes: what it takes for granted, in sentences.
        examples: command lines to paste.
        doing: what is done while it runs: "filling caches".
        check: refuses options that mean nothing together, before anything is read; gets the value
            of every option by its key.
        notes: of the same values, rows about how they were read.
        tables: name of a file -> its text or bytes, written beside the JSON.
        time: unit of its durations, or what says it of an answer; None: there are none.
        sweep: of it at many points; None: there is none.
        fails: whether an answer is not what is hoped for, such as no setting that meets what is
            asked, or another outcome than recorded: the command then exits with 1.
    """

    name: str
    ask: Callable[..., Record]
    say: Callable[..., None]
    figures: Callable[[Any], Figure | Sequence[Figure]] = lambda answer: ()
    about: Callable[[Any], str] = lambda answer: ""
    assumes: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    doing: str = ""
    check: Callable[[Mapping[str, Any]], None] = lambda options: None
    notes: Callable[[Mapping[str, Any]], list[Row]] = lambda options: []
    tables: Callable[[Any], Mapping[str, str | bytes]] = lambda answer: {}
    time: str | Callable[[Any], str | None] | None = None
    sweep: Sweep | None = field(default_factory=Sweep)
    fails: Callable[[Any], bool] = lambda answer: False

    @property
    def options(self) -> dict[str, Declared]:
        """Key -> option, in the order of the help."""
        return declared(self.ask)

    @property
    def flags(self) -> dict[str, str]:
        """Argument of an error -> option as users write it."""
        return flags_of(self.ask)

    def tell(self, page: Page, answer: Any, options: Mapping[str, Any]) -> None:
        """Write the answer to these options for a person."""
        if "options" in signature(self.say).parameters:
            self.say(page, answer, options=options)
        else:
            self.say(page, answer)

    def figures_of(self, answer: Any) -> list[Figure]:
        """The figures of an answer."""
        figures = self.figures(answer)
        return [figures] if isinstance(figures, Figure) else list(figures)

    @property
    def title(self) -> str:
        """What it asks, in a sentence."""
        return (self.ask.__doc__ or self.name).partition("\n")[0]

    @property
    def help(self) -> str:
        """What it asks and does, of its docstring, and command lines."""
        text = re.split(r"\n\n(?:Args|Raises|Examples):", cleandoc(self.ask.__doc__ or ""))[0]
        lines = "\n".join(f"[bold]{each}[/bold]" for each in self.examples)
        return f"{text}\n\n{lines}" if lines else text
