"""What goes into an engine: a value for each run; and columns of their requests as arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fluidkv.runs.batch import filled_up
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits


class Runs(NamedTuple):
    """A batch: of each run its requests, its server, and what is there at the start.

    Fields:
        clients: of a closed population; None: requests come at their arrival times.
        start: outputs of the requests that run at the start, the first ones of the table.
    """

    tables: Sequence[Requests]
    limits: Sequence[Limits]
    clocks: Sequence[IterationClock]
    clients: Sequence[int | None]
    start: Sequence[Sequence[int]]

    @property
    def longest(self) -> int:
        """Requests of the run with the most."""
        return max(map(len, self.tables))

    def most(self, name: str) -> int:
        """The largest value in a column of any run's requests."""
        tables = {id(table): table for table in self.tables}.values()
        return max(int(getattr(table, name).max()) for table in tables)

    def column(self, name: str, fill: float) -> np.ndarray:
        """(run, request): a column of the requests, read only; filled up behind shorter tables.

        Where all runs have one table, its row alone.
        """
        columns = [getattr(table, name) for table in self.tables]
        if all(table is self.tables[0] for table in self.tables):
            return columns[0][None]
        return stacked(columns, self.longest, fill)


def stacked(columns: Sequence[np.ndarray], size: int, fill: float) -> np.ndarray:
    """A row for each, filled up."""
    return np.stack([filled_up(column, 0, size, fill) for column in columns])
