"""Predictions out of a file: a CSV with the columns `request` and `predicted`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.predictors.predictor import Outputs
from fluidkv.reading import csv_rows, reading
from fluidkv.record import Record

_COLUMNS = "a CSV with the columns request and predicted"


@dataclass(frozen=True)
class Listed(Record):
    """What a list says of each request.

    Args:
        said: outputs, at least 1, by the number of the request, from 0, in order of arrival.
        source: where the list is from, for errors.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.file import Listed
        >>> table = fk.Requests([9, 9], [20, 51])
        >>> with_predictions(table, Listed({0: 25, 1: 40})).predicted_output.tolist()
        [25, 40]
    """

    said: Mapping[int, int]
    source: str = "given"

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`.

        Raises:
            InputError: the list misses a request, or has one that is none of these.
        """
        size = outputs.size
        missing = next((n for n in range(size) if n not in self.said), None)
        if missing is not None:
            allowed = f"a row for each of {size} requests (request {missing} has none)"
            raise InputError("predictions", self.source, allowed)
        if len(self.said) > size:
            allowed = f"requests 0 to {size - 1} only (there is {max(self.said)})"
            raise InputError("predictions", self.source, allowed)
        return np.array([self.said[n] for n in range(size)], np.int64)


def predictions_from(path: str | Path) -> Listed:
    """The predictions of a file.

    Args:
        path: the file. `request` counts the requests of the run from 0, in order of arrival;
            `predicted` is a whole number of outputs, at least 1. Rows in any order, each request
            once; other columns are not read.

    Raises:
        InputError: no such file or columns, a cell that is no such number, a request twice.

    Examples:
        >>> from fluidkv.preempt.predictors.file import predictions_from
        >>> rows = [[0, 25], [1, 40]]
        >>> np.savetxt("said.csv", rows, "%d", ",", header="request,predicted", comments="")
        >>> dict(predictions_from("said.csv").said)
        {0: 25, 1: 40}
    """
    return Listed(_read(Path(path)), str(path))


def _read(path: Path) -> dict[int, int]:
    """Predicted outputs by the number of the request."""
    said: dict[int, int] = {}
    with reading(path, "predictions") as text:
        rows = csv_rows(text, path, "predictions")
        _, header = next(rows, (1, None))
        names = [cell.strip().lower() for cell in header or ()]
        if not {"request", "predicted"} <= set(names):
            raise InputError("predictions", str(path), _COLUMNS)
        at = names.index("request"), names.index("predicted")
        for line, cells in rows:
            request, outputs = (_cell(cells, k, path, line) for k in at)
            if outputs < 1:
                raise InputError("predictions", str(path), f"at least 1 output (line {line})")
            if request in said:
                allowed = f"each request once (line {line} has request {request} again)"
                raise InputError("predictions", str(path), allowed)
            said[request] = outputs
    return said


def _cell(cells: list[str] | None, column: int, path: Path, line: int) -> int:
    text = cells[column].strip() if cells and column < len(cells) else ""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        allowed = f"whole numbers of at least 0 (line {line} has {text or 'none'})"
        raise InputError("predictions", str(path), allowed)
    return int(text)
