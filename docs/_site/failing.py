"""The lists of the page `ledger.md`: what fails, as its checks find it, and what is undecided."""

import re
from collections.abc import Callable, Iterator, Sequence

from docs._site.layout import Pages
from fluidkv.ledger.claim import Claim, Origin, Result
from fluidkv.ledger.registry import claim_of, ledger
from fluidkv.ledger.verify import run_all
from fluidkv.processes import cores
from fluidkv.verdict import Verdict

Check = Callable[[Sequence[Claim]], Sequence[Result]]
"""What finds the outcomes of claims."""

PAGE = "ledger.md"
_PLACE = re.compile(r"^<!-- claims of: ([\w. ]+) -->\n.*\n", re.M)
_ORIGINS = {
    Origin.PRINTED: "Errors of the paper as printed",
    Origin.READING: "Readings of words that leave several open, and statements of ours",
    Origin.REPRODUCTION: "Experiments that are not met",
    Origin.PREDICTION: "Predictions of ours that are missed",
}
_BREAK = "\\\n  "
"""A line break within an item of a list."""
_SYNTAX = re.compile(r"([\\*_\[\]<>$|#~^{}&])")


def checked(claims: Sequence[Claim]) -> list[Result]:
    """What the checks find now, on all cores.

    Raises:
        RuntimeError: an outcome that is not the one on record.
    """
    results = run_all(claims, jobs=cores(), lookup=claim_of)
    for result in results:
        if not result.as_expected:
            raise RuntimeError(f"{result.claim.id} is not as on record: {result.to_dict()}")
    return results


def with_failing(pages: Pages, check: Check = checked) -> Pages:
    """The pages, with lists where `ledger.md` has a comment and a line that stands for them."""
    text = pages[PAGE]
    places = [place for places in _PLACE.findall(text) for place in places.split()]
    results = check([claim for claim in ledger() if claim.expected is not Verdict.HOLDS])

    def lists(match: re.Match[str]) -> str:
        here = match[1].split()
        return "\n".join(_lists([r for r in results if _place(r.claim, places) in here]))

    return {**pages, PAGE: _PLACE.sub(lists, text)}


def _place(claim: Claim, places: Sequence[str]) -> str:
    """The longest of the places that the module of a claim is in, below its distribution."""
    module = claim.check.__module__.partition(".")[2]
    return max((place for place in places if f"{module}.".startswith(f"{place}.")), key=len)


def _lists(results: Sequence[Result]) -> Iterator[str]:
    fails = [result for result in results if result.claim.expected is Verdict.FAILS]
    groups = {title: [r for r in fails if r.claim.origin is of] for of, title in _ORIGINS.items()}
    groups["Undecided"] = [r for r in results if r.claim.expected is Verdict.UNDECIDED]
    for title, group in groups.items():
        if group:
            yield f"**{title}**\n"
            yield from (f"- {_why(result)}" for result in group)
            yield ""


def _why(result: Result) -> str:
    """A statement that does not hold, what is printed and what is so, and what holds."""
    claim, outcome = result.claim, result.outcome
    assert outcome is not None
    witness = "" if outcome.witness in outcome.ours else outcome.witness
    words = {"*Printed*: ": outcome.paper, "*Ours*: ": outcome.ours}
    words |= {"*Counterexample*: ": witness, "": outcome.note}
    why = " ".join(f"{label}{_ended(text)}" for label, text in words.items() if _is_telling(text))
    holds = (f"*Holds*: {_plain(claim_of(id).statement)} (`{id}`)" for id in claim.holds)
    return _BREAK.join((f"`{claim.id}` {_plain(claim.statement)}", why, *holds))


def _is_telling(words: str) -> bool:
    return words not in {"", "as stated"}


def _ended(words: str) -> str:
    return _plain(words) + ("" if words.endswith((".", "...")) else ".")


def _plain(words: str) -> str:
    """Words of a claim as Markdown that shows them as they are; code in backticks stays code."""
    parts = " ".join(words.split()).split("`")
    shown = [_SYNTAX.sub(r"\\\1", part) if n % 2 == 0 else part for n, part in enumerate(parts)]
    return "`".join(shown)
