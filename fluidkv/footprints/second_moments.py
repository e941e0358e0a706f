"""Mean and second moments of a footprint, exact: all that stability and noise ask of it.

With P(z) = sum of phi(j) z^j and Q(z) = sum of psi(j) z^j, random polynomials,

    A = E P,  B = E Q                            what the map of a full server is made of,
    E P(z) P(1/z),  E Q(z) Q(1/z),  E Q(z) P(1/z)    of its noise: sums along lags k of
                                                 E phi(j) phi(j + k), ...

Of a growth whose steps are drawn, a request is at place s of its walk after k steps with the
coefficient of x^s in p(x)^k, p the generating function of a step. Steps are alike everywhere, so

    E phi(k) = <held, p^k>,    sum over j of E phi(j) phi(j + k) = <c, p^k>,
    c(m) = sum over s of visits(s) held(s) held(s + m),   visits = sum over k of p^k,

and one sequence of powers gives everything. All of it is integers over common denominators.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import NamedTuple

import numpy as np
from flint import fmpz, fmpz_poly
from jaxtyping import Int

from fluidkv.exact.survival import SurvivalWeights
from fluidkv.footprints.footprint import Footprint, Growth
from fluidkv.record import Record


@dataclass(frozen=True)
class Moments(Record):
    """E P, E Q and their second moments, of requests that live d iterations at most.

    Fields:
        weights: A and B: tokens held and requests left of one admitted request at each age, [d].
        memory_memory: [d] sum over j of E phi(j) phi(j + k), lags k = 0 ... d-1, times
            `denominator`.
        running_running: [d] the same of psi.
        running_memory: [2 d - 1] sum over j of E psi(j + k) phi(j), lags k = -(d-1) ... d-1.
        denominator: of the three above.

    Examples:
        >>> from fluidkv.footprints.second_moments import moments
        >>> found = moments(fk.RequestFootprint(2, 3))
        >>> found.weights.memory, found.memory_memory, found.running_memory
        ((3, 4, 5), (50, 32, 15), (5, 9, 12, 7, 3))
    """

    weights: SurvivalWeights
    memory_memory: tuple[int, ...]
    running_running: tuple[int, ...]
    running_memory: tuple[int, ...]
    denominator: int


class _Parts(NamedTuple):
    """E X(z) Y(1/z) times z^(ages - 1), of one growth or of a sum, over a denominator."""

    memory_memory: fmpz_poly
    running_running: fmpz_poly
    running_memory: fmpz_poly
    denominator: int
    ages: int


def moments(footprint: Footprint) -> Moments:
    """Moments of a footprint, exact.

    A second or so for thousands of plain classes, or for one with drafts and a thousand tokens.

    Examples:
        >>> from fluidkv.footprints.second_moments import moments
        >>> drafts = fk.RequestFootprint(2, 3, speculation=fk.Speculation(1, Fraction(1, 2)))
        >>> found = moments(drafts)
        >>> found.weights.memory, found.weights.requests, found.weights.denominator
        ((8, 10, 6), (2, 2, 1), 2)
    """
    total = _mixed([(share, _of_growth(growth)) for share, growth in footprint.growths])
    centre, width = total.ages - 1, 2 * total.ages - 1
    return Moments(
        mean_weights(footprint),
        _coefficients(total.memory_memory, width)[centre:],
        _coefficients(total.running_running, width)[centre:],
        _coefficients(total.running_memory, width),
        total.denominator,
    )


def mean_weights(footprint: Footprint) -> SurvivalWeights:
    """A and B alone: E phi(j) and E psi(j) at each age, over one denominator.

    Growths with the same steps that begin to walk at the same age have one mean walk.

    Examples:
        >>> from fluidkv.footprints.second_moments import mean_weights
        >>> mean_weights(fk.RequestFootprint(2, 3)).memory
        (3, 4, 5)
    """
    growths = footprint.growths
    unit = math.lcm(*(growth.unit for _, growth in growths))
    shares = math.lcm(*(share.denominator for share, _ in growths))
    ages = max(growth.iterations for _, growth in growths)
    fixed, walks = _Sum(ages), dict[tuple[tuple[Fraction, ...], int], _Sum]()
    for share, growth in growths:
        count, tokens = int(share * shares), unit // growth.unit
        fixed.add(growth.start, count, tokens)
        if len(growth.held):
            key = growth.steps, len(growth.start)
            walks.setdefault(key, _Sum(0)).add(growth.held, count, tokens)
    drawn = {key: _mean_walk(walk, key[0]) for key, walk in walks.items()}
    common = math.lcm(1, *(scale for _, _, scale in drawn.values()))
    memory, running = fixed.memory * common, fixed.running * common
    for (_, delay), (held, there, scale) in drawn.items():
        memory[delay : delay + len(held)] += held * (common // scale)
        running[delay : delay + len(there)] += there * (common // scale)
    return SurvivalWeights(
        tuple(map(int, memory)),
        tuple(unit * int(n) for n in running),
        shares * unit * common,
    )


class _Sum:
    """Sums over growths of what is held, by place: memory and requests, integers of any size."""

    def __init__(self, places: int) -> None:
        self.memory = np.zeros(places, object)
        self.running = np.zeros(places, object)

    def add(self, held: Int[np.ndarray, " n"], count: int, tokens: int) -> None:
        more = max(0, len(held) - len(self.memory))
        self.memory, self.running = (np.pad(x, (0, more)) for x in (self.memory, self.running))
        self.memory[: len(held)] += held.astype(object) * (count * tokens)
        self.running[: len(held)] += count


def _mean_walk(walk: _Sum, steps: tuple[Fraction, ...]) -> tuple[np.ndarray, np.ndarray, int]:
    """Mean held and there after k steps, over the denominator that comes with them."""
    columns = [[fmpz(int(n)) for n in column] for column in (walk.memory, walk.running)]
    (held, there), scale = _expected(columns, steps)
    return np.array(held, object), np.array(there, object), scale


def _mixed(parts: list[tuple[Fraction, _Parts]]) -> _Parts:
    ages = max(part.ages for _, part in parts)
    common = math.lcm(*(share.denominator * part.denominator for share, part in parts))
    sums = [fmpz_poly() for _ in range(3)]
    for share, part in parts:
        scale = int(share * common / part.denominator)
        lagged = part.memory_memory, part.running_running, part.running_memory
        for i, polynomial in enumerate(lagged):
            sums[i] += (polynomial * scale).left_shift(ages - part.ages)
    return _Parts(sums[0], sums[1], sums[2], common, ages)


class _Means(NamedTuple):
    """Means of a quantity: in the first iterations, and in the walk."""

    start: fmpz_poly
    walk: fmpz_poly


def _of_growth(growth: Growth) -> _Parts:
    """Of P = S + z^r W, Q likewise: S the same for all, W drawn and independent of it."""
    delay, length = len(growth.start), growth.walk
    if not length:
        held, there = fmpz_poly([*map(int, growth.start)]), fmpz_poly([growth.unit] * delay)
        back = _reversed(held, delay)
        same = there * there
        return _Parts(held * back, same, there * back, growth.unit**2, delay)
    memory, running, walk, scale = _walked(growth)
    start = fmpz_poly([*map(int, growth.start)]) * scale
    there = fmpz_poly([growth.unit * scale] * delay)

    def second(x: _Means, y: _Means, drawn: fmpz_poly) -> fmpz_poly:
        own = (x.start * _reversed(y.start, delay)).left_shift(length)
        after = (x.walk * _reversed(y.start, delay)).left_shift(delay + length)
        return own + drawn.left_shift(delay) + after + x.start * _reversed(y.walk, length)

    held, alive = _Means(start, memory), _Means(there, running)
    return _Parts(
        second(held, held, walk[0]),
        second(alive, alive, walk[1]),
        second(alive, held, walk[2]),
        (growth.unit * scale) ** 2,
        delay + length,
    )


def _walked(growth: Growth) -> tuple[fmpz_poly, fmpz_poly, list[fmpz_poly], int]:
    """Of a walk alone: means over `scale` times the unit; E X(z) Y(1/z) z^(n-1) over its square."""
    places = len(growth.held)
    held, there = [fmpz(int(n)) for n in growth.held], [fmpz(growth.unit)] * places
    (memory, running), scale = _expected([held, there], growth.steps)
    # how often each place is visited
    visited, last = fmpz_poly(), growth.walk - 1
    for k, power in enumerate(_powers(places, growth.steps)):
        visited += power * _common(growth.steps) ** (last - k)
    pairs = (held, held), (there, there), (held, there), (there, held)
    along = [_along(_padded(visited, places), first, then) for first, then in pairs]
    (same, alive, ahead, behind), _ = _expected(along, growth.steps)
    lags = [
        fmpz_poly([*same[:0:-1], *same]),
        fmpz_poly([*alive[:0:-1], *alive]),
        fmpz_poly([*behind[:0:-1], *ahead]),  # below 0, then from 0 on
    ]
    return fmpz_poly(memory), fmpz_poly(running), lags, scale


def _expected(
    columns: list[list[fmpz]], steps: tuple[Fraction, ...]
) -> tuple[list[list[fmpz]], int]:
    """Of values by place, their means after k = 0, 1, ... steps of a walk; times a denominator."""
    means: list[list[fmpz]] = [[] for _ in columns]
    for k, power in enumerate(_powers(len(columns[0]), steps)):
        chances = power.coeffs()[k:]  # at least one place a step
        for column, values in zip(means, columns, strict=True):
            column.append(sum(map(mul, chances, values[k:]), fmpz(0)))
    common, last = fmpz(_common(steps)), len(means[0]) - 1
    scaled = [[mean * common ** (last - k) for k, mean in enumerate(column)] for column in means]
    return scaled, int(common**last)


def _powers(places: int, steps: tuple[Fraction, ...]) -> Iterator[fmpz_poly]:
    """Chances of each place after k = 0, 1, ... steps of a walk, times `_common` to the k."""
    step = fmpz_poly([0, *(int(chance * _common(steps)) for chance in steps)])
    power = fmpz_poly([1])
    while power.degree() >= 0:
        yield power
        power = (power * step).truncate(places)


def _common(steps: tuple[Fraction, ...]) -> int:
    return math.lcm(*(chance.denominator for chance in steps))


def _along(visits: list[fmpz], first: list[fmpz], then: list[fmpz]) -> list[fmpz]:
    """c(m) = sum over s of visits(s) first(s) then(s + m), m = 0 ... n-1."""
    n = len(visits)
    weighted = fmpz_poly([v * x for v, x in zip(visits, first, strict=True)])
    return _padded(fmpz_poly(then) * _reversed(weighted, n), 2 * n - 1)[n - 1 :]


def _padded(polynomial: fmpz_poly, count: int) -> list[fmpz]:
    coefficients = polynomial.coeffs()
    return coefficients + [fmpz(0)] * (count - len(coefficients))


def _reversed(polynomial: fmpz_poly, count: int) -> fmpz_poly:
    """z^(count - 1) P(1/z)."""
    return fmpz_poly(_padded(polynomial, count)[::-1])


def _coefficients(polynomial: fmpz_poly, count: int) -> tuple[int, ...]:
    return tuple(int(c) for c in _padded(polynomial, count))
