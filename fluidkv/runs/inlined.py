"""Functions that are written once: Python calls them as they are, kernels have them inlined.

What is here loads no compiler. `inlined` gives back the function itself, so that a loop made of
such functions runs as plain Python, and is the literal form of what `kernels.compiled` makes of the
same source. IEEE arithmetic in the order written gives both the same bits.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)

_unknown: list[tuple[Callable, Callable]] = []


def inlined(function: Function) -> Function:
    """A part of kernels that is a function of Python, too: see `kernels.inner`, whose rules hold.

    Examples:
        >>> from fluidkv.runs.inlined import inlined
        >>> @inlined
        ... def blocks_of(tokens, size):
        ...     return -(-tokens // size)
        ...
        >>> blocks_of(17, 16)
        2
    """
    _unknown.append((function, function))
    return function


def numbered(functions: Sequence[Callable]) -> Callable:
    """The functions as one of two arguments: which of them, by its place, and what it is given.

    A kernel has them as a chain of comparisons, one behind the other.

    Examples:
        >>> from fluidkv.runs.inlined import inlined, numbered
        >>> pick = numbered([inlined(lambda n: n + 1), inlined(lambda n: -n)])
        >>> pick(0, 3), pick(1, 3)
        (4, -3)
    """

    def pick(which: int, given: Any) -> Any:
        return functions[which](given)

    lines = ["def chain(which, given):"]
    for place in range(len(functions) - 1):
        lines.append(f"    if which == {place}: return rule_{place}(given)")
    lines.append(f"    return rule_{len(functions) - 1}(given)")
    names: dict[str, Any] = {f"rule_{place}": rule for place, rule in enumerate(functions)}
    exec("\n".join(lines), names)  # compilers take as long for a short function as for a long one
    _unknown.append((pick, names["chain"]))
    return pick


def call(function: Any, numbers: tuple) -> float:
    """A function of a named tuple, not part of a kernel: there it is an address (`at_address`).

    Examples:
        >>> from fluidkv.runs.inlined import call
        >>> call(max, (2, 3.5))
        3.5
    """
    return float(function(numbers))


def unknown() -> list[tuple[Callable, Callable]]:
    """What the compiler has not been told of: (function, what kernels have of it). Once each."""
    told = _unknown.copy()
    _unknown.clear()
    return told


class Row:
    """A record in plain Python: fields are attributes, and by name as in an array of records."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


def as_objects(value: Any) -> Any:
    """What a loop is given, for plain Python: numbers without bounds, and records as `Row`.

    Args:
        value: an array, of numbers or of records; a named tuple of such; None.

    Examples:
        >>> from fluidkv.runs.inlined import as_objects
        >>> as_objects(np.zeros(1, [("outputs", np.int32)]))[0].outputs + 2**40
        1099511627776
    """
    if isinstance(value, tuple):
        return type(value)(*map(as_objects, value))  # a named tuple
    if not isinstance(value, np.ndarray) or value.dtype == object:
        return value
    if value.dtype.names is None:
        return value.astype(object)
    rows = np.empty(value.size, object)
    rows[:] = [Row(**dict(zip(value.dtype.names, row, strict=True))) for row in value.tolist()]
    return rows


def copied(value: Any) -> Any:
    """A copy of what `as_objects` gives, with records of its own."""
    if isinstance(value, tuple):
        return type(value)(*map(copied, value))  # a named tuple
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy()
    if value.size and isinstance(value.flat[0], Row):
        copy[:] = [Row(**vars(row)) for row in value]
    return copy


def write_back(objects: np.ndarray, array: np.ndarray) -> None:
    """Into an array what plain Python made of it, which `as_objects` had given."""
    if array.dtype.names is None:
        array[...] = objects
        return
    for name in array.dtype.names:
        array[name] = [getattr(row, name) for row in objects]
