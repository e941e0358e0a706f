"""Signatures of several lines: Sphinx writes a list without terms, which screen readers stumble at.

Its parameters become lines of their own; the style sheet indents them.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.S)
_LINES = {
    "<dl>": '<span class="parameters">',
    "</dl>": "</span>",
    "<dd>": '<span class="parameter">',
    "</dd>": "</span>",
}


def in_lines(body: str) -> str:
    """The body of a page with its signatures in lines."""
    return _SIGNATURE.sub(lambda found: _spans(found[0]), body)


def _spans(signature: str) -> str:
    return re.sub("|".join(_LINES), lambda tag: _LINES[tag[0]], signature)


def _page(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    if "body" in context:
        context["body"] = in_lines(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
