"""The paper WAIT, as its claims name it."""

from dataclasses import replace

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.statements import Statements
from fluidkv.verdict import Evidence, Verdict

LOST = "lost"
"""What the paper says, where our copy of it has only the words around a formula."""


def statements(
    *, origin: Origin = Origin.PRINTED, evidence: Evidence = Evidence.EXACT
) -> Statements:
    """For the claims of one module.

    Args:
        origin, evidence: of those that say no other. Most of the paper's formulas are lost in our
            copy; what rests on one that had to be given back is a reading.
    """
    return Statements("wait", "WAIT", origin=origin, evidence=evidence)


def as_read(outcome: Outcome) -> Outcome:
    """Of a reading of lost words or formulas: that it fails is no failure of the paper.

    A counterexample then leaves the statement undecided; a reading that holds, holds.
    """
    if outcome.verdict is Verdict.FAILS:
        return replace(outcome, verdict=Verdict.UNDECIDED)
    return outcome
