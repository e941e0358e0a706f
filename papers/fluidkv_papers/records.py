"""Runs on record: tables beside the modules that compute them, read and written in one way."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TypeVar, get_args, get_type_hints

Row = TypeVar("Row")


@dataclass(frozen=True)
class Table:
    """A CSV file beside a module.

    Args:
        module: its `__file__`; the table has its name, unless it has one of its own.
        name: of the table, without a suffix.
        digits: that a number is written with.
    """

    module: str | Path
    name: str = ""
    digits: int = 6

    @property
    def path(self) -> Path:
        """Where it stands."""
        module = Path(self.module)
        return module.with_name(f"{self.name or module.stem}.csv")

    def lines(self) -> list[dict[str, str]]:
        """Its rows as text, by the name of the column."""
        with self.path.open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def rows(self, kind: type[Row]) -> list[Row]:
        """Its rows as records of a kind, each field from the column of its name."""
        kinds = {name: _number_or_text(hint) for name, hint in get_type_hints(kind).items()}
        return [kind(**{n: of(line[n]) for n, of in kinds.items()}) for line in self.lines()]

    def write(self, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
        """Write it anew, a row as soon as it is computed."""
        with self.path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            for row in rows:
                writer.writerow(f"{v:.{self.digits}g}" if isinstance(v, float) else v for v in row)
                file.flush()


def _number_or_text(hint: type) -> type:
    """The type of a field; of one that may be None, that of its values."""
    return next((of for of in get_args(hint) if of is not NoneType), hint)
