"""Arithmetic on printed numbers: each stands for all that round to it."""

from fractions import Fraction
from itertools import product

from fluidkv.ledger import Finding, decimal, span

Span = tuple[Fraction, Fraction]


def ratio(above: str, below: str) -> Span:
    """All quotients of two positive printed numbers."""
    found = [a / b for a, b in product(span(above), span(below))]
    return min(found), max(found)


def less(before: str, after: str) -> Span:
    """Per cent by which a number falls."""
    low, high = ratio(after, before)
    return 100 * (1 - high), 100 * (1 - low)


def more(before: str, after: str) -> Span:
    """Per cent by which a number rises."""
    low, high = ratio(after, before)
    return 100 * (low - 1), 100 * (high - 1)


def agree(found: list[tuple[Span, str]], unit: str, *, note: str = "") -> Finding:
    """Whether what follows from a table can round to what the text prints, each in turn."""
    bad = [
        f"{printed}{unit}, from the table {decimal(low, 2)} to {decimal(high, 2)}{unit}"
        for (low, high), printed in found
        if high < span(printed)[0] or low > span(printed)[1]
    ]
    middles = [(low + high) / 2 for (low, high), _ in found]
    return Finding(
        not bad or bad[0],
        ", ".join(f"{decimal(middle, 2)}{unit}" for middle in middles),
        paper=", ".join(f"{printed}{unit}" for _, printed in found),
        note=note,
    )
