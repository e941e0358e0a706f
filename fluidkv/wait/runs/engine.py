"""When each segment runs next: the one part of WAIT and Nested WAIT that has to go step by step.

It is a loop of its own, and not that of a server: nobody asks for memory in it, and who runs was
known before (`fluidkv.wait.runs.turns`). Left to do in an iteration is to look up which segments
may run, and how many tokens they hold. Called as it stands it is plain Python, for a short run;
compiled it gives the same bits.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.runs.batch import Reached, Watch, go_on
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.kernel.budget import duration
from fluidkv.wait.runs.history import Schedule
from fluidkv.wait.runs.turns import Segment

PYTHON_ITERATIONS = 20_000
"""Of a run, up to which it goes as plain Python: some tenths of a second, in which the compiler
would be loaded."""
_AT_ONCE = 2**20  # iterations of a call, after which a run can be interrupted


class Scheduled(NamedTuple):
    """A run's schedule, and whether it ended because nothing can run any more."""

    schedule: Schedule
    stuck: bool


class Tables(NamedTuple):
    """A run's segments, by entry: the tables of all of them, one behind the other.

    Fields:
        gate, tokens, prefill: `Segment.gate`, and the tokens and inputs of the turn that it makes
            possible.
        first: entry of each segment's first turn.
        turns: of each segment so far, which change as the run goes on.
        follows: `Segment.follows`.
    """

    gate: Float[np.ndarray, " entry"]
    tokens: Int[np.ndarray, " entry"]
    prefill: Int[np.ndarray, " entry"]
    first: Int[np.ndarray, " segment"]
    turns: Int[np.ndarray, " segment"]
    follows: Bool[np.ndarray, " segment"]


def schedule_of(
    segments: list[Segment],
    clock: IterationClock,
    *,
    horizon: float,
    iterations: int,
    watch: Watch,
) -> Scheduled:
    """When a run's segments run.

    Args:
        segments: of the run.
        clock: d0, d1 and d2.
        horizon: no iteration starts at or after it.
        iterations: at most so many.
        watch: told of iterations.
    """
    tables = _tables(segments)
    # Each iteration is a turn of a segment whose prompts come from outside.
    most = min(iterations, sum(each.turns for each in segments if not each.follows))
    schedule = Schedule(np.empty(most), np.empty(most), np.zeros((most, len(segments)), bool))
    call = advance
    if most > PYTHON_ITERATIONS:
        from fluidkv.runs.kernels import compiled  # Numba takes half a second to load

        call = compiled(advance)

    rows = 0

    def on(row: int) -> Reached:
        nonlocal rows
        last = min(row + _AT_ONCE, most)
        rows = call(tables, schedule, clock.durations, horizon, row, last)
        return Reached(rows, rows, 0, rows == last)

    go_on(on, most, watch)
    next_gates = tables.gate[tables.first + tables.turns]
    stuck = rows < iterations and bool(np.isinf(next_gates[~tables.follows]).all())
    return Scheduled(Schedule(*(column[:rows] for column in schedule)), stuck)


def advance(
    tables: Tables,
    schedule: Schedule,
    clock: tuple[float, float, float, float],
    horizon: float,
    row: int,
    last: int,
) -> int:
    """Iterations from `row` on, up to `last` or to the run's end; returns the row after them."""
    now = schedule.end[row - 1] if row > 0 else 0.0
    base, per_kv, per_prefill, per_pair = clock
    segments = tables.turns.size
    while row < last:
        opens = np.inf
        for segment in range(segments):
            if not tables.follows[segment]:
                opens = min(opens, tables.gate[tables.first[segment] + tables.turns[segment]])
        start = max(now, opens)  # a gate that is open already does not hold the clock up
        if not start < horizon:
            break
        tokens: Any = 0
        prefill: Any = 0
        before, together = 0, True
        for segment in range(segments):
            entry = tables.first[segment] + tables.turns[segment]
            may = tables.gate[entry] <= (before if tables.follows[segment] else start)
            together = together and may
            before = tables.turns[segment]
            # A segment runs only together with all before it; types do not look at each other.
            if together if tables.follows[segment] else may:
                tokens += tables.tokens[entry]
                prefill += tables.prefill[entry]
                tables.turns[segment] += 1
                schedule.ran[row, segment] = True
        now = start + duration(base, per_kv, tokens, per_prefill, prefill, per_pair, 0)
        schedule.start[row], schedule.end[row] = start, now
        row += 1
    return row


def _tables(segments: list[Segment]) -> Tables:
    sizes = [segment.gate.size for segment in segments]
    behind = np.zeros(1, np.int64)  # the turn that never comes
    return Tables(
        gate=np.concatenate([each.gate for each in segments]),
        tokens=np.concatenate([part for s in segments for part in (s.tokens[1:], behind)]),
        prefill=np.concatenate([part for s in segments for part in (s.prefill[1:], behind)]),
        first=np.cumsum([0, *sizes[:-1]]),
        turns=np.zeros(len(segments), np.int64),
        follows=np.array([segment.follows for segment in segments]),
    )
