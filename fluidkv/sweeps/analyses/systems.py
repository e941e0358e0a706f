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


def one_class_of(row: Row) -> System:
    """The system of a point whose requests are all alike.

    Raises:
        InputError: as `system_of`; several classes.
    """
    system = system_of(row)
    if len(system.workload.classes) != 1:
        raise InputError("input_length", f"{len(system.workload.classes)} classes", "one class")
    return system


def shares_of(row: Row, classes: int) -> tuple[Fraction, ...]:
    """Of that many classes: all alike where none is said, the last one the rest.

    Raises:
        InputError: more or fewer than there are classes; a sum that is not 1.
    """
    said: tuple[Fraction, ...] = values_of(row, "share")
    shares = said or (Fraction(1, classes),) * classes
    if len(shares) == classes - 1:
        shares = (*shares, 1 - sum(shares, Fraction(0)))
    if len(shares) != classes or sum(shares) != 1 or min(shares) <= 0:
        allowed = f"shares of {classes} classes that sum to 1"
        raise InputError("share", " ".join(map(str, said)), allowed)
    return shares


def classes_of(row: Row, *names: str) -> list[tuple[Any, ...]]:
    """Of each name, a value for each class; a single one serves all.

    Raises:
        InputError: numbers of classes that differ.
    """
    columns = {name: values_of(row, name) for name in names}
    classes = max(map(len, columns.values()))
    for name, values in columns.items():
        if len(values) not in (1, classes):
            raise InputError(name, f"{len(values)} values", f"one, or {classes} of the classes")
    return [each * classes if len(each) == 1 else each for each in columns.values()]


def values_of(row: Row, name: str) -> tuple[Any, ...]:
    """The values of all classes that are said, those of single classes in place of the common.

    Raises:
        InputError: a class without one.
    """
    common = row.get(name)
    values = list(common) if isinstance(common, tuple) else []
    singles = {
        int(key[len(name) + 1 :]): value for key, value in row.items() if key.startswith(f"{name}_")
    }
    if not singles:
        return tuple(values) or (() if common is None else (common,))
    usual = None if isinstance(common, tuple) else common
    values += [usual] * (max(singles) + 1 - len(values))
    for number, value in singles.items():
        values[number] = value
    if None in values:
        raise InputError(f"{name}_{values.index(None)}", "none", "a value for each class")
    return tuple(values)
