"""Docstrings of this house become Markdown that says the same."""

from docs._site.docstring import markdown, prose

DOC = """Follow each start.

More of `it`: x* and y*.

Args:
    a, b: two of them,
        in two lines.
    path: where.

Returns:
    A dataset:
        rate: completions.
        period: iterations,
            0 where not settled.

Raises:
    InputError: a count below 1.

>>> 1 + 1
2

Source: Congestion, section 2.
"""


def test_sections_become_lists_and_examples_stay():
    said = markdown(DOC, lambda name: f"[{name}](there)" if name == "InputError" else None)
    assert "**Arguments**\n\n`a`, `b`\n: two of them, in two lines.\n\n`path`\n: where." in said
    assert "`rate`\n: completions.\n\n`period`\n: iterations, 0 where not settled." in said
    assert "[InputError](there)\n: a count below 1." in said
    assert "```pycon\n>>> 1 + 1\n2\n```" in said
    assert said.endswith("Source: Congestion, section 2.\n")


def test_what_markdown_knows_is_taken_literally():
    assert prose("x* and y* of <T> in `a_b`", lambda _: None) == r"x\* and y\* of \<T\> in `a_b`"
