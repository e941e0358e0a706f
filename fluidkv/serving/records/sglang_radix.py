"""Records of SGLang's own prefix trees: calls on a tree and a pool, and what was in both after.

The format: `ops`, a call each; `columns` and `rows`, of RadixCache, a row a call; `rows_unified`,
the rows in which the tree that the server builds differs. Both trees are replayed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, content
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.operations import CALLS, COLUMNS, Operations
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import POLICIES, SplitBirth
from fluidkv.serving.engines import SGLANG
from fluidkv.serving.records.comparison import EVERY, Progress, Record, Replay, difference
from fluidkv.serving.records.fields import Fields, version_notes
from fluidkv.serving.records.table import (
    COUNT,
    WORD,
    Cell,
    checked_row,
    lists_of,
    read_columns,
)

EVICTED = COLUMNS[-1]
"""The column that a row leaves out where nothing was evicted."""

NAMES = {SplitBirth.NEW: "RadixCache", SplitBirth.OLD: "the unified tree"}
"""What SGLang calls the two trees."""

_CELLS: dict[str, Cell] = {
    **dict.fromkeys(COLUMNS, COUNT),
    "op": WORD,
    EVICTED: lists_of(4),
}
_SAID = ("what", "requests_in_flight", "summary", "engine")  # fields that only tell
_UNIFIED = ("equal", "differs")


@dataclass(frozen=True, eq=False)
class Call:
    """A call: its name in `CALLS`, and what it is given."""

    name: str
    given: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class RadixRecord(Record):
    """Calls on one tree, which SGLang made on two.

    Args:
        source, version, notes: as of every `Record`.
        page_size, policy: of the tree; `capacity`: tokens of the pool.
        calls: in their order.
        columns: names out of `operations.COLUMNS`, in the file's order.
        rows: of each of the two trees, a row a call.

    Examples:
        >>> from fluidkv.prefix import Policy, content
        >>> from fluidkv.prefix.radix.values import SplitBirth
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.sglang_radix import RadixRecord
        >>> from fluidkv.serving.records.sglang_radix import Call
        >>> said, part = content([(0, 8)]), content([(0, 6)])
        >>> calls = (Call("A", (0, 8)), Call("I", (0, said, 0, 8)), Call("M", (1, part)))
        >>> rows = ([8, 0], [0, 8], [6, 8])  # allocated; put in; of six tokens all are found
        >>> given = (1, Policy.LRU, 20, calls, ("result", "total"), dict.fromkeys(SplitBirth, rows))
        >>> record = RadixRecord("by hand", "0.5.18", (), *given)
        >>> replay(record).equal
        True
    """

    page_size: int
    policy: Policy
    capacity: int
    calls: tuple[Call, ...]
    columns: tuple[str, ...]
    rows: Mapping[SplitBirth, tuple[list[Any], ...]]
    engine: ClassVar[str] = "sglang"
    unit: ClassVar[str] = "call"

    def replay(self, on_progress: Progress) -> Replay:
        """Both trees side by side; what is counted is of RadixCache.

        Raises:
            InputError: a call that no server could make.
        """
        on = {birth: self.run(birth) for birth in self.rows}
        places, evicted = [COLUMNS.index(name) for name in self.columns], 0
        for number, call in enumerate(self.calls):
            if number % EVERY == 0:
                on_progress(f"call {number:,} of {len(self.calls):,}")
            for birth, run in on.items():
                row = self._made(number, call, run)
                evicted += row[COLUMNS.index("evicted_nodes")] * (birth is SplitBirth.NEW)
                ours, recorded = [row[place] for place in places], self.rows[birth][number]
                if ours != recorded:
                    where = f"call {number:,}, {NAMES[birth]}"
                    differs = difference(number, where, self.columns, recorded, ours)
                    return Replay(False, number, evicted, number + 1, differs)
        return Replay(True, len(self.calls), evicted, len(self.calls), None)

    def run(self, birth: SplitBirth) -> Operations:
        """An empty tree and a full pool."""
        return Operations(RadixTree(self.page_size, self.policy, birth), self.capacity)

    def _made(self, number: int, call: Call, on: Operations) -> list[Any]:
        try:
            return getattr(on, CALLS[call.name])(*call.given)
        except InputError as error:
            where = f"{self.source}: ops[{number}], {error.argument}"
            raise InputError(where, error.value, error.allowed) from None


def radix_record(fields: Fields) -> RadixRecord:
    """The record in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, a policy that SGLang does not
            have, a call or a row that does not fit.
    """
    version = fields.text("version")
    page_size, capacity = fields.integer("page_size"), fields.integer("capacity_tokens")
    policy = fields.text("policy")
    if policy not in [known.value for known in POLICIES]:
        raise fields.wrong("policy", policy, ", ".join(known.value for known in POLICIES))
    ops = fields.items("ops")
    calls = tuple(_call(fields, f"ops[{number}]", op) for number, op in enumerate(ops))
    columns = _columns(fields)
    rows = _rows(fields, columns, len(calls))
    notes = version_notes(version, SGLANG.version) + fields.notes(fields.unused(_SAID))
    return RadixRecord(
        *(fields.where, version, tuple(notes), page_size, Policy(policy), capacity),
        *(calls, columns, rows),
    )


# --------------------------------------------------------------------------------------- calls


def _call(fields: Fields, where: str, op: object) -> Call:
    if not isinstance(op, list) or not op or op[0] not in tuple(_FORMS):
        raise fields.wrong(where, op, "a list that begins with one of " + ", ".join(_FORMS))
    name, *given = op
    parts = _FORMS[name]
    values = tuple(_PARTS[part](value) for part, value in zip(parts, given, strict=False))
    if len(given) != len(parts) or None in values:
        raise fields.wrong(where, op, f"[{', '.join((repr(name), *parts))}]")
    return Call(name, values)


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None


def _whole(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 2**63 else None


def _sequence(value: object) -> Content | None:
    if not isinstance(value, list) or not all(isinstance(pair, list) for pair in value):
        return None
    try:
        return content(value)
    except InputError:
        return None


_PARTS: dict[str, Callable[[object], Any]] = {
    "request": _count,
    "tokens": _count,
    "sequence": _sequence,
    "priority": _whole,
    "inserted": _count,
}
_FORMS = {
    "M": ("request", "sequence"),
    "L": ("request",),
    "U": ("request",),
    "A": ("request", "tokens"),
    "I": ("request", "sequence", "priority", "inserted"),
    "F": ("request",),
    "E": ("tokens",),
}

# ---------------------------------------------------------------------------------------- rows


def _columns(fields: Fields) -> tuple[str, ...]:
    columns = read_columns(fields, _CELLS)
    if EVICTED in columns[:-1]:
        raise fields.wrong("columns", EVICTED, "at the end, since rows may leave it out")
    return columns


def _rows(
    fields: Fields, columns: tuple[str, ...], calls: int
) -> dict[SplitBirth, tuple[list[Any], ...]]:
    found = fields.items("rows")
    if len(found) != calls:
        raise fields.wrong("rows", f"{len(found)} rows", f"{calls}, one for each of ops")
    rows = [_row(fields, f"rows[{number}]", row, columns) for number, row in enumerate(found)]
    unified = list(rows)
    says = fields.text("unified_tree")
    if says not in _UNIFIED:
        raise fields.wrong("unified_tree", says, " or ".join(map(repr, _UNIFIED)))
    if says == "differs":
        for place, pair in enumerate(fields.items("rows_unified")):
            where = f"rows_unified[{place}]"
            number = _count(pair[0]) if isinstance(pair, list) and len(pair) == 2 else None
            if number is None or number >= calls:
                raise fields.wrong(where, pair, f"[which of {calls} ops, from 0; its row]")
            unified[number] = _row(fields, where, pair[1], columns)
    return {SplitBirth.NEW: tuple(rows), SplitBirth.OLD: tuple(unified)}


def _row(fields: Fields, where: str, row: object, columns: tuple[str, ...]) -> list[Any]:
    if isinstance(row, list) and len(row) == len(columns) - 1 and EVICTED in columns:
        row = [*row, []]
    return checked_row(fields, where, row, columns, _CELLS)
