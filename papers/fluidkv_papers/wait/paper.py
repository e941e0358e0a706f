"""The paper WAIT, as its claims name it."""

from functools import partial

from fluidkv.ledger import Statements

LOST = "lost"
"""What the paper says, where our copy of it has only the words around a formula."""


statements = partial(Statements, "wait", "WAIT")
"""For the claims of one module."""
