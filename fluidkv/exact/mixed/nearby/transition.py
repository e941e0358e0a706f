"""One iteration without eviction, as a linear map on cohorts; and what eviction adds to it.

A state on the cohort manifold is Y, the mass of each cohort by age. With y = Y - x* 1, an iteration
is y' = Phi y + e: Phi shifts the cohorts and fills memory to the brim, even with a negative
admission, and e is what eviction does instead. Nothing is linearised: e is exactly zero while no
request is evicted, for starts below the memory boundary too, as the oldest cohort, the only one
that the boundary condition would speak of, has left (the last column of Phi is zero).

Vectors are sequences of rationals, indexed by cohort age s = 0 ... d-1, in units of admission.

Source: Congestion, Appendices B.6.1, B.6.2 and B.8.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpq_mat

from fluidkv.errors import InputError
from fluidkv.exact.mass import Masses, iterate, memory_used
from fluidkv.exact.precision import to_fmpq
from fluidkv.exact.survival import SurvivalWeights, eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.workload import System

Vector = tuple[Fraction, ...]
"""A number for each cohort age."""


def first_row(weights: SurvivalWeights) -> Vector:
    """-V_{s+1} / V_0 for s = 0 ... d-2, then 0: the first row of Phi.

    Examples:
        >>> from fluidkv.exact.mixed.nearby.transition import first_row
        >>> [str(c) for c in first_row(fk.survival_weights(fk.Workload.from_lengths([(2, 3)])))]
        ['-4/3', '-5/3', '0']
    """
    youngest = weights.memory[0]
    return (*(Fraction(-v, youngest) for v in weights.memory[1:]), Fraction(0))


def transition_matrix(weights: SurvivalWeights) -> fmpq_mat:
    """Phi, d x d: its eigenvalues are the roots of F, and one zero.

    Source: Congestion, B.6.2 for two classes, B.8.2 for more. With inputs that differ V_s is the
    sum of p_k (l0_k + 1 + s) over l1_k > s, and nothing else changes.

    Examples:
        >>> from fluidkv.exact import transition_matrix
        >>> transition_matrix(fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))).tolist()
        [[-4/3, -5/3, 0], [1, 0, 0], [0, 1, 0]]
    """
    d = weights.ages
    matrix = fmpq_mat(d, d)
    for s, value in enumerate(first_row(weights)):
        matrix[0, s] = to_fmpq(value)
    for s in range(1, d):
        matrix[s, s - 1] = fmpq(1)
    return matrix


def transition(weights: SurvivalWeights, y: Sequence[Fraction | int]) -> Vector:
    """Phi y, in O(d).

    Examples:
        >>> from fluidkv.exact.mixed.nearby.transition import transition
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 3)]))
        >>> [str(y) for y in transition(weights, [3, 0, 0])]
        ['-4', '3', '0']
    """
    deviation = checked_vector(weights, "y", y)
    row = first_row(weights)
    youngest = sum((c * v for c, v in zip(row, deviation, strict=True)), Fraction(0))
    return (youngest, *deviation[:-1])


@dataclass(frozen=True)
class Iterate(Record):
    """A state on the cohort manifold and how eviction brought it about.

    Fields, vectors by cohort age, in units of admission unless told otherwise:
        deviation: y^n = Y^n - x* 1.
        perturbation: e^n = y^n - Phi y^{n-1}; zeros for the start.
        evicted: requests evicted in the iteration that led here, all classes; 0 for the start.
        in_flight: requests running, all classes.

    Examples:
        >>> from itertools import islice
        >>> from fluidkv.exact.mixed.nearby.transition import cohort_iterates
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> start, first = islice(cohort_iterates(system, [12, 0, 0, 0]), 2)
        >>> str(start.in_flight), str(first.evicted), str(first.in_flight)
        ('12', '4', '8')
    """

    deviation: Vector
    perturbation: Vector
    evicted: Fraction
    in_flight: Fraction


def cohort_iterates(system: System, start: Sequence[Fraction | int]) -> Iterator[Iterate]:
    """y^0, y^1, y^2, ... of the literal model (`fluidkv.exact.mass`), without end.

    Args:
        system: any number of classes.
        start: Y^0, at least 0, memory at or below capacity.

    Raises:
        InputError: a start of the wrong length, negative, or above capacity.

    Examples:
        >>> from itertools import islice
        >>> from fluidkv.exact.mixed.nearby.transition import cohort_iterates
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> [str(each.evicted) for each in islice(cohort_iterates(system, [12, 0, 0, 0]), 5)]
        ['0', '4', '0', '8/3', '0']
    """
    weights = survival_weights(system.workload)
    rate = eviction_free_equilibrium(system).rate
    cohorts = checked_vector(weights, "start", start)
    state = manifold_state(system, cohorts)
    used = memory_used(system, state)
    if min(cohorts) < 0 or used > system.capacity:
        allowed = f"masses of at least 0 that hold at most {system.capacity} tokens, not {used}"
        raise InputError("start", [str(c) for c in cohorts], allowed)
    y = tuple(c - rate for c in cohorts)
    yield Iterate(y, (Fraction(0),) * weights.ages, Fraction(0), _requests(state))
    while True:
        step = iterate(system, state)
        state = step.state
        before, y = y, tuple(c - rate for c in cohort_masses(system, state))
        free = transition(weights, before)
        yield Iterate(
            y,
            tuple(a - b for a, b in zip(y, free, strict=True)),
            _requests(step.evicted),
            _requests(state),
        )


def manifold_state(system: System, cohorts: Sequence[Fraction | int]) -> Masses:
    """x_kj = p_k Y_j: the class masses of a state on the cohort manifold (Lemma 9)."""
    return [
        [c.share * Fraction(y) for y in cohorts[: c.decode_length]] for c in system.workload.classes
    ]


def cohort_masses(system: System, state: Masses) -> Vector:
    """Y_s = sum of x_ks over classes / alpha_s; on the manifold, the mass of each cohort.

    Off the manifold it is what B.6.1 defines, and the iteration is no map of it.

    Examples:
        >>> from fluidkv.exact.mixed.nearby.transition import cohort_masses
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> half = Fraction(1, 2)
        >>> [str(y) for y in cohort_masses(system, [[half, 1], [half, 1, 2, 0]])]
        ['1', '2', '4', '0']
    """
    weights = survival_weights(system.workload)
    totals = [Fraction(0)] * weights.ages
    for row in state:
        for s, mass in enumerate(row):
            totals[s] += mass
    alive = [Fraction(a, weights.denominator) for a in weights.requests]
    return tuple(x / a for x, a in zip(totals, alive, strict=True))


def checked_vector(
    weights: SurvivalWeights, argument: str, values: Sequence[Fraction | int]
) -> Vector:
    """A rational for each cohort age.

    Raises:
        InputError: another length, or entries that are no rationals.
    """
    if len(values) != weights.ages:
        raise InputError(argument, values, f"{weights.ages} numbers, one a cohort age")
    if any(isinstance(v, bool) or not isinstance(v, int | Fraction) for v in values):
        raise InputError(argument, values, "integers or Fractions, not floats")
    return tuple(Fraction(v) for v in values)


def _requests(masses: Masses) -> Fraction:
    return sum((x for row in masses for x in row), Fraction(0))
