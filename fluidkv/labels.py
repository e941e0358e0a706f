"""The one convention of datasets: order of dimensions, coordinates, units, names, attributes.

Dimensions come in the order `system`, what else was varied, `run` or `batch`, then time, then what
there is several of at a time (`INDICES`). Every dimension has a coordinate. Every variable and
every coordinate has `units` ("1" where it has none, as in UDUNITS) and a `long_name`, which fits
along an axis of a plot; what is longer is its `description`. Attributes are text, numbers or lists
of numbers, so that each format can write them: `system` (exact, as JSON), `seed`,
`fluidkv_version`, `jax_version`, `numpy_version`. docs/results.md says it for users.
"""

import json
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import fluidkv
from fluidkv.errors import InputError
from fluidkv.workload import RequestClass, System, Workload

if TYPE_CHECKING:
    import xarray as xr

Column = tuple[str | tuple[str, ...], ArrayLike, str, str]
"""A variable: dimensions, values, units, long name."""

Said = Mapping[str, Sequence[Any] | np.ndarray | tuple[Any, str, str]]
"""Coordinates as a user says them: name -> a value for each place; or these, units, long name."""

INDICES: dict[str, str] = {
    "run": "number of the run",
    "batch": "number of the start",
    "window": "number of the window",
    "iteration": "iteration n, of the state X^n",
    "step": "number of the step",
    "block": "number of the block",
    "level": "empty stages",
    "worker": "number of the worker",
    "request": "number of the request",
    "class": "number of the class",
    "segment": "number of the segment",
    "stage": "stage: iterations that a request has run for since its admission",
    "age": "age of a cohort, iterations",
    "position": "relative position",
}
"""The dimensions that come last, in their order, and what the numbers along them are."""

_LABEL = 30
"""Characters of a `long_name`, at most."""
_UNITS = {"iteration": "iteration", "age": "iteration"}
_VERSIONS = ("fluidkv", "jax", "numpy")


def dataset(
    variables: Mapping[str, Column],
    coords: Mapping[str, Column] | None = None,
    *,
    system: System | None = None,
    seed: int | None = None,
    **attrs: object,
) -> "xr.Dataset":
    """A dataset by the convention.

    Args:
        variables, coords: name -> (dimensions, values, units, long name). A dimension without a
            coordinate gets its numbers from 0 on.
        system: what all of it is about, where it is one system.
        seed: of all that was drawn.
        attrs: others; None is left out.
    """
    import xarray as xr

    columns = {**variables, **(coords or {})}
    made: dict[Hashable, xr.Variable] = {}
    for name, (dims, values, units, title) in columns.items():
        numbers = np.asarray(values)
        ready = numbers.dtype.kind in "biufcSU"  # nothing for xarray to convert
        named = {"long_name": title, "units": units}
        made[name] = xr.Variable(dims, numbers, named, fastpath=ready)
    return _assembled(made, set(coords or ()), {}, {**attrs, **_about(system, seed)})


def with_columns(found: "xr.Dataset", variables: Mapping[str, Column]) -> "xr.Dataset":
    """A dataset with more variables."""
    return completed(found.assign({name: variable(*each) for name, each in variables.items()}))


def said_columns(
    coords: Said | None, dim: str, size: int, taken: Container[str]
) -> dict[str, Column]:
    """Coordinates as a user says them, along one dimension.

    Raises:
        InputError: no value for each place along it, or a name that is taken.
    """
    found: dict[str, Column] = {}
    for name, value in (coords or {}).items():
        if name in taken:
            raise InputError("coords", name, "a name that the dataset does not have")
        given: Any = value
        if not (isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], str)):
            given = value, "1", name.replace("_", " ")
        values, units, title = given
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise InputError(f"coords[{name!r}]", value, f"a value for each {dim}")
        if len(values) != size:
            allowed = f"{size}, one for each {dim}"
            raise InputError(f"coords[{name!r}]", f"{len(values)} values", allowed)
        found[name] = dim, [plain_attr(each) for each in values], units, title
    return found


def completed(
    found: "xr.Dataset", *, system: System | None = None, seed: int | None = None, **attrs: object
) -> "xr.Dataset":
    """A dataset whose variables have units and names, with all else that the convention asks for.

    Its own attributes stay, as plain values.
    """
    own = {**found.attrs, **attrs, **_about(system, seed)}
    return _assembled(dict(found.variables), set(found.coords), dict(found.xindexes), own)


def _about(system: System | None, seed: int | None) -> dict[str, object]:
    """Attributes that say what all of it is about, as far as that is known."""
    known = {"system": None if system is None else system_text(system), "seed": seed}
    return {name: value for name, value in known.items() if value is not None}


def _assembled(
    variables: "dict[Hashable, xr.Variable]",
    coords: set[Hashable],
    indexes: "dict[Hashable, xr.Index]",
    attrs: Mapping[Any, object],
) -> "xr.Dataset":
    """A dataset of variables, with what the convention asks for besides.

    Every variable is here as it will be, so that it is put together at once: each of xarray's own
    steps (a coordinate more, another order) goes over all variables again, and to align what has
    one origin costs ten times as much as the rest.
    """
    import xarray as xr

    sizes: dict[Hashable, int] = {}
    for name, each in variables.items():
        for dim, size in zip(each.dims, each.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(f"{name}: {size} along {dim}, elsewhere {sizes[dim]}")
    for dim, size in sizes.items():
        if dim not in variables:
            title = titled(str(dim), _index_name(str(dim)))
            named = {**title, "units": _UNITS.get(str(dim), "1")}
            variables[dim] = xr.Variable(dim, np.arange(size), named)
    place = {dim: number for number, dim in enumerate(in_order(sizes))}
    for name, each in variables.items():
        dims = sorted(each.dims, key=place.__getitem__)
        changed = each if dims == list(each.dims) else each.transpose(*dims)
        title = each.attrs.get("long_name", "")
        if len(title) > _LABEL:
            changed = changed.copy(deep=False) if changed is each else changed
            changed.attrs = {**each.attrs, **titled(str(name), title)}
        if name in sizes and name not in indexes:
            index = xr.indexes.PandasIndex.from_variables({name: changed}, options={})
            changed = index.create_variables({name: changed})[name]
            indexes[name] = index
        variables[name] = changed
    plain = {name: plain_attr(value) for name, value in attrs.items() if value is not None}
    coords = coords | (variables.keys() & sizes.keys())
    return _together(variables, coords, sizes, indexes, plain | versions())


def _inner_way() -> Callable[..., "xr.Dataset"] | None:
    import xarray as xr

    return getattr(xr.Dataset, "_construct_direct", None)


def _together(
    variables: "dict[Hashable, xr.Variable]",
    coords: set[Hashable],
    sizes: dict[Hashable, int],
    indexes: "dict[Hashable, xr.Index]",
    attrs: dict[Any, Any],
) -> "xr.Dataset":
    """By an inner way of xarray, a tenth of what `Dataset` takes; where it is gone, by that."""
    import xarray as xr

    direct = _inner_way()
    if direct is not None:
        return direct(variables, coords, sizes, attrs, indexes)
    along = xr.Coordinates({name: variables[name] for name in coords}, indexes)
    data = {name: each for name, each in variables.items() if name not in coords}
    return xr.Dataset(data, along, attrs)


def variable(
    dims: Hashable | tuple[Hashable, ...], values: ArrayLike, units: str, long_name: str
) -> tuple[Any, ArrayLike, dict[str, str]]:
    """A column as xarray takes it; of an array with labels, its numbers."""
    return dims, np.asarray(values), {"long_name": long_name, "units": units}


def titled(name: str, title: str) -> dict[str, str]:
    """A title as attributes: the `long_name` if it is short, else the `description`."""
    if len(title) <= _LABEL:
        return {"long_name": title}
    return {"long_name": name.replace("_", " "), "description": title}


def column(values: "xr.DataArray", units: str, long_name: str) -> Column:
    """A variable out of what was computed."""
    return tuple(str(dim) for dim in values.dims), values.values, units, long_name


def rows(
    dim: str, records: Sequence[Any], titles: Mapping[str, tuple[str, str]]
) -> dict[str, Column]:
    """Attributes of records as columns along one dimension, a record a place.

    Args:
        dim: the dimension.
        records: values are numbers, fractions, text or None (NaN); of a ball its middle.
        titles: attribute -> (units, long name).
    """
    return {
        name: (dim, np.array([_cell(getattr(each, name)) for each in records]), *title)
        for name, title in titles.items()
    }


def _cell(value: Any) -> Any:
    if value is None:
        return np.nan
    if isinstance(value, str | Enum):
        return str(plain_attr(value))
    if isinstance(value, bool | int):
        return value
    return float(value.mid() if hasattr(value, "mid") else value)


def in_order(dims: Iterable[Hashable]) -> list[Hashable]:
    """The dimensions in the order of the convention; what is varied stays as it is."""
    last = list(INDICES)

    def place(dim: Hashable) -> int:
        return -1 if dim == "system" else 1 + last.index(str(dim)) if dim in last else 0

    return sorted(dims, key=place)


@cache
def _version(package: str) -> str:
    try:
        return fluidkv.__version__ if package == "fluidkv" else version(package)
    except PackageNotFoundError:
        return "none"


def versions() -> dict[str, str]:
    """`fluidkv_version` and those of what it computes with."""
    return {f"{package}_version": _version(package) for package in _VERSIONS}


def system_text(system: System) -> str:
    """A system as JSON, exact: shares and capacity are fractions as text."""
    classes = [
        {
            "input_length": each.input_length,
            "decode_length": each.decode_length,
            "share": str(each.share),
        }
        for each in system.workload.classes
    ]
    return json.dumps({"classes": classes, "capacity": str(system.capacity)})


def system_of(text: str) -> System:
    """The system of a dataset, from its attribute `system`.

    Raises:
        InputError: another text.
    """
    try:
        given = json.loads(text)
        classes = tuple(
            RequestClass(each["input_length"], each["decode_length"], Fraction(each["share"]))
            for each in given["classes"]
        )
        capacity = Fraction(given["capacity"])
    except (ValueError, TypeError, KeyError, ZeroDivisionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("system", text, "JSON as in the attribute `system`") from None
    return System(Workload(classes), capacity)


def plain_attr(value: object) -> Any:
    """A value that every format can write: text, a number or a list of numbers; else JSON."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, np.generic | np.ndarray):
        return plain_attr(value.tolist())
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, System):
        return system_text(value)
    if isinstance(value, Mapping):
        return json.dumps(value, default=str)
    if isinstance(value, Iterable):
        several = [plain_attr(each) for each in value]
        texts = [each for each in several if isinstance(each, str)]
        return ", ".join(map(str, several)) if texts else several
    return str(value)


def _index_name(dim: str) -> str:
    return INDICES.get(dim, f"number of the {dim}")
