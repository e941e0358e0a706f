"""The keys of a question's JSON for docs/json.md. `python -m tests.questions.reference` writes them
into the page.
"""

import re
from pathlib import Path

from fluidkv.answers.questions import QUESTIONS
from fluidkv.questions.answer import inner_answer
from fluidkv.questions.question import Question

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def reference(question: Question) -> str:
    """The table of its keys."""
    answer = inner_answer(question.ask.__annotations__["return"])
    assert answer is not None
    rows = (f"| `{path}` | {kind} | {title} |\n" for path, kind, title in answer.json_keys())
    return f"| key | unit | what it is |\n|---|---|---|\n{''.join(rows)}"


def with_reference(page: str, question: Question) -> str:
    """The page with the table in the section of the question."""
    pattern = rf"(\n## {question.name}\n.*?)\| key \|.*?\n(?=\n## |\Z)"
    whole, count = re.subn(pattern, lambda m: m[1] + reference(question), page, flags=re.DOTALL)
    assert count == 1, question.name
    return whole


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for each in QUESTIONS.values():
        text = with_reference(text, each)
    PAGE.write_text(text, encoding="utf-8")
