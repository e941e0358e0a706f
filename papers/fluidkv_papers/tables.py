"""Which tables there are."""

from fluidkv.ledger import Table
from fluidkv_papers.congestion.tables import TABLES as CONGESTION
from fluidkv_papers.routing.tables import TABLES as ROUTING


def tables() -> tuple[Table, ...]:
    """Every table, paper after paper."""
    return (*CONGESTION, *ROUTING)
