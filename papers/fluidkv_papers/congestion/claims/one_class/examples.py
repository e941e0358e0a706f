"""Congestion, Examples 1 and 2: every printed number."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from fluidkv import exact
from fluidkv.exact.mass import Step, memory_used
from fluidkv.ledger import Finding, Outcome, equals, rounds_to
from fluidkv_papers.congestion.instances.one_class import system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

SYSTEM = system_of(2, 3, 24)
"""Examples 1 to 3."""


def vector(printed: str) -> list[Fraction]:
    return [Fraction(p) for p in printed.split(",")]


# --- Example 1: whole requests, two iterations ----------------------------------------------------


@cache
def _trace() -> tuple[Step, Step]:
    """Two iterations of the literal model that move whole requests, as the example does."""
    first = exact.iterate(SYSTEM, [[1, 1, 2]], waiting=[8], arrivals=[5], whole_requests=True)
    second = exact.iterate(
        SYSTEM, first.state, waiting=first.waiting, arrivals=[0], whole_requests=True
    )
    return first, second


def _memory(state: Sequence[Fraction | int]) -> Fraction:
    return memory_used(SYSTEM, [state])


def stage_weights() -> list[Fraction]:
    """Memory of one request in each stage."""
    return [_memory([int(i == j) for i in range(3)]) for j in range(3)]


def _executed(n: int) -> list[Fraction]:
    step = _trace()[n]
    return [*step.completed, *step.executed[0], _memory(step.executed[0])]


def _evicted(n: int) -> Fraction:
    return sum(_trace()[n].evicted[0], Fraction(0))


def _queue(n: int) -> Fraction:
    """After admission."""
    waiting = _trace()[n].waiting
    if waiting is None:
        raise ArithmeticError("the example has a finite queue")
    return waiting[0]


def _queue_evicted(n: int) -> Fraction:
    """After eviction: what admission then took, put back."""
    return _queue(n) + _trace()[n].admitted[0]


def _kept(n: int) -> list[Fraction]:
    step = _trace()[n]
    return [_evicted(n), *step.kept[0], _memory(step.kept[0]), _queue_evicted(n)]


def _admitted(n: int) -> list[Fraction]:
    step = _trace()[n]
    return [*step.admitted, *step.state[0], _memory(step.state[0]), _queue(n)]


# Place in the example, what is stated, the printed numbers, ours.
_EXAMPLE_1: tuple[tuple[str, str, str, Callable[[], Sequence[Fraction]]], ...] = (
    ("weights", "Stages hold 3, 4 and 5 tokens.", "3, 4, 5", stage_weights),
    (
        "first.execute",
        "Two requests complete and (0, 1, 1) is left, holding 9 tokens.",
        "2, 0, 1, 1, 9",
        lambda: _executed(0),
    ),
    (
        "first.arrive",
        "Five arrivals make the queue 13.",
        "13",
        lambda: [_queue_evicted(0) - _evicted(0)],
    ),
    ("first.evict", "Nothing is evicted.", "0", lambda: [_evicted(0)]),
    (
        "first.admit",
        "Five requests are admitted: state (5, 1, 1), 24 tokens, queue 8.",
        "5, 5, 1, 1, 24, 8",
        lambda: _admitted(0),
    ),
    (
        "second.execute",
        "One request completes and (0, 5, 1) is left, holding 25 tokens.",
        "1, 0, 5, 1, 25",
        lambda: _executed(1),
    ),
    (
        "second.arrive",
        "The queue stays at 8.",
        "8",
        lambda: [_queue_evicted(1) - _evicted(1)],
    ),
    (
        "second.evict",
        "One stage-1 request is evicted: (0, 4, 1) holding 21 tokens, queue 9.",
        "1, 0, 4, 1, 21, 9",
        lambda: _kept(1),
    ),
    (
        "second.admit",
        "One request is admitted: state (1, 4, 1), 24 tokens, queue 8.",
        "1, 1, 4, 1, 24, 8",
        lambda: _admitted(1),
    ),
)

for _place, _statement, _printed, _ours in _EXAMPLE_1:
    CLAIMS.claim(f"example-1.{_place}", "Example 1", _statement)(
        lambda ours=_ours, printed=_printed: equals(list(ours()), printed)
    )


# --- Example 2: the three equilibria --------------------------------------------------------------

LEVELS = (
    ("2, 2, 2",),
    ("72/13, 24/13, 0", "0, 48/13, 24/13", "24/13, 0, 48/13"),
    ("8, 0, 0", "0, 6, 0", "0, 0, 24/5"),
)
"""The printed states of the cycle with 0, 1 and 2 empty stages."""


def _steps(level: int) -> list[Step]:
    """One iteration of the literal model from each printed state."""
    return [exact.iterate(SYSTEM, [vector(state)]) for state in LEVELS[level]]


def _is_cycle(level: int) -> Finding:
    """Each printed state leads to the next, the last to the first, with `level` empty stages."""
    cycle = LEVELS[level]
    wrong = [
        f"({state}) leads to ({', '.join(map(str, step.state[0]))})"
        for state, step, after in zip(cycle, _steps(level), (*cycle[1:], cycle[0]), strict=True)
        if step.state != [vector(after)]
    ]
    wrong += [f"({s}) has another level" for s in cycle if vector(s).count(Fraction(0)) != level]
    if len(set(cycle)) != len(cycle):
        wrong.append("a state comes twice, so the period is shorter")
    shown = " -> ".join(f"({s})" for s in cycle)
    return Finding(not wrong or wrong[0], shown if not wrong else "not a cycle", paper=shown)


def _throughput(level: int) -> Fraction:
    completed = sum((step.completed[0] for step in _steps(level)), Fraction(0))
    return completed / len(LEVELS[level])


def _evicts_first() -> Finding:
    evicted = [sum(step.evicted[0]) for step in _steps(1)]
    return Finding(
        evicted[0] > 0 or "the first transition evicts nothing",
        f"evicted masses {', '.join(map(str, evicted))}",
        paper="eviction on the first transition",
    )


_EXAMPLE_2: tuple[tuple[str, str, Callable[[], Finding | Outcome]], ...] = (
    ("level-0.state", "The state (2, 2, 2) is a fixed point.", lambda: _is_cycle(0)),
    (
        "level-0.throughput",
        "The fixed point completes 2 requests per iteration.",
        lambda: equals(_throughput(0), "2"),
    ),
    (
        "level-1.cycle",
        "The three printed states form a cycle of period 3 with one empty stage each.",
        lambda: _is_cycle(1),
    ),
    (
        "level-1.throughput",
        "The level-1 cycle completes (24/13 + 48/13)/3 requests per iteration.",
        lambda: equals(_throughput(1), str((Fraction(24, 13) + Fraction(48, 13)) / 3)),
    ),
    (
        "level-1.throughput-decimal",
        "That is about 1.85.",
        lambda: rounds_to(_throughput(1), "1.85"),
    ),
    ("level-1.eviction", "The first transition of the level-1 cycle evicts.", _evicts_first),
    (
        "level-2.cycle",
        "The three printed states form a cycle of period 3 with two empty stages each.",
        lambda: _is_cycle(2),
    ),
    (
        "level-2.throughput",
        "The level-2 cycle completes 8/5 requests per iteration.",
        lambda: equals(_throughput(2), "8/5"),
    ),
    (
        "level-2.loss",
        "The level-2 cycle loses a fifth of the fixed point's throughput.",
        lambda: equals(1 - _throughput(2) / _throughput(0), "1/5"),
    ),
)

for _place, _statement, _check in _EXAMPLE_2:
    CLAIMS.claim(f"example-2.{_place}", "Example 2", _statement)(_check)
