"""The tables of a question's JSON on the page `json.md`: what its answer says of its own fields."""

import re

from docs._site.layout import Pages
from fluidkv.answers.questions import QUESTIONS
from fluidkv.answers.replay.errors import RelativeError, SeriesError
from fluidkv.answers.replay.result import Replay
from fluidkv.answers.replay.swing import Swing
from fluidkv.answers.study.result import StudyResult
from fluidkv.questions.answer import Answer, inner_answer

_PLACE = re.compile(r"^<!-- keys of: (\w+) -->\n.*\n", re.M)


_OTHERS: dict[str, type[Answer]] = {
    "study": StudyResult,
    "replay": Replay,
    "series": SeriesError,
    "each": RelativeError,
    "swing": Swing,
}
"""Answers that their questions import where they are asked, and parts of several answers."""


def answer_of(section: str) -> type[Answer]:
    """Whose keys stand in a section of the page."""
    answer = _OTHERS.get(section)
    answer = answer or inner_answer(QUESTIONS[section].ask.__annotations__["return"])
    assert answer is not None
    return answer


def reference(answer: type[Answer]) -> str:
    """The table of its keys."""
    keys = (map(_cell, key) for key in answer.json_keys())
    rows = (f"| `{path}` | {kind} | {title} |\n" for path, kind, title in keys)
    return f"| key | unit | what it is |\n|---|---|---|\n{''.join(rows)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def with_keys(text: str) -> str:
    """A page with tables where it has a comment and a line that stands for them."""
    return _PLACE.sub(lambda match: reference(answer_of(match[1])), text)


def with_tables_of_keys(pages: Pages) -> Pages:
    """The same of all pages; only `json.md` has such places."""
    return {**pages, "json.md": with_keys(pages["json.md"])}
