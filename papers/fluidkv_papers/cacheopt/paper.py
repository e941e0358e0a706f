"""The paper CacheOPT, as its claims name it."""

from functools import partial

from fluidkv.ledger import Statements

statements = partial(Statements, "cacheopt", "CacheOPT")
"""For the claims of one module."""
