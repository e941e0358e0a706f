"""Questions asked in Python, of the options of a command line: no typer, no files."""

import shlex
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from typing import Any

from fluidkv.answers.questions import QUESTIONS
from fluidkv.questions.options import Option, filled
from fluidkv.questions.question import Question
from fluidkv.report.page import Page
from fluidkv.report.terminal import Terminal


def options_in(question: Question, line: str) -> dict[str, Any]:
    """Key -> value of every option, of those that a line has and of the defaults of others."""
    options = question.options
    values = {key: each.default for key, each in options.items()}
    names = {name: key for key, each in options.items() for name in _names(each.option)}
    argument = next((key for name, key in names.items() if not name.startswith("-")), "")
    words = shlex.split(line)
    while words:
        word = words.pop(0)
        key = names[word] if word.startswith("--") else argument
        option = options[key].option
        if option.kind is None:
            values[key] = not word.startswith("--no-")
            continue
        value = option.read(option.flag, words.pop(0) if word.startswith("--") else word)
        before = [] if values[key] is options[key].default else values[key]
        values[key] = [*before, value] if option.many else value
    return values


def _names(option: Option) -> list[str]:
    """As a line may have it: "--rate" and "--qps", "--simulate" and "--no-simulate", "SOURCE"."""
    names = option.spec.replace("/", " ").split()
    return [name for name in names if name.startswith("--")] or names[:1]


@cache
def answer_to(name: str, line: str) -> Any:
    """The question's answer to the options of a command line."""
    question = QUESTIONS[name]
    return filled(question.ask, options_in(question, line))


@cache
def values_of(name: str, line: str) -> dict[str, Any]:
    """The answer as its JSON has it."""
    return answer_to(name, line).to_dict()


@cache
def text_of(name: str, line: str) -> str:
    """The answer as a person reads it, without notes on how options were read."""
    question, answer = QUESTIONS[name], answer_to(name, line)
    with redirect_stdout(StringIO()) as printed:
        terminal = Terminal()
        question.tell(Page(terminal.write), answer, options_in(question, line))
    return printed.getvalue()


def page_of(name: str, line: str) -> str:
    """The same in one line; no line of it is wider than 80 columns."""
    text = text_of(name, line)
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())
