"""The paper Congestion, as its claims name it."""

from functools import partial

from fluidkv.ledger import Statements

statements = partial(Statements, "congestion", "Congestion")
"""For the claims of one module."""
