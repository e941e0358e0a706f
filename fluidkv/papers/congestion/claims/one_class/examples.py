"""Congestion, Examples 1 to 3 and the captions of Figures 6 and 8: every printed number."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import (
    conjugate_modulus_squared,
    decimal,
    equals,
    holds_for,
    root_rounds_to,
    rounds_to,
    verdict,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mass import Step
    from fluidkv.workload import System


def _small_system() -> "System":
    """Examples 1 to 3: l0 = 2, l1 = 3, M = 24."""
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(2, 3),)), Fraction(24))


# --- Example 1: whole requests, two iterations --------------------------------------------------


@cache
def _trace() -> "tuple[Step, Step]":
    """Two iterations of the literal model that move whole requests, as the example does."""
    from fluidkv.exact.mass import iterate

    system = _small_system()
    first = iterate(system, [[1, 1, 2]], waiting=[8], arrivals=[5], whole_requests=True)
    second = iterate(system, first.state, waiting=first.waiting, arrivals=[0], whole_requests=True)
    return first, second


def _stage_weights() -> list[Fraction]:
    """Memory of one request in each stage."""
    return [_memory([int(i == j) for i in range(3)]) for j in range(3)]


def _memory(state: Sequence[Fraction | int]) -> Fraction:
    from fluidkv.exact.mass import memory_used

    return memory_used(_small_system(), [state])


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
    ("weights", "Stages hold 3, 4 and 5 tokens.", "3, 4, 5", _stage_weights),
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


# --- Example 2: the three equilibria ------------------------------------------------------------

_FIXED_POINT = ("2, 2, 2",)
_LEVEL_1 = ("72/13, 24/13, 0", "0, 48/13, 24/13", "24/13, 0, 48/13")
_LEVEL_2 = ("8, 0, 0", "0, 6, 0", "0, 0, 24/5")


def _vector(printed: str) -> list[Fraction]:
    return [Fraction(p) for p in printed.split(",")]


def _steps(cycle: Sequence[str]) -> "list[Step]":
    """One iteration of the literal model from each printed state."""
    from fluidkv.exact.mass import iterate

    return [iterate(_small_system(), [_vector(state)]) for state in cycle]


def _is_cycle(cycle: Sequence[str], level: int) -> Outcome:
    """Each printed state leads to the next, the last to the first, with `level` empty stages."""
    steps = _steps(cycle)
    following = [*cycle[1:], cycle[0]]
    wrong = [
        f"({state}) leads to ({', '.join(map(str, step.state[0]))})"
        for state, step, after in zip(cycle, steps, following, strict=True)
        if step.state != [_vector(after)]
    ]
    wrong += [f"({s}) has another level" for s in cycle if _vector(s).count(Fraction(0)) != level]
    if len(set(cycle)) != len(cycle):
        wrong.append("a state comes twice, so the period is shorter")
    shown = " -> ".join(f"({s})" for s in cycle)
    return holds_for(
        wrong[0] if wrong else None, ours=shown if not wrong else "not a cycle", paper=shown
    )


def _throughput(cycle: Sequence[str]) -> Fraction:
    completed = sum((step.completed[0] for step in _steps(cycle)), Fraction(0))
    return completed / len(cycle)


def _level_1_evicts_first() -> Outcome:
    evicted = [sum(step.evicted[0]) for step in _steps(_LEVEL_1)]
    first = evicted[0] > 0
    return holds_for(
        None if first else "the first transition evicts nothing",
        ours=f"evicted masses {', '.join(map(str, evicted))}",
        paper="eviction on the first transition",
    )


# --- Example 3: the instability spiral ----------------------------------------------------------

_ROWS = (  # n, X^n, G^n
    (0, "5/2, 2, 17/10", "4/5"),
    (1, "4/3, 5/2, 2", "7/6"),
    (2, "37/18, 4/3, 5/2", "7/6"),
    (3, "82/27, 37/18, 4/3", "46/27"),
    (4, "85/162, 82/27, 37/18", "407/162"),
    (5, "544/243, 85/162, 82/27", "407/162"),
    (6, "6037/1458, 544/243, 85/162", "2636/729"),
)
_LATER_ROWS = (  # n, X^n as printed, level
    (7, "0, 3.20, 2.24", 1),
    (10, "0, 2.67, 2.66", 1),
    (13, "0, 1.56, 3.55", 1),
    (16, "0, 0, 4.80", 2),
    (17, "8, 0, 0", 2),
    (18, "0, 6, 0", 2),
    (19, "0, 0, 4.8", 2),
)
_OVERFLOW = (  # part of iteration 6, what is stated, as printed
    (
        "executed",
        "Iteration 6 shifts to (0, 6037/1458, 544/243).",
        "0, 6037/1458, 544/243",
    ),
    ("memory", "That state needs 20234/729 tokens, more than 24.", "20234/729"),
    ("evicted", "LPF evicts 1369/1458 from stage 1 and nothing else.", "0, 1369/1458, 0"),
    ("state", "Nothing is admitted, so X^7 is (0, 778/243, 544/243).", "0, 778/243, 544/243"),
)
_LAST = 30  # ten iterations past the table, three rounds of the final cycle


@cache
def _spiral() -> "tuple[list[list[Fraction]], list[Step]]":
    """X^0 ... X^30 of the literal model, and the steps between them."""
    from fluidkv.exact.mass import iterate

    system = _small_system()
    states, steps = [_vector(_ROWS[0][1])], []
    for _ in range(_LAST):
        step = iterate(system, [states[-1]])
        steps.append(step)
        states.append(step.state[0])
    return states, steps


def _spread(n: int) -> Fraction:
    state = _spiral()[0][n]
    return max(state) - min(state)


def _level(n: int) -> int:
    return _spiral()[0][n].count(Fraction(0))


def _evictions() -> list[int]:
    """The n for which the iteration that leads to X^n evicts."""
    return [n + 1 for n, step in enumerate(_spiral()[1]) if sum(step.evicted[0]) > 0]


def _later_row(n: int, printed: str, level: int) -> Outcome:
    found = rounds_to(_spiral()[0][n], printed)
    right = found.verdict is Verdict.HOLDS and _level(n) == level
    return Outcome(
        verdict(right),
        Evidence.EXACT,
        ours=f"{found.ours}; level {_level(n)}",
        paper=f"{printed}; level {level}",
    )


def _start_is_full() -> Outcome:
    from fluidkv.exact.mass import memory_used

    return equals(memory_used(_small_system(), [_spiral()[0][0]]), "24")


def _overflow(place: str) -> Sequence[Fraction]:
    """What the text says of iteration 6, from the literal model."""
    from fluidkv.exact.mass import memory_used

    step = _spiral()[1][6]
    if place == "memory":
        return [memory_used(_small_system(), step.executed)]
    return {"executed": step.executed, "evicted": step.evicted, "state": step.state}[place][0]


def _eviction_times() -> Outcome:
    ours = [n for n in _evictions() if n <= 13]
    return equals(ours, "7, 10, 13")


def _second_position_dies() -> Outcome:
    """The first n at level 2, and how long after the first eviction that is."""
    n = next(n for n in range(_LAST) if _level(n) == 2)
    return equals([n, n - _evictions()[0]], "16, 9")


def _worst_cycle_begins() -> Outcome:
    states = _spiral()[0]
    cycle = [_vector(s) for s in _LEVEL_2]
    off = [n for n in range(_LAST + 1) if states[n] != cycle[(n - 17) % 3]]
    first = max(off, default=-1) + 1
    return Outcome(
        verdict(first <= 17),
        Evidence.EXACT,
        ours=f"on the cycle exactly from n = {first} on",
        paper="begins at n = 17 (table), entered at n = 16 (text)",
    )


def _required_admission() -> Outcome:
    """Balance (2) continued without eviction: the first n at which it asks for a negative x_0."""
    state = _vector(_ROWS[0][1])
    for n in range(1, _LAST):
        admitted = (5 * state[2] - state[0] - state[1]) / 3
        if admitted < 0:
            return equals(n, "7")
        state = [admitted, *state[:2]]
    return holds_for("never negative", ours="never", paper="7")


def _eviction_free_modulus() -> Outcome:
    """Perturbations move with the roots of 3 z^2 + 4 z + 5, the stage weights as coefficients."""
    squared = conjugate_modulus_squared(_stage_weights())
    exact = equals(squared, "5/3")
    near = root_rounds_to(squared, "1.29")
    both = exact.verdict is Verdict.HOLDS and near.verdict is Verdict.HOLDS
    return Outcome(verdict(both), Evidence.EXACT, near.ours, f"sqrt(5/3), {near.paper}")


def _spread_never_falls() -> Outcome:
    spreads = [_spread(n) for n in range(7)]
    falls = [n for n in range(6) if spreads[n + 1] < spreads[n]]
    return holds_for(
        f"n={falls[0]}" if falls else None,
        ours=", ".join(map(str, spreads)),
        paper="non-decreasing",
    )


def _cascade_severity(measure: str) -> Outcome:
    """Tokens evicted, or the share of the stage that LPF reaches first, at evictions #1 to #4."""
    values = []
    for n in _evictions()[:4]:
        step = _spiral()[1][n - 1]
        evicted, executed = step.evicted[0], step.executed[0]
        if measure == "tokens":
            values.append(sum(w * e for w, e in zip(_stage_weights(), evicted, strict=True)))
        else:
            values.append(evicted[1] / executed[1])  # stage 0 is empty after execution
    falls = [i for i in range(1, 4) if values[i] <= values[i - 1]]
    shown = ", ".join(decimal(v, 3) for v in values)
    return holds_for(
        f"#{falls[0] + 1} after #{falls[0]}: {values[falls[0]]} after {values[falls[0] - 1]}"
        if falls
        else None,
        ours=shown,
        paper="increasing",
        note="The paper does not say in which unit severity is meant.",
    )


# --- the list -----------------------------------------------------------------------------------

CLAIMS = (
    *(
        congestion(
            f"example-1.{place}",
            statement,
            "Example 1",
            lambda ours=ours, printed=printed: equals(list(ours()), printed),
        )
        for place, statement, printed, ours in _EXAMPLE_1
    ),
    congestion(
        "example-2.level-0.state",
        "The state (2, 2, 2) is a fixed point.",
        "Example 2",
        lambda: _is_cycle(_FIXED_POINT, 0),
    ),
    congestion(
        "example-2.level-0.throughput",
        "The fixed point completes 2 requests an iteration.",
        "Example 2",
        lambda: equals(_throughput(_FIXED_POINT), "2"),
    ),
    congestion(
        "example-2.level-1.cycle",
        "The three printed states form a cycle of period 3 with one empty stage each.",
        "Example 2",
        lambda: _is_cycle(_LEVEL_1, 1),
    ),
    congestion(
        "example-2.level-1.throughput",
        "The level-1 cycle completes (24/13 + 48/13)/3 requests an iteration.",
        "Example 2",
        lambda: equals(_throughput(_LEVEL_1), str((Fraction(24, 13) + Fraction(48, 13)) / 3)),
    ),
    congestion(
        "example-2.level-1.throughput-decimal",
        "That is about 1.85.",
        "Example 2",
        lambda: rounds_to(_throughput(_LEVEL_1), "1.85"),
    ),
    congestion(
        "example-2.level-1.eviction",
        "The first transition of the level-1 cycle evicts.",
        "Example 2",
        _level_1_evicts_first,
    ),
    congestion(
        "example-2.level-2.cycle",
        "The three printed states form a cycle of period 3 with two empty stages each.",
        "Example 2",
        lambda: _is_cycle(_LEVEL_2, 2),
    ),
    congestion(
        "example-2.level-2.throughput",
        "The level-2 cycle completes 8/5 requests an iteration.",
        "Example 2",
        lambda: equals(_throughput(_LEVEL_2), "8/5"),
    ),
    congestion(
        "example-2.level-2.loss",
        "The level-2 cycle loses a fifth of the fixed point's throughput.",
        "Example 2",
        lambda: equals(1 - _throughput(_LEVEL_2) / _throughput(_FIXED_POINT), "1/5"),
    ),
    congestion(
        "example-3.start",
        "The perturbed start lies on the memory boundary.",
        "Example 3",
        _start_is_full,
    ),
    *(
        congestion(
            f"example-3.n-{n}.state",
            f"X^{n} is ({printed}).",
            "Example 3, first table",
            lambda n=n, printed=printed: equals(_spiral()[0][n], printed),
        )
        for n, printed, _ in _ROWS
    ),
    *(
        congestion(
            f"example-3.n-{n}.spread",
            f"The spread G^{n} is {printed}.",
            "Example 3, first table",
            lambda n=n, printed=printed: equals(_spread(n), printed),
        )
        for n, _, printed in _ROWS
    ),
    *(
        congestion(
            f"example-3.overflow.{place}",
            statement,
            "Example 3, below the tables",
            lambda place=place, printed=printed: equals(_overflow(place), printed),
        )
        for place, statement, printed in _OVERFLOW
    ),
    *(
        congestion(
            f"example-3.n-{n}.state",
            f"X^{n} is about ({printed}), at eviction level {level}.",
            "Example 3, second table",
            lambda n=n, printed=printed, level=level: _later_row(n, printed, level),
        )
        for n, printed, level in _LATER_ROWS
    ),
    congestion(
        "example-3.eviction-times",
        "The first three evictions lead to X^7, X^10 and X^13.",
        "Example 3, second table",
        _eviction_times,
    ),
    congestion(
        "example-3.second-position-dies",
        "The second live position dies at n = 16, nine iterations after the first eviction.",
        "Example 3, second table and text",
        _second_position_dies,
    ),
    congestion(
        "example-3.worst-cycle-begins",
        "From n = 17 on the state repeats (8,0,0), (0,6,0), (0,0,4.8).",
        "Example 3, second table and text",
        _worst_cycle_begins,
        checked=f"n = 17 ... {_LAST}",
    ),
    congestion(
        "figure-6.modulus",
        "Eviction-free oscillations of Example 3 grow by sqrt(5/3), about 1.29, an iteration.",
        "Figure 6, caption",
        _eviction_free_modulus,
        kind="figure",
    ),
    congestion(
        "figure-6.negative-admission",
        "Continued without eviction, the required admission first turns negative at n = 7.",
        "Figure 6, caption",
        _required_admission,
        kind="figure",
    ),
    congestion(
        "figure-6.spread",
        "The spread never falls before the first eviction.",
        "Figure 6, caption",
        _spread_never_falls,
        kind="figure",
        checked="n = 0 ... 6",
    ),
    congestion(
        "figure-8.evictions",
        "Four evictions lead to the final cycle, at n = 7, 10, 13 and 16.",
        "Figure 8, caption",
        lambda: equals([n for n in _evictions() if n <= 16], "7, 10, 13, 16"),
        kind="figure",
    ),
    congestion(
        "figure-8.severity-in-tokens",
        "Evictions #1 to #4 grow in severity, counted in evicted tokens.",
        "Figure 8, caption",
        lambda: _cascade_severity("tokens"),
        kind="figure",
        expected=Verdict.FAILS,
    ),
    congestion(
        "figure-8.severity-as-share",
        "Evictions #1 to #4 grow in severity, counted as the evicted share of the first stage hit.",
        "Figure 8, caption",
        lambda: _cascade_severity("share"),
        kind="figure",
    ),
)
