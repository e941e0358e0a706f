"""The paper Congestion, as its claims name it."""

from functools import partial

from fluidkv.ledger.statements import Statements

statements = partial(Statements, "congestion", "Congestion")
"""For the claims of one module."""
