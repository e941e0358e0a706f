"""Small systems of one class and states that fill their memory: what the checks try to break with.

Masses are whole numbers from 0 up, and capacity is what they hold, so that nothing rounds and the
first counterexample met is a small one. States come with growing l1, then l0, then total mass.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from fluidkv import exact
from fluidkv.exact.mass import Step
from fluidkv.exact.one_class.collapse import Cascade
from fluidkv.ledger import Range
from fluidkv.workload import System
from fluidkv_papers.congestion.instances.one_class import system_of

INPUTS, DECODES, LARGEST_MASS = range(1, 4), range(1, 5), 3
HORIZON = 100
"""Iterations; more than any start of the range takes to settle (theorem-a-1.finite-time)."""


@dataclass(frozen=True)
class Case:
    """One start: l0 and the masses by stage; l1 and M follow."""

    l0: int
    masses: tuple[int, ...]

    @property
    def capacity(self) -> int:
        return sum((self.l0 + 1 + j) * x for j, x in enumerate(self.masses))

    @property
    def spread(self) -> int:
        return max(self.masses) - min(self.masses)

    @property
    def positive(self) -> bool:
        return min(self.masses) > 0

    def system(self) -> System:
        return system_of(self.l0, len(self.masses), self.capacity)

    @cache  # noqa: B019  the cases of the range are few, and live as long as the range
    def step(self) -> Step:
        """One iteration of the literal model."""
        return exact.iterate(self.system(), [self.masses])

    def states(self, iterations: int) -> list[tuple[Fraction, ...]]:
        """X^0 ... X^iterations, exact."""
        return exact.trajectory(self.system(), self.masses, iterations=iterations)

    def __str__(self) -> str:
        l1 = len(self.masses)
        return (
            f"l0={self.l0}, l1={l1}, M={self.capacity}, from ({', '.join(map(str, self.masses))})"
        )


@cache
def cases() -> tuple[Case, ...]:
    """Every start of the range whose memory holds more than one largest request."""
    return tuple(_cases())


@cache
def fallen(case: Case) -> Cascade:
    """The start's whole way, a round of the last cycle included."""
    system, l1 = case.system(), len(case.masses)
    states = exact.trajectory(system, case.masses, iterations=HORIZON, after_settling=l1)
    return exact.cascade(states, system)


def shown(values) -> str:
    """A vector, for a witness."""
    return f"({', '.join(map(str, values))})"


def _cases() -> Iterator[Case]:
    for l1 in DECODES:
        for l0 in INPUTS:
            vectors = product(range(LARGEST_MASS + 1), repeat=l1)
            for masses in sorted(vectors, key=lambda x: (sum(x), x)):
                case = Case(l0, masses)
                if case.capacity > l0 + l1:
                    yield case


STARTS = Range(
    f"l0 = 1 ... {INPUTS[-1]}, l1 = 1 ... {DECODES[-1]}, "
    f"whole masses 0 ... {LARGEST_MASS}, M as held",
    cases,
)
"""Every start of the range."""
