"""Rows of statistics out of a server's log, and ticks out of rows: several engines are added up."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import Array

_TOGETHER_S = 2.0  # engines of one server print one after the other; the next turn is later
_LONG = 1.5  # intervals: a gap above is a pause, in which an idle server prints nothing


@dataclass(frozen=True)
class StatRow:
    """One line of statistics.

    Args:
        line: of the file.
        at_s: when it was written.
        engine: which of several; "" where there is one.
        running, waiting: requests; `waiting` counts those that were put off or swapped out.
        kv_used: part of the KV tokens in use, 0 to 1.
        kv_tokens: the same in tokens; None where the line does not say.
        generated: output tokens a second, since the row before.
        prompts: prompt tokens a second, since the row before; None where the line does not say.
        prompt_tokens: since the row before; None where the line does not say.
        preempted: requests that were preempted since the row before; None where nobody counts.
    """

    line: int
    at_s: float
    engine: str
    running: float
    waiting: float
    kv_used: float
    generated: float
    kv_tokens: float | None = None
    prompts: float | None = None
    prompt_tokens: float | None = None
    preempted: float | None = None


@dataclass
class Turns:
    """Rows of several engines, put together where they were written together."""

    engines: tuple[str, ...] = ()
    turns: list[dict[str, StatRow]] = field(default_factory=list)

    def add(self, row: StatRow) -> None:
        """A row of the present turn; of the next, where its engine is there or its time is late."""
        if row.engine not in self.engines:
            self.engines += (row.engine,)
        now = self.turns[-1] if self.turns else None
        if now is None or row.engine in now or row.at_s > _begun(now) + _TOGETHER_S:
            self.turns.append({row.engine: row})
        else:
            now[row.engine] = row


def _begun(turn: dict[str, StatRow]) -> float:
    return min(row.at_s for row in turn.values())


def ends_of(turns: Sequence[dict[str, StatRow]]) -> Array:
    """When each turn ends, shape (tick,).

    Raises:
        InputError: a time that falls; `line` names the row.
    """
    ends: list[float] = []
    for turn in turns:
        end = max(row.at_s for row in turn.values())
        if ends and end < ends[-1]:
            line = next(iter(turn.values())).line
            allowed = f"times that do not fall (line {line}: {end:g} s after {ends[-1]:g} s)"
            raise InputError("source", "a server's log", allowed)
        ends.append(end)
    return np.array(ends)


def summed(turns: Sequence[dict[str, StatRow]], name: str) -> Array | None:
    """A counter, over all engines of each turn; None where no row has it. Who is silent has 0."""
    values = [[getattr(row, name) for row in turn.values()] for turn in turns]
    if all(value is None for turn in values for value in turn):
        return None
    return np.array([float(sum(value or 0.0 for value in turn)) for turn in values])


def interval_of(ends: Array) -> float:
    """Seconds from row to row while the server is busy."""
    gaps = np.sort(np.diff(ends))
    gaps = gaps[gaps > 0]
    if not gaps.size:
        return 1.0
    usual = gaps[(gaps.size - 1) // 2]  # the lower median: pauses are long
    return float(gaps[gaps <= _LONG * usual].mean())


def durations_of(ends: Array, interval: float, *, pauses_count: bool) -> Array:
    """Seconds that the rate of each row is over.

    Args:
        pauses_count: whether a rate is over a pause too, or over an interval at most.
    """
    gaps = np.diff(ends, prepend=ends[0] - interval)
    return gaps if pauses_count else np.where(gaps > _LONG * interval, interval, gaps)
