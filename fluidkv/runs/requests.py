"""The requests of a run: when each comes, and with how many tokens."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.labels import dataset
from fluidkv.record import Record

if TYPE_CHECKING:
    import xarray as xr


_TITLES = {
    "input_length": ("token", "prompt tokens"),
    "output_length": ("token", "output tokens"),
    "arrival": ("time", "when it comes"),
    "max_output": ("token", "what the engine may assume"),
    "class_index": ("1", "number of the class"),
    "priority": ("1", "the lower, the more urgent"),
    "predicted_output": ("token", "what a length predictor says"),
    "estimated_output": ("token", "the prediction with its padding"),
    "ttft_slo": ("time", "objective for the first token"),
    "tbt_slo": ("time", "objective between tokens"),
}


@dataclass(frozen=True, eq=False)
class Requests(Record):
    """A table of requests in order of arrival.

    Args:
        input_length: l0, tokens, shape (request,), each at least 1.
        output_length: l1, tokens, each at least 1: known to the run, not to the engine.
        arrival: when each comes, on the run's clock (iterations or seconds), not falling. A request
            is there from the first iteration that starts at or after it. None: all at 0.
        max_output: what the engine may assume, at least `output_length`; None: the same.
        class_index: which class each belongs to; None: all 0.
        priority: who is served first and evicted last: the lower, the more urgent; None: all 0.
        predicted_output: what a length predictor says, tokens, at least 1; None: the truth.
        estimated_output: the prediction with its padding, which memory is given for; None: the
            prediction.
        ttft_slo, tbt_slo: objectives for the first token and between tokens, on the run's clock,
            above 0; None: infinite.

    Raises:
        InputError: lengths that are not whole numbers of at least 1, columns of other lengths,
            times that go backwards or are not finite, an objective that is not above 0.

    Examples:
        >>> table = fk.Requests([100, 2000], [20, 50], arrival=[0, 1.5])
        >>> len(table), table.input_length.sum().item(), table.arrival.tolist()
        (2, 2100, [0.0, 1.5])
    """

    input_length: Int[np.ndarray, " request"]
    output_length: Int[np.ndarray, " request"]
    arrival: Float[np.ndarray, " request"]
    max_output: Int[np.ndarray, " request"]
    class_index: Int[np.ndarray, " request"]
    priority: Int[np.ndarray, " request"]
    predicted_output: Int[np.ndarray, " request"]
    estimated_output: Int[np.ndarray, " request"]
    ttft_slo: Float[np.ndarray, " request"]
    tbt_slo: Float[np.ndarray, " request"]

    def __init__(
        self,
        input_length: ArrayLike,
        output_length: ArrayLike,
        *,
        arrival: ArrayLike | None = None,
        max_output: ArrayLike | None = None,
        class_index: ArrayLike | None = None,
        priority: ArrayLike | None = None,
        predicted_output: ArrayLike | None = None,
        estimated_output: ArrayLike | None = None,
        ttft_slo: ArrayLike | None = None,
        tbt_slo: ArrayLike | None = None,
    ) -> None:
        outputs = _lengths("output_length", output_length, None)
        size = outputs.size
        inputs = _lengths("input_length", input_length, size)
        most = outputs if max_output is None else _lengths("max_output", max_output, size)
        if (most < outputs).any():
            row = int(np.argmax(most < outputs))
            raise InputError(
                "max_output",
                int(most[row]),
                f"at least the {outputs[row]} outputs of request {row}",
            )
        predicted = outputs
        if predicted_output is not None:
            predicted = _lengths("predicted_output", predicted_output, size)
        estimated = predicted
        if estimated_output is not None:
            estimated = _lengths("estimated_output", estimated_output, size)
        for name, column in (
            ("input_length", inputs),
            ("output_length", outputs),
            ("arrival", _times(arrival, size)),
            ("max_output", most),
            ("class_index", _integers("class_index", class_index, size)),
            ("priority", _integers("priority", priority, size)),
            ("predicted_output", predicted),
            ("estimated_output", estimated),
            ("ttft_slo", _objectives("ttft_slo", ttft_slo, size)),
            ("tbt_slo", _objectives("tbt_slo", tbt_slo, size)),
        ):
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return self.output_length.size

    @cached_property
    def longest(self) -> tuple[int, int, int]:
        """The longest input, output and `max_output`, each maybe of another request."""
        columns = self.input_length, self.output_length, self.max_output
        inputs, outputs, most = (int(column.max()) for column in columns)
        return inputs, outputs, most

    def to_xarray(self) -> "xr.Dataset":
        """The columns along `request`; times are on the run's clock, whatever its unit."""
        return dataset(
            {
                each.name: ("request", getattr(self, each.name), *_TITLES[each.name])
                for each in fields(self)
            }
        )

    def asking(self, max_output: ArrayLike) -> "Requests":
        """The same requests with other numbers of outputs that an engine may assume."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        return Requests(**columns | {"max_output": max_output})


def _lengths(name: str, values: ArrayLike, size: int | None) -> np.ndarray:
    column = np.asarray(values)
    if column.dtype.kind not in "iu" or column.ndim > 1:
        raise InputError(name, values, "whole numbers of tokens, one for each request")
    if column.ndim == 0 and size is not None:
        column = np.full(size, column)
    if column.ndim != 1 or column.size == 0 or (size is not None and column.size != size):
        raise InputError(
            name, f"{column.size} values", f"{size or 'at least 1'}, one for each request"
        )
    if column.max() >= 2**62:
        raise InputError(name, int(column.max()), "fewer than 2^62 tokens")
    if column.min() < 1:
        row = int(np.argmin(column))
        raise InputError(name, f"{column[row]} in request {row}", "at least 1 token")
    return column.astype(np.int64)


def _integers(name: str, values: ArrayLike | None, size: int) -> np.ndarray:
    """One for each request; 0 where nothing is said."""
    if values is None:
        return np.zeros(size, np.int64)
    column = np.asarray(values)
    if column.dtype.kind not in "iu" or column.shape not in ((), (size,)):
        raise InputError(name, values, f"{size} integers, one for each request")
    if size and column.max() > np.iinfo(np.int64).max:  # unsigned ones
        raise InputError(name, int(column.max()), "integers of 64 bits with a sign")
    return np.broadcast_to(column.astype(np.int64), size).copy()


def _objectives(name: str, values: ArrayLike | None, size: int) -> np.ndarray:
    """One for each request; infinite where nothing is said."""
    if values is None:
        return np.full(size, np.inf)
    column = np.asarray(values)
    if column.dtype.kind not in "iuf" or column.shape not in ((), (size,)):
        raise InputError(name, values, f"{size} times, one for each request")
    column = np.broadcast_to(column.astype(np.float64), size).copy()
    if not (column > 0).all():
        row = int(np.argmin(column > 0))
        raise InputError(name, f"{column[row]:g} of request {row}", "a time above 0")
    return column


def _times(values: ArrayLike | None, size: int) -> np.ndarray:
    if values is None:
        return np.zeros(size)
    column = np.array(values, dtype=np.float64)
    if column.shape != (size,):
        raise InputError("arrival", f"{column.size} times", f"{size}, one for each request")
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise InputError("arrival", f"{column[row]} of request {row}", "a finite time")
    backwards = np.diff(column) < 0
    if backwards.any():
        row = int(np.argmax(backwards)) + 1
        raise InputError(
            "arrival", f"{column[row]:g} of request {row}", f"no earlier than {column[row - 1]:g}"
        )
    return column
