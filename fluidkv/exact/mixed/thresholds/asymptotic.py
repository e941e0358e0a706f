"""The threshold that the expansions for long requests give: formulas, not certificates.

Source: Congestion, (12), (13), Corollary 26 and Appendix B.8.7; the input ratios are ours.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.roots.spectrum import spectral_radius
from fluidkv.plain import finite
from fluidkv.record import Record

AGAINST = (
    ("phases", "tokens", "from the phases of the limiting roots; of two lengths, (13)"),
    ("phases_relative_error", "relative", "against `l0_min`"),
    ("first_order", "tokens", "from the first-order drift"),
    ("first_order_relative_error", "relative", "against `l0_min`"),
    ("limit_radius[]", "number", "[low, high] around that of the limit"),
)
"""Keys of `AsymptoticThreshold.against`, with units and what they are."""


@dataclass(frozen=True)
class AsymptoticThreshold(Record):
    """Estimates of the input length from which a coprime mix is stable, in floats.

    Fields:
        phases: from the quadratic form of B.8.7 in the phases of the limiting roots, less no term
            of lower order. For two lengths with a common input this is (13).
        first_order: where the first-order drift of the leading limiting root takes it over the
            circle, (l0 + d)(1 - rho) = 1 below (12); needs rho itself. NaN where the enclosure of
            rho does not tell 1 - rho to 1 %, as for outputs of many thousands of tokens.
        limit_radius: rho, the spectral radius of the limit A_r, (low, high).

    Examples:
        >>> formula = fk.input_threshold(fk.LengthMix((5, 9), [Fraction(1, 2)])).asymptotic
        >>> round(formula.phases, 1), round(formula.first_order, 1)
        (69.5, 60.2)
    """

    phases: float
    first_order: float
    limit_radius: tuple[float, float]

    def against(self, least: int | None) -> dict[str, Any]:
        """Plain values for JSON, each with its error against l0_min; None: not known."""

        def error(value: float) -> float | None:
            return finite(value / least - 1) if least else None

        return {
            "phases": finite(self.phases),
            "phases_relative_error": error(self.phases),
            "first_order": finite(self.first_order),
            "first_order_relative_error": error(self.first_order),
            "limit_radius": list(self.limit_radius),
        }


def asymptotic_threshold(mix: LengthMix) -> AsymptoticThreshold | None:
    """What (13) and the first-order criterion say; None where lengths have a common divisor.

    With input ratios, the weights of the limit are p_k r_k / R (B.9), and a root next to the circle
    drifts at the rate (sum of p_k l1_k) / (sum of p_k r_k l1_k) in 1/L, which the common-input case
    has as 1.
    """
    if mix.decode_gcd > 1:
        return None
    drift = _drift(mix)
    radius = spectral_radius(mix.limit)
    widest, narrowest = 1 - radius[0], 1 - radius[1]
    gap = (widest + narrowest) / 2
    known = narrowest > 0 and widest - narrowest < gap / 100
    shift = mix.ages if mix.common_input else 0
    return AsymptoticThreshold(
        phases=drift * mix.ages / least_phase_decay(mix),
        first_order=drift / gap - shift if known else math.nan,
        limit_radius=radius,
    )


def least_phase_decay(mix: LengthMix) -> float:
    """min over u = 1 ... n-1 of the quadratic form for Re mu at the phases x_k(u), n = max l1_k.

    A limiting root near e^{2 pi i u / n} has modulus about exp(-Re mu / n), with

        Re mu = (1 / 2D) sum of w_k (x_k - beta_k x)^2,   x = (sum of w_k x_k) / D,
        x_k = -2 pi u l1_k / n  (mod 2 pi),  beta_k = l1_k / n,  D = sum of w_k beta_k,

    and weights w_k = p_k r_k / R.

    Source: Congestion, Appendix B.8.7; B.9 for the weights.
    """
    return min(_phase_decay(mix, u) for u in range(1, mix.ages))


def _phase_decay(mix: LengthMix, u: int) -> float:
    n = mix.ages
    products = [p * r for p, r in zip(mix.shares, mix.input_ratios, strict=True)]
    total = sum(products, Fraction(0))
    weights = [float(w / total) for w in products]
    beta = [length / n for length in mix.decode_lengths]
    # principal value in (-pi, pi], from integers
    phases = []
    for length in mix.decode_lengths:
        rest = -u * length % n
        phases.append(2 * math.pi * (rest if 2 * rest <= n else rest - n) / n)
    mean = sum(w * b for w, b in zip(weights, beta, strict=True))
    centre = sum(w * x for w, x in zip(weights, phases, strict=True)) / mean
    rows = zip(weights, phases, beta, strict=True)
    return sum(w * (x - b * centre) ** 2 for w, x, b in rows) / (2 * mean)


def _drift(mix: LengthMix) -> float:
    plain = sum(p * n for p, n in zip(mix.shares, mix.decode_lengths, strict=True))
    rows = zip(mix.shares, mix.input_ratios, mix.decode_lengths, strict=True)
    return float(plain / sum(p * r * n for p, r, n in rows))
