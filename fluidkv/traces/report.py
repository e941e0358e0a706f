"""What a reader did with each row of a file: nothing is repaired or left out in silence."""

from dataclasses import dataclass, field

from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.record import Record
from fluidkv.text import printable


@dataclass(frozen=True)
class Reason(Record):
    """Why rows were dropped, changed or flagged.

    Fields:
        what: the column and what is wrong with it.
        rows: how many rows this applies to, at least 1.
        first: the first of them, counted from 1: the line of the file where it begins, or its place
            among the requests of a file that has no line for each.
        place: what `first` counts, "line" or "request".

    Examples:
        >>> from pathlib import Path
        >>> rows = '''input_length,decode_length
        ... 10,2
        ... 12,0'''
        >>> _ = Path("mine.csv").write_text(rows)
        >>> [reason] = fk.read_trace("mine.csv").report.dropped_because
        >>> reason.what, reason.rows, reason.place, reason.first
        ('decode_length: zero or negative', 1, 'line', 3)
    """

    what: str
    rows: int
    first: int
    place: str = "line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", printable(self.what))

    def __str__(self) -> str:
        where = "in line" if self.place == "line" else "at request"
        return f"{self.rows:,} × {self.what} (first {where} {self.first})"

    def to_dict(self) -> dict[str, object]:
        """As plain values, `first` under the name of what it counts."""
        return {"what": self.what, "rows": self.rows, f"first_{self.place}": self.first}


_REASON = (
    ("what", "text", "the column and what is wrong with it"),
    ("rows", "rows", "to which this applies"),
    ("first_line", "count", "line of the file with the first of them"),
    ("first_request", "count", "if it is a log: its place among the requests, and no line"),
)


@dataclass(frozen=True)
class LoadReport(Keyed):
    """Rows of a file, by what became of them. Headers and blank lines are not rows.

    Fields:
        source: name of the file or log folder.
        format: name of the format that it was read as.
        read: rows found. read = kept + dropped.
        kept: rows that became requests of the trace.
        changed: kept rows of which a value was read as another than written; at most `kept`.
        dropped: rows left out.
        dropped_because: each dropped row has exactly one reason, the first that was found.
        changed_because: a changed row has one reason or more.
        flagged_because: rows kept exactly as written, though something in them looks wrong.
        notes: what holds of the file as a whole: what it does not say, and what is not used.
        of_log: whether it is of a measured run, of which there may be more files beside it.

    Raises:
        InputError: counts that do not add up.

    Examples:
        >>> from pathlib import Path
        >>> rows = '''input_length,decode_length
        ... 10,2
        ... 12,0'''
        >>> _ = Path("mine.csv").write_text(rows)
        >>> _, report = fk.read_trace("mine.csv")
        >>> print(report.summary())
        mine.csv (csv): 2 rows read, 1 kept, 0 changed, 1 dropped
          dropped: 1 × decode_length: zero or negative (first in line 3)
    """

    source: str
    format: str
    read: int
    kept: int
    changed: int
    dropped: int
    dropped_because: tuple[Reason, ...] = ()
    changed_because: tuple[Reason, ...] = ()
    flagged_because: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    of_log: bool = False

    KEYS = (
        Key("source", "text"),
        Key("format", "text"),
        Key("read", "rows", "read = kept + dropped"),
        Key("kept", "rows"),
        Key("changed", "rows"),
        Key("dropped", "rows"),
        Key("dropped_because[]", below=_REASON),
        Key("changed_because[]", below=_REASON),
        Key("flagged_because[]", below=_REASON),
        Key("notes[]", "text"),
        Key("of_log", "yes/no"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", printable(self.source))
        object.__setattr__(self, "notes", tuple(printable(note) for note in self.notes))
        if self.read != self.kept + self.dropped:
            raise InputError("read", self.read, f"kept + dropped = {self.kept + self.dropped}")
        if not 0 <= self.changed <= self.kept:
            raise InputError("changed", self.changed, f"between 0 and kept = {self.kept}")
        explained = sum(reason.rows for reason in self.dropped_because)
        if explained != self.dropped:
            raise InputError("dropped_because", explained, f"{self.dropped} rows, all the dropped")

    def summary(self) -> str:
        """One line of counts, then one line a reason, then one line a note."""
        lines = [
            f"{self.source} ({self.format}): {self.read:,} rows read, {self.kept:,} kept, "
            f"{self.changed:,} changed, {self.dropped:,} dropped"
        ]
        lines += [f"  dropped: {reason}" for reason in self.dropped_because]
        lines += [f"  changed: {reason}" for reason in self.changed_because]
        lines += [f"  flagged: {reason}" for reason in self.flagged_because]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass
class Tally:
    """Counts while a file is being read, places as `Reason` has them; `report` closes it."""

    place: str = "line"
    kept: int = 0
    changed: int = 0
    _reasons: dict[str, dict[str, list[int]]] = field(
        default_factory=lambda: {"dropped": {}, "changed": {}, "flagged": {}}
    )

    def drop(self, what: str, at: int) -> None:
        self._count("dropped", what, at)

    def keep(self, at: int, *, changed: tuple[str, ...], flagged: tuple[str, ...]) -> None:
        self.kept += 1
        self.changed += bool(changed)
        for what in changed:
            self._count("changed", what, at)
        for what in flagged:
            self._count("flagged", what, at)

    def report(
        self, *, source: str, format: str, notes: tuple[str, ...] = (), of_log: bool = False
    ) -> LoadReport:
        dropped = self._listed("dropped")
        rows_dropped = sum(reason.rows for reason in dropped)
        return LoadReport(
            source=source,
            format=format,
            read=self.kept + rows_dropped,
            kept=self.kept,
            changed=self.changed,
            dropped=rows_dropped,
            dropped_because=dropped,
            changed_because=self._listed("changed"),
            flagged_because=self._listed("flagged"),
            notes=notes,
            of_log=of_log,
        )

    def _count(self, kind: str, what: str, at: int) -> None:
        self._reasons[kind].setdefault(what, [0, at])[0] += 1

    def _listed(self, kind: str) -> tuple[Reason, ...]:
        """Most frequent first; among equals, in order of appearance."""
        found = self._reasons[kind].items()
        reasons = [Reason(what, rows, first, self.place) for what, (rows, first) in found]
        return tuple(sorted(reasons, key=lambda reason: (-reason.rows, reason.first)))
