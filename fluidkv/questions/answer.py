"""The answer to a question: a record whose fields say what they are; the rest follows from them.

JSON and its reference of keys, the dataset, tables and CSV are made of the fields' descriptions.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from inspect import cleandoc, get_annotations, isclass
from operator import attrgetter
from textwrap import fill, indent
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
)

from fluidkv.plain import csv_text, named, plain
from fluidkv.record import Record

if TYPE_CHECKING:
    import xarray as xr

    from fluidkv.labels import Column


T = TypeVar("T")


@dataclass(frozen=True)
class Described:
    """What a field of an answer is: `hits: Annotated[int, Described("prompts found")]`.

    Fields:
        title: in a few words.
        unit: as in "request / s"; "1" for shares and counts.
        dims: names of what it lies along, with blanks between them; of answers, what tells them
            apart.
        key: in JSON, "used.peak" inside of an object; None: the field's own name; "": it is in
            neither JSON nor dataset.
        kind: of its values in the reference of keys; "": as its type says.
        attribute: whether the dataset has it as an attribute; of several answers, along them.
        whole: whether the numbers of an array are whole.
        lists: how deep its values are in lists, where it lies along no dimension.
        below: path, kind and title of keys below a mapping; of any other value, those of its
            attributes that JSON has: "swap.pool" is the pool of its swap, "method=proof.method" the
            method of its proof under another key.
        flat: whether these keys stand beside those of the answer.
        section: of the page of keys, which has those below this one; "": they are listed with it.
        json: a value as JSON has it.
    """

    title: str
    unit: str = "1"
    dims: str = ""
    key: str | None = None
    kind: str = ""
    attribute: bool = False
    whole: bool = False
    lists: int = 0
    below: tuple[tuple[str, str, str], ...] = ()
    flat: bool = False
    section: str = ""
    json: Callable[[Any], Any] = plain

    def as_json(self, value: Any) -> Any:
        """Plain values, of what JSON has of it; of nothing, null under each of its own keys."""
        if value is None and not (self.flat and self.json is plain):
            return None
        if self.json is not plain:
            return self.json(value)
        if not self.below or isinstance(value, Mapping | list | tuple):
            return plain(value)
        parts: dict[str, Any] = {}
        for entry, _, _ in self.below:
            path, _, attribute = entry.replace("[]", "").partition("=")
            part = None if value is None else attrgetter(attribute or path)(value)
            _put(parts, path, part)
        return parts


class _DescribedProperty(property):
    about: Described


def described(title: str, **more: Any) -> Callable[[Callable[[Any], T]], T]:
    """A property of an answer that JSON has, too; arguments as of `Described`."""

    def made(getter: Callable[[Any], T]) -> Any:  # for a type checker, what it returns
        member = _DescribedProperty(getter)
        member.about = Described(title, **more)
        return member

    return made


class Part(NamedTuple):
    """A described field.

    Fields:
        name: of the field.
        type: of its values, as it is annotated.
        key: in JSON; "": none.
        dims: along which it lies.
        about: its description.
    """

    name: str
    type: Any
    key: str
    dims: tuple[str, ...]
    about: Described


class Answer(Record):
    """What a question finds; the first field of an answer among several names it among them.

    The docstring of an answer lists the described fields: `Fields:` of a class has only what their
    titles do not say.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = _documented(cleandoc(cls.__doc__ or ""), cls.parts())

    @classmethod
    def parts(cls) -> Iterator[Part]:
        """The described fields, in their order, and then the described properties."""
        bases = cls.__mro__[::-1]
        annotated = {name: kind for base in bases for name, kind in get_annotations(base).items()}
        members = (member for base in bases for member in vars(base).items())
        for name, member in members:
            if isinstance(member, property):
                kind = getattr(member.fget, "__annotations__", {}).get("return")
                about = getattr(member, "about", None)
                annotated[name] = kind if about is None else Annotated[kind, about]
        for name, annotation in annotated.items():
            kind, *metadata = get_args(annotation) or (annotation,)
            for about in metadata:
                if isinstance(about, Described):
                    key = name if about.key is None else about.key
                    yield Part(name, kind, key, tuple(about.dims.split()), about)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under keys that stay."""
        found: dict[str, Any] = {}
        for each in self.parts():
            value = getattr(self, each.name)
            if each.about.flat:
                found |= each.about.as_json(value) or {}
            elif each.key:
                exact = isinstance(value, Fraction) and each.about.json is plain
                _put(found, each.key, value if exact else each.about.as_json(value))
        return found

    def to_xarray(self) -> "xr.Dataset":
        """Every field along dimensions; those of inner answers stacked along theirs."""
        from fluidkv.labels import dataset

        variables: dict[str, Column] = {}
        coords: dict[str, Column] = {}
        attributes: dict[str, Any] = {}
        for each in self.parts():
            value, about = getattr(self, each.name), each.about
            if about.attribute:
                attributes[each.name] = value
            if not each.dims or not each.key:
                continue
            if inner_answer(each.type) is not None:
                stack(value, each.dims[0], variables, coords)
            elif each.dims[0] not in coords:
                coords[each.dims[0]] = each.dims, value, about.unit, about.title
            else:
                variables[each.name] = each.dims, value, about.unit, about.title
        return dataset(variables, coords, **attributes)

    def to_csv(self) -> str:
        """The dataset as a table: a row for each place along all its dimensions."""
        found = self.to_xarray()
        columns = [*found.dims, *found.data_vars]
        stacked = found.stack(place=list(found.dims)).reset_index("place")
        cells = [stacked[name].broadcast_like(stacked["place"]).values.tolist() for name in columns]
        return csv_text(map(str, columns), zip(*cells, strict=True))

    @classmethod
    def json_keys(cls, front: str = "") -> Iterator[tuple[str, str, str]]:
        """Path, kind and title of each key of the JSON, those of inner answers included."""
        for each in cls.parts():
            path, inner = f"{front}{each.key}", inner_answer(each.type)
            depth = len(each.dims) or each.about.lists
            several = ".*" if _is_mapping(each.type) else "[]" * depth
            if each.about.below and not _is_mapping(each.type):
                below = "" if each.about.flat else f"{each.key}{'[]' * depth}."
                for name, kind, title in each.about.below:
                    yield f"{front}{below}{name.partition('=')[0]}", kind, title
            elif each.about.section:
                link = f"→ [{each.about.section}](#{each.about.section})"
                yield f"{path}{'[]' * depth}", "", f"{each.about.title}: {link}"
            elif each.key and inner is not None:
                yield from inner.json_keys(f"{path}{several}.")
            elif each.key:
                yield (
                    path + several,
                    each.about.kind or _kind(each.type, each.about.unit),
                    each.about.title,
                )
                for name, kind, title in each.about.below:
                    yield f"{path}.{name}", kind, title


def crossed(
    first: str, rows: Sequence[int], columns: Mapping[str, Any], show: Callable[[Any], str]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: a row for each size, a column for each name.

    Args:
        first: what the rows are.
        rows: sizes.
        columns: name -> an array, a value for each row.
        show: a value as a person reads it.
    """
    cells = [
        [f"{row:,}", *(show(values[place]) for values in columns.values())]
        for place, row in enumerate(rows)
    ]
    return [first, *columns], cells


def table_csv(
    table: "xr.Dataset",
    *,
    names: Mapping[str, Sequence[str]] = MappingProxyType({}),
    whole: bool = False,
) -> str:
    """A dataset as CSV: a row for each place along all its dimensions, named by its coordinates.

    Args:
        names: dimension -> coordinates along it that name its places, in place of its own.
        whole: write floats that are whole numbers without a point.
    """
    import numpy as np

    first = next(iter(table.data_vars.values()))
    places: dict[str, list[Any]] = {}
    for axis, dim in enumerate(map(str, first.dims)):
        shape = [-1 if place == axis else 1 for place in range(first.ndim)]
        for name in names.get(dim, (dim,)):
            along = table[name].values.reshape(shape)
            places[name] = np.broadcast_to(along, first.shape).ravel().tolist()
    values = [np.asarray(each.values, float).ravel().tolist() for each in table.data_vars.values()]
    header = [*places, *map(str, table.data_vars)]
    return csv_text(header, zip(*places.values(), *values, strict=True), whole=whole)


def inner_answer(kind: Any) -> type[Answer] | None:
    """The answer that a field holds, alone, several times or maybe; None: it holds none."""
    parts = (kind, *get_args(kind))
    return next((each for each in parts if isclass(each) and issubclass(each, Answer)), None)


def _put(values: dict[str, Any], path: str, value: Any) -> None:
    """A value under "swap.pool": in an object of the first name; of an exact one its text, too."""
    *groups, key = path.split(".")
    for group in groups:
        values = values.setdefault(group, {})
    values |= named(key, value)


def stack(
    answers: Sequence[Answer], dim: str, variables: "dict[str, Column]", coords: "dict[str, Column]"
) -> None:
    """Put what lies along dimensions in several answers into variables along one more, and what
    tells them apart into the coordinate along it.
    """
    import numpy as np

    first, *others = answers[0].parts()
    names = [plain(getattr(each, first.name)) for each in answers]
    coords[dim] = dim, names, first.about.unit, first.about.title
    for part in others:
        if part.key and (part.dims or part.about.attribute):
            values = np.stack([getattr(each, part.name) for each in answers])
            variables[part.name] = (dim, *part.dims), values, part.about.unit, part.about.title


def _documented(text: str, parts: Iterable[Part]) -> str:
    """A docstring whose `Fields:` have every described field that it does not speak of itself."""
    head, fields, tail = text.partition("\n\nFields:\n")
    if not fields:
        head, gap, tail = text.partition("\n\nExamples:\n")
        own, rest = "", gap + tail
    else:
        own, gap, tail = tail.partition("\n\n")
        rest = gap + tail
    heads = re.findall(r"^ {4}(\w[\w, ]*):", own, flags=re.M)
    explained = {name.strip() for names in heads for name in names.split(",")}
    entries = [indent(_entry(part), "    ") for part in parts if part.name not in explained]
    if not entries:
        return text
    return f"{head}\n\nFields:\n" + "\n".join([own, *entries] if own else entries) + rest


def _entry(part: Part) -> str:
    """What a field is, with its unit and what it lies along."""
    unit = {"1": "", "token": "tokens"}.get(part.about.unit, part.about.unit)
    unit = "" if unit in part.about.title else unit
    more = ", ".join(each for each in (unit, part.about.dims and f"[{part.about.dims}]") if each)
    text = f"{part.name}: {part.about.title}{f' ({more})' if more else ''}."
    return fill(text, 92, subsequent_indent="    ")


def _is_mapping(kind: Any) -> bool:
    return any(get_origin(each) is Mapping for each in (kind, *get_args(kind)))


def _kind(kind: Any, unit: str) -> str:
    """Of the values of a field, as the reference of keys says it."""
    if _is_mapping(kind) or isinstance(kind, ForwardRef):
        return ""
    parts = [each for each in (kind, *get_args(kind)) if isclass(each)]
    if any(issubclass(each, str | Enum) for each in parts):
        return "text"
    if bool in parts:
        return "yes/no"
    if unit != "1":
        return {"token": "tokens"}.get(unit, unit)
    return "count" if int in parts else "number"
