"""What is public refuses values of another kind than annotated: one line, before anything runs."""

# What a user may write:
# pyright: reportArgumentType=false, reportCallIssue=false

import dataclasses
import inspect
import pickle
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.errors import InputError
from fluidkv.kinds import loaded
from fluidkv.record import Record
from tests.examples.public import public

NOTHING = (None, object(), {})
NUMBERS = (True, 2.5, float("nan"))
ARRAYS = (np.array(2.5), np.array("x"))
LISTS = ([], [None], ["x"])
# plain type -> values that are certainly none; a class has all of them.
WRONG: dict[Any, tuple[object, ...]] = {
    bool: (*NOTHING, 2.5, "x", *LISTS, np.array("x")),
    int: (*NOTHING, *NUMBERS, "x", *LISTS, *ARRAYS),
    float: (*NOTHING, True, "x", *LISTS, *ARRAYS),
    Fraction: (*NOTHING, *NUMBERS, "x", *LISTS, *ARRAYS),
    str: (*NOTHING, *NUMBERS, *LISTS, *ARRAYS),
    Path: (*NOTHING, *NUMBERS, *LISTS, *ARRAYS),
    types.NoneType: (*NOTHING[1:], *NUMBERS, "x", *LISTS, *ARRAYS),
}
ANY = (*NOTHING, *NUMBERS, "x", *LISTS, *ARRAYS)
FITS: dict[Any, object] = {bool: True, int: 1, float: 1.0, Fraction: Fraction(1, 2), str: "x"}


def functions() -> dict[str, Callable[..., Any]]:
    named = ((each, getattr(import_module(each.listed[0]), each.name)) for each in public())
    return {f"{p.listed[0]}.{p.name}": f for p, f in named if inspect.isfunction(f)}


def records() -> dict[str, type]:
    """Those that check what they are made of."""
    named = ((each, getattr(import_module(each.listed[0]), each.name)) for each in public())
    return {
        p.name: cls
        for p, cls in named
        if inspect.isclass(cls) and issubclass(cls, Record) and "__post_init__" in vars(cls)
    }


def wrong(annotation: Any) -> list[object]:
    """Values that are certainly of another kind than annotated."""
    parts, origin = typing.get_args(annotation), typing.get_origin(annotation) or annotation
    if isinstance(annotation, str) or origin in (Any, object, inspect.Parameter.empty):
        return []
    if _array_like(parts):
        values = [*NOTHING[1:], "x", *LISTS[1:], ARRAYS[1]]
        return values if types.NoneType in parts else [None, *values]
    if hasattr(origin, "dim_str"):
        return [*NOTHING, "x", *LISTS]
    if origin in (typing.Union, types.UnionType):
        several = [[id(value) for value in wrong(part)] for part in parts]
        return [value for value in ANY if all(id(value) in each for each in several)]
    if origin is Literal:
        return list(WRONG[type(parts[0])])
    if origin in WRONG:
        return list(WRONG[origin])
    if not inspect.isclass(origin) or issubclass(origin, Mapping | Iterable):
        return [*NOTHING[:2], *NUMBERS] if inspect.isclass(origin) else []
    return list(ANY)


def fitting(annotation: Any) -> object:
    """A value of the kind, good enough to come past the door."""
    parts, origin = typing.get_args(annotation), typing.get_origin(annotation) or annotation
    if origin in (typing.Union, types.UnionType):
        if types.NoneType in parts:
            return None
        return 1.0 if _array_like(parts) else fitting(parts[0])
    if origin is Literal:
        return parts[0]
    if hasattr(origin, "dim_str"):
        return np.ones([1] * len(origin.dim_str.split()))
    if origin is tuple and parts[1:] != (...,):
        return tuple(map(fitting, parts))
    if origin is Callable or not inspect.isclass(origin):
        return len
    if origin is np.ndarray:
        return np.ones(1)
    if issubclass(origin, Mapping):
        return {}
    if issubclass(origin, Iterable) and parts:
        return []
    return FITS[origin] if origin in FITS else _blank(origin)


def _array_like(parts: tuple[Any, ...]) -> bool:
    names = [getattr(typing.get_origin(part) or part, "__name__", "") for part in parts]
    return "_SupportsArray" in names


def _blank(cls: type) -> object:
    if getattr(cls, "_is_protocol", False):
        return types.SimpleNamespace(**(dict.fromkeys(dir(cls), len) | cls.__annotations__))
    if inspect.isabstract(cls):
        cls = type(cls.__name__, (cls,), dict.fromkeys(cls.__abstractmethods__, len))
    if issubclass(cls, Path):
        return Path()
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [None] * len(getattr(cls, "_fields", ())))
    try:
        return cls.__new__(cls)
    except TypeError:  # an enumeration
        return next(iter(cls), None) if isinstance(cls, type(fk.Verdict)) else None


def parameters(called: Callable[..., Any]) -> list[inspect.Parameter]:
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    every = inspect.signature(called).parameters.values()
    return [
        each.replace(annotation=_bare(each, called)) for each in every if each.kind not in several
    ]


def _bare(parameter: inspect.Parameter, called: Callable[..., Any]) -> Any:
    """An annotation without what it declares besides; what it names as text is loaded."""
    annotation = loaded(parameter.annotation, inspect.unwrap(called).__module__)
    return typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


FUNCTIONS, RECORDS = functions(), records()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses_another_kind(name):
    function = FUNCTIONS[name]
    needed = {p.name: p for p in parameters(function) if p.default is p.empty}
    fine = {each: fitting(p.annotation) for each, p in needed.items()}
    for parameter in parameters(function):
        for value in wrong(parameter.annotation):
            given = fine | {parameter.name: value}
            with pytest.raises(fk.InputError) as refused:
                _call(function, given)
            assert refused.value.argument.split("[")[0] == parameter.name


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_refuses_another_kind(name):
    cls = RECORDS[name]
    needed = {p.name: p for p in parameters(cls) if p.default is p.empty}
    kinds = {each.name: each.type for each in dataclasses.fields(cls)}
    fine = {each: fitting(kinds[each]) for each in needed}
    for each in parameters(cls):
        for value in wrong(kinds[each.name]):
            if isinstance(value, list) and not value:  # an array that a record makes of a list
                continue
            with pytest.raises(fk.InputError):
                cls(**fine | {each.name: value})


def _call(function: Callable[..., Any], given: dict[str, object]) -> Any:
    by_place = [p for p in parameters(function) if p.kind is p.POSITIONAL_ONLY]
    places = [given.pop(p.name) for p in by_place if p.name in given]
    return function(*places, **given)


def test_a_member_of_another_kind_is_named():
    with pytest.raises(fk.InputError, match=r"^classes\[1\]: got 3; allowed: a RequestClass$"):
        fk.Workload((fk.RequestClass(1, 1), 3))
    with pytest.raises(fk.InputError, match=r"^systems\[0\]: got None; allowed: a System$"):
        fk.basins([None], [1.0])


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda: fk.System("x", 3),
            "workload: got 'x'; allowed: a Workload",
        ),
        (lambda: fk.read_log(None), "source: got None; allowed: a path"),
        (lambda: fk.cohort_model(3), "system: got 3; allowed: a System or Systems"),
        (
            lambda: fk.poisson(fk.Workload.from_lengths([(1, 1)]), rate=1.0, count=1, rng=-1),
            "rng: got -1; allowed: a NumPy Generator or a seed, an integer of at least 0",
        ),
    ],
)
def test_the_line_says_what_is_allowed(call, line):
    with pytest.raises(fk.InputError) as refused:
        call()
    assert str(refused.value) == line


def test_a_kind_within_another_is_not_said_twice():
    with pytest.raises(fk.InputError, match=r"start: got 'x'; .*each an integer or a Fraction$"):
        fk.exact.trajectory(fk.System(fk.Workload.from_lengths([(1, 1)]), 3), "x")


def test_numbers_of_numpy_are_numbers():
    workload = fk.Workload((fk.RequestClass(np.int64(2), np.int32(3)),))
    assert fk.stability(fk.System(workload, np.int64(24))).verdict


def test_a_function_has_one_door_in_all_rooms():
    for each in public():
        one, *others = (getattr(import_module(room), each.name) for room in each.listed)
        assert all(other is one for other in others), each.name


def test_a_public_function_pickles():
    for name in ("stability", "serve", "sweep"):
        function = getattr(fk, name)
        assert pickle.loads(pickle.dumps(function)) is function


SHARED = fk.prompted_generator("gsp", parameters={"groups": 2, "queries": 2, "lengths": (10, 20)})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: fk.cache_study(SHARED, policies="lru"),
            "policies: got 'lru'; allowed: a sequence",
        ),
        (lambda: fk.cache_study(SHARED, policies=[3]), r"policies\[0\]: got 3; allowed: a member"),
        (lambda: fk.cache_study(SHARED, granularity=4), "granularity: got 4; allowed: a Granula"),
        (lambda: fk.cache_study(SHARED, first_seed=-1), "first_seed: got -1; allowed: a whole"),
        (lambda: fk.cache_study(SHARED, policies=["lur"]), "policies: got 'lur'; allowed: lru"),
        (lambda: fk.route_study(SHARED, None), "fleet: got None; allowed: a Fleet"),
        (lambda: fk.route_study("x", fk.Fleet(2, 90)), "prompted: got 'x'; allowed: a Prompted"),
        (
            lambda: fk.route_study(SHARED, fk.Fleet(2, 90), ["lbgr"]),
            "routers: got .*; allowed: a m",
        ),
        (lambda: fk.price_tokens("x", 5), "attention: got 'x'; allowed: an Attention, a Brought"),
        (
            lambda: fk.price_tokens([], 5, policies="lru"),
            "policies: got 'lru'; allowed: a sequence",
        ),
        (lambda: fk.price_tokens([], 5, pricing=3), "pricing: got 3; allowed: a Pricing"),
    ],
)
def test_what_a_question_loads_when_it_is_asked_is_checked_too(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        call()
