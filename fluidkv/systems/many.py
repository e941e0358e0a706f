"""Systems along one axis: a frozen value of arrays, with what is known of each system.

A hundred thousand `System`s are a hundred thousand objects; the same numbers in six arrays are
checked, cut and handed on at once, and nothing is rounded.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np

from fluidkv.errors import InputError
from fluidkv.systems.axes import NAMES, Column, columns, places
from fluidkv.systems.checks import check_systems
from fluidkv.systems.rationals import Rationals, first, integers, rationals
from fluidkv.workload import RequestClass, System, Workload

_TITLES = {
    "input_length": ("input length", "token"),
    "decode_length": ("decode length", "token"),
    "share": ("share of admissions", "1"),
    "capacity": ("KV capacity", "token"),
}

_OWN = ("system", "input_lengths", "decode_lengths", "shares", "capacity")
"""What every dataset says of its systems."""


class Coordinate(NamedTuple):
    """Something known of each system: which of its numbers was varied, or anything else.

    Fields:
        values: one for each system.
        units, long_name: for the reader of a result.

    Examples:
        >>> from fluidkv.systems.many import Coordinate
        >>> minute = Coordinate(np.array([0, 1]), "min", "time of day")
        >>> systems = fk.Systems.grid(input_length=2, decode_length=3, capacity=[24, 48])
        >>> systems = systems.with_coords(minute=minute)
        >>> systems.coords["minute"].units, systems.coords["minute"].values
        ('min', array([0, 1]))
    """

    values: np.ndarray
    units: str = "1"
    long_name: str = ""


@dataclass(frozen=True, eq=False)
class Systems:
    """Many systems; `Systems.grid`, `listed`, `vary` and `of` make them.

    `len` counts them, `[i]` is the exact `System`, and a slice, a mask or an array of indices cuts
    out `Systems`.

    Args:
        input_length, decode_length: tokens, int64 (system, class); 0 where a system has fewer
            classes than another. Those that it has come first.
        share: `Rationals` (system, class), 0 where there is no class; of a system they sum to 1.
        capacity: `Rationals` (system), tokens.
        coords: name -> `Coordinate`, shown in every result over these systems.
        index: place of each among the systems that they were cut out of; 0, 1, 2 ... if None. A
            system draws its starts by this number, so that a part has the starts of the whole.

    Raises:
        InputError: of the first bad system, with its index, what `RequestClass`, `Workload` or
            `System` would say of it; arrays whose shapes do not agree; a number beyond 64 bits.

    Examples:
        >>> systems = fk.Systems.grid(input_length=[2, 4, 8], decode_length=3, capacity=[24, 48])
        >>> len(systems), systems[1].capacity, list(systems.coords)
        (6, Fraction(48, 1), ['input_length', 'capacity'])
        >>> systems[systems.input_length[:, 0] > 2].index
        array([2, 3, 4, 5])
    """

    input_length: np.ndarray
    decode_length: np.ndarray
    share: Rationals
    capacity: Rationals
    coords: Mapping[str, Coordinate] = field(default_factory=dict)
    index: np.ndarray = field(default=None)  # pyright: ignore[reportAssignmentType]  # see Args

    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]  # holds arrays

    def __post_init__(self) -> None:
        read = {
            "input_length": integers("input_length", self.input_length),
            "decode_length": integers("decode_length", self.decode_length),
            "share": rationals("share", self.share),
            "capacity": rationals("capacity", self.capacity),
        }
        check_systems(**read)
        count = len(read["input_length"])
        coords = {name: _coordinate(name, each, count) for name, each in self.coords.items()}
        _check_names(coords, read["capacity"])
        _put(self, **read, coords=coords, index=_index(self.index, count))

    @classmethod
    def grid(
        cls, *, input_length: Any, decode_length: Any, capacity: Any, share: Any = None
    ) -> "Systems":
        """Every combination of values; input length varies slowest, then decode, share, capacity.

        A number is one value. A tuple is one value too, with a part for each class; a number beside
        tuples serves every class. A list, a range or an array is an axis of values.

        Args:
            input_length, decode_length: tokens, at least 1.
            share: integers or `Fraction`s (`share_from_float` makes one of a float), of all classes
                or of all but the last one, which gets the rest. None for one class.
            capacity: tokens, integers or `Fraction`s.

        Returns:
            Systems with a coordinate for each axis, under the argument's name; where an axis has
            tuples, `input_length_0`, `input_length_1` and so on.

        Raises:
            InputError: an axis without values, a binary float, numbers of classes that differ, and
                what `Systems` raises.
        """
        return _combined(input_length, decode_length, share, capacity, product=True)

    @classmethod
    def listed(
        cls, *, input_length: Any, decode_length: Any, capacity: Any, share: Any = None
    ) -> "Systems":
        """The first values of all axes, the second ones and so on; arguments as of `grid`.

        Raises:
            InputError: axes of different lengths, and what `grid` raises.
        """
        return _combined(input_length, decode_length, share, capacity, product=False)

    @classmethod
    def vary(cls, system: System, **axes: Any) -> "Systems":
        """One system with some of its numbers varied, in every combination.

        Args:
            system: any classes.
            axes: arguments of `grid`; what is not named stays as it is in the system.

        Raises:
            InputError: an argument that `grid` does not have, and what it raises.
        """
        classes = system.workload.classes
        given: dict[str, Any] = {
            "input_length": tuple(c.input_length for c in classes),
            "decode_length": tuple(c.decode_length for c in classes),
            "share": tuple(c.share for c in classes),
            "capacity": system.capacity,
        }
        for name in axes:
            if name not in given:
                raise InputError("axes", name, "any of " + ", ".join(NAMES))
        return cls.grid(**given | axes)

    @classmethod
    def of(cls, systems: "Systems | System | Sequence[System]", **coords: Any) -> "Systems":
        """Systems that there are, as arrays; names and notes of their workloads are not kept.

        Args:
            systems: at least one; their classes may differ in number.
            coords: name = values, one for each; or name = (values, units, long name).

        Raises:
            InputError: something that is no System, or values that are not one for each.
        """
        if isinstance(systems, Systems):
            return systems.with_coords(**coords) if coords else systems
        if not isinstance(systems, System | Iterable):
            raise InputError("systems", systems, "a System, a sequence of them, or Systems")
        listed = [systems] if isinstance(systems, System) else list(systems)
        for i, system in enumerate(listed):
            if not isinstance(system, System):
                raise InputError("systems", f"{type(system).__name__} (system {i})", "Systems")
        if not listed:
            raise InputError("systems", [], "at least one System")
        table = _table(listed)
        return cls(
            input_length=table[..., 0],
            decode_length=table[..., 1],
            share=Rationals(table[..., 2], table[..., 3]),
            capacity=rationals("capacity", [s.capacity for s in listed]),
        ).with_coords(**coords)

    def with_coords(self, **coords: Any) -> "Systems":
        """The same systems with further coordinates, given as to `of`."""
        made = {n: _coordinate(n, _named(n, c), len(self)) for n, c in coords.items()}
        _check_names(made, self.capacity)
        part = self._part(slice(None))
        return _put(part, coords={**self.coords, **made})

    def __len__(self) -> int:
        return len(self.input_length)

    @overload
    def __getitem__(self, index: int | np.integer) -> System: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | np.ndarray) -> "Systems": ...
    def __getitem__(self, index: Any) -> "System | Systems":
        if isinstance(index, int | np.integer) and not isinstance(index, bool):
            return self._one(range(len(self))[index])
        chosen = np.arange(len(self))[index]
        if chosen.ndim != 1 or isinstance(index, bool):
            raise InputError("systems", index, "a number, a slice, a mask or a list of indices")
        part = self._part(index if isinstance(index, slice) else chosen)
        if not len(part):
            raise InputError("systems", index, "what leaves at least one system")
        return part

    def __iter__(self) -> Iterator[System]:
        return map(self._one, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Systems):
            return NotImplemented
        mine, theirs = self.described(), other.described()
        return (
            all(map(np.array_equal, (*self.share, *self.capacity), (*other.share, *other.capacity)))
            and mine.keys() == theirs.keys()
            and all(
                dims == theirs[name][0]
                and np.array_equal(values, theirs[name][1])
                and tuple(said) == theirs[name][2:]
                for name, (dims, values, *said) in mine.items()
            )
        )

    @property
    def classes(self) -> np.ndarray:
        """Number of classes of each system."""
        return np.count_nonzero(self.decode_length, axis=1)

    @property
    def longest_decode(self) -> np.ndarray:
        """d of each system, the number of its stages."""
        return self.decode_length.max(axis=1)

    def described(
        self, variables: Mapping[str, tuple[Any, ...]] | None = None
    ) -> dict[str, tuple[tuple[str, ...], np.ndarray, str, str]]:
        """Coordinates of a dataset over these systems: name -> (dimensions, values, units, title).

        `system` (the index), `input_lengths`, `decode_lengths` and `shares` (system, class; 0 where
        there is no class), `capacity` (system), and those of `coords`.

        Args:
            variables: what else the dataset has, name -> (dimensions, ...).

        Raises:
            InputError: one of `coords` is named as one of them, or as a dimension that it has.
        """
        taken: set[str] = set(variables or ())
        for dims, *_ in (variables or {}).values():
            taken.update([dims] if isinstance(dims, str) else dims)
        each, parts = ("system",), ("system", "class")
        found: dict[str, tuple[tuple[str, ...], np.ndarray, str, str]] = {
            "system": (each, self.index, "1", "number of the system"),
            "input_lengths": (parts, self.input_length, "token", "input length"),
            "decode_lengths": (parts, self.decode_length, "token", "decode length"),
            "shares": (parts, self.share.floats, "1", "share of admissions"),
            "capacity": (each, self.capacity.floats, "token", "KV capacity"),
        }
        for name, (values, units, long_name) in self.coords.items():
            if name in taken:
                raise InputError("systems", f"a coordinate {name!r}", "names that no result has")
            found[name] = (each, values, units, long_name or name.replace("_", " "))
        return found

    def _one(self, i: int) -> System:
        classes = tuple(
            RequestClass(l0, l1, Fraction(top, bottom))
            for l0, l1, top, bottom in zip(
                self.input_length[i].tolist(),
                self.decode_length[i].tolist(),
                self.share.numerator[i].tolist(),
                self.share.denominator[i].tolist(),
                strict=True,
            )
            if l1
        )
        capacity = Fraction(*(int(part[i]) for part in self.capacity))
        return System(Workload(classes), capacity)

    def _part(self, chosen: Any) -> "Systems":
        """Of what has been checked."""
        return _put(
            object.__new__(Systems),
            input_length=self.input_length[chosen],
            decode_length=self.decode_length[chosen],
            share=self.share.at(chosen),
            capacity=self.capacity.at(chosen),
            coords={n: c._replace(values=c.values[chosen]) for n, c in self.coords.items()},
            index=self.index[chosen],
        )


def _put(systems: Systems, **fields: Any) -> Systems:
    for name, value in fields.items():
        for array in value if isinstance(value, Rationals) else [value]:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        object.__setattr__(systems, name, value)
    return systems


def _combined(
    input_length: Any, decode_length: Any, share: Any, capacity: Any, *, product: bool
) -> Systems:
    given = (input_length, decode_length, share, capacity)
    read = columns(dict(zip(NAMES, given, strict=True)))
    at = places(read, product=product)
    classes = read["share"].parts

    def each_class(name: str) -> np.ndarray:
        values = read[name].values.numerator[at[name]]
        return np.broadcast_to(values, (len(values), classes))

    coords = {}
    for name, column in read.items():
        if column.axis:
            coords |= _axis_coordinates(name, column, at[name])
    return Systems(
        input_length=each_class("input_length"),
        decode_length=each_class("decode_length"),
        share=read["share"].values.at(at["share"]),
        capacity=read["capacity"].values.at((at["capacity"], 0)),
        coords=coords,
    )


def _axis_coordinates(name: str, column: Column, at: np.ndarray) -> dict[str, Coordinate]:
    """One for each part that was given; the share of the last class, if it is the rest, was not."""
    title, units = _TITLES[name]
    whole = name.endswith("length")
    values = column.values.numerator if whole else column.values.floats
    if column.given == 1:
        of = " of class 0" if name == "share" else ""
        return {name: Coordinate(values[at, 0], units, title + of)}
    return {
        f"{name}_{k}": Coordinate(values[at, k], units, f"{title} of class {k}")
        for k in range(column.given)
    }


def _table(systems: Sequence[System]) -> np.ndarray:
    """(system, class, part), part = l0, l1, numerator and denominator of p; 0, 0, 0, 1 for none."""
    width = max(len(s.workload.classes) for s in systems)
    none = [(0, 0, 0, 1)]
    rows = [
        [
            (c.input_length, c.decode_length, c.share.numerator, c.share.denominator)
            for c in s.workload.classes
        ]
        + none * (width - len(s.workload.classes))
        for s in systems
    ]
    return np.array(rows, dtype=object)


def _named(name: str, given: Any) -> Coordinate:
    if not isinstance(given, tuple):
        return Coordinate(given)
    if not 1 <= len(given) <= len(Coordinate._fields):
        raise InputError(name, given, "a list of values, or (values, units, long name)")
    return Coordinate(*given)


def _coordinate(name: str, given: Coordinate, count: int) -> Coordinate:
    values = np.array(given.values)
    if values.shape != (count,):
        raise InputError(name, f"values of shape {values.shape}", f"{count} values, one a system")
    if values.dtype == object:  # of fractions and what else no file has a type for: as text
        values = np.array([str(each) for each in values])
    values.setflags(write=False)
    return Coordinate(values, str(given.units), str(given.long_name))


def _check_names(coords: Mapping[str, Coordinate], capacity: Rationals) -> None:
    """A coordinate may not say something else than the systems."""
    for name, each in coords.items():
        says_it = name == "capacity" and np.array_equal(each.values, capacity.floats)
        if name in _OWN and not says_it:
            raise InputError("coords", name, f"names other than {', '.join(_OWN)}")


def _index(given: Any, count: int) -> np.ndarray:
    index = np.arange(count) if given is None else integers("index", given)
    if index.shape != (count,) or first(index < 0) is not None:
        raise InputError("index", given, f"{count} numbers of at least 0, one a system")
    return index
