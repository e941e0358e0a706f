"""One object of a record file: its fields, each checked when it is taken."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.reading import json_object
from fluidkv.serving.limits import UNLIMITED
from fluidkv.text import printable


@dataclass
class Fields:
    """The fields of one JSON object.

    Args:
        where: the file, as errors name it; and what part of it.
        values: by name.

    Errors name file and field. A field that nobody took is `unused`: a record is not replayed
    under a setting that was not understood without a word about it.
    """

    where: str
    values: dict[str, Any]
    taken: set[str] = field(default_factory=set)

    def any(self, name: str) -> Any:
        self.taken.add(name)
        if name not in self.values:
            raise self.wrong(name, "no such field", "a record has it")
        return self.values[name]

    def integer(self, name: str, *, least: int = 1) -> int:
        return self._integer(name, self.any(name), least)

    def cap(self, name: str) -> int | None:
        """A whole number of at least 1; null is no limit."""
        return None if self.any(name) is None else self.integer(name)

    def flag(self, name: str) -> bool:
        value = self.any(name)
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def text(self, name: str) -> str:
        value = self.any(name)
        if not isinstance(value, str):
            raise self.wrong(name, value, "text")
        return printable(value)

    def only(self, name: str, allowed: object, why: str) -> None:
        """A setting of which one value is modelled."""
        value = self.any(name)
        if type(value) is not type(allowed) or value != allowed:
            raise self.wrong(name, value, f"{json.dumps(allowed)}; {why}")

    def items(self, name: str) -> list[Any]:
        value = self.any(name)
        if not isinstance(value, list) or not value:
            raise self.wrong(name, value, "a list that is not empty")
        return value

    def integers(self, name: str, *, least: int = 1) -> list[int]:
        return [
            self._integer(f"{name}[{i}]", value, least) for i, value in enumerate(self.items(name))
        ]

    def integer_or_integers(self, name: str) -> int | list[int]:
        return self.integers(name) if isinstance(self.any(name), list) else self.integer(name)

    def notes(self, unused: Iterable[str]) -> list[str]:
        return [f"{printable(name)[:60]}: not known, not used" for name in sorted(unused)]

    def unused(self, known: Iterable[str] = ()) -> set[str]:
        return set(self.values) - self.taken - set(known)

    def wrong(self, name: str, value: object, allowed: str) -> InputError:
        return InputError(f"{self.where}: {name}", value, allowed)

    def _integer(self, name: str, value: object, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value:
            raise self.wrong(name, value, f"a whole number of at least {least}")
        return min(value, UNLIMITED)  # what is above stands for no limit, or for more than fits


def version_notes(version: str, known: str) -> list[str]:
    """A note where a file is of another version than the one whose rules are replayed."""
    return [] if version == known else [f"version {version}: replayed under the rules of {known}"]


def read_object(path: Path) -> Fields:
    """The one JSON object that a file holds.

    Raises:
        InputError: as `json_object`.
    """
    allowed = "a JSON file that is one object with field 'engine'"
    return Fields(printable(str(path)), json_object(path, allowed, "FILE"))
