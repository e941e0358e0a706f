"""The paper WAIT, as its claims name it."""

from dataclasses import replace
from functools import partial

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.statements import Statements
from fluidkv.verdict import Verdict

LOST = "lost"
"""What the paper says, where our copy of it has only the words around a formula."""


statements = partial(Statements, "wait", "WAIT")
"""For the claims of one module."""


def as_read(outcome: Outcome) -> Outcome:
    """Of a reading of lost words or formulas: that it fails is no failure of the paper.

    A counterexample then leaves the statement undecided; a reading that holds, holds.
    """
    if outcome.verdict is Verdict.FAILS:
        return replace(outcome, verdict=Verdict.UNDECIDED)
    return outcome
