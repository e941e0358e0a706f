"""The ledger: statements of the papers, each with a check that runs.

Importing this is cheap; a check imports what it needs when it runs.
"""

from fluidkv.claims.claim import Claim, Outcome, Result
from fluidkv.claims.ledger import ledger, select, verify

__all__ = ["Claim", "Outcome", "Result", "ledger", "select", "verify"]
