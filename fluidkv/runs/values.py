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
        InputError: columns of different lengths, or one without values.
    """
    columns = {name: list(value) if _several(value) else [value] for name, value in given.items()}
    for name, column in columns.items():
        if not column:
            raise InputError(name, column, "at least one value")
    size = max(map(len, columns.values()))
    for name, column in columns.items():
        if len(column) not in (1, size):
            raise InputError(name, f"{len(column)} of them", f"1, or {size} as the other arguments")
    return {name: col * size if len(col) == 1 else col for name, col in columns.items()}


def _several(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def crossed(
    coords: Mapping[str, tuple[str, Sequence[Any]]] | None = None, **given: Any
) -> dict[str, Any]:
    """Every value of each argument with every value of the others: columns for `serve`.

    The last argument changes fastest. With `columns = crossed(limits=[...], requests=[...],
    coords={"seed": ("requests", seeds)})` and `fk.Server("vllm", columns.pop("limits"))`,
    `serve(server=server, **columns)` runs every memory on the requests of every seed.

    Args:
        coords: name -> (the argument that it goes along, a value for each of its values), which
            become one for each run.
        given: argument -> one value or several.

    Returns:
        argument -> a value for each run, and `coords` likewise where there are such.

    Raises:
        InputError: no argument, one without values, a coordinate along none, or of another length.

    Examples:
        >>> from fluidkv.runs import crossed
        >>> columns = crossed(limits=[fk.Limits(100), fk.Limits(200)], engine=["vllm", "restart"])
        >>> [(limits.capacity, name) for limits, name in zip(*columns.values(), strict=True)]
        [(100, 'vllm'), (100, 'restart'), (200, 'vllm'), (200, 'restart')]
    """
    if not given:
        raise InputError("given", given, "at least one argument of `serve`, with its values")
    axes = {name: list(value) if _several(value) else [value] for name, value in given.items()}
    for name, values in axes.items():
        if not values:
            raise InputError(name, values, "at least one value")
    sizes = [len(values) for values in axes.values()]
    places = dict(zip(axes, np.indices(sizes).reshape(len(sizes), -1), strict=True))
    found: dict[str, Any] = {
        name: [values[place] for place in places[name]] for name, values in axes.items()
    }
    labels: dict[str, list[Any]] = {}
    for name, said in (coords or {}).items():
        if not (isinstance(said, tuple) and len(said) == 2 and _several(said[1])):
            raise InputError(f"coords[{name!r}]", said, "(the argument that it goes along, values)")
        along, values = said
        if along not in axes:
            raise InputError(f"coords[{name!r}]", along, f"one of {', '.join(axes)}")
        if len(values) != len(axes[along]):
            allowed = f"{len(axes[along])}, one for each of {along}"
            raise InputError(f"coords[{name!r}]", f"{len(values)} values", allowed)
        labels[name] = [values[place] for place in places[along]]
    return found | ({"coords": labels} if labels else {})
