"""The paper Routing, as its claims name it."""

from functools import partial

from fluidkv.ledger import Statements

statements = partial(Statements, "routing", "Routing")
"""For the claims of one module."""
