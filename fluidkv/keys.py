"""What JSON has of a record, as one table: its values are made by it, and the reference shows it.

    class Window(Keyed):
        \"\"\"...

        Fields:
            first: the smallest.\"\"\"

        KEYS = (Key("first", "tokens"), Key("modes.growing", "count", of="growing_modes"))

What a key is says the docstring of the field or property that it comes from, unless the table does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from inspect import getdoc
from operator import attrgetter
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple, cast

from fluidkv.plain import named, with_exact, with_exact_list
from fluidkv.record import Record

Row = tuple[str, str, str]
"""Path of a key, kind or unit of its values, and what it is."""


class Key(NamedTuple):
    """One key of an object of JSON.

    Fields:
        name: after those of the objects that it stands in, "search.ties"; "[]" behind a list.
        kind: unit or kind of its values.
        what: what it is; "": as the docstring of what it comes from says.
        of: names of the attributes that lead to it, or what finds it in the record; "": its name.
        exact: its text stands beside it even where it is None, or whole.
        below: the record that it is, or that each of the list is, as `json_rows` takes it.
    """

    name: str
    kind: str = ""
    what: str = ""
    of: str | Callable[[Any], Any] = ""
    exact: bool = False
    below: type | str | Sequence[Row] = ""

    @property
    def path(self) -> str:
        """The name without brackets, and without the star of an object with names of its own."""
        return self.name.replace("[]", "").removesuffix(".*")

    def value(self, record: Any) -> Any:
        """What the record has of it."""
        if callable(self.of):
            return self.of(record)
        return attrgetter(self.of or self.path)(record)

    def as_json(self, record: Any) -> dict[str, Any]:
        """The value under the last of its names, exact ones with their text beside them."""
        value, name = self.value(record), self.path.rpartition(".")[2]
        if self.exact and isinstance(value, Sequence):
            return with_exact_list(name, value)
        return with_exact(name, value) if self.exact else named(name, value)


class Keyed(Record):
    """A record whose JSON is its table of keys, in that order."""

    KEYS: ClassVar[Sequence[Key]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; beside each exact number its text, under `<name>_exact`."""
        values: dict[str, Any] = {}
        for key in self.KEYS:
            place = values
            for group in key.path.split(".")[:-1]:
                place = place.setdefault(group, {})
            place |= key.as_json(self)
        return values


def json_rows(of: "type | str | Sequence[Row]", front: str = "") -> Iterator[Row]:
    """The rows of the reference of keys: those of a record's table, or of the answer to a question.

    Args:
        of: its class, or "module:name" of that, or of rows as they are.
        front: of all paths.
    """
    if isinstance(of, str):
        of = resolve_name(of)
    if not isinstance(of, type):
        yield from ((f"{front}{path}", kind, what) for path, kind, what in of)
    elif issubclass(of, Keyed):
        for key in of.KEYS:
            yield from _rows_of(of, key, front)
    else:
        yield from cast(Any, of).json_keys(front)


def _rows_of(owner: type, key: Key, front: str) -> Iterator[Row]:
    if key.name.endswith("_exact"):  # described once for all
        return
    source = key.path if callable(key.of) else key.of or key.path
    what = key.what or _documented(owner, source)
    if not what and not key.below:
        raise ValueError(f"{owner.__name__}: {key.name} is described nowhere")
    if what:
        yield f"{front}{key.name}", key.kind, what
    if key.below:
        yield from json_rows(key.below, f"{front}{key.name}.")


def _documented(owner: type, name: str) -> str:
    """What the docstring of a class says of a field; of a property, the first paragraph of its own.

    `None` is null there, and a pair a list, as they are in JSON.
    """
    member = getattr(owner, name, None)
    if isinstance(member, property | cached_property):
        words = (getdoc(member) or "").partition("\n\n")[0]
    else:
        text = re.split(r"^Fields[^\n]*:\n", getdoc(owner) or "", flags=re.M)[-1]
        entry = rf"^    (?:\w+, )*{re.escape(name)}(?:, \w+)*: (.*?)(?=^    \S|^\S|\Z)"
        match = re.search(entry, text, re.M | re.S)
        words = match[1] if match else ""
    words = re.sub(r"\bNone\b", "null", " ".join(words.split()).removesuffix("."))
    words = words.replace("(low, high)", "[low, high]")
    return words[:1].lower() + words[1:] if words[1:2].islower() else words
