"""What a reader did with each row of a file: nothing is repaired or left out in silence."""

from dataclasses import dataclass, field

from fluidkv.errors import InputError
from fluidkv.text import printable


@dataclass(frozen=True)
class Reason:
    """Why rows were dropped, changed or flagged.

    Fields:
        what: the column and what is wrong with it.
        rows: how many rows this applies to, at least 1.
        first_line: line of the file where the first of them begins, counted from 1.
    """

    what: str
    rows: int
    first_line: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", printable(self.what))

    def __str__(self) -> str:
        return f"{self.rows:,} × {self.what} (first in line {self.first_line})"


@dataclass(frozen=True)
class LoadReport:
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

    Raises:
        InputError: counts that do not add up.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", printable(self.source))
        if self.read != self.kept + self.dropped:
            raise InputError("read", self.read, f"kept + dropped = {self.kept + self.dropped}")
        if not 0 <= self.changed <= self.kept:
            raise InputError("changed", self.changed, f"between 0 and kept = {self.kept}")
        explained = sum(reason.rows for reason in self.dropped_because)
        if explained != self.dropped:
            raise InputError("dropped_because", explained, f"{self.dropped} rows, all the dropped")

    def summary(self) -> str:
        """One line of counts, then one line a reason."""
        lines = [
            f"{self.source} ({self.format}): {self.read:,} rows read, {self.kept:,} kept, "
            f"{self.changed:,} changed, {self.dropped:,} dropped"
        ]
        lines += [f"  dropped: {reason}" for reason in self.dropped_because]
        lines += [f"  changed: {reason}" for reason in self.changed_because]
        lines += [f"  flagged: {reason}" for reason in self.flagged_because]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The fields as plain values, fit for JSON."""
        counts: dict[str, object] = {
            "source": self.source,
            "format": self.format,
            "read": self.read,
            "kept": self.kept,
            "changed": self.changed,
            "dropped": self.dropped,
        }
        for key in ("dropped_because", "changed_because", "flagged_because"):
            counts[key] = [
                {"what": r.what, "rows": r.rows, "first_line": r.first_line}
                for r in getattr(self, key)
            ]
        return counts


@dataclass
class Tally:
    """Counts while a file is being read; `report` closes it."""

    kept: int = 0
    changed: int = 0
    _reasons: dict[str, dict[str, list[int]]] = field(
        default_factory=lambda: {"dropped": {}, "changed": {}, "flagged": {}}
    )

    def drop(self, what: str, line: int) -> None:
        self._count("dropped", what, line)

    def keep(self, line: int, *, changed: tuple[str, ...], flagged: tuple[str, ...]) -> None:
        self.kept += 1
        self.changed += bool(changed)
        for what in changed:
            self._count("changed", what, line)
        for what in flagged:
            self._count("flagged", what, line)

    def report(self, *, source: str, format: str) -> LoadReport:
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
        )

    def _count(self, kind: str, what: str, line: int) -> None:
        self._reasons[kind].setdefault(what, [0, line])[0] += 1

    def _listed(self, kind: str) -> tuple[Reason, ...]:
        """Most frequent first; among equals, in order of appearance."""
        found = self._reasons[kind].items()
        reasons = [Reason(what, rows, line) for what, (rows, line) in found]
        return tuple(sorted(reasons, key=lambda reason: (-reason.rows, reason.first_line)))
