"""Statements made wrong on purpose: what a check that can fail must notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of one statement; the laboratory stays as it is.

    Args:
        claim: the id.
        old, new: a piece of the text of the claim's module that says what the paper says, and
            what is put in its place, where `old` first follows `near`.
        near: text that stands before `old`; "" takes the id without the paper.
    """

    claim: str
    old: str
    new: str
    near: str = ""
