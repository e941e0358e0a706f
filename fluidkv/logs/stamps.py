"""Times that are written in whole units, spread evenly within them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fluidkv.errors import InputError


def evenly(times_s: ArrayLike, resolution_s: float) -> NDArray[np.float64]:
    """Times that are cut to whole `resolution_s`, laid evenly within them: no two alike.

    Raises:
        InputError: times that fall.

    Examples:
        >>> from fluidkv.logs.stamps import evenly
        >>> evenly([10, 10, 11], 1.0).tolist()
        [10.25, 10.75, 11.5]
    """
    times = np.asarray(times_s, dtype=np.float64)
    if (np.diff(times) < 0).any():
        raise InputError("times_s", "times that fall", "times in order")
    _, first, count = np.unique(times, return_index=True, return_counts=True)
    place = np.arange(times.size) - np.repeat(first, count)
    return times + resolution_s * (place + 0.5) / np.repeat(count, count)
