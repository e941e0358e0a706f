"""The tables of a question's JSON on the page `json.md`: what its answer says of its own fields."""

import re

from docs._site.layout import Pages
from fluidkv.answers.questions import QUESTIONS
from fluidkv.questions.answer import inner_answer
from fluidkv.questions.question import Question

_PLACE = re.compile(r"^<!-- keys of: (\w+) -->\n.*\n", re.M)


def reference(question: Question) -> str:
    """The table of its keys."""
    answer = inner_answer(question.ask.__annotations__["return"])
    assert answer is not None
    rows = (f"| `{path}` | {kind} | {title} |\n" for path, kind, title in answer.json_keys())
    return f"| key | unit | what it is |\n|---|---|---|\n{''.join(rows)}"


def with_keys(text: str) -> str:
    """A page with tables where it has a comment and a line that stands for them."""
    return _PLACE.sub(lambda match: reference(QUESTIONS[match[1]]), text)


def with_tables_of_keys(pages: Pages) -> Pages:
    """The same of all pages; only `json.md` has such places."""
    return {**pages, "json.md": with_keys(pages["json.md"])}
