"""Local stability of pulse cycles: the map once round, exact.

Near the pulse cycle the fronts of eviction stay where they are, so the map once round is affine. In
the generations of the one live position it is a companion matrix, and its multipliers are the roots
of the compressed polynomial

    sum over m of W_m z^{h-1-m},     W_m = V_{g-1+mg},   h = d / g,

which is the characteristic polynomial F of the mix with all lengths divided by g. Mass at other
ages is never renewed: it is gone within d iterations and adds multipliers 0. So the cycle attracts
all starts near it exactly when that mix is stable, and if it does not, it repels.

With more gaps than one the same holds with a larger matrix: mh masses at each block-end, those of m
live positions in h generations.

Source: Congestion, Proposition 32 and Corollary 33 for two classes and one gap; else derived here.
Tests compare with differences of the literal model, in all directions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import fmpq_mat, fmpz_poly

from fluidkv.errors import InputError
from fluidkv.exact.mixed.cycles.orbits import CohortMap, without_zeros
from fluidkv.exact.mixed.cycles.pulse import PulseCycle, compressed_weights
from fluidkv.exact.precision import outward, working
from fluidkv.exact.roots.polynomial import count_outside_and_on, enclosed_roots
from fluidkv.exact.roots.spectrum import certify_spectrum
from fluidkv.keys import Key, Keyed
from fluidkv.verdict import Evidence

Local = Literal["stable", "unstable", "neutral", "undecided"]
"""All multipliers inside the unit circle; one outside; none outside and one on it; not decided."""

MOST_AGES = 64
"""Cycles of several gaps are certified up to this longest decode length, in about a second."""


@dataclass(frozen=True)
class PulseStability(Keyed):
    """Local stability of a balanced cycle of a mixed workload.

    Fields:
        verdict: see `Local`.
        evidence: for the verdict and the counts.
        multipliers: eigenvalues of the map once round, without those that are always 0.
        outside: of them outside the unit circle, with multiplicity; None if undecided.
        on_circle: of them exactly on it; None if undecided.
        radius: (low, high) around the largest modulus over one period, rounded outward.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> found = pulse_stability(cycle)
        >>> found.verdict, found.multipliers, str(found.evidence)
        ('stable', 1, 'exact')
    """

    verdict: Local
    evidence: Evidence
    multipliers: int
    outside: int | None
    on_circle: int | None
    radius: tuple[float, float]

    KEYS = (
        Key("verdict", "text", "`stable`, `unstable`, `neutral` or `undecided`"),
        Key("evidence", "text"),
        Key("multipliers", "count"),
        Key("outside", "count"),
        Key("on_circle", "count"),
        Key("radius[]", "number"),
    )


def pulse_stability(cycle: PulseCycle) -> PulseStability:
    """Certify the local stability of a pulse cycle or another balanced cycle.

    Raises:
        InputError: several gaps and a decode length above `MOST_AGES`.

    Source: Congestion, Corollary 33.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
        >>> mix = fk.LengthMix((4, 6), [Fraction(1, 10)])
        >>> systems = [fk.System(mix.workload(inputs), capacity=1000) for inputs in (20, 60)]
        >>> [pulse_stability(fk.pulse_cycle(system)).verdict for system in systems]
        ['unstable', 'stable']
    """
    if len(cycle.gaps) == 1:
        found = certify_spectrum(compressed_weights(cycle.system))
        verdict = _verdict(found.outside, found.on_circle)
        return PulseStability(
            verdict, found.evidence, found.degree, found.outside, found.on_circle, found.radius
        )
    polynomial = multiplier_polynomial(cycle)
    outside, on_circle = count_outside_and_on(polynomial)
    neutral = outside == 0 and on_circle > 0
    return PulseStability(
        _verdict(outside, on_circle),
        Evidence.EXACT,
        polynomial.degree(),
        outside,
        on_circle,
        (1.0, 1.0) if neutral else _radius(polynomial),
    )


def return_map(cycle: PulseCycle) -> tuple[fmpq_mat, tuple[int, ...]]:
    """Derivative of the map once round at Z^(0), and the ages that its rows and columns stand for.

    The ages are those that carry mass. For the pulse cycle the first column is 0 and the rest has
    the multipliers.

    Raises:
        InputError: a decode length above `MOST_AGES`.

    Source: Congestion, Proposition 32.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse_stability import return_map
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> matrix, ages = return_map(cycle)
        >>> matrix.tolist(), ages
        ([[0, 5/6], [0, -5/6]], (0, 2))
    """
    whole, support = _derivative(cycle), _support(cycle.states[0])
    return fmpq_mat([[whole[i, j] for j in support] for i in support]), support


def multiplier_polynomial(cycle: PulseCycle) -> fmpz_poly:
    """Characteristic polynomial of the map once round, without its zero eigenvalues, primitive.

    For the pulse cycle it is the compressed polynomial (35) up to a factor.

    Raises:
        InputError: a decode length above `MOST_AGES`.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse import compressed_weights
        >>> from fluidkv.exact.mixed.cycles.pulse_stability import multiplier_polynomial
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> multiplier_polynomial(cycle), compressed_weights(system).memory
        (6*x + 5, (6, 5))
    """
    return without_zeros(_derivative(cycle).charpoly().numer())


def printed_compressed_polynomial(
    lengths: Sequence[int], input_length: int, longer_share: Fraction
) -> tuple[Fraction, ...]:
    """Equation (35) as printed: two classes, descending powers of z.

    Args:
        lengths: (a, b) with a < b.
        input_length: l0.
        longer_share: q, of the class with decode length b.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse_stability import printed_compressed_polynomial
        >>> [str(c) for c in printed_compressed_polynomial((2, 4), 8, Fraction(1, 2))]
        ['5', '3']
    """
    a, b = lengths
    g = math.gcd(a, b)
    return tuple(
        (Fraction(input_length, g) + 1 + m) * (1 if m < a // g else longer_share)
        for m in range(b // g)
    )


def _derivative(cycle: PulseCycle) -> fmpq_mat:
    d = cycle.system.workload.longest_decode
    if d > MOST_AGES:
        raise InputError("decode_lengths", d, f"a longest one of at most {MOST_AGES}")
    around = [*cycle.states[1:], cycle.states[0]]
    fronts = [next(age for age, y in enumerate(state) if y) for state in around]
    return CohortMap(cycle.system).derivative(fronts)


def _support(state: Sequence[Fraction]) -> tuple[int, ...]:
    return tuple(age for age, y in enumerate(state) if y)


def _radius(polynomial: fmpz_poly) -> tuple[float, float]:
    if polynomial.degree() == 0:
        return 0.0, 0.0
    with working(128):
        ends = [outward(abs(ball)) for ball, _ in enclosed_roots(polynomial)]
    return max(low for low, _ in ends), max(high for _, high in ends)


def _verdict(outside: int | None, on_circle: int | None) -> Local:
    if outside is None or on_circle is None:
        return "undecided"
    if outside:
        return "unstable"
    return "neutral" if on_circle else "stable"
