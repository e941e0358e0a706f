"""The tables of keys on the page `json.md`: what makes the JSON says of its own keys."""

import re
from collections.abc import Iterable

from docs._site.layout import Pages
from fluidkv.answers.questions import QUESTIONS
from fluidkv.keys import Row, json_rows
from fluidkv.questions.answer import Answer, inner_answer

_PLACE = re.compile(r"^<!-- keys of: ([\w.:, ]+) -->\n.*\n", re.M)


def reference(answer: type[Answer]) -> str:
    """The table of its keys."""
    return _table(answer.json_keys())


def _table(rows: Iterable[Row]) -> str:
    lines = (f"| `{path}` | {kind} | {_cell(what)} |\n" for path, kind, what in rows)
    return f"| key | unit | what it is |\n|---|---|---|\n{''.join(lines)}"


def _cell(words: str) -> str:
    return re.sub(r"([|*])", r"\\\1", words)


def _keys_of(names: str) -> str:
    """Of a question, or of what modules have: "module:name, module:name" below fluidkv."""
    if names in QUESTIONS:
        answer = inner_answer(QUESTIONS[names].ask.__annotations__["return"])
        assert answer is not None
        return reference(answer)
    return _table(row for name in names.split(", ") for row in json_rows(f"fluidkv.{name}"))


def with_keys(text: str) -> str:
    """A page with tables where it has a comment and a line that stands for them."""
    return _PLACE.sub(lambda match: _keys_of(match[1]), text)


def with_tables_of_keys(pages: Pages) -> Pages:
    """The same of all pages; only `json.md` has such places."""
    return {**pages, "json.md": with_keys(pages["json.md"])}
