"""Systems and starts on which the statements of B.6 and B.8.6 are tried, and their trajectories."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

    from fluidkv.exact.mass import Masses
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.mixed.nearby.neighbourhood import Neighbourhood
    from fluidkv.exact.mixed.nearby.transition import Iterate
    from fluidkv.workload import System

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
BETA = Fraction(59, 5)  # M / l0 of Examples 10 and 11 and of Figure 12
SAMPLE = "4 mixes of coprime lengths, 2 to 4 classes, one with different inputs"


def coprime_mixes() -> list[tuple["LengthMix", int]]:
    """Mixes of coprime decode lengths, each with the smallest whole l0 that is used with it.

    Each is Schur stable from there on, which the checks do not take for granted.
    """
    from fluidkv.exact.mixed.mix import LengthMix, two_lengths

    return [
        (two_lengths(2, 3, HALF), 2),
        (two_lengths(5, 9, HALF), 65),
        (LengthMix((2, 3, 7), (THIRD, THIRD)), 10),
        (LengthMix((2, 3, 4, 5), (HALF, Fraction(1, 4), Fraction(1, 8)), (1, 2, 3, 1)), 10),
    ]


def loaded(mix: "LengthMix", input_length: int) -> "System":
    """M = beta l0 with the mean input for l0, at L = `input_length`."""
    from fluidkv.workload import System

    workload = mix.workload(input_length)
    return System(workload, BETA * workload.mean_input_length)


@cache
def example() -> "Neighbourhood":
    """Examples 10 and 11: decode lengths 2 and 3, l0 = 10, equal shares, M = 118."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.mixed.nearby.neighbourhood import neighbourhood
    from fluidkv.workload import System

    return neighbourhood(System(two_lengths(2, 3, HALF).workload(10), 118))


def cohort_starts(system: "System", count: int, seed: int = 0) -> Iterator[list[Fraction]]:
    """States Y on the cohort manifold: one cohort alone, all memory; then random ones.

    A third of the random cohorts is empty; memory is full in two of three starts, and the fill is
    random in the others.
    """
    from fluidkv.exact.survival import survival_weights

    weights = survival_weights(system.workload)
    d, random = weights.ages, Random(seed)
    for n in range(count):
        masses = [_drawn(random) for _ in range(d)]
        if n < d or not any(masses):
            masses = [Fraction(int(s == n % d)) for s in range(d)]
        used = sum(v * y for v, y in zip(weights.memory, masses, strict=True))
        full = system.capacity * weights.denominator / used
        fill = Fraction(1) if n < d or n % 3 else Fraction(random.randint(0, 8), 8)
        yield [fill * full * y for y in masses]


def class_starts(system: "System", count: int, seed: int = 1) -> Iterator["Masses"]:
    """Feasible states off the manifold: one class alone in one stage, then random masses."""
    random = Random(seed)
    classes = system.workload.classes
    corners = [(k, j) for k, c in enumerate(classes) for j in range(c.decode_length)]
    for n in range(count):
        state = [
            [
                Fraction(random.choice((0, 1, 2)) * random.randint(1, 9))
                for _ in range(c.decode_length)
            ]
            for c in classes
        ]
        if n < len(corners) or not any(x for row in state for x in row):
            chosen = corners[n % len(corners)]
            state = [
                [Fraction(int((k, j) == chosen)) for j in range(c.decode_length)]
                for k, c in enumerate(classes)
            ]
        used = sum(
            (c.input_length + 1 + j) * x
            for c, row in zip(classes, state, strict=True)
            for j, x in enumerate(row)
        )
        fill = 1 if n < len(corners) or n % 3 else Fraction(random.randint(0, 8), 8)
        yield [[x * fill * system.capacity / used for x in row] for row in state]


@cache
def trajectories(mix: "LengthMix", input_length: int) -> tuple[tuple["Iterate", ...], ...]:
    """A dozen starts on the manifold, a dozen iterations of the literal model each."""
    from fluidkv.exact.mixed.nearby.transition import cohort_iterates

    system = loaded(mix, input_length)
    return tuple(
        tuple(islice(cohort_iterates(system, start), _ITERATIONS + 1))
        for start in cohort_starts(system, _STARTS)
    )


def cases() -> Iterator[tuple["LengthMix", int, "Neighbourhood"]]:
    """Each mix at its smallest l0, four times and a hundred times that."""
    for mix, least in coprime_mixes():
        for scale in SCALES:
            yield mix, least * scale, neighbourhood_of(mix, least * scale)


@cache
def neighbourhood_of(mix: "LengthMix", input_length: int) -> "Neighbourhood":
    """P and the levels of L of `loaded`."""
    from fluidkv.exact.mixed.nearby.neighbourhood import neighbourhood

    return neighbourhood(loaded(mix, input_length))


@cache
def energies(mix: "LengthMix", input_length: int) -> tuple[tuple[Fraction, ...], ...]:
    """L along each of `trajectories`, rational."""
    found = neighbourhood_of(mix, input_length)
    return tuple(
        tuple(rational(found.energy(now.deviation)) for now in path)
        for path in trajectories(mix, input_length)
    )


def square(y: Sequence[Fraction]) -> Fraction:
    """||y||^2."""
    return sum((v * v for v in y), Fraction(0))


def rational(value: "Fraction | arb | None") -> Fraction:
    """The value of a system of few ages, which is no ball and is there."""
    if not isinstance(value, Fraction):
        raise ArithmeticError("a rational was expected")
    return value


def _drawn(random: Random) -> Fraction:
    return Fraction(random.choice((0, 1, 2)) * random.randint(1, 9))


SCALES = (1, 4, 100)  # times the smallest l0 of a mix
_STARTS, _ITERATIONS = 12, 12
RANGE = f"{SAMPLE}, {_STARTS} starts each on the manifold, {_ITERATIONS} iterations"
