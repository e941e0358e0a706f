"""Congestion, Example 11 and the captions of Figures 13 to 15: every printed number."""

from fractions import Fraction
from functools import cache
from itertools import islice, pairwise

from fluidkv import exact
from fluidkv.errors import InputError
from fluidkv.exact.mixed import nearby
from fluidkv.ledger import (
    Evidence,
    Finding,
    Origin,
    Outcome,
    ball_rounds_to,
    decimal,
    equals,
    root_rounds_to,
    rounds_to,
)
from fluidkv_papers.congestion.claims.mixed.example_10 import effective_weights, modulus_squared
from fluidkv_papers.congestion.instances import near_equilibrium as near
from fluidkv_papers.congestion.instances.near_equilibrium import HALF
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
EXAMPLE_11 = CLAIMS.section("example-11", "Example 11")
_START: tuple[Fraction, ...] = (Fraction(1), Fraction(0), Fraction(0))
_LAST = 40  # iterations that are looked at


@cache
def _linear_path() -> tuple[tuple[Fraction, ...], ...]:
    """y^n = Phi^n y^0, n = 0 ... _LAST, from y^0 = (1, 0, 0)."""
    path = [_START]
    for _ in range(_LAST):
        path.append(nearby.transition.transition(near.example().lyapunov.weights, path[-1]))
    return tuple(path)


@cache
def _energies() -> tuple[Fraction, ...]:
    """L(y^n) along `_linear_path`."""
    return tuple(near.rational(near.example().energy(y)) for y in _linear_path())


@cache
def _feasible_path() -> "tuple[nearby.transition.Iterate, ...]":
    """The literal model from the state on the memory boundary that differs in the oldest cohort."""
    found = near.example()
    weights = found.lyapunov.weights
    oldest = Fraction(weights.memory[0], weights.memory[-1])
    start = [found.rate + 1, found.rate, found.rate - oldest]
    return tuple(islice(nearby.transition.cohort_iterates(found.system, start), _LAST + 1))


def _entry() -> int:
    """The first n with L(y^n) < delta^2."""
    entry = nearby.neighbourhood.entry_time(_energies(), near.example().delta_squared)
    if entry.time is None:
        raise ArithmeticError(f"delta^2 up to iteration {_LAST}: {entry.status}")
    return entry.time


@EXAMPLE_11.fails("parameters")
def _parameters_of_example_4() -> Finding:
    """The parameters, l0 = 10 among them, are those of Example 4.

    Paper: the parameters of Example 4 (l0 = 10, M = 118)
    Note: Decode lengths, shares and x* = 4 agree."""
    # l0 and M of Example 4 against those printed in Example 11.
    # Both give x* = 4, which is what makes the capacities.
    mix = exact.two_lengths(2, 3, HALF)
    capacity = {l0: 4 * exact.survival_weights(mix.workload(l0)).lifetime_memory for l0 in (10, 50)}
    same = capacity[10] == capacity[50]
    return Finding(
        same,
        f"Example 4 has l0 = 50, M = {capacity[50]}; l0 = 10, M = {capacity[10]} are those of "
        "Example 10",
    )


EXAMPLE_11.claim("beta", "and Figure 12", "M = beta l0 with beta = 11.8, the value of Figure 12.")(
    lambda: equals(near.example().beta, str(near.BETA))
)


EXAMPLE_11.claim("delta", "", "delta is about 0.57.")(
    lambda: root_rounds_to(near.example().delta_squared, "0.57")
)
EXAMPLE_11.claim("delta-squared", "", "delta^2 is about 0.32.")(
    lambda: rounds_to(near.example().delta_squared, "0.32")
)
EXAMPLE_11.claim("post-shift-memory", "", "V_1 x* + V_2 x* = 74.")(
    lambda: equals(near.example().system.capacity - near.example().margin, "74")
)
EXAMPLE_11.claim("post-shift-share", "", "That is 63 % of M.")(
    lambda: rounds_to(100 * (1 - near.example().margin / near.example().system.capacity), "63")
)
EXAMPLE_11.claim("margin", "and Figure 13", "V_0 x* = 44 units are left for admission.")(
    lambda: equals(near.example().margin, "44")
)


def _printed_deviation() -> Fraction:
    """C_2 l0 delta = M / (4 kappa)."""
    return near.example().system.capacity / (4 * near.example().kappa)


@EXAMPLE_11.claim("deviation", "and Figure 13")
def _worst_deviation() -> Outcome:
    """C_2 l0 delta is about 12."""
    # And the sharp delta ||v||, v = (V_1, V_2, 0).
    found = near.example()
    squared = found.delta_squared * found.margin**2 / near.rational(found.ball_squared)
    shown = f"{float(squared) ** 0.5:.2f}"
    return rounds_to(_printed_deviation(), "12", note=f"The largest deviation itself is {shown}.")


EXAMPLE_11.claim(
    "remaining-margin", "and Figure 13", "32 units are left under the worst perturbation."
)(lambda: rounds_to(near.example().margin - _printed_deviation(), "32"))


EXAMPLE_11.claim("initial-energy", "", "L(1, 0, 0) = 8.70.")(
    lambda: rounds_to(_energies()[0], "8.70")
)


@EXAMPLE_11.claim("guaranteed-decrease", "and Figure 14", evidence=Evidence.BALL)
def _guaranteed() -> Outcome:
    """delta^2/(2 C_P) is about 0.015."""
    least = near.example().delta_squared / 2
    return ball_rounds_to(
        exact.to_ball(least) / near.example().lyapunov.norm,
        "0.015",
    )


def _squares() -> list[Fraction]:
    """||y^{n-1}||^2 for n = 1 ... T*: the decreases up to the entry."""
    return [near.square(y) for y in _linear_path()[: _entry()]]


@EXAMPLE_11.claim("decreases", "and Figure 14")
def _decreases() -> Outcome:
    """The energy falls by 0.19 to 2.55 per iteration until it enters N."""
    drops = [a - b for a, b in pairwise(_energies()[: _entry() + 1])]
    if drops != _squares():
        raise ArithmeticError("L(y^n) - L(y^{n-1}) is not -||y^{n-1}||^2")
    return rounds_to([min(drops), max(drops)], "0.19, 2.55")


@CLAIMS.claim("example-11.exceeds-guaranteed", "Figure 14, caption", evidence=Evidence.BALL)
def _exceed_guaranteed() -> Finding:
    """These decreases far exceed the guaranteed one.

    Paper: far exceed"""
    # Every decrease outside N against delta^2 / (2 C_P).
    found = near.example()
    least = min(_squares())
    ratio = 2 * float(found.lyapunov.norm.mid()) * float(least / found.delta_squared)
    return Finding(ratio > 10, f"the smallest decrease is {ratio:.1f} times the guaranteed one")


EXAMPLE_11.claim("entry", ", Figures 14 and 15", "The energy crosses delta^2 at n = 8.")(
    lambda: equals(_entry(), "8")
)


@EXAMPLE_11.fails("start", ", with Theorem 22", origin=Origin.READING)
def _start_is_feasible() -> Finding:
    """y_0 = (1, 0, 0) is a feasible active state.

    Paper: starting from y_0 = (1, 0, 0)
    Note: The example does not call it feasible; Theorem 22, which it traces, asks for that. V_0
    more than memory has. A smaller oldest cohort makes a start that is feasible.
    Holds: example-11.feasible-start"""
    found = near.example()
    start = [found.rate + y for y in _START]
    used = sum((v * y for v, y in zip(effective_weights(), start, strict=True)), Fraction(0))
    try:
        next(nearby.transition.cohort_iterates(found.system, start))
        feasible = True
    except InputError:
        feasible = False
    return Finding(
        (feasible and used <= found.system.capacity) or f"memory {used}",
        f"Y = ({', '.join(map(str, start))}) holds {used} tokens, M = {found.system.capacity}",
    )


@EXAMPLE_11.claim(
    "feasible-start", ", by the literal model", origin=Origin.READING, checked=f"n = 0 ... {_LAST}"
)
def _feasible_start() -> Finding:
    """A state on the memory boundary has the same trajectory from n = 1 on, without eviction.

    Paper: the trajectory of Example 11
    Note: The oldest cohort is smaller by V_0/V_2 = 22/13; it completes in the first iteration, and
    Phi does not see it."""
    # The literal model from (5, 4, 4 - 22/13): no eviction, y^n as printed for all n >= 1.
    found, path = near.example(), _feasible_path()
    same = all(now.deviation == y for now, y in zip(path[1:], _linear_path()[1:], strict=True))
    quiet = not any(now.evicted for now in path)
    level = [found.energy(now.deviation) for now in path]
    time = nearby.neighbourhood.entry_time(level, found.delta_squared).time
    return Finding(
        same and quiet and time == _entry(),
        f"same y^n for n >= 1, no eviction up to n = {_LAST}, entry at {time}; "
        f"L(y^0) = {decimal(near.rational(level[0]), 2)}",
    )


@EXAMPLE_11.claim(
    "stays-inside",
    "and Figure 15",
    checked=f"n = 0 ... {_LAST}, by the literal model",
    evidence=Evidence.SAMPLED,
)
def _stays_inside() -> Finding:
    """Inside N no request is evicted and the trajectory remains there.

    Paper: remains in N"""
    # Energy identity, no eviction and L < delta^2 from T* on, along the literal trajectory.
    found, path = near.example(), _feasible_path()
    levels = [near.rational(found.energy(now.deviation)) for now in path]
    inside = all(level < found.delta_squared for level in levels[_entry() :])
    quiet = not any(any(now.perturbation) for now in path)
    falls = all(
        before - after == near.square(now.deviation)
        for before, after, now in zip(levels, levels[1:], path, strict=False)
    )
    return Finding(
        inside and quiet and falls,
        f"inside and without eviction for n = {_entry()} ... {_LAST}; the energy identity "
        "holds in every iteration",
    )


@EXAMPLE_11.claim(
    "observed-decay", "and Figure 15(b)", checked=f"n = 8 ... {_LAST}", evidence=Evidence.FLOAT
)
def _decay() -> Finding:
    """The energy decays closer to 0.59 than to 0.907 per iteration.

    Paper: closer to 0.59 than to 0.907"""
    # Geometric mean of L(y^{n+1}) / L(y^n) from T* to the end, against 0.59 and 0.907.
    levels = _energies()[_entry() :]
    mean = float(levels[-1] / levels[0]) ** (1 / (len(levels) - 1))
    steps = [float(b / a) for a, b in pairwise(levels)]
    rho_squared = float(modulus_squared())
    worst = 1 - 1 / float(near.example().lyapunov.norm.mid())
    return Finding(
        abs(mean - rho_squared) < worst - mean and max(steps) < worst,
        f"{mean:.3f} in the mean; single iterations from {min(steps):.2f} to {max(steps):.2f}",
        note=f"n = {_entry()} ... {_LAST}.",
    )


@CLAIMS.fails(
    "figure-15.a.ellipse",
    "Figure 15, caption (a), read as a statement about the drawn point",
    origin=Origin.READING,
)
def _ellipse() -> Finding:
    """In the (y_0, y_1) plane the trajectory enters the ellipse of N at n = 8.

    Paper: enters the ellipse at T* = 8
    Note: In the plane the drawn point is a step ahead: y_2 still lifts L above delta^2.
    Holds: example-11.entry"""
    # When (y_0, y_1) enters the ellipse of N in its plane.
    # P couples y_2 to nothing, so section and projection of N are one ellipse.
    found = near.example()
    plane = [level - y[2] ** 2 for level, y in zip(_energies(), _linear_path(), strict=True)]
    n = next(n for n, level in enumerate(plane) if level < found.delta_squared)
    return Finding(
        n == _entry() or f"n = {n}: {decimal(plane[n])} < {decimal(found.delta_squared)}",
        f"(y_0, y_1) is inside from n = {n} on, L(y^n) < delta^2 from {_entry()} on",
    )


@CLAIMS.claim(
    "figure-15.a.spiral",
    "Example 11 and Figure 15, caption (a)",
    checked=f"the pair of roots of Phi; n = 0 ... {_LAST}",
    kind="figure",
)
def _spiral() -> Finding:
    """The state spirals to the origin.

    Paper: spirals to the origin"""
    # (y_0, y_1) turns in one sense, each turn |z|^2 < 1 times the one before, z the pair's.
    path, shrinks = _linear_path(), modulus_squared()
    turns = [a[0] * b[1] - a[1] * b[0] for a, b in pairwise(path)]
    spirals = turns[0] != 0 and all(b == shrinks * a for a, b in pairwise(turns)) and shrinks < 1
    last = float(near.square(path[-1])) ** 0.5
    return Finding(
        None if spirals else f"turns {turns[0]}, {turns[1]}, |z|^2 = {shrinks}",
        f"one sense of rotation; ||y|| = {last:.1e} at n = {_LAST}",
    )
