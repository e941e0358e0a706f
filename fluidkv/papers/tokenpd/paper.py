"""The paper Token-PD, as its claims name it."""

from fluidkv.ledger.claim import Origin
from fluidkv.ledger.statements import Statements
from fluidkv.verdict import Evidence


def statements(
    *, origin: Origin = Origin.PRINTED, evidence: Evidence = Evidence.EXACT
) -> Statements:
    """For the claims of one module.

    Args:
        origin, evidence: of those that say no other.
    """
    return Statements("tokenpd", "Token-PD", origin=origin, evidence=evidence)
