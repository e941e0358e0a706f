"""What an analysis is for a sweep: the settings that it takes, the variables that it finds.

An analysis gets a chunk of points and returns arrays over them. What it finds at a point depends on
the settings there alone, a seed among them: never on the chunk that the point came in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Kind, Whole

T = TypeVar("T")
REQUIRED = object()
"""The default of a setting without one."""

Row = dict[str, Any]
"""The settings of one point: name -> value, of classes maybe a tuple; None for none."""

Arrays = dict[str, np.ndarray]
"""Variable -> (point, its own dimensions)."""

ABSENT, DONE, REFUSED = 0, 1, 2
_CLASSES = {str(number) for number in range(64)}  # that may be said one by one
STATUS = "status"


@dataclass(frozen=True)
class Setting:
    """Something that a spec may fix or vary.

    Fields:
        name: its key in a spec.
        kind: what its values are.
        title: what it is, in a few words.
        units: of its coordinate; "1" for shares and counts without one.
        default: where a spec does not say; REQUIRED: it has to.
        each_class: it may be a list with a value for each class, and `name_0`, `name_1` ... are
            that of one class alone.
        optional: "none" is a value too.
    """

    name: str
    kind: Kind
    title: str
    units: str = "1"
    default: Any = REQUIRED
    each_class: bool = False
    optional: bool = False


SEED = Setting(
    "seed",
    Whole(0, 2**31 - 1),
    "seed of what is drawn at a point: one seed, the same draws",
)
"""Every analysis that draws has it; a spec says it at the top, or varies it."""


@dataclass(frozen=True)
class Variable:
    """Something that an analysis finds at each point.

    Fields:
        title: what it is, in a few words.
        units: as in "request / iteration"; "1" for numbers without one.
        kind: "float" (NaN where there is none), "int" (-1 where there is none) or "flag".
        words: of a flag, in the order of its values 0, 1, ...; -1 where there is none.
        dims: its own dimensions, besides those of the points; see `Analysis.labels`.
        path: where it is in a result, as of `value_at`; "": under its name.
    """

    name: str
    title: str
    units: str = "1"
    kind: Literal["float", "int", "flag"] = "float"
    words: tuple[str, ...] = ()
    dims: tuple[str, ...] = ()
    path: str = ""

    @property
    def dtype(self) -> np.dtype:
        return np.dtype({"float": "float64", "int": "int64", "flag": "int8"}[self.kind])

    @property
    def fill(self) -> float | int:
        """What stands where there is no value."""
        return float("nan") if self.kind == "float" else -1

    def of(self, result: Any) -> Any:
        """Its value in a result, a flag's in small letters; where it is a number and there are
        several things, how many.
        """
        value = value_at(result, self.path or self.name)
        if self.kind == "flag":
            return value.lower()
        return len(value) if self.kind == "int" and isinstance(value, tuple) else value


@dataclass(frozen=True)
class Points:
    """Some points of a sweep, in their order.

    Fields:
        size: how many.
        fixed: setting -> its value at all of them.
        columns: setting -> its values, one a point.
    """

    size: int
    fixed: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]

    def rows(self) -> Iterator[Row]:
        """The settings of each point."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield {**self.fixed, **dict(zip(names, values, strict=True))}

    def admitted(self, admit: Callable[[Row], T]) -> Iterator[tuple[int, Row, T]]:
        """Place and settings of each point that is not refused, and what it stands for."""
        for place, row in enumerate(self.rows()):
            with suppress(InputError):
                yield place, row, admit(row)


@dataclass(frozen=True)
class Analysis:
    """A question that the package answers, at many points.

    Fields:
        name: in a spec.
        title: one line for a person.
        call: the function of Python that a point stands for.
        settings: what it takes.
        variables: what it finds.
        admit: what a row of settings stands for, a system or whatever the function takes; raises
            InputError where there is no such thing. Quick.
        compute: (points) -> arrays of all variables and of `STATUS`.
        chunk: points in a chunk unless a spec says otherwise: some seconds of work.
        alone: it keeps all cores busy by itself, so that more processes are no use.
        labels: dimension of variables -> the names along it.
        answer: all of what is done at one row, where an admitted one may still be refused.
    """

    name: str
    title: str
    call: str
    settings: tuple[Setting, ...]
    variables: tuple[Variable, ...]
    admit: Callable[[Row], Any] = field(repr=False)
    compute: Callable[[Points], Arrays] = field(repr=False)
    chunk: int
    alone: bool = False
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answer: Callable[[Row], Any] | None = field(default=None, repr=False)

    def setting(self, name: str) -> Setting | None:
        """The setting of a key; of `decode_length_1` that of `decode_length`."""
        for each in self.settings:
            if each.name == name or (each.each_class and _of_one_class(name, each.name)):
                return each
        return None


class Sheet:
    """Arrays for some points, filled point by point; what is not said stays absent."""

    def __init__(
        self, size: int, variables: Sequence[Variable], labels: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._flags = {each.name: each.words for each in variables if each.kind == "flag"}
        self.arrays: Arrays = {
            each.name: np.full(
                (size, *(len(labels[dim]) for dim in each.dims)), each.fill, each.dtype
            )
            for each in variables
        }
        self.arrays[STATUS] = np.full(size, REFUSED, np.int8)

    def put(self, place: int, found: Mapping[str, Any]) -> None:
        """What was found at a point; None leaves a variable absent, flags are said in words."""
        for name, value in found.items():
            if value is not None:
                words = self._flags.get(name)
                self.arrays[name][place] = value if words is None else words.index(value)
        self.arrays[STATUS][place] = DONE


def one_by_one(
    variables: Sequence[Variable],
    admit: Callable[[Row], Any],
    find: Callable[[Any], Any],
) -> Callable[[Points], Arrays]:
    """Compute points in a loop: `find` of what each row stands for; refused ones have no values."""

    def compute(points: Points) -> Arrays:
        sheet = Sheet(points.size, variables, {})
        for place, row in enumerate(points.rows()):
            with suppress(InputError):
                result = find(admit(row))
                sheet.put(place, {each.name: each.of(result) for each in variables})
        return sheet.arrays

    return compute


def value_at(result: Any, path: str) -> Any:
    """The value under names with points between them: of attributes, of keys, or places in a tuple;
    None where there is none. Of several answers and of an array it is the first: at a point there
    is one.
    """
    value = result
    for name in path.split("."):
        if isinstance(value, tuple) and name.isdigit():
            value = value[int(name)]
            continue
        value = value[0] if isinstance(value, tuple) else value
        if value is None:
            return None
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
    return value[0] if value is not None and getattr(value, "ndim", 0) else value


def _of_one_class(name: str, base: str) -> bool:
    number = name.removeprefix(f"{base}_")
    return number in _CLASSES and number != name
