"""Systems of a sweep: lengths, shares and memory as settings, one value or one for each class."""

from fractions import Fraction
from typing import Any

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Whole
from fluidkv.sweeps.analysis import Row, Setting
from fluidkv.workload import RequestClass, System, Workload

INPUT = Setting("input_length", Whole(), "prompt tokens", "token", each_class=True)
DECODE = Setting("decode_length", Whole(), "output tokens", "token", each_class=True)
SHARE = Setting(
    "share",
    Exact(),
    "share of requests of a class; one alone is that of the first of two; the last may be left out",
    default=None,
    each_class=True,
)
CAPACITY = Setting("capacity", Whole(most=2**53), "KV tokens", "token")
CLASSES = (INPUT, DECODE, SHARE)
SYSTEM = (*CLASSES, CAPACITY)


def workload_of(row: Row) -> Workload:
    """The workload of a point.

    Raises:
        InputError: numbers of classes that differ, shares that do not sum to 1.
    """
    inputs, decodes = classes_of(row, "input_length", "decode_length")
    columns = inputs, decodes, shares_of(row, len(inputs))
    return Workload(tuple(RequestClass(*each) for each in zip(*columns, strict=True)))


def system_of(row: Row) -> System:
    """The system of a point.

    Raises:
        InputError: as `workload_of`; a capacity not above the largest request.
    """
    return System(workload_of(row), row["capacity"])


def decode_lengths_of(row: Row) -> tuple[int, ...]:
    """Those of the classes of a point."""
    return _of_classes(row, "decode_length")


def shares_of(row: Row, classes: int) -> tuple[Fraction, ...]:
    """Of that many classes: all alike where none is said, the last one the rest.

    Raises:
        InputError: more or fewer than there are classes; a sum that is not 1.
    """
    said: tuple[Fraction, ...] = _of_classes(row, "share")
    if not said:
        return (Fraction(1, classes),) * classes
    if len(said) == classes - 1:
        said = (*said, 1 - sum(said, Fraction(0)))
    if len(said) != classes or sum(said) != 1 or min(said) <= 0:
        shown = " ".join(map(str, _of_classes(row, "share")))
        raise InputError("share", shown, f"shares of {classes} classes that sum to 1")
    return said


def classes_of(row: Row, *names: str) -> list[tuple[Any, ...]]:
    """Of each name, a value for each class; a single one serves all.

    Raises:
        InputError: numbers of classes that differ.
    """
    found = [_of_classes(row, name) for name in names]
    classes = max(map(len, found))
    return [_filled(name, each, classes) for name, each in zip(names, found, strict=True)]


def _of_classes(row: Row, name: str) -> tuple[Any, ...]:
    """The values of all classes that are said, those of single classes in place of the common."""
    common = row.get(name)
    values = list(common) if isinstance(common, tuple) else []
    singles = {
        int(key[len(name) + 1 :]): value for key, value in row.items() if key.startswith(f"{name}_")
    }
    if not singles:
        return tuple(values) or (() if common is None else (common,))
    missing = common if not isinstance(common, tuple) else None
    values += [missing] * (max(singles) + 1 - len(values))
    for number, value in singles.items():
        values[number] = value
    if None in values:
        raise InputError(f"{name}_{values.index(None)}", "none", "a value for each class")
    return tuple(values)


def _filled(name: str, values: tuple[Any, ...], classes: int) -> tuple[Any, ...]:
    """One value for each class; a single one serves all."""
    if len(values) not in (1, classes):
        raise InputError(name, f"{len(values)} values", f"one, or {classes} of the classes")
    return values * classes if len(values) == 1 else values
