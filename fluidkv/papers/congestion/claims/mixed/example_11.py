"""Congestion, Example 11 and the captions of Figures 13 to 15: every printed number."""

from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import (
    ball_rounds_to,
    decimal,
    equals,
    holds_for,
    root_rounds_to,
    rounds_to,
    verdict,
)
from fluidkv.papers.congestion.claims.mixed.example_10 import modulus_squared
from fluidkv.papers.congestion.claims.mixed.near_equilibrium import BETA, example, rational
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mixed.nearby.transition import Iterate

_START: tuple[Fraction, ...] = (Fraction(1), Fraction(0), Fraction(0))
_LAST = 40  # iterations that are looked at


@cache
def linear_path() -> tuple[tuple[Fraction, ...], ...]:
    """y^n = Phi^n y^0, n = 0 ... _LAST, from y^0 = (1, 0, 0)."""
    from fluidkv.exact.mixed.nearby.transition import transition

    path = [_START]
    for _ in range(_LAST):
        path.append(transition(example().lyapunov.weights, path[-1]))
    return tuple(path)


@cache
def energies() -> tuple[Fraction, ...]:
    """L(y^n) along `linear_path`."""
    return tuple(rational(example().energy(y)) for y in linear_path())


@cache
def feasible_path() -> "tuple[Iterate, ...]":
    """The literal model from the state on the memory boundary that differs in the oldest cohort."""
    from fluidkv.exact.mixed.nearby.transition import cohort_iterates

    found = example()
    weights = found.lyapunov.weights
    oldest = Fraction(weights.memory[0], weights.memory[-1])
    start = [found.rate + 1, found.rate, found.rate - oldest]
    return tuple(islice(cohort_iterates(found.system, start), _LAST + 1))


def entry() -> int:
    """The first n with L(y^n) < delta^2."""
    from fluidkv.exact.mixed.nearby.neighbourhood import entry_time

    time = entry_time(energies(), example().delta_squared)
    if time is None:
        raise ArithmeticError(f"delta^2 is not reached within {_LAST} iterations")
    return time


def _parameters_of_example_4() -> Outcome:
    """l0 and M of Example 4 against those printed in Example 11."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.survival import survival_weights

    # Both give x* = 4, which is what makes the capacities.
    mix = two_lengths(2, 3, Fraction(1, 2))
    capacity = {l0: 4 * survival_weights(mix.workload(l0)).lifetime_memory for l0 in (10, 50)}
    same = capacity[10] == capacity[50]
    return Outcome(
        verdict(same),
        Evidence.EXACT,
        ours=f"Example 4 has l0 = 50, M = {capacity[50]}; l0 = 10, M = {capacity[10]} are those of "
        "Example 10",
        paper="the parameters of Example 4 (l0 = 10, M = 118)",
        note="Decode lengths, shares and x* = 4 agree.",
    )


def _worst_deviation() -> Outcome:
    """C_2 l0 delta = M / (4 kappa), and the sharp delta ||v||, v = (V_1, V_2, 0)."""
    found = example()
    bound = found.system.capacity / (4 * found.kappa)
    squared = found.delta_squared * found.margin**2 / _present(found.ball_squared)
    return rounds_to(
        bound, "12", note=f"The largest deviation itself is {float(squared) ** 0.5:.2f}."
    )


def _remaining_margin() -> Outcome:
    found = example()
    return rounds_to(found.margin - found.system.capacity / (4 * found.kappa), "32")


def _guaranteed() -> Outcome:
    found = example()
    from flint import arb, fmpq

    square = found.delta_squared
    return ball_rounds_to(
        arb(fmpq(square.numerator, square.denominator)) / (2 * found.lyapunov.norm), "0.015"
    )


def _squares() -> list[Fraction]:
    """||y^{n-1}||^2 for n = 1 ... T*: the decreases up to the entry."""
    return [sum((v * v for v in y), Fraction(0)) for y in linear_path()[: entry()]]


def _decreases() -> Outcome:
    drops = [a - b for a, b in zip(energies(), energies()[1 : entry() + 1], strict=False)]
    if drops != _squares():
        raise ArithmeticError("L(y^n) - L(y^{n-1}) is not -||y^{n-1}||^2")
    return rounds_to([min(drops), max(drops)], "0.19, 2.55")


def _exceed_guaranteed() -> Outcome:
    """Every decrease outside N against delta^2 / (2 C_P)."""
    found = example()
    least = min(_squares())
    ratio = 2 * float(found.lyapunov.norm.mid()) * float(least / found.delta_squared)
    return Outcome(
        verdict(ratio > 1),
        Evidence.BALL,
        ours=f"the smallest decrease is {ratio:.1f} times the guaranteed one",
        paper="far exceed",
    )


def _start_is_feasible() -> Outcome:
    from fluidkv.errors import InputError
    from fluidkv.exact.mixed.nearby.transition import cohort_iterates

    found = example()
    weights = found.lyapunov.weights
    start = [found.rate + y for y in _START]
    used = sum(
        (Fraction(v, weights.denominator) * y for v, y in zip(weights.memory, start, strict=True)),
        Fraction(0),
    )
    try:
        next(cohort_iterates(found.system, start))
        refused = False
    except InputError:
        refused = True
    if refused != (used > found.system.capacity):
        raise ArithmeticError("the literal model and the sum disagree")
    return Outcome(
        verdict(not refused),
        Evidence.EXACT,
        ours=f"Y = ({', '.join(map(str, start))}) holds {used} tokens, M = {found.system.capacity}",
        paper="starting from y_0 = (1, 0, 0)",
        note="V_0 more than memory has. A smaller oldest cohort makes a start that is feasible; "
        "see congestion.example-11.feasible-start.",
        witness=f"memory {used}" if refused else "",
    )


def _feasible_start() -> Outcome:
    """The literal model from (5, 4, 4 - 22/13): no eviction, y^n as printed for all n >= 1."""
    from fluidkv.exact.mixed.nearby.neighbourhood import entry_time

    found, path = example(), feasible_path()
    same = all(now.deviation == y for now, y in zip(path[1:], linear_path()[1:], strict=True))
    quiet = not any(now.evicted for now in path)
    level = [found.energy(now.deviation) for now in path]
    time = entry_time(level, found.delta_squared)
    return Outcome(
        verdict(same and quiet and time == entry()),
        Evidence.EXACT,
        ours=f"same y^n for n >= 1, no eviction up to n = {_LAST}, entry at {time}; "
        f"L(y^0) = {decimal(rational(level[0]), 2)}",
        paper="the trajectory of Example 11",
        note="The oldest cohort is smaller by V_0/V_2 = 22/13; it completes in the first "
        "iteration, and Phi does not see it.",
    )


def _stays_inside() -> Outcome:
    """Energy identity, no eviction and L < delta^2 from T* on, along the literal trajectory."""
    found, path = example(), feasible_path()
    levels = [rational(found.energy(now.deviation)) for now in path]
    inside = all(level < found.delta_squared for level in levels[entry() :])
    quiet = not any(any(now.perturbation) for now in path)
    falls = all(
        before - after == sum(v * v for v in now.deviation)
        for before, after, now in zip(levels, levels[1:], path, strict=False)
    )
    return Outcome(
        verdict(inside and quiet and falls),
        Evidence.EXACT,
        ours=f"inside and without eviction for n = {entry()} ... {_LAST}; the energy identity "
        "holds in every iteration",
        paper="remains in N",
    )


def _decay() -> Outcome:
    """Geometric mean of L(y^{n+1}) / L(y^n) from T* to the end, against 0.59 and 0.907."""
    levels = energies()[entry() :]
    mean = float(levels[-1] / levels[0]) ** (1 / (len(levels) - 1))
    steps = [float(b / a) for a, b in pairwise(levels)]
    rho_squared = float(modulus_squared())
    worst = 1 - 1 / float(example().lyapunov.norm.mid())
    return Outcome(
        verdict(abs(mean - rho_squared) < worst - mean and max(steps) < worst),
        Evidence.FLOAT,
        ours=f"{mean:.3f} in the mean; single iterations from {min(steps):.2f} to {max(steps):.2f}",
        paper="closer to 0.59 than to 0.907",
        note=f"n = {entry()} ... {_LAST}.",
    )


# --- Figure 15 ------------------------------------------------------------------------------------


def _ellipse() -> Outcome:
    """When (y_0, y_1) enters the ellipse of N in its plane.

    P couples y_2 to nothing, so section and projection of N are one ellipse.
    """
    found = example()
    plane = [level - y[2] ** 2 for level, y in zip(energies(), linear_path(), strict=True)]
    first = next(n for n, level in enumerate(plane) if level < found.delta_squared)
    n = first
    return Outcome(
        verdict(first == entry()),
        Evidence.EXACT,
        ours=f"(y_0, y_1) is inside from n = {first} on, L(y^n) < delta^2 from {entry()} on",
        paper="enters the ellipse at T* = 8",
        note="In the plane the drawn point is a step ahead: y_2 still lifts L above delta^2.",
        witness=f"n = {n}: {decimal(plane[n])} < {decimal(found.delta_squared)}"
        if first != entry()
        else "",
    )


def _spiral() -> Outcome:
    """(y_0, y_1) turns in one sense all the time."""
    path = linear_path()
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in pairwise(path)]
    one_sense = all(t > 0 for t in turns) or all(t < 0 for t in turns)
    last = float(sum(v * v for v in path[-1])) ** 0.5
    return holds_for(
        None if one_sense else "the sense of rotation changes",
        ours=f"one sense of rotation; ||y|| = {last:.1e} at n = {_LAST}",
        paper="spirals to the origin",
    )


def _present(value: Fraction | None) -> Fraction:
    if value is None:
        raise ArithmeticError("decode lengths above 1 were expected")
    return value


CLAIMS = (
    congestion(
        "example-11.parameters",
        "The parameters, l0 = 10 among them, are those of Example 4.",
        "Example 11",
        _parameters_of_example_4,
        expected=Verdict.FAILS,
    ),
    congestion(
        "example-11.beta",
        "M = beta l0 with beta = 11.8, the value of Figure 12.",
        "Example 11 and Figure 12",
        lambda: equals(example().beta, str(BETA)),
    ),
    congestion(
        "example-11.delta",
        "delta is about 0.57.",
        "Example 11",
        lambda: root_rounds_to(example().delta_squared, "0.57"),
    ),
    congestion(
        "example-11.delta-squared",
        "delta^2 is about 0.32.",
        "Example 11",
        lambda: rounds_to(example().delta_squared, "0.32"),
    ),
    congestion(
        "example-11.post-shift-memory",
        "V_1 x* + V_2 x* = 74.",
        "Example 11",
        lambda: equals(example().system.capacity - example().margin, "74"),
    ),
    congestion(
        "example-11.post-shift-share",
        "That is 63 % of M.",
        "Example 11",
        lambda: rounds_to(100 * (1 - example().margin / example().system.capacity), "63"),
    ),
    congestion(
        "example-11.margin",
        "V_0 x* = 44 units are left for admission.",
        "Example 11 and Figure 13",
        lambda: equals(example().margin, "44"),
    ),
    congestion(
        "example-11.deviation",
        "C_2 l0 delta is about 12.",
        "Example 11 and Figure 13",
        _worst_deviation,
    ),
    congestion(
        "example-11.remaining-margin",
        "32 units are left under the worst perturbation.",
        "Example 11 and Figure 13",
        _remaining_margin,
    ),
    congestion(
        "example-11.initial-energy",
        "L(1, 0, 0) = 8.70.",
        "Example 11",
        lambda: rounds_to(energies()[0], "8.70"),
    ),
    congestion(
        "example-11.guaranteed-decrease",
        "delta^2/(2 C_P) is about 0.015.",
        "Example 11 and Figure 14",
        _guaranteed,
    ),
    congestion(
        "example-11.decreases",
        "The energy falls by 0.19 to 2.55 an iteration until it enters N.",
        "Example 11 and Figure 14",
        _decreases,
    ),
    congestion(
        "example-11.exceeds-guaranteed",
        "These decreases far exceed the guaranteed one.",
        "Figure 14, caption",
        _exceed_guaranteed,
    ),
    congestion(
        "example-11.entry",
        "The energy crosses delta^2 at n = 8.",
        "Example 11, Figures 14 and 15",
        lambda: equals(entry(), "8"),
    ),
    congestion(
        "example-11.start",
        "y_0 = (1, 0, 0) is a feasible active state.",
        "Example 11, with Theorem 22",
        _start_is_feasible,
        expected=Verdict.FAILS,
    ),
    congestion(
        "example-11.feasible-start",
        "A state on the memory boundary has the same trajectory from n = 1 on, without eviction.",
        "Example 11, by the literal model",
        _feasible_start,
        checked=f"n = 0 ... {_LAST}",
    ),
    congestion(
        "example-11.stays-inside",
        "Inside N no request is evicted and the trajectory remains there.",
        "Example 11 and Figure 15",
        _stays_inside,
        checked=f"n = 0 ... {_LAST}, by the literal model",
    ),
    congestion(
        "example-11.observed-decay",
        "The energy decays closer to 0.59 than to 0.907 an iteration.",
        "Example 11 and Figure 15(b)",
        _decay,
        checked=f"n = 8 ... {_LAST}",
    ),
    congestion(
        "figure-15.a.ellipse",
        "In the (y_0, y_1) plane the trajectory enters the ellipse of N at n = 8.",
        "Figure 15, caption (a)",
        _ellipse,
        kind="figure",
        expected=Verdict.FAILS,
    ),
    congestion(
        "figure-15.a.spiral",
        "The state spirals to the origin.",
        "Example 11 and Figure 15, caption (a)",
        _spiral,
        kind="figure",
        checked=f"n = 0 ... {_LAST}",
    ),
)
