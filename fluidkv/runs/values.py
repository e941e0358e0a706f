"""One value for all runs, or one for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fluidkv.errors import InputError


def one_each(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """A column for every argument, with a value for each run; what is single serves them all.

    Args:
        given: argument -> one value, or a sequence or array of as many as there are runs.

    Raises:
        InputError: columns of different lengths.
    """
    columns = {name: list(value) if _several(value) else [value] for name, value in given.items()}
    size = max(map(len, columns.values()))
    for name, column in columns.items():
        if len(column) not in (1, size):
            raise InputError(name, f"{len(column)} of them", f"1, or {size} as the other arguments")
    return {name: col * size if len(col) == 1 else col for name, col in columns.items()}


def _several(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
