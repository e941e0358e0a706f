"""Every claim of the ledger in one table, which a form above it narrows down."""

from html import escape

from docs._site.layout import Pages
from fluidkv.ledger.claim import Claim, Origin
from fluidkv.ledger.registry import fronts, ledger

PAPERS = ("Congestion", "WAIT", "Routing", "CacheOPT", "Token-PD", "vLLM", "Measured, or ours")
_OUTCOMES = ("holds", "fails", "undecided")
_INTRO = """# All claims

What papers and measurements say, statement by statement, with the outcome on record. `fluidkv
verify ID` runs the check of one; the front part of an id stands for all that begin with it. What
fails is discussed on its [own page](ledger.md); which item of a paper has which claims stands under
[coverage](coverage.md).

- **Who says it.** *printed*: the paper's own words and numbers. *reading*: one meaning of words
  that leave several open, or a statement of ours beside them. *reproduction*: an experiment of a
  paper under settings that we had to choose. *prediction*: ours, of something that was measured.
- **How it is known.** *exact*: integers and rationals. *ball*: floating point with every rounding
  bounded. *float*: without such a bound. *sampled*: finitely many cases out of infinitely many.

"""


def paper_of(source: str) -> str:
    """The paper that a source names first; else the last of `PAPERS`."""
    first = source.split(",")[0].split(" and ")[0]
    return first if first in PAPERS else PAPERS[-1]


def claims_page() -> Pages:
    """The page; a row has its claim's id as anchor, and the fronts of ids that begin there."""
    seen: set[str] = set()
    rows = "\n".join(_row(claim, _new_fronts(claim.id, seen)) for claim in ledger())
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEAD)
    table = (
        f'<table id="claims" class="claims"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table>"
    )
    return {"claims.md": f"{_INTRO}````{{raw}} html\n{_form()}\n{table}\n````\n"}


_HEAD = ("Claim", "Statement", "Who says it", "Outcome", "Known by")


def _new_fronts(id: str, seen: set[str]) -> list[str]:
    new = [each for each in fronts(id)[1:-1] if each not in seen]
    seen.update(fronts(id))
    return new


def _row(claim: Claim, anchors: list[str]) -> str:
    spans = "".join(f'<span id="{each}"></span>' for each in anchors)
    evidence = str(claim.evidence) if claim.evidence else "as it comes out"
    paper = escape(paper_of(claim.source))
    return (
        f'<tr id="{claim.id}" data-paper="{paper}" data-origin="{claim.origin}" '
        f'data-outcome="{claim.expected}">'
        f'<th scope="row">{spans}<code>{_breakable(claim.id)}</code>'
        f"<small>{escape(claim.source)}</small></th>"
        f"<td>{escape(claim.statement)}<small>{escape(claim.checked)}</small></td>"
        f'<td>{claim.origin}</td><td class="{claim.expected}">{claim.expected}</td>'
        f"<td>{evidence}</td></tr>"
    )


def _breakable(id: str) -> str:
    return id.replace(".", ".<wbr>").replace("-", "-<wbr>")


def _form() -> str:
    named = {paper_of(claim.source) for claim in ledger()}
    choices = (
        ("paper", "Paper", [paper for paper in PAPERS if paper in named]),
        ("origin", "Who says it", [str(origin) for origin in Origin]),
        ("outcome", "Outcome", list(_OUTCOMES)),
    )
    selects = "".join(
        f'<label>{label} <select name="{name}"><option value="">all</option>'
        + "".join(f"<option>{escape(each)}</option>" for each in options)
        + "</select></label>"
        for name, label, options in choices
    )
    return (
        '<form class="filter" data-filters="#claims tbody tr" data-noun="claims" hidden>'
        '<label>Words or id <input type="search" name="words"></label>'
        f'{selects}<output aria-live="polite"></output></form>'
    )
