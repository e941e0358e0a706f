"""A value of another kind than annotated ends in one line, at the door of whatever is public.

`attach` makes the list of names of a room: its functions check what they are called with. Records
check their fields when they are made (`fluidkv.record`). What a value may be is read off the
annotations, once for each function and class, so that no function asks for itself. The range of a
number and the shape of an array are left to the function.

Kinds are wide where Python's are: an `int` is whatever counts as one (NumPy's too, but no bool), a
`float` any real number, a `Fraction` any rational, a `tuple` anything that can be gone through, a
jaxtyping array any array of numbers with that many axes.
"""

import ast
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cache, wraps
from inspect import Parameter, getsource, isclass, signature
from numbers import Complex, Integral, Rational, Real
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import lazy_loader

from fluidkv.errors import InputError


class _Kind(NamedTuple):
    """What a value may be.

    Fields:
        allowed: in words.
        fits: whether a value is of this kind, its members included.
        member: the kind of each member of a sequence.
    """

    allowed: str
    fits: Callable[[Any], bool]
    member: "_Kind | None" = None


def attach(room: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a room whose `__init__.pyi` lists names or modules.

    Each is loaded on first use. A function checks what it is called with.
    """
    load, names, listed = lazy_loader.attach_stub(room, file)

    def get(name: str) -> Any:
        value = load(name)
        if isinstance(value, types.FunctionType):
            value = vars(sys.modules[room])[name] = _checked(value)
            value.__module__ = room  # where pickle finds it
        return value

    return get, names, listed


def loaded(annotation: Any, module: str) -> Any:
    """What a text inside of `Annotated` names, which is loaded at the first call and not before."""
    inner = typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    if not isinstance(inner, typing.ForwardRef):
        return annotation
    return eval(inner.__forward_arg__, _names_of_types(module))  # our own annotation


def fields_checked(made: Callable[[Any], None], cls: type) -> Callable[[Any], None]:
    """`__post_init__` of a dataclass, which raises InputError for a field of another kind.

    What it says itself of such a field comes first: it may know the way out.
    """

    @wraps(made)
    def checked(record: Any) -> None:
        for name, kind in _fields(cls):
            value = getattr(record, name)
            if not kind.fits(value):
                refusal = _refusal(name, value, kind)
                try:
                    made(record)
                except InputError:
                    raise
                except Exception:  # it met that value before it refused it
                    raise refusal from None
                raise refusal
        made(record)

    return checked


@cache
def _checked(function: types.FunctionType) -> Callable[..., Any]:
    """The function, which raises InputError for an argument of another kind than annotated."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        order, kinds = _parameters(function)
        for name, value in (*zip(order, args, strict=False), *kwargs.items()):
            kind = kinds.get(name)
            if kind is not None and not kind.fits(value):
                raise _refusal(name, value, kind)
        return function(*args, **kwargs)

    return called


def _refusal(name: str, value: Any, kind: _Kind) -> InputError:
    """Of the first member that is wrong, else of the whole."""
    if kind.member is not None and _has_members(value):
        for place, member in enumerate(value):
            if not kind.member.fits(member):
                return _refusal(f"{name}[{place}]", member, kind.member)
    return InputError(name, value, kind.allowed)


@cache
def _parameters(function: types.FunctionType) -> tuple[list[str], dict[str, _Kind]]:
    """The names that may be given by place, in order; the kinds of all."""
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature(function).parameters.values()
    kinds = {
        each.name: _kind(loaded(each.annotation, function.__module__))
        for each in parameters
        if each.kind in (*by_place, Parameter.KEYWORD_ONLY)
    }
    return [each.name for each in parameters if each.kind in by_place], _told(kinds)


@cache
def _fields(cls: type) -> Iterable[tuple[str, _Kind]]:
    kinds = {each.name: _kind(each.type, lists=True) for each in fields(cls) if each.init}
    return _told(kinds).items()


@cache
def _names_of_types(module: str) -> dict[str, Any]:
    """The names of a module, and those that it loads for type checkers alone."""
    names = dict(vars(sys.modules[module]))
    for statement in ast.parse(getsource(sys.modules[module])).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            code = compile(ast.Module(statement.body, []), module, "exec")
            exec(code, names)  # imports
    return names


def _told(kinds: Mapping[str, _Kind | None]) -> dict[str, _Kind]:
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind(annotation: Any, *, lists: bool = False) -> _Kind | None:
    """The kind that an annotation stands for; None where anything goes, or it cannot be told.

    Args:
        lists: whether what makes an array may stand for one, as in a record that makes it.
    """
    if isinstance(annotation, str):  # names that only type checkers load
        return None
    parts = typing.get_args(annotation)
    if hasattr(annotation, "__metadata__"):  # what it says besides is for somebody else
        return _kind(parts[0], lists=lists)
    origin: Any = typing.get_origin(annotation) or annotation
    if origin in (typing.Union, types.UnionType):
        return _union(parts, lists=lists)
    if origin is Literal:
        return _PLAIN[type(parts[0])]
    if origin in _PLAIN:
        return _PLAIN[origin]
    if hasattr(origin, "dim_str"):  # an array of jaxtyping
        return _array(origin.dim_str.split(), lists=lists)
    if not isclass(origin) or origin in (object, Any, Parameter.empty):
        return None
    if origin.__name__ == "ndarray":
        return _array(["..."], lists=lists)
    if issubclass(origin, Mapping):
        return _Kind("a mapping", lambda value: isinstance(value, Mapping))
    if issubclass(origin, Iterable) and parts:
        return _sequence(origin, parts)
    return _of_class(origin)


def _union(parts: tuple[Any, ...], *, lists: bool) -> _Kind | None:
    names = {getattr(typing.get_origin(part) or part, "__name__", "") for part in parts}
    if "_SupportsArray" in names:  # ArrayLike
        parts, kinds = tuple(part for part in parts if part is types.NoneType), [_ARRAY_LIKE]
    elif {"Generator", "int"} <= names:
        parts, kinds = (), [_RANDOM]
    elif any(name.startswith("Key[") for name in names):  # of jaxtyping, beside its raw words
        parts, kinds = tuple(part for part in parts if not hasattr(part, "dim_str")), [_KEY]
    else:
        wider = {int: {float, Fraction}, Fraction: {float}, str: {Path}}
        parts = tuple(part for part in parts if wider.get(part, set()).isdisjoint(parts))
        kinds = []
    told = [*kinds, *(_kind(part, lists=lists) for part in parts)]
    kinds = [kind for kind in told if kind is not None]
    if len(kinds) < len(told):
        return None
    members = [kind.member for kind in kinds if kind.member is not None]
    return _Kind(
        _either(list(dict.fromkeys(kind.allowed for kind in kinds))),
        lambda value: any(kind.fits(value) for kind in kinds),
        members[0] if len(members) == 1 else None,
    )


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _sequence(origin: type, parts: tuple[Any, ...]) -> _Kind:
    if origin is tuple and parts[1:] != (...,):
        kinds = [_kind(part) for part in parts]
        return _Kind(
            f"({', '.join('anything' if kind is None else kind.allowed for kind in kinds)})",
            lambda value: (
                _has_members(value)
                and len(value) == len(kinds)
                and all(k is None or k.fits(v) for k, v in zip(kinds, value, strict=True))
            ),
        )
    member = _kind(parts[0])
    counted = issubclass(origin, Sized) and origin is not tuple  # which is made of what comes

    def fits(value: Any) -> bool:
        if isinstance(value, str):
            return parts[0] is str
        if not _has_members(value):
            other = isinstance(value, bytes | Mapping) or getattr(value, "ndim", 1) == 0
            return not counted and not other and isinstance(value, Iterable)
        some = value[:1] if hasattr(value, "dtype") else value  # all of an array are of one kind
        return member is None or all(map(member.fits, some))

    each = "" if member is None else f", each {member.allowed}"
    return _Kind(f"a sequence{each}", fits, member)


def _has_members(value: Any) -> bool:
    """Whether it can be gone through more than once, one member after another."""
    if isinstance(value, str | bytes | Mapping | Iterator) or getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(value, Collection)


def _array(axes: list[str], *, lists: bool) -> _Kind:
    """An array of numbers of that many axes, or of any number where one name stands for several."""
    several = any(axis.startswith(("*", "...")) for axis in axes)

    def fits(value: Any) -> bool:
        listed = lists and isinstance(value, list | tuple)
        plain = hasattr(value, "dtype") or listed or (not axes and isinstance(value, Real))
        there = _axes(value) if plain else None
        return there is not None and (several or there == len(axes))

    return _Kind(f"an array of numbers ({', '.join(axes)})", fits)


def _axes(value: Any) -> int | None:
    """How many axes it has as an array; None where it is no array of numbers."""
    import numpy as np  # here, so that the package loads at once where nobody has arrays

    with suppress(TypeError, ValueError, OverflowError):
        array = value if hasattr(value, "dtype") and hasattr(value, "ndim") else np.asarray(value)
        kind = getattr(array.dtype, "kind", "V")  # a key of JAX has none
        if kind in "biufcV" or (kind == "O" and all(isinstance(n, Real) for n in array.ravel())):
            return array.ndim
    return None


def _of_class(cls: type) -> _Kind:
    name = cls.__name__.removeprefix("_")
    article = "" if name[-1] == "s" != name[-2] else "an " if name[0] in "AEIOU" else "a "
    allowed = f"a member of {name}" if issubclass(cls, Enum) else article + name
    if not getattr(cls, "_is_protocol", False):
        kind = tuple if issubclass(cls, tuple) else cls  # a plain one is as good as a named one
        return _Kind(allowed, lambda value: isinstance(value, kind))
    said = {
        name
        for base in cls.__mro__
        for name in (*vars(base), *vars(base).get("__annotations__", ()))
    }
    asked = [name for name in said if not name.startswith("_")]
    return _Kind(
        allowed,
        lambda value: not isclass(value) and all(hasattr(value, name) for name in asked),
    )


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def _is_rational(value: Any) -> bool:
    return isinstance(value, Rational) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_random(value: Any) -> bool:
    return (_is_int(value) and value >= 0) or hasattr(value, "bit_generator")


_ARRAY_LIKE = _Kind("a number or an array of numbers", lambda value: _axes(value) is not None)
_KEY = _Kind("a JAX random key, as jax.random.key makes", lambda value: hasattr(value, "dtype"))
_RANDOM = _Kind("a NumPy Generator or a seed, an integer of at least 0", _is_random)
_PLAIN = {
    bool: _Kind(
        "True or False", lambda value: isinstance(value, bool) or type(value).__name__ == "bool"
    ),
    int: _Kind("an integer", _is_int),
    float: _Kind("a number", _is_real),
    complex: _Kind("a number", lambda value: isinstance(value, Complex)),
    Fraction: _Kind("an integer or a Fraction", _is_rational),
    str: _Kind("text", lambda value: isinstance(value, str)),
    Path: _Kind("a path", lambda value: isinstance(value, str | PathLike)),
    Callable: _Kind("a function", callable),
    types.NoneType: _Kind("None", lambda value: value is None),
}
