"""Which tables there are."""

from fluidkv.errors import InputError
from fluidkv.ledger.table import Table
from fluidkv_papers.congestion import tables as congestion
from fluidkv_papers.routing import tables as routing

_MODULES = (congestion, routing)
"""Each has its `TABLES`, in order."""
_ELSEWHERE = "; others are claims: fluidkv verify congestion.table-4, and so on"


def tables() -> dict[str, Table]:
    """Every table by its name, paper after paper: "7" is Congestion's, "routing.2" Routing's."""
    return {table.name: table for module in _MODULES for table in module.TABLES}


def table(name: str) -> Table:
    """One table.

    Args:
        name: as in `tables`; "congestion.7" is "7".

    Raises:
        InputError: a name that no table has.
    """
    known = tables()
    found = known.get(name.strip().lower().removeprefix("congestion."))
    if found is None:
        raise InputError("table", name, f"{', '.join(known)}{_ELSEWHERE}")
    return found
