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
_PLACE = re.compile(r"^<!-- claims of: ([\w.]+) -->\n.*\n", re.M)
_GROUPS = {
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
    places = _PLACE.findall(text)
    results = check([claim for claim in ledger() if claim.expected is Verdict.FAILS])
    undecided = [claim for claim in ledger() if claim.expected is Verdict.UNDECIDED]

    def lists(match: re.Match[str]) -> str:
        place = match[1]
        fails = [result for result in results if _place(result.claim, places) == place]
        left = [claim for claim in undecided if _place(claim, places) == place]
        return "\n".join(_lists(fails, left))

    return {**pages, PAGE: _PLACE.sub(lists, text)}


def _place(claim: Claim, places: Sequence[str]) -> str:
    """The longest of the places that the module of a claim is in, below its distribution."""
    module = claim.check.__module__.partition(".")[2]
    return max((place for place in places if f"{module}.".startswith(f"{place}.")), key=len)


def _lists(fails: Sequence[Result], undecided: Sequence[Claim]) -> Iterator[str]:
    for origin, title in _GROUPS.items():
        of_origin = [result for result in fails if result.claim.origin is origin]
        if of_origin:
            yield f"**{title}**\n"
            yield from (f"- {_why(result)}" for result in of_origin)
            yield ""
    if undecided:
        yield "**Undecided**\n"
        yield from (f"- `{claim.id}` {_plain(claim.statement)}" for claim in undecided)
        yield ""


def _why(result: Result) -> str:
    """A statement that fails, what is printed and what is so, and what holds."""
    claim, outcome = result.claim, result.outcome
    assert outcome is not None
    words = {"*Printed*: ": outcome.paper, "*Ours*: ": outcome.ours}
    words |= {"*Counterexample*: ": outcome.witness, "": outcome.note}
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
