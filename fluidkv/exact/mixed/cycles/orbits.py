"""Periodic orbits of a mixed workload, in exact rationals: found by floats, proved here.

On the cohort manifold one vector y carries the state: y_s units of admission of age s, each with
alpha_s requests left that hold V_s tokens. One iteration is affine as long as its *front* is the
same: the age f up to which everything is evicted and at which eviction stops. Younger cohorts go,
older ones stay, and the cohort at f holds whatever fills memory,

    y'_f = (M - sum over s > f of V_s y_{s-1}) / V_f.

Admission is the case f = 0: nothing is evicted, and age 0 fills memory. So the fronts met in one
period of a periodic orbit make it the fixed point of an affine map with rational coefficients: the
orbit, its throughput and its multipliers follow exactly, whatever found the fronts.

Source: Congestion, section 2.2 and Lemma 9; the fronts are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from flint import fmpq, fmpq_mat, fmpz_poly

from fluidkv.errors import InputError
from fluidkv.exact.precision import to_fmpq
from fluidkv.exact.roots.polynomial import count_outside_and_on
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.workload import System

Cohorts = tuple[Fraction, ...]
"""y_0 ... y_{d-1}: units of admission by age."""

Masses = list[list[Fraction]]


class CohortMap:
    """The saturated mass model on the cohort manifold, exact; memory is full after each iteration.

    Fields:
        weights: V_s, tokens held by a unit of admission of age s.
        survival: alpha_s, the requests left of it.
        capacity: M, tokens.

    Tests hold it equal to the literal model.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.orbits import CohortMap
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> front, after = CohortMap(system).step([Fraction(y) for y in (12, 0, 0, 0)])
        >>> front, [str(y) for y in after]
        (1, ['0', '8', '0', '0'])
    """

    def __init__(self, system: System) -> None:
        found = survival_weights(system.workload)
        self.system = system
        self.weights = tuple(Fraction(v, found.denominator) for v in found.memory)
        self.survival = tuple(Fraction(v, found.denominator) for v in found.requests)
        self.capacity = system.capacity

    def step(self, state: Sequence[Fraction]) -> tuple[int, Cohorts]:
        """The front of the next iteration, and the state after it."""
        after = [Fraction(0), *state[:-1]]
        free = self.capacity - sum(
            (v * y for v, y in zip(self.weights, after, strict=True) if y), Fraction(0)
        )
        if free >= 0:
            after[0] = free / self.weights[0]
            return 0, tuple(after)
        for age, mass in enumerate(after):
            held = self.weights[age] * mass
            if held + free > 0:
                after[age] = (held + free) / self.weights[age]
                return age, tuple(after)
            after[age] = Fraction(0)
            free += held
            if free == 0:  # this stage was emptied exactly, and the next is not touched
                return age, tuple(after)
        raise ArithmeticError("memory overflows without mass")

    def completed(self, state: Sequence[Fraction]) -> Fraction:
        """Requests that leave in the iteration after `state`."""
        leaving = [a - b for a, b in pairwise((*self.survival, Fraction(0)))]
        return sum((d * y for d, y in zip(leaving, state, strict=True) if d), Fraction(0))

    def masses(self, state: Sequence[Fraction]) -> Masses:
        """x_kj = p_k y_j, as the literal model takes it."""
        classes = self.system.workload.classes
        return [[c.share * y for y in state[: c.decode_length]] for c in classes]

    def matrix(self, front: int) -> fmpq_mat:
        """Derivative of one iteration with this front, (age after, age before)."""
        d = len(self.weights)
        rows = [[fmpq(0)] * d for _ in range(d)]
        pivot = self.weights[front]
        for age in range(front + 1, d):
            rows[age][age - 1] = fmpq(1)
            ratio = self.weights[age] / pivot
            rows[front][age - 1] = -to_fmpq(ratio)
        return fmpq_mat(rows)

    def derivative(self, fronts: Sequence[int]) -> fmpq_mat:
        """Derivative of the iterations with these fronts, first to last."""
        d = len(self.weights)
        whole = fmpq_mat([[fmpq(int(i == j)) for j in range(d)] for i in range(d)])
        for front in fronts:
            whole = self.matrix(front) * whole
        return whole

    def run(self, state: Sequence[Fraction], iterations: int) -> tuple[list[int], list[Cohorts]]:
        """Fronts of the next iterations, and the states from `state` on, one more."""
        fronts, states = [], [tuple(state)]
        for _ in range(iterations):
            front, following = self.step(states[-1])
            fronts.append(front)
            states.append(following)
        return fronts, states


@dataclass(frozen=True)
class PeriodicOrbit(Record):
    """A periodic orbit of the saturated mass model, exact.

    Fields:
        system: what it is an orbit of.
        states: cohorts at each iteration of one period, the smallest.
        fronts: of the iterations that start there.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> orbit = fk.periodic_orbit(system, near=[9.0, 0, 5, 0], period=2).orbit
        >>> orbit.period, orbit.fronts, orbit.attracts
        (2, (1, 0), True)
        >>> [[str(y) for y in state] for state in orbit.states]
        [['84/11', '0', '48/11', '0'], ['0', '48/11', '0', '48/11']]
    """

    system: System
    states: tuple[Cohorts, ...]
    fronts: tuple[int, ...]

    @property
    def period(self) -> int:
        """Iterations."""
        return len(self.states)

    @cached_property
    def throughput(self) -> Fraction:
        """Requests completed an iteration, averaged over the period."""
        dynamics = CohortMap(self.system)
        return sum(map(dynamics.completed, self.states), Fraction(0)) / self.period

    @property
    def share_of_best(self) -> Fraction:
        """Throughput over that of the eviction-free equilibrium."""
        return self.throughput / eviction_free_equilibrium(self.system).rate

    @property
    def strict(self) -> bool:
        """Whether the fronts stay the same for all states near by, so that the map is affine there.

        The cohort at the front must hold mass, and if it is older than 0 must have lost some.
        """
        around = (*self.states[1:], self.states[0])
        return all(
            after[f] > 0 and (f == 0 or after[f] < before[f - 1])
            for f, before, after in zip(self.fronts, self.states, around, strict=True)
        )

    @cached_property
    def multiplier_polynomial(self) -> fmpz_poly:
        """Characteristic polynomial of the map once round, without its zero eigenvalues."""
        dynamics = CohortMap(self.system)
        return without_zeros(dynamics.derivative(self.fronts).charpoly().numer())

    @cached_property
    def multipliers(self) -> tuple[int, int]:
        """Eigenvalues of the map once round (outside the unit circle, exactly on it)."""
        return count_outside_and_on(self.multiplier_polynomial)

    @property
    def attracts(self) -> bool | None:
        """Whether every start near by converges to it; None where the map is not affine there."""
        return self.multipliers == (0, 0) if self.strict else None


class OrbitStatus(StrEnum):
    """What came of the fronts that were met near a state.

    found         the affine map that they make has one fixed point, and the model runs round on it
    singular      it has no fixed point, or a continuum of them
    negative      its fixed point is no state: a mass is negative
    other fronts  from its fixed point the model meets other fronts

    Examples:
        >>> from fluidkv.exact.mixed.cycles.orbits import OrbitStatus
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> fk.periodic_orbit(system, near=[9.0, 0, 5, 0], period=2).status is OrbitStatus.FOUND
        True
    """

    FOUND = "found"
    SINGULAR = "singular"
    NEGATIVE = "negative"
    OTHER_FRONTS = "other fronts"


@dataclass(frozen=True)
class OrbitSearch(Record):
    """What `periodic_orbit` found.

    Fields:
        status: what came of it; all but `found` prove nothing of orbits with other fronts.
        orbit: where one was found; else None.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> str(fk.periodic_orbit(system, near=[9.0, 0, 5, 0], period=1).status)
        'other fronts'
    """

    status: OrbitStatus
    orbit: PeriodicOrbit | None = None


def periodic_orbit(system: System, near: Sequence[Fraction | float], *, period: int) -> OrbitSearch:
    """The exact periodic orbit next to a state that a simulation found to return.

    The fronts of `period` iterations from `near` are taken; the fixed point of the affine map that
    they make is solved for in rationals, and run by the map itself.

    Args:
        system: any classes.
        near: cohorts by age, floats or rationals; scaled to fill memory.
        period: iterations, at least 1.

    Returns:
        The orbit from the state next to `near`, with its smallest period; or why there is none.

    Raises:
        InputError: a period below 1, cohorts of the wrong number, negative or all 0.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> orbit = fk.periodic_orbit(system, near=[9.0, 0, 5, 0], period=2).orbit
        >>> orbit.period, str(orbit.throughput), str(orbit.share_of_best)
        (2, '24/11', '19/22')
    """
    dynamics = CohortMap(system)
    d = len(dynamics.weights)
    if isinstance(period, bool) or not isinstance(period, int) or period < 1:
        raise InputError("period", period, "an integer of at least 1")
    start = [Fraction(y) for y in near]
    if len(start) != d or min(start) < 0 or not any(start):
        raise InputError("near", near, f"{d} masses of at least 0, not all 0")
    used = sum(v * y for v, y in zip(dynamics.weights, start, strict=True))
    fronts, _ = dynamics.run([y * dynamics.capacity / used for y in start], period)
    state = _fixed_point(dynamics, fronts)
    if state is None:
        return OrbitSearch(OrbitStatus.SINGULAR)
    if min(state) < 0:
        return OrbitSearch(OrbitStatus.NEGATIVE)
    met, states = dynamics.run(state, period)
    if states[-1] != state:
        return OrbitSearch(OrbitStatus.OTHER_FRONTS)
    smallest = next(n for n in range(1, period + 1) if period % n == 0 and states[n] == state)
    orbit = PeriodicOrbit(system, tuple(states[:smallest]), tuple(met[:smallest]))
    return OrbitSearch(OrbitStatus.FOUND, orbit)


def without_zeros(polynomial: fmpz_poly) -> fmpz_poly:
    """P / z^n with n as large as can be, primitive with a positive leading coefficient."""
    coefficients = polynomial.coeffs()
    first = next(i for i, c in enumerate(coefficients) if c != 0)
    rest = fmpz_poly(coefficients[first:])
    content = rest.content()
    return rest // (content if rest.coeffs()[-1] > 0 else -content)


def _fixed_point(dynamics: CohortMap, fronts: Sequence[int]) -> Cohorts | None:
    """x with x = A x + c, the iterations with these fronts; None where I - A is singular."""
    d = len(dynamics.weights)
    a = fmpq_mat([[fmpq(int(i == j)) for j in range(d)] for i in range(d)])
    c = fmpq_mat([[fmpq(0)] for _ in range(d)])
    for front in fronts:
        matrix = dynamics.matrix(front)
        a, c = matrix * a, matrix * c
        filled = dynamics.capacity / dynamics.weights[front]
        c[front, 0] += to_fmpq(filled)
    one = fmpq_mat([[fmpq(int(i == j)) for j in range(d)] for i in range(d)])
    try:
        solved = (one - a).solve(c)
    except ZeroDivisionError:
        return None
    return tuple(Fraction(int(solved[i, 0].p), int(solved[i, 0].q)) for i in range(d))
