"""Claims of the paper WAIT, with what they share filled in."""

from collections.abc import Callable
from dataclasses import replace

from fluidkv.ledger.claim import Claim, Kind, Outcome
from fluidkv.verdict import Verdict


def wait(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    *,
    kind: Kind = "example",
    expected: Verdict = Verdict.HOLDS,
    checked: str = "the printed case",
) -> Claim:
    """A claim whose id starts with "wait" and whose source is a place in that paper."""
    return Claim(
        id=f"wait.{id}",
        kind=kind,
        statement=statement,
        source=f"WAIT, {place}",
        checked=checked,
        check=check,
        expected=expected,
    )


def as_read(outcome: Outcome) -> Outcome:
    """Of a reading of lost words or formulas: that it fails is no failure of the paper.

    A counterexample then leaves the statement undecided; a reading that holds, holds.
    """
    if outcome.verdict is Verdict.FAILS:
        return replace(outcome, verdict=Verdict.UNDECIDED)
    return outcome
