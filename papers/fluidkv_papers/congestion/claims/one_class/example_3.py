"""Congestion, Example 3 and the captions of Figures 6 and 8: the instability spiral."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

from fluidkv import exact
from fluidkv.exact.mass import Step, memory_used
from fluidkv.exact.one_class.collapse import Cascade
from fluidkv.ledger import (
    Finding,
    Origin,
    Outcome,
    Verdict,
    conjugate_modulus_squared,
    decimal,
    equals,
    root_rounds_to,
    rounds_to,
)
from fluidkv_papers.congestion.claims.one_class.examples import (
    LEVELS,
    SYSTEM,
    stage_weights,
    vector,
)
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
FIGURE_8 = CLAIMS.section("figure-8", "Figure 8")

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
_LAST = 30  # ten iterations past the table, three rounds of the final cycle
_START = vector(_ROWS[0][1])


@cache
def _spiral() -> tuple[list[list[Fraction]], list[Step]]:
    """X^0 ... X^30 of the literal model, and the steps between them."""
    states, steps = [_START], []
    for _ in range(_LAST):
        steps.append(exact.iterate(SYSTEM, [states[-1]]))
        states.append(steps[-1].state[0])
    return states, steps


@cache
def _way() -> Cascade:
    """The same states, analysed."""
    return exact.cascade(_spiral()[0], SYSTEM)


def _perturbed() -> list[Fraction]:
    """The equilibrium with 1/2 more at stage 0; the last stage gives back the memory."""
    x, (first, middle, last) = exact.eviction_free_equilibrium(SYSTEM).rate, stage_weights()
    raised = x + Fraction(1, 2)
    return [raised, x, (SYSTEM.capacity - first * raised - middle * x) / last]


def _state(n: int) -> list[Fraction]:
    return _spiral()[0][n]


def _spread(n: int) -> Fraction:
    return max(_state(n)) - min(_state(n))


def _level(n: int) -> int:
    return _state(n).count(Fraction(0))


def _evictions() -> list[int]:
    """The n for which the iteration that leads to X^n evicts."""
    return [n + 1 for n, step in enumerate(_spiral()[1]) if sum(step.evicted[0]) > 0]


# --- the tables -----------------------------------------------------------------------------------


def _later_row(n: int, printed: str, level: int) -> Finding:
    found = rounds_to(_state(n), printed)
    return Finding(
        found.verdict is Verdict.HOLDS and _level(n) == level,
        f"{found.ours}; level {_level(n)}",
        paper=f"{printed}; level {level}",
    )


CLAIMS.claim("example-3.start", "Example 3", "The perturbed start lies on the memory boundary.")(
    lambda: equals(memory_used(SYSTEM, [_START]), "24")
)


for _n, _printed, _ in _ROWS:
    CLAIMS.claim(f"example-3.n-{_n}.state", "Example 3, first table", f"X^{_n} is ({_printed}).")(
        lambda n=_n, printed=_printed: equals(_state(n) if n else _perturbed(), printed)
    )

for _n, _, _printed in _ROWS:
    CLAIMS.claim(
        f"example-3.n-{_n}.spread", "Example 3, first table", f"The spread G^{_n} is {_printed}."
    )(lambda n=_n, printed=_printed: equals(_spread(n), printed))

# Part of iteration 6, what is stated, as printed, ours from the literal model.
_OVERFLOW: tuple[tuple[str, str, str, Callable[[Step], Sequence[Fraction]]], ...] = (
    (
        "executed",
        "Iteration 6 shifts to (0, 6037/1458, 544/243).",
        "0, 6037/1458, 544/243",
        lambda step: step.executed[0],
    ),
    (
        "memory",
        "That state needs 20234/729 tokens, more than 24.",
        "20234/729",
        lambda step: [memory_used(SYSTEM, step.executed)],
    ),
    (
        "evicted",
        "LPF evicts 1369/1458 from stage 1 and nothing else.",
        "0, 1369/1458, 0",
        lambda step: step.evicted[0],
    ),
    (
        "state",
        "Nothing is admitted, so X^7 is (0, 778/243, 544/243).",
        "0, 778/243, 544/243",
        lambda step: step.state[0],
    ),
)
for _place, _statement, _printed, _part in _OVERFLOW:
    CLAIMS.claim(f"example-3.overflow.{_place}", "Example 3, below the tables", _statement)(
        lambda part=_part, printed=_printed: equals(part(_spiral()[1][6]), printed)
    )

for _n, _printed, _empty in _LATER_ROWS:
    CLAIMS.claim(
        f"example-3.n-{_n}.state",
        "Example 3, second table",
        f"X^{_n} is about ({_printed}), at eviction level {_empty}.",
    )(lambda n=_n, printed=_printed, level=_empty: _later_row(n, printed, level))


@CLAIMS.claim("example-3.eviction-times", "Example 3, second table")
def _eviction_times() -> Outcome:
    """The first three evictions lead to X^7, X^10 and X^13."""
    return equals([n for n in _evictions() if n <= 13], "7, 10, 13")


@CLAIMS.claim("example-3.second-position-dies", "Example 3, second table and text")
def _second_position_dies() -> Outcome:
    """The second live position dies at n = 16, nine iterations after the first eviction."""
    # The first n at level 2, and how long after the first eviction that is.
    n = next(n for n in range(_LAST) if _level(n) == 2)
    return equals([n, n - _evictions()[0]], "16, 9")


@CLAIMS.claim("example-3.second-position-depletes", "Example 3, text")
def _depleted() -> Finding:
    """From eviction to eviction the position that dies last has less, and nothing at n = 16.

    Paper: evictions progressively deplete the second live position"""
    # Mass of the position that dies at n = 16, whenever an eviction has trimmed it.
    (dying,) = _way().support_losses[-1].positions
    times = [n for n in _evictions() if n <= 16]
    masses = [_state(n)[(dying + n) % 3] for n in times]
    falling = all(a > b for a, b in pairwise(masses))
    return Finding(
        None if falling and masses[-1] == 0 else str(masses),
        f"{', '.join(decimal(x, 2) for x in masses)} at n = {', '.join(map(str, times))}",
    )


@CLAIMS.claim(
    "example-3.worst-cycle-begins",
    "Example 3, second table and text",
    checked=f"n = 17 ... {_LAST}",
)
def _worst_cycle_begins() -> Finding:
    """From n = 17 on the state repeats (8,0,0), (0,6,0), (0,0,4.8).

    Paper: begins at n = 17 (table), entered at n = 16 (text)"""
    cycle = [vector(s) for s in LEVELS[2]]
    off = [n for n in range(_LAST + 1) if _state(n) != cycle[(n - 17) % 3]]
    first = max(off, default=-1) + 1
    return Finding(first <= 17, f"on the cycle exactly from n = {first} on")


# --- Figure 6 -------------------------------------------------------------------------------------

_FIGURE_6 = "Figure 6, caption"


@CLAIMS.claim("figure-6.modulus", _FIGURE_6)
def _eviction_free_modulus() -> Finding:
    """Eviction-free oscillations of Example 3 grow by sqrt(5/3), about 1.29, per iteration."""
    # Perturbations move with the roots of 3 z^2 + 4 z + 5, the stage weights as coefficients.
    squared = conjugate_modulus_squared(stage_weights())
    exactly, near = equals(squared, "5/3"), root_rounds_to(squared, "1.29")
    both = exactly.verdict is Verdict.HOLDS and near.verdict is Verdict.HOLDS
    return Finding(both, near.ours, paper=f"sqrt(5/3), {near.paper}")


@CLAIMS.claim("figure-6.negative-admission", _FIGURE_6)
def _required_admission() -> Outcome | Finding:
    """Continued without eviction, the required admission first turns negative at n = 7."""
    # Balance (2) continued without eviction: the first n at which it asks for a negative x_0.
    state = _START
    for n in range(1, _LAST):
        admitted = (5 * state[2] - state[0] - state[1]) / 3
        if admitted < 0:
            return equals(n, "7")
        state = [admitted, *state[:2]]
    return Finding("never negative", "never", "7")


@CLAIMS.claim("figure-6.spread", _FIGURE_6)
def _spread_never_falls() -> Finding:
    """The spread never falls before the first eviction.

    Checked: n = 0 ... 6
    Paper: non-decreasing"""
    spreads = [_spread(n) for n in range(7)]
    falls = [n for n in range(6) if spreads[n + 1] < spreads[n]]
    return Finding(not falls or f"n={falls[0]}", ", ".join(map(str, spreads)))


@CLAIMS.claim("figure-6.perturbation", "Example 3 and Figures 6 and 8, captions", kind="figure")
def _perturbation() -> Outcome:
    """The start of Example 3 has 1/2 request more at stage 0 than the equilibrium."""
    return equals(_START[0] - exact.eviction_free_equilibrium(SYSTEM).rate, "1/2")


# --- Figure 8 -------------------------------------------------------------------------------------


FIGURE_8.claim(
    "evictions", ", caption", "Four evictions lead to the final cycle, at n = 7, 10, 13 and 16."
)(lambda: equals([n for n in _evictions() if n <= 16], "7, 10, 13, 16"))


def _severity(measure: Callable[[Step], Fraction]) -> Finding:
    """Whether a measure grows over the evictions #1 to #4."""
    values = [measure(_spiral()[1][n - 1]) for n in _evictions()[:4]]
    falls = [i for i in range(1, 4) if values[i] <= values[i - 1]]
    return Finding(
        not falls
        or f"#{falls[0] + 1} after #{falls[0]}: {values[falls[0]]} after {values[falls[0] - 1]}",
        ", ".join(decimal(v, 3) for v in values),
        paper="increasing",
        note="The paper does not say in which unit severity is meant.",
    )


@FIGURE_8.fails("severity-in-tokens", ", caption, severity in tokens", origin=Origin.READING)
def _severity_in_tokens() -> Finding:
    """Evictions #1 to #4 grow in severity, counted in evicted tokens.

    Holds: figure-8.severity-as-share"""
    weights = stage_weights()
    return _severity(
        lambda step: sum(
            (w * e for w, e in zip(weights, step.evicted[0], strict=True)), Fraction(0)
        )
    )


@FIGURE_8.claim("severity-as-share", ", caption, severity as a share", origin=Origin.READING)
def _severity_as_share() -> Finding:
    """Evictions #1 to #4 grow in severity, counted as the evicted share of the first stage hit."""
    # Stage 0 is empty after execution.
    return _severity(lambda step: step.evicted[0][1] / step.executed[0][1])


@FIGURE_8.claim("phases", ", caption")
def _phases() -> Outcome:
    """No stage is empty for n = 0 ... 6, one for n = 7 ... 15, two from n = 17 on."""
    # Levels before 7, from 7 on, and from 17 on.
    levels = _way().levels
    ours = [max(levels[:7]), min(levels[7:16]), max(levels[7:16]), min(levels[17:])]
    return equals(ours, "0, 1, 1, 2")


@FIGURE_8.claim("settles", ", caption")
def _settles() -> Finding:
    """From n = 17 on the state is on the level-2 cycle.

    Paper: convergence to the level-2 cycle, n >= 17"""
    settled = _way().settled
    since = None if settled is None else settled.iteration
    on = settled is not None and settled.attractor == "maximal-eviction cycle"
    return Finding(
        None if on and since is not None and since <= 17 else str(settled),
        f"{settled.attractor if settled else 'none'} from n = {since} on",
    )


FIGURE_8.claim("throughput", ", caption", "The last cycle completes 8/5 requests per iteration.")(
    lambda: equals(Fraction(_way().throughput), "8/5")
)
