"""What a page of Markdown links to, and where one can link to on it; before Sphinx has seen it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import nbformat
from markdown_it import MarkdownIt
from markdown_it.token import Token
from myst_parser.slugs import github_slugify

from docs._site.layout import Pages
from docs._site.moving import moving_files
from docs._site.pages import all_pages
from docs._site.schemas import schema_files
from fluidkv.ledger.claim import Claim, Outcome, Result
from fluidkv.verdict import Evidence

_PARSER = MarkdownIt("commonmark").enable("table")
_COLON_FENCE = re.compile(r"^:{3,}.*$", re.M)
_RAW = re.compile(r"^`{4}\{raw\} html\n(.*?)^`{4}$", re.M | re.S)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.M | re.S)


@dataclass
class Source:
    """A page.

    Fields:
        links: what its anchors and pictures lead to, as written.
        places: where one can link to.
        below: pages of its toctrees, as written.
    """

    links: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    below: list[str] = field(default_factory=list)


@cache
def laid_out() -> Pages:
    """All pages as Sphinx is given them, by where they stand on the site; no claim is checked."""
    return all_pages(on_record)


def on_record(claims: Sequence[Claim]) -> list[Result]:
    """The verdicts on record, in place of what checks find."""
    return [
        Result(claim, Outcome(claim.expected, claim.evidence or Evidence.EXACT, "ours", "printed"))
        for claim in claims
    ]


@cache
def sources() -> dict[str, Source]:
    """Every page of Markdown and every notebook."""
    texts = {name: _markdown(name, text) for name, text in laid_out().items()}
    return {name: source(text) for name, text in texts.items() if text is not None}


@cache
def files() -> frozenset[str]:
    """What else the site has, beside pages and the folder of figures."""
    return frozenset({*schema_files(), *moving_files()})


def source(text: str) -> Source:
    """One page, read."""
    found = Source()
    for tree in _TOCTREE.findall(text):
        rows = [row for row in tree.splitlines() if row and not row.startswith(":")]
        found.below += [re.sub(r".*<(.*)>$", r"\1", row) for row in rows]
    for raw in _RAW.findall(text):
        found.links += re.findall(r'\b(?:href|src)="([^"]+)"', raw)
        found.places |= set(re.findall(r'\bid="([^"]+)"', raw))
    tokens = _PARSER.parse(_COLON_FENCE.sub("", text))
    for before, token in zip([None, *tokens], tokens, strict=False):
        for inner in token.children or ():
            found.links += [str(inner.attrs[key]) for key in ("href", "src") if key in inner.attrs]
        if before is not None and before.type == "heading_open":
            found.places.add(_new(_slug(token), found.places))
    return found


def _slug(heading: Token) -> str:
    words = (
        each.content for each in heading.children or () if each.type in ("text", "code_inline")
    )
    return github_slugify("".join(words))


def _new(slug: str, taken: set[str]) -> str:
    names: Iterator[str] = (slug if n == 0 else f"{slug}-{n}" for n in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _markdown(name: str, text: str) -> str | None:
    if name.endswith(".ipynb"):
        cells = nbformat.reads(text, as_version=4).cells
        return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return text if name.endswith(".md") else None
