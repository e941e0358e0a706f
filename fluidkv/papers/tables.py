"""Which tables there are."""

from fluidkv.errors import InputError
from fluidkv.ledger.table import Table
from fluidkv.papers.congestion import tables as congestion

_MODULES = (congestion,)
"""Each has its `TABLES`."""


def tables() -> dict[int, Table]:
    """Every table by its number in Congestion, in order."""
    found = {table.number: table for module in _MODULES for table in module.TABLES}
    return dict(sorted(found.items()))


def table(number: int) -> Table:
    """One table.

    Raises:
        InputError: a number that no table has.
    """
    known = tables()
    if number not in known:
        raise InputError("table", number, ", ".join(map(str, known)))
    return known[number]
