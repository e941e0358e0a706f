"""Where eviction is provably inactive: the paper's sublevel set, and the largest one.

With L(y) = y^T P y the paper takes N = {L < delta^2},

    delta = beta / (4 C_2 kappa),   C_2 = sqrt(d) max V_s / l0,   beta = M / l0,
    kappa = sum of p_k l1_k,

so that the memory after the shift deviates by at most C_2 l0 delta = M / (4 kappa), a quarter of
what the margin V_0 x* tends to as l0 grows. For inputs that differ, l0 is the mean input length,
sum of p_k l0_k, and kappa = sum of p_k l0_k l1_k / l0: then V_0 x* tends to M / kappa again, under
l0_k = r_k L, and the same quarter is taken. With a common input these are the paper's.

The sharp level takes no norms: eviction is inactive exactly if the memory after the shift is at
most M, that is if v^T y <= V_0 x* with v = (V_1, ..., V_{d-1}, 0), and v^T y is at most
sqrt(c v^T P^-1 v) where L(y) <= c. L falls along eviction-free steps, so every such set is
invariant: no request is evicted ever after.

Source: Congestion, B.6.4; B.8.6 and B.9 for the generalisation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import cast

from flint import arb, arb_mat, fmpq_mat

from fluidkv.exact.mixed.nearby.lyapunov import Lyapunov, inner_product, inverse, lyapunov
from fluidkv.exact.precision import DOUBLE, shown_alike, to_ball, working
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.workload import System

Level = Fraction | arb
"""A value of L: rational where P is, a ball else."""


@shown_alike
@dataclass(frozen=True)
class Neighbourhood(Record):
    """The paper's constants and the levels of L, in units of admission squared.

    Fields:
        system: what was asked about.
        lyapunov: P.
        rate: x*.
        margin: V_0 x*, tokens free after the shift at equilibrium.
        mean_input: l0, or the mean input length.
        beta: M / l0.
        kappa: mean decode length, weighted by input length where inputs differ.
        c2_squared: C_2^2.
        delta_squared: delta^2.
        ball_squared: the largest r^2 for which ||y|| < r excludes eviction in the next iteration.
        eviction_level: the largest c for which L(y) <= c excludes eviction, of any y.
        boundary_level: the same of any y on the memory boundary, V^T y = 0, where every state is
            after one iteration.
        nonnegative_level: the largest c for which L(y) <= c implies Y >= 0.

    The last three are None where there is no P; `ball_squared` and the eviction levels if d = 1,
    where nothing can be evicted.

    Examples:
        >>> from fluidkv.exact import neighbourhood
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> found = neighbourhood(system)
        >>> str(found.beta), str(found.kappa), round(float(found.rate), 2)
        ('50', '5/2', 18.35)
    """

    system: System
    lyapunov: Lyapunov
    rate: Fraction
    margin: Fraction
    mean_input: Fraction
    beta: Fraction
    kappa: Fraction
    c2_squared: Fraction
    delta_squared: Fraction
    ball_squared: Fraction | None
    eviction_level: Level | None
    boundary_level: Level | None
    nonnegative_level: Level | None

    def energy(self, deviation: Sequence[Fraction | int]) -> Level:
        """L(y), y = Y - x* 1.

        Raises:
            InputError: a vector of the wrong length or of floats.
            ArithmeticError: there is no P.
        """
        return self.lyapunov.energy(deviation)

    def contains(self, deviation: Sequence[Fraction | int]) -> bool | None:
        """Whether y lies in N, L(y) < delta^2; None where balls do not tell."""
        return below(self.energy(deviation), self.delta_squared)


@working(DOUBLE)
def neighbourhood(system: System) -> Neighbourhood:
    """P, the constants of B.6.4 and the levels of L for a system of any number of classes.

    Examples:
        >>> from fluidkv.exact import neighbourhood
        >>> system = fk.System(fk.Workload.from_lengths([(20, 2), (20, 3)]), capacity=1000)
        >>> found = neighbourhood(system)
        >>> found.contains([0, 0, 0]), found.contains([10, 0, 0])
        (True, False)
        >>> float(found.energy([10, 0, 0])) < float(found.eviction_level)
        True
    """
    weights = survival_weights(system.workload)
    function = lyapunov(weights)
    d = weights.ages
    rate = eviction_free_equilibrium(system).rate
    memory = [Fraction(v, weights.denominator) for v in weights.memory]
    margin = memory[0] * rate
    mean_input = system.workload.mean_input_length
    classes = system.workload.classes
    products = (c.share * c.input_length * c.decode_length for c in classes)
    kappa = sum(products, Fraction(0)) / mean_input
    beta = system.capacity / mean_input
    c2_squared = d * (max(memory) / mean_input) ** 2
    shifted = [*memory[1:], Fraction(0)]
    length = sum((v * v for v in shifted), Fraction(0))
    eviction, boundary, nonnegative = _levels(function, memory, shifted, margin, rate)
    return Neighbourhood(
        system=system,
        lyapunov=function,
        rate=rate,
        margin=margin,
        mean_input=mean_input,
        beta=beta,
        kappa=kappa,
        c2_squared=c2_squared,
        delta_squared=(beta / (4 * kappa)) ** 2 / c2_squared,
        ball_squared=margin**2 / length if length else None,
        eviction_level=eviction,
        boundary_level=boundary,
        nonnegative_level=nonnegative,
    )


class EntryStatus(StrEnum):
    """Whether an energy falls below a level; the values are words for a report."""

    FOUND = "found"
    NONE = "no energy is below the level"
    UNDECIDED = "the balls of an energy and the level overlap"


@dataclass(frozen=True)
class Entry(Record):
    """What `entry_time` found.

    Fields:
        status: whether an energy falls below the level.
        time: n of the first that does; None unless found.
    """

    status: EntryStatus
    time: int | None = None


def entry_time(energies: Iterable[Level], level: Level) -> Entry:
    """The first n with L(y^n) < level.

    Examples:
        >>> from fluidkv.exact.mixed.nearby.neighbourhood import entry_time
        >>> entry_time([Fraction(9), Fraction(4), Fraction(1)], level=Fraction(5)).time
        1
    """
    for n, energy in enumerate(energies):
        inside = below(energy, level)
        if inside is None:
            return Entry(EntryStatus.UNDECIDED)
        if inside:
            return Entry(EntryStatus.FOUND, n)
    return Entry(EntryStatus.NONE)


@working(DOUBLE)
def below(left: Level, right: Level) -> bool | None:
    """left < right; None where balls overlap."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left < right
    low, high = _ball(left), _ball(right)
    if low < high:
        return True
    return False if low >= high else None


def _levels(
    function: Lyapunov,
    memory: Sequence[Fraction],
    shifted: Sequence[Fraction],
    margin: Fraction,
    rate: Fraction,
) -> tuple[Level | None, Level | None, Level | None]:
    """Margin squared over v^T P^-1 v, the same within the boundary, and x*^2 over max (P^-1)_ss."""
    if function.matrix is None:
        return None, None, None
    inverted = inverse(function.flint)
    nonnegative = _nonnegative_level(inverted, rate)
    if not any(shifted):  # d = 1: whatever runs completes
        return None, None, nonnegative
    across = inner_product(inverted, shifted, shifted)
    mixed = inner_product(inverted, shifted, memory)
    along = inner_product(inverted, memory, memory)
    square = margin * margin
    if isinstance(across, Fraction) and isinstance(mixed, Fraction) and isinstance(along, Fraction):
        return square / across, square / (across - mixed * mixed / along), nonnegative
    one, both, all_ages = map(_ball, (across, mixed, along))
    return _ball(square) / one, _ball(square) / (one - both * both / all_ages), nonnegative


def _nonnegative_level(inverted: fmpq_mat | arb_mat, rate: Fraction) -> Level:
    d = inverted.nrows()
    units = ([Fraction(int(i == s)) for i in range(d)] for s in range(d))
    entries = [inner_product(inverted, unit, unit) for unit in units]
    if all(isinstance(x, Fraction) for x in entries):
        return rate * rate / max(cast("list[Fraction]", entries))
    # Balls may overlap: one from the largest lower end to the largest upper end.
    balls = [_ball(x) for x in entries]
    largest = max(x.lower() for x in balls).union(max(x.upper() for x in balls))
    return _ball(rate * rate) / largest


def _ball(value: Level) -> arb:
    return to_ball(value) if isinstance(value, Fraction) else value
