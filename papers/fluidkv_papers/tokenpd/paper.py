"""The paper Token-PD, as its claims name it."""

from functools import partial

from fluidkv.ledger import Statements

statements = partial(Statements, "tokenpd", "Token-PD")
"""For the claims of one module."""
