"""Systems and starts on which the statements of B.6 and B.8.6 are tried, and their trajectories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from random import Random

from fluidkv import exact
from fluidkv.exact.mass import Masses, memory_used
from fluidkv.exact.mixed import nearby
from fluidkv.ledger import Range
from fluidkv.workload import System

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
BETA = Fraction(59, 5)  # M / l0 of Examples 10 and 11 and of Figure 12
_SCALES = (1, 4, 100)  # times the smallest l0 of a mix
_STARTS, _ITERATIONS = 12, 12


def coprime_mixes() -> "list[tuple[exact.LengthMix, int]]":
    """Mixes of coprime decode lengths, each with the smallest whole l0 that is used with it.

    Each is Schur stable from there on, which the checks do not take for granted.
    """
    quarters = (HALF, Fraction(1, 4), Fraction(1, 8))
    return [
        (exact.two_lengths(2, 3, HALF), 2),
        (exact.two_lengths(5, 9, HALF), 65),
        (exact.LengthMix((2, 3, 7), (THIRD, THIRD)), 10),
        (exact.LengthMix((2, 3, 4, 5), quarters, (1, 2, 3, 1)), 10),
    ]


def loaded(mix: "exact.LengthMix", input_length: int) -> System:
    """M = beta l0 with the mean input for l0, at L = `input_length`."""
    workload = mix.workload(input_length)
    return System(workload, BETA * workload.mean_input_length)


@cache
def example() -> "nearby.neighbourhood.Neighbourhood":
    """Examples 10 and 11: decode lengths 2 and 3, l0 = 10, equal shares, M = 118."""
    return exact.neighbourhood(System(exact.two_lengths(2, 3, HALF).workload(10), 118))


@cache
def neighbourhood_of(
    mix: "exact.LengthMix", input_length: int
) -> "nearby.neighbourhood.Neighbourhood":
    """P and the levels of L of `loaded`."""
    return exact.neighbourhood(loaded(mix, input_length))


def cohort_starts(system: System, count: int, seed: int = 0) -> Iterator[list[Fraction]]:
    """States Y on the cohort manifold: one cohort alone, all memory; then random ones.

    A third of the random cohorts is empty; memory is full in two of three starts, and the fill is
    random in the others.
    """
    weights = exact.survival_weights(system.workload)
    d, random = weights.ages, Random(seed)
    for n in range(count):
        masses = [_drawn(random) for _ in range(d)]
        if n < d or not any(masses):
            masses = [Fraction(int(s == n % d)) for s in range(d)]
        used = sum(v * y for v, y in zip(weights.memory, masses, strict=True))
        full = system.capacity * weights.denominator / used
        fill = _fill(n, d, random)
        yield [fill * full * y for y in masses]


def class_starts(system: System, count: int, seed: int = 1) -> Iterator[Masses]:
    """Feasible states off the manifold: one class alone in one stage, then random masses."""
    random = Random(seed)
    classes = system.workload.classes
    corners = [(k, j) for k, c in enumerate(classes) for j in range(c.decode_length)]
    for n in range(count):
        state = [[_drawn(random) for _ in range(c.decode_length)] for c in classes]
        if n < len(corners) or not any(x for row in state for x in row):
            chosen = corners[n % len(corners)]
            state = [
                [Fraction(int((k, j) == chosen)) for j in range(c.decode_length)]
                for k, c in enumerate(classes)
            ]
        full = system.capacity / memory_used(system, state)
        fill = _fill(n, len(corners), random)
        yield [[x * fill * full for x in row] for row in state]


def _drawn(random: Random) -> Fraction:
    return Fraction(random.choice((0, 1, 2)) * random.randint(1, 9))


def _fill(n: int, corners: int, random: Random) -> Fraction:
    return Fraction(1) if n < corners or n % 3 else Fraction(random.randint(0, 8), 8)


def rational(value: "nearby.neighbourhood.Level | None") -> Fraction:
    """The value of a system of few ages, which is no ball and is there."""
    if not isinstance(value, Fraction):
        raise ArithmeticError("a rational was expected")
    return value


def square(y: Sequence[Fraction]) -> Fraction:
    """||y||^2."""
    return sum((v * v for v in y), Fraction(0))


@dataclass(frozen=True)
class Iteration:
    """One iteration of the literal model, n = 1, 2, ..., from a start on the manifold.

    Fields:
        mix, input_length: of the system, `loaded`.
        before, now: the states on both sides.
        energies: L of them, rational.
    """

    mix: "exact.LengthMix"
    input_length: int
    n: int
    before: "nearby.transition.Iterate"
    now: "nearby.transition.Iterate"
    energies: tuple[Fraction, Fraction]

    @property
    def found(self) -> "nearby.neighbourhood.Neighbourhood":
        return neighbourhood_of(self.mix, self.input_length)

    @property
    def change(self) -> Fraction:
        """L(y^n) - L(y^{n-1})."""
        return self.energies[1] - self.energies[0]

    def __str__(self) -> str:
        return f"{self.mix.decode_lengths}, L = {self.input_length}, n = {self.n}"


@cache
def _iterations(mix: "exact.LengthMix", input_length: int) -> tuple[Iteration, ...]:
    """A dozen starts, a dozen iterations each."""
    found, moves = neighbourhood_of(mix, input_length), []
    for start in cohort_starts(found.system, _STARTS):
        path = list(islice(nearby.transition.cohort_iterates(found.system, start), _ITERATIONS + 1))
        levels = [rational(found.energy(now.deviation)) for now in path]
        states, energies = pairwise(path), pairwise(levels)
        moves += [
            Iteration(mix, input_length, n, *both, level)
            for n, (both, level) in enumerate(zip(states, energies, strict=True), start=1)
        ]
    return tuple(moves)


def _at(mix: "exact.LengthMix", input_length: int) -> str:
    return f"{mix.decode_lengths}, L = {input_length}"


MIXES = Range(
    "4 mixes of coprime lengths, 2 to 4 classes, one with different inputs", coprime_mixes, name=_at
)
SYSTEMS = Range(
    f"{MIXES.words}; three L each",
    lambda: ((mix, least * scale) for mix, least in coprime_mixes() for scale in _SCALES),
    name=_at,
)
ITERATIONS = Range(
    f"{MIXES.words}, {_STARTS} starts each on the manifold, {_ITERATIONS} iterations, three L each",
    lambda: (move for system in SYSTEMS.cases() for move in _iterations(*system)),
    name=str,
)
