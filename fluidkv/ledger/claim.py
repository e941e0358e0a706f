"""A statement, the outcome of checking it, and how the two are recorded."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, get_args

from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.ledger.basis import basis
from fluidkv.record import Record
from fluidkv.verdict import Evidence, Verdict

Kind = Literal[
    "definition",
    "theorem",
    "proposition",
    "lemma",
    "corollary",
    "example",
    "equation",
    "figure",
    "table",
    "remark",
]


class Origin(StrEnum):
    """Who makes a statement. Only what is printed can be an error of a paper.

    printed       the paper's own words and numbers, with all settings that they need
    reading       one meaning of words that leave several open, or a statement of ours beside them
    reproduction  an experiment of a paper, run under settings that we had to choose
    prediction    ours, of something that was measured
    """

    PRINTED = "printed"
    READING = "reading"
    REPRODUCTION = "reproduction"
    PREDICTION = "prediction"


@dataclass(frozen=True)
class Outcome(Record):
    """What a check found.

    Args:
        verdict: whether the statement holds.
        evidence: how we know.
        ours: our value, as text; exact values as fractions.
        paper: the paper's value, as printed.
        note: what a reader needs besides, such as the reading that was checked; or "".
        witness: the smallest counterexample that the check met; "" where there is none.
    """

    verdict: Verdict
    evidence: Evidence
    ours: str
    paper: str
    note: str = ""
    witness: str = ""


@dataclass(frozen=True)
class Finding:
    """What decides a claim, as its check returns it; the declaration makes an `Outcome` of it.

    Args:
        holds: True or False; a counterexample in words, or None where there is none; words for
            counterexamples, of which the first counts; or the verdict.
        ours, paper, note: as in `Outcome`, where they are computed.
        evidence: how it is known, where that is not said beforehand.
    """

    holds: bool | str | Iterable[str] | Verdict | None
    ours: str = ""
    paper: str = ""
    note: str = ""
    evidence: Evidence | None = None

    @property
    def counterexample(self) -> str | None:
        """In words, "" where there are none; None if there is no counterexample."""
        if isinstance(self.holds, Verdict):
            return None if self.holds is Verdict.HOLDS else ""
        if isinstance(self.holds, str) or self.holds is None:
            return self.holds
        if isinstance(self.holds, Iterable):
            return next(iter(self.holds), None)
        return None if self.holds else ""


@dataclass(frozen=True)
class Claim(Record):
    """One statement, with the record of what its check finds.

    Args:
        id: paper, place and what is said there, "congestion.example-2.level-1.throughput".
        kind: what the paper calls it.
        statement: one sentence in our own words.
        source: short name of the paper and the place in it.
        checked: the range over which the check runs, in words.
        check: finds the outcome.
        expected: the verdict on record. A check that comes out HOLDS where FAILS is on record is
            a surprise as much as the reverse.
        evidence: how that verdict is known, on record; a change of it is a surprise too.
        origin: who makes the statement.
        holds: ids of claims that do hold where this one does not.

    Raises:
        InputError: an id that is not dotted lower-case words, or an unknown kind.
    """

    id: str
    kind: Kind
    statement: str
    source: str
    checked: str
    check: Callable[[], Outcome]
    expected: Verdict = Verdict.HOLDS
    evidence: Evidence | None = None
    origin: Origin = Origin.PRINTED
    holds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", self.id):
            raise InputError("id", self.id, "lower-case words joined by dots")
        if self.kind not in get_args(Kind):
            raise InputError("kind", self.kind, ", ".join(get_args(Kind)))


_OUTCOME = {
    "verdict": "what the check finds",
    "evidence": "how that is known",
    "ours": "our value",
    "paper": "the paper's, as printed",
    "note": "what a reader needs besides",
    "witness": "the smallest counterexample that the check met",
}


def _of_outcome(name: str) -> "Callable[[Result], Any]":
    return lambda result: result.outcome and getattr(result.outcome, name)


@dataclass(frozen=True)
class Result(Keyed):
    """A claim and what its check found.

    Fields:
        outcome: None where the check raised.
        error: what it raised, or "".
    """

    claim: Claim
    outcome: Outcome | None
    error: str = ""

    KEYS = (
        Key("id", "text", "of the claim", "claim.id"),
        Key("kind", "text", "what the paper calls it", "claim.kind"),
        Key("origin", "text", "who makes the statement", "claim.origin"),
        Key(
            "basis",
            "text",
            what="`library`: computed with it; `record`: re-read from recorded runs; "
            "`paper`: from its own numbers and formulas",
            of=lambda result: basis(result.claim.check),
        ),
        Key("statement", "text", "what is claimed", "claim.statement"),
        Key("source", "text", "the paper, and the place in it", "claim.source"),
        Key("checked", "text", "the range over which the check runs", "claim.checked"),
        Key("expected", "text", "the verdict on record", "claim.expected"),
        Key("expected_evidence", "text", "how it is known, on record", "claim.evidence"),
        *(Key(name, "text", what, _of_outcome(name)) for name, what in _OUTCOME.items()),
        Key("holds[]", "text", "claims that do hold where this one does not", "claim.holds"),
        Key("error", "text", "what the check raised, or null", lambda result: result.error or None),
        Key("as_expected", "yes/no"),
    )

    @property
    def as_expected(self) -> bool:
        """Whether the check ran and found the recorded verdict by the recorded evidence."""
        return (
            self.outcome is not None
            and self.outcome.verdict is self.claim.expected
            and self.claim.evidence in (None, self.outcome.evidence)
        )
