"""Claims declared on what decides them: the docstring of a check is the record of its claim.

CLAIMS = statements()
SYSTEMS = Range("l0 = 1, 5, 50, l1 = 1 ... 8", lambda: product((1, 5, 50), range(1, 9)))

@CLAIMS.claim("proposition-6.decreases", "Proposition 6", over=SYSTEMS)
def _decreases(l0: int, l1: int) -> bool | str:
    \"\"\"The throughput of the contiguous cycle falls from level to level.

    Ours: strictly decreasing
    Paper: c_i > c_{i+1}\"\"\"
    rates = [exact.contiguous_cycle(system_of(l0, l1), i).throughput for i in range(l1)]
    return all(a > b for a, b in pairwise(rates)) or f"l0={l0}, l1={l1}: {rates}"

@CLAIMS.claim("lemma-20.growth", "Lemma 20", over=SYSTEMS)
def _growth(l0: int, l1: int) -> bool | Seen:
    \"\"\"A shift adds at most one token for each request that runs.

    Ours: at most {max:.3f} of the bound\"\"\"
    growth = ...
    return growth <= 1 and Seen(growth)

@CLAIMS.claim("table-6.tax", "Table 6")
def _tax() -> Iterator[Instance]:
    \"\"\"The tax is below a half in each setting.

    Ours: {all} in the settings
    Paper: 0.41, 0.32\"\"\"
    for setting in SETTINGS:
        yield Instance(tax(setting) < 0.5, f"{tax(setting):.2f}", f"{setting}: {tax(setting)}")

@CLAIMS.claim("example-2.rate", "Example 2")
def _rate() -> Outcome:
    \"\"\"The rate is 24/5.\"\"\"
    return equals(exact.eviction_free_equilibrium(SYSTEM).rate, "24/5")

@CLAIMS.fails("table-7.gain", "Table 7, caption")
def _gain() -> Finding:
    \"\"\"Mixing gains more than 4 %.

    Checked: the printed numbers
    Paper: 4.0 %\"\"\"
    gain = ...
    return Finding(gain > 4, f"{gain:.2f} %")

LEMMA_20 = CLAIMS.section("lemma-20", "Lemma 20", evidence=Evidence.BALL)

LEMMA_20.claim("constant", ", proof", "C is about 0.57.")(lambda: rounds_to(constant(), "0.57"))

A module imports the rooms (`from fluidkv import exact, fluid`) and `np`, `sympy` or `flint` of the
ledger, which load what they hold on first use: so statements are there without what checks need.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import getdoc, signature
from types import FunctionType
from typing import Any, TypedDict, TypeVar, Unpack, get_args

from fluidkv.errors import InputError
from fluidkv.ledger.claim import Claim, Finding, Kind, Origin, Outcome
from fluidkv.ledger.ranges import Instance, Range, Seen
from fluidkv.verdict import Evidence, Verdict

Check = Callable[..., bool | str | Seen | Finding | Outcome | Iterator[Instance]]
Declared = TypeVar("Declared", bound=Check)
Text = str | Callable[[list[Any]], str]
"""Words, or what makes them of the values that a predicate has `Seen`, case by case."""

_SECTIONS = ("checked", "ours", "paper", "note", "witness", "holds")


class About(TypedDict, total=False):
    """What a declaration says of its claim, beyond id, place and statement.

    over: cases on each of which the check is a predicate: a range, or cases (or what makes them)
        that the docstring names.
    whole: the cases are all that the statement speaks of: holding on them proves it. Else it is
        sampled.
    given: arguments of the check, where several claims have one.
    evidence, origin, kind: as in `Claim`. The kind is taken from the place or the id where one of
        them names it; else it is a remark.
    refuted: how well a counterexample is known: exactly in a range, else as the claim is.
    missed: what the claim is where it does not hold: what is on record, undecided in a
        reproduction whose settings are ours, else it fails.
    checked, ours, paper, note, witness, holds: what a section of the docstring says, where it is
        computed or shared.
    """

    over: Range | Collection[Any] | Callable[[], Iterable[Any]]
    whole: bool
    given: tuple[Any, ...]
    evidence: Evidence
    refuted: Evidence
    missed: Verdict
    origin: Origin
    kind: Kind | None
    checked: str
    ours: Text
    paper: str
    note: Text
    witness: str
    holds: str


class Statements:
    """The claims of one module about one paper, in the order in which they are declared.

    Args:
        paper: first word of their ids, "congestion".
        name: short name in their sources, "Congestion".
        origin, evidence, checked: of the claims that do not say so themselves.
    """

    def __init__(
        self,
        paper: str,
        name: str,
        *,
        origin: Origin = Origin.PRINTED,
        evidence: Evidence = Evidence.EXACT,
        checked: str = "the printed case",
    ) -> None:
        self._paper, self._name = paper, name
        self._origin, self._evidence, self._checked = origin, evidence, checked
        self._claims: list[Claim] = []
        self._front, self._place, self._shared = "", "", About()

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims)

    def section(self, id: str = "", place: str = "", **shared: Unpack[About]) -> "Statements":
        """What claims about one place of the paper share, said once; they stand among the others.

        `CLAIMS.section("lemma-20", "Lemma 20").claim("growth", ", proof")` declares
        "lemma-20.growth" at "Lemma 20, proof"; `CLAIMS.section(over=SYSTEMS)` are claims about the
        same cases, wherever they stand.

        Args:
            id: front of their ids, to which a claim adds a dot and its own part.
            place: in the paper, to which a claim may add words.
            shared: what each of them says of itself, unless it or its docstring says otherwise.
        """
        within = copy(self)
        within._front, within._place = f"{id}." if id else self._front, place or self._place
        within._shared = self._shared | shared
        return within

    def fails(
        self, id: str, place: str = "", statement: str = "", **about: Unpack[About]
    ) -> Callable[[Declared], Declared]:
        """`claim` of what does not hold, on record."""
        return self.claim(id, place, statement, expected=Verdict.FAILS, **about)

    def undecided(
        self, id: str, place: str = "", statement: str = "", **about: Unpack[About]
    ) -> Callable[[Declared], Declared]:
        """`claim` of what is missed by something that the text leaves open, on record."""
        return self.claim(id, place, statement, expected=Verdict.UNDECIDED, **about)

    def claim(
        self,
        id: str,
        place: str = "",
        statement: str = "",
        *,
        expected: Verdict = Verdict.HOLDS,
        **about: Unpack[About],
    ) -> Callable[[Declared], Declared]:
        """Declare a claim on the function that checks it.

        The first paragraph of the function's docstring is the statement; a second one has sections
        of the record, "Checked: ", "Ours: ", "Paper: ", "Note: " and "Witness: ", each from the
        start of a line on. An outcome that is not the one on record says only what was found.
        "Holds: " has the claims that do hold where this one does not: their ids, without the paper,
        with a comma between two.

        In "Ours" and "Note" stand, of a predicate over cases, {count} for their number and {all},
        {list}, {min:.3f} and the like for what it has `Seen`, or what is shown of each `Instance`.

        Args:
            id: without the paper, and without the front of a `section`.
            place: in the paper; in a `section`, what follows its own.
            statement: where it is not the docstring's: claims that share a check.
            expected: the verdict on record.
            about: see `About`.

        Raises:
            InputError: no statement; a line of the docstring that begins another section.
        """
        own, about = about, self._shared | about
        id, place = f"{self._front}{id}", _joined(self._place, place)
        origin = about.get("origin", self._origin)
        missed = Verdict.UNDECIDED if origin is Origin.REPRODUCTION else Verdict.FAILS
        missed = about.get("missed", missed if expected is Verdict.HOLDS else expected)

        def declared(check: Declared) -> Declared:
            sentence, texts = _documented(check)
            texts = _texts(self._shared) | texts | _texts(own)
            cases = _range(about, texts)
            checked = texts.pop("checked", cases.words if cases else self._checked)
            holds = texts.pop("holds", "").split(", ")
            held = about.get("evidence", self._evidence)
            if cases:
                held = Evidence.EXACT if cases.whole else Evidence.SAMPLED
                texts.setdefault("ours", "in all {count} cases")
            refuted = about.get("refuted", Evidence.EXACT if cases else held)
            record = _Record(expected, missed, held, refuted, **texts)
            if not (statement or sentence):
                raise InputError("statement", "", f"a sentence, or a docstring of the check: {id}")
            self._claims.append(
                Claim(
                    id=f"{self._paper}.{id}",
                    kind=about.get("kind") or _kind(place, id.replace("-", " ")),
                    statement=statement or sentence,
                    source=f"{self._name}, {place}",
                    checked=checked,
                    check=_decided(check, cases, about.get("given", ()), record),
                    expected=expected,
                    evidence=held if expected is Verdict.HOLDS else refuted,
                    origin=origin,
                    holds=tuple(f"{self._paper}.{id}" for id in holds if id),
                )
            )
            return check

        return declared


@dataclass(frozen=True)
class _Record:
    """The outcome on record: its verdict, that of a miss, how either is known, and its words."""

    expected: Verdict
    missed: Verdict
    held: Evidence
    refuted: Evidence
    ours: Text = "as stated"
    paper: str = "as stated"
    note: Text = ""
    witness: str = ""

    def outcome(self, finding: Finding, seen: Sequence[Any] = ()) -> Outcome:
        """What was found, in the words of the record where it is what is on record."""
        bad = finding.counterexample
        holds = bad is None
        verdict = Verdict.HOLDS if holds else self.missed
        if isinstance(finding.holds, Verdict):
            verdict = finding.holds
        surprise = "no counterexample" if holds else "a counterexample"
        as_recorded = verdict is self.expected
        return Outcome(
            verdict,
            finding.evidence or (self.held if holds else self.refuted),
            finding.ours or (_text(self.ours, seen) if as_recorded else surprise),
            finding.paper or self.paper,
            finding.note or (_text(self.note, seen) if as_recorded else ""),
            "" if bad is None else bad or self.witness,
        )

    def of_instances(self, instances: Sequence[Instance]) -> Outcome:
        """What was found in each; all of it is shown, whatever the outcome is."""
        if not instances:
            raise ArithmeticError("a check that looks at nothing")
        shown = [instance.shown for instance in instances if instance.shown is not None]
        ours = "{all}" if shown and self.ours == "as stated" else self.ours
        fixed = isinstance(ours, str) and "{" not in ours  # said where it is as recorded alone
        wrong = (instance for instance in instances if not instance.holds)
        bad = next((i.bad or ("" if i.shown is None else str(i.shown)) for i in wrong), None)
        printed = [instance.paper for instance in instances if instance.paper]
        paper = "{all}" if self.paper == "as stated" else self.paper
        return self.outcome(
            Finding(
                bad,
                "" if fixed else _text(ours, shown),
                _text(paper, printed) if printed else "",
            ),
            shown,
        )


def _decided(
    check: Check, cases: Range | None, given: Sequence[Any], record: _Record
) -> Callable[[], Outcome]:
    """The check of a claim: what its function says, of one case or of all, as an outcome."""

    def at_once() -> Outcome:
        result = check(*given)
        if isinstance(result, Outcome):
            return replace(result, note=result.note or _text(record.note, ()))
        if result is None:
            raise TypeError("a check returns whether its statement holds")
        if isinstance(result, Iterator):
            return record.of_instances(list(result))
        if isinstance(result, Finding):
            return record.outcome(result)
        return record.outcome(Finding(isinstance(result, Seen) or result))

    def case_by_case() -> Outcome:
        assert cases is not None
        seen: list[Any] = []

        def predicate(*case: Any) -> Any:
            result = check(*given, *case)
            if isinstance(result, Iterator):
                raise TypeError("a check of one case says whether it holds; it yields no instances")
            seen.append(result.value if isinstance(result, Seen) else result)
            return result

        names = list(signature(check).parameters)[len(given) :]
        return record.outcome(Finding(cases.counterexample(predicate, names)), seen)

    decided = at_once if cases is None else case_by_case
    decided.__module__ = check.__module__  # where the statement stands
    return decided


def _texts(about: About) -> dict[str, Any]:
    return {key: value for key, value in about.items() if key in _SECTIONS}


def _joined(place: str, more: str) -> str:
    """A place and what follows: "Lemma 20" with ", proof" or with "and Figure 4"."""
    return place + (" " if place and more[:1] not in {"", ",", ";", ":"} else "") + more


def _documented(check: Check) -> tuple[str, dict[str, Any]]:
    """The statement and the sections of a docstring; its other paragraphs are for its readers."""
    text = getdoc(check) if isinstance(check, FunctionType) else None
    sentence, *paragraphs = (text or "").split("\n\n")
    sections: dict[str, list[str]] = {}
    for paragraph in paragraphs:
        lines = None
        for line in paragraph.splitlines():
            label = re.match(r"([A-Z][a-z]+): ", line)
            if label and label[1].lower() not in _SECTIONS:
                raise InputError("docstring", line, f"sections of {', '.join(_SECTIONS)}")
            if label:
                lines = sections.setdefault(label[1].lower(), [])
                line = line[label.end() :]
            if lines is not None:
                lines.append(line)
    return " ".join(sentence.split()), {key: " ".join(lines) for key, lines in sections.items()}


def _range(about: About, texts: Mapping[str, Any]) -> Range | None:
    """The cases of a claim, with the words for them."""
    over = about.get("over")
    if over is None or isinstance(over, Range):
        return over
    cases = over if callable(over) else lambda: over
    return Range(texts.get("checked", ""), cases, about.get("whole", False))


def _text(text: Text, seen: Sequence[Any]) -> str:
    """Words about the cases that were tried: {count}; {all}, {list} and {min:.3f} of the seen."""
    words = text if isinstance(text, str) else text(list(seen))

    def shown(match: re.Match[str]) -> str:
        value = _OF_SEEN[match[1]](seen)
        form = (match[2] or ":")[1:]
        return format(float(value) if isinstance(value, Fraction) and form else value, form)

    return re.sub(rf"{{({'|'.join(_OF_SEEN)})(:[^}}]*)?}}", shown, words)


_OF_SEEN: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "all": "; ".join,
    "list": ", ".join,
    "min": min,
    "max": max,
    "sum": sum,
}


def _kind(*texts: str) -> Kind:
    """The kind that the first of the texts to name one names first."""
    for text in texts:
        named = [
            (match.start(), kind)
            for kind in get_args(Kind)
            if (match := re.search(rf"\b{kind}s?\b", text.lower()))
        ]
        if named:
            return min(named)[1]
    return "remark"
