"""What an analysis is for a sweep: the settings that it takes, the variables that it finds.

An analysis gets a chunk of points and returns arrays over them. What it finds at a point depends on
the settings there alone, a seed among them: never on the chunk that the point came in.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any, Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Kind, Whole

REQUIRED = object()
"""The default of a setting without one."""

Row = dict[str, Any]
"""The settings of one point: name -> value, of classes maybe a tuple; None for none."""

Arrays = dict[str, np.ndarray]
"""Variable -> (point, its own dimensions)."""

ABSENT, DONE, REFUSED = 0, 1, 2
_CLASSES = {str(number) for number in range(64)}  # that may be said one by one


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
    """

    name: str
    kind: Kind
    title: str
    units: str = "1"
    default: Any = REQUIRED
    each_class: bool = False

    @property
    def optional(self) -> bool:
        """Whether "none" is a value too; without shares of classes, these are all alike."""
        return self.default is None and not self.each_class


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
        kind: "float" (NaN where there is none), "int" or "flag".
        words: of a flag, in the order of its values 0, 1, ...
        dims: its own dimensions, besides those of the points; see `Analysis.labels`.
        at: where it is in a result, or in that of several points: a key, or attributes with points
            between them; or what reads it from there. "": under its name.
        absent: what stands where there is none, of whole numbers and flags.
    """

    name: str
    title: str
    units: str = "1"
    kind: Literal["float", "int", "flag"] = "float"
    words: tuple[str, ...] = ()
    dims: tuple[str, ...] = ()
    at: str | Callable[[Any], Any] = field(default="", repr=False)
    absent: int = -1

    @property
    def dtype(self) -> np.dtype:
        return np.dtype({"float": "float64", "int": "int64", "flag": "int8"}[self.kind])

    @property
    def fill(self) -> float | int:
        """What stands where there is no value."""
        return float("nan") if self.kind == "float" else self.absent

    def of(self, result: Any) -> Any:
        """Its value in a result, or an array over several points; None where there is none."""
        if callable(self.at):
            value = self.at(result)
        else:
            reads = itemgetter if isinstance(result, Mapping) else attrgetter
            value = reads(self.at or self.name)(result)
        if self.kind != "flag":
            return value
        words = [value] if isinstance(value, str) else value
        return [self.words.index(word.lower()) for word in words]


STATUS = Variable(
    "status",
    "whether a point has been computed, and whether there is an answer",
    kind="flag",
    words=("not_computed", "done", "refused"),
    absent=ABSENT,
)
"""What a store has of every point, beside the variables of its analysis."""


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
        find: the result for what a point stands for; may raise InputError, too. Where points go
            together it gets a list, and each variable of its result is an array over them.
        together: points of which it says the same go together; None: each is by itself.
        chunk: points in a chunk unless a spec says otherwise: some seconds of work.
        quick: whether the first points are answered before a store is made, not just admitted.
        alone: it keeps all cores busy by itself, so that more processes are no use.
        labels: dimension of variables -> the names along it.
    """

    name: str
    title: str
    call: str
    settings: tuple[Setting, ...]
    variables: tuple[Variable, ...]
    admit: Callable[[Row], Any] = field(repr=False)
    find: Callable[[Any], Any] = field(repr=False)
    chunk: int
    together: Callable[[Any], Hashable] | None = field(default=None, repr=False)
    quick: bool = False
    alone: bool = False
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def setting(self, name: str) -> Setting | None:
        """The setting of a key; of `decode_length_1` that of `decode_length`."""
        for each in self.settings:
            if each.name == name or (each.each_class and _of_one_class(name, each.name)):
                return each
        return None

    def answer(self, row: Row) -> Any:
        """What one point has; raises InputError where it is refused."""
        admitted = self.admit(row)
        return self.find(admitted if self.together is None else [admitted])

    def compute(self, points: Points) -> Arrays:
        """Arrays of all variables and of `STATUS`; refused points have no values."""
        arrays: Arrays = {STATUS.name: np.full(points.size, REFUSED, STATUS.dtype)}
        for each in self.variables:
            own = tuple(len(self.labels[dim]) for dim in each.dims)
            arrays[each.name] = np.full((points.size, *own), each.fill, each.dtype)
        for places, values in self._values(points):
            for name, value in values.items():
                if value is not None:
                    arrays[name][places] = value
            arrays[STATUS.name][places] = DONE
        return arrays

    def _values(self, points: Points) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Places of points that are not refused, and the value there of each variable."""
        groups: dict[Hashable, tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
        for place, row in enumerate(points.rows()):
            with suppress(InputError):
                admitted = self.admit(row)
                if self.together is None:
                    yield [place], self._read(self.find(admitted))
                    continue
                places, members = groups[self.together(admitted)]
                places.append(place)
                members.append(admitted)
        for places, members in groups.values():
            yield places, self._read(self.find(members))

    def _read(self, result: Any) -> dict[str, Any]:
        return {each.name: each.of(result) for each in self.variables}


def _of_one_class(name: str, base: str) -> bool:
    number = name.removeprefix(f"{base}_")
    return number in _CLASSES and number != name
