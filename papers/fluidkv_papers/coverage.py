"""Every numbered item of the papers beside what there is about it here: a page of the site.

`python -m fluidkv_papers.coverage` prints the page. Claims and figures are found by their ids and
by the places that they name.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from fluidkv.figures.registry import figures, written
from fluidkv.ledger import Claim, Origin, Verdict
from fluidkv.ledger.registry import ledger, tables

Item = tuple[str, str]
"""Kind and number, ("figure", "4") or ("lemma", "A.1")."""

PAPERS = {
    name: name.lower().replace("-", "")
    for name in ("Congestion", "WAIT", "Routing", "CacheOPT", "Token-PD")
}
"""Papers that list what they have, in `contents.toml`, and their folders."""
_JOINT = r"(?:(?: \([a-d1-4]\))?(?:,? and |, | to |-to-|-and-|-))"


def _listed(kinds: str, number: str) -> re.Pattern[str]:
    """A kind, in the singular or plural, and its numbers."""
    return re.compile(rf"\b({kinds})s?[ -]({number}(?:{_JOINT}{number})*)", re.IGNORECASE)


_PLACES = (
    _listed(
        "theorem|proposition|lemma|corollary|definition|remark|example|observation", r"(?:A\.)?\d+"
    ),
    _listed("algorithm|figure|table", r"\d+"),
    _listed("equation", r"\(?\d+\)?"),
)
_SECTION = re.compile(r"\bsections? (\d+(?:\.\d+)*(?:(?:, | and )\d+(?:\.\d+)*)*)")
_APPENDIX = re.compile(r"\bAppendix ([A-Z])\b(?:, \((\d)\))?")
"""An appendix, and an equation that is numbered within it."""
_BARE = re.compile(r"\((\d\d)\)")
"""An equation without the word; parts of a theorem have one digit."""
_BESIDE = re.compile(r",? with .*| beside .*")
"""What follows is where settings or another half of a statement come from."""


@cache
def contents(paper: str) -> Mapping[str, Mapping[str, Any]]:
    """What a paper has: `items`, kind -> number -> words; why an item is `without` a claim; and
    `remarks`. Nothing of a paper that lists nothing."""
    if paper not in PAPERS:
        return {"items": {}}
    file = files("fluidkv_papers") / PAPERS[paper] / "contents.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def page() -> str:
    """The page, as Markdown."""
    lines = [
        "# What each paper has, and what there is about it here",
        "",
        "Each numbered item of a paper, the claims of ours about it and what came out. "
        "`fluidkv verify ID` runs the claims under an id (their number stands in brackets), "
        "`fluidkv figure ID` writes a figure, and `fluidkv table NAME` a table beside our numbers. "
        "An item stands with every claim that names it. *Not reproduced*: an experiment under "
        "settings of which some are ours. *Remarks* are what a reader sees, and no check decides.",
        "",
        "The page is made from the ledger, the figures and the tables; "
        "`python -m fluidkv_papers.coverage` prints it.",
    ]
    for paper in PAPERS:
        listed = contents(paper)
        lines += ["", f"## {paper}", *_section(paper, listed["items"], listed["without"])]
        remarks = listed.get("remarks", {})
        lines += ["", "**Remarks**", ""] if remarks else []
        lines += [f"- *{item.capitalize()}*: {text}" for item, text in remarks.items()]
    return "\n".join(lines) + "\n"


def items(text: str) -> set[Item]:
    """The numbered items that a source or an id names."""
    found = {("equation", number) for number in _BARE.findall(text)}
    for match in (match for place in _PLACES for match in place.finditer(text)):
        kind, previous = match.group(1).lower(), ""
        for joint, number in re.findall(r"(to |-to-)?\(?((?:A\.)?\d+)", match.group(2)):
            if joint:
                found |= {(kind, str(n)) for n in range(int(previous), int(number))}
            found.add((kind, number))
            previous = number
    return found


def items_of(claim: Claim) -> set[Item]:
    """The items that a claim is about."""
    paper, name = claim.id.split(".", 1)
    front = re.sub(r"\ba-(\d)", r"A.\1", name.split(".")[0])
    source = _BESIDE.sub("", claim.source.removeprefix(f"{paper}, "))
    name = claim.source.partition(", ")[0]
    return items(front) | items(source) | _sections(name, source) | _appendices(name, source)


def _sections(paper: str, source: str) -> set[Item]:
    """The sections that a source names, of a paper whose contents list them."""
    if "section" not in contents(paper)["items"]:
        return set()
    named = (re.findall(r"\d+(?:\.\d+)*", match) for match in _SECTION.findall(source))
    return {("section", number) for numbers in named for number in numbers}


def _appendices(paper: str, source: str) -> set[Item]:
    """The appendices that a source names, and their equations, of a paper that lists them."""
    if "appendix" not in contents(paper)["items"]:
        return set()
    named = _APPENDIX.findall(source)
    equations = {("equation", f"{letter}.{number}") for letter, number in named if number}
    return {("appendix", letter) for letter, _ in named} | equations


def _section(
    paper: str, listed: Mapping[str, Mapping[str, str]], without: Mapping[str, str]
) -> list[str]:
    claims = [c for c in ledger() if c.source.startswith(f"{paper}, ")]
    about = [(claim, items_of(claim)) for claim in claims]
    drawn = [
        (written(f.id), items(f.source)) for f in figures() if f.source.startswith(f"{paper}, ")
    ]
    beside = [
        (t.name, items(t.source)) for t in tables().values() if t.source.startswith(f"{paper}, ")
    ]
    lines = []
    for kind, named in listed.items():
        lines += ["", f"| {kind} | claims | outcome | figure, table |", "|---|---|---|---|"]
        for number, name in named.items():
            item = (kind, number)
            chosen = [claim for claim, of in about if item in of]
            shown = [f"`figure {id}`" for id, of in drawn if item in of]
            shown += [f"`table {name}`" for name, of in beside if item in of]
            label = f"({number})" if kind == "equation" else number
            none = without.get(f"{kind} {number}", "none" if shown else "none yet")
            lines.append(
                f"| **{label}** {name} | {_ids(chosen) or none} | {_tally(chosen)} "
                f"| {', '.join(shown)} |"
            )
    return lines


def _ids(claims: Iterable[Claim]) -> str:
    """Ids up to their second word, each once, with how many claims of ours they stand for."""
    fronts = Counter(".".join(claim.id.split(".")[:2]) for claim in claims)
    return ", ".join(f"`{id}`" + (f" ({n})" if n > 1 else "") for id, n in fronts.items())


def _tally(claims: Iterable[Claim]) -> str:
    counts = Counter(map(_outcome, claims))
    return ", ".join(f"{words} {counts[words]}" for words in _OUTCOMES if counts[words])


_OUTCOMES = (
    *("holds", "reproduced", "not reproduced", "undecided"),
    *("fails as printed", "fails in a reading", "misses what was measured"),
)


def _outcome(claim: Claim) -> str:
    """One of `_OUTCOMES`: only what is printed can fail as printed."""
    reproduction = claim.origin is Origin.REPRODUCTION
    if claim.expected is Verdict.HOLDS:
        return "reproduced" if reproduction else "holds"
    if reproduction:
        return "not reproduced"
    if claim.expected is Verdict.UNDECIDED:
        return "undecided"
    return {
        Origin.PRINTED: "fails as printed",
        Origin.READING: "fails in a reading",
        Origin.PREDICTION: "misses what was measured",
    }[claim.origin]


if __name__ == "__main__":
    print(page(), end="")
