"""What runs of requests take in memory, and how many fit into a given one.

Most of it is what is found: every window's counts and every request's times, of all runs. An engine
itself needs little beside: the records of the one run that each thread is at.
"""

from fluidkv.processes import cores
from fluidkv.runs.checks import count
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.kernel.layout import ASIDE, LISTS, REQUEST, RUN

_GIVEN = 3 * 8
"""Bytes of a request in the arrays that an engine is given: lengths and arrival."""
_FOUND = 12 * 8 + 1
"""Of a request in a dataset: its times, counts and lengths, and whether it is finished."""
_WINDOW = 2 * 8 * (len(COUNTS) + 1)
"""Of a window in a dataset: counts and the clock, once as they are found and once as a variable."""
_KERNEL = REQUEST.itemsize + ASIDE.itemsize + 2 * LISTS.itemsize


def batch_bytes(
    runs: int,
    requests: int,
    windows: int,
    *,
    keep_requests: bool = True,
) -> int:
    """About how many bytes `serve` takes for so many runs, its dataset among them.

    Args:
        runs: how many.
        requests: of each.
        windows: of each: iterations over `every`.
        keep_requests: whether each request's times are recorded.

    Raises:
        InputError: numbers below 1.

    Examples:
        >>> from fluidkv.serving import batch_bytes
        >>> whole = batch_bytes(1000, requests=2000, windows=100)
        >>> less = batch_bytes(1000, requests=2000, windows=100, keep_requests=False)
        >>> whole - less  # 97 bytes a request: its times and counts
        194000000
    """
    for name, value in (("runs", runs), ("requests", requests), ("windows", windows)):
        count(name, value)
    of_a_run = _of_a_run(requests, windows, keep_requests)
    return runs * of_a_run + min(cores(), runs) * requests * _KERNEL


def largest_batch(
    memory: int,
    requests: int,
    windows: int,
    *,
    keep_requests: bool = True,
) -> int:
    """The most runs that one call of `serve` can do in so many bytes; 0 if none fits.

    Arguments as of `batch_bytes`.

    Raises:
        InputError: numbers below 1.

    Examples:
        >>> from fluidkv.serving import batch_bytes, largest_batch
        >>> runs = largest_batch(2**30, requests=2000, windows=100)
        >>> batch_bytes(runs, 2000, 100) <= 2**30 < batch_bytes(runs + 1, 2000, 100)
        True
    """
    count("memory", memory)

    def takes(runs: int) -> int:
        return batch_bytes(runs, requests, windows, keep_requests=keep_requests)

    if takes(1) > memory:
        return 0
    fits, not_any_more = 1, 2
    while takes(not_any_more) <= memory:
        fits, not_any_more = not_any_more, 2 * not_any_more
    while not_any_more - fits > 1:
        middle = (fits + not_any_more) // 2
        fits, not_any_more = (middle, not_any_more) if takes(middle) <= memory else (fits, middle)
    return fits


def _of_a_run(requests: int, windows: int, keep_requests: bool) -> int:
    of_a_request = _GIVEN + (_FOUND if keep_requests else 0)
    return RUN.itemsize + windows * _WINDOW + requests * of_a_request
