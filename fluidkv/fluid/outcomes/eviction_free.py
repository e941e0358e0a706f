"""States from which no eviction can come any more, so that the linear dynamics rule for good.

Near the equilibrium memory never overflows, and the deviation of the cohorts from it moves by the
matrix Phi of Appendix B.6.2. Iteration n then admits x* + e_0 Phi^n (y - x*), and no eviction comes
as long as that is positive. Two ways to know that it stays positive, both in floats and without a
proof about roundings: a sum over modes, which is sharp once the fast modes have died out, and a
cube about the equilibrium.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

# Blocks of d iterations, about a second: a mode of modulus 1 - 1e-4 has died out long before.
_MOST_BLOCKS = 200_000
# The sums of the cube are of at most a few million terms each rounded at 1e-16.
_MARGIN = 1e-6
# Eigenvectors with this condition lose 6 of 16 digits; what is left is the margin above.
_WORST_CONDITION = 1e6
# An eigenvalue is known to some 1e-16 times the condition.
_INSIDE = 1e-10
# Below it a sum over modes is below 1: a margin for rounding, the modes' condition included.
_SUM = 1.0 - 1e-6


class Modes(NamedTuple):
    """Of the linear dynamics, one row each.

    Fields:
        parts: what each mode contributes to admission, as a function of the relative deviations
            y_s / x* - 1. The admission of k iterations later deviates by the sum of
            multipliers^k times these parts.
        multipliers: eigenvalues of Phi: the roots of F, and 0.
    """

    parts: Complex[np.ndarray, "mode stage"]
    multipliers: Complex[np.ndarray, " mode"]


class Rule(NamedTuple):
    """How to know of a system that no eviction can come any more.

    Fields:
        modes: by the sum over them; None: not in this way.
        radius: by this distance from the equilibrium; None: not in this way.
    """

    modes: Modes | None
    radius: float | None

    @property
    def name(self) -> str:
        return "modes" if self.modes is not None else "none" if self.radius is None else "radius"


def rules_of(
    weights: Float[np.ndarray, "system stage"], radius: float | None = None
) -> tuple[list[Rule], dict[str, np.ndarray]]:
    """The rule of each system, of V_s, 0 beyond its own stages; with a radius it is that for all.

    Systems of equal weights share a rule, which does not depend on capacity.

    Returns:
        Of each system its rule, and all rules as fields of `labels.lane.Looks`.
    """
    if radius is None:
        different, of = np.unique(weights, axis=0, return_inverse=True)
        rules = [rule_of(row[row > 0]) for row in different]
    else:
        rules, of = [Rule(None, float(radius))], np.zeros(len(weights), np.int64)
    terms = np.array([0 if rule.modes is None else len(rule.modes.parts) for rule in rules])
    limit = np.full(len(rules), np.nan)
    modes = np.zeros((len(rules), int(terms.max()), 2, weights.shape[1]))
    for i, rule in enumerate(rules):
        if rule.modes is not None:
            own = np.stack([np.real(rule.modes.parts), np.imag(rule.modes.parts)], axis=1)
            modes[i, : terms[i], :, : terms[i]], limit[i] = own, _SUM
        elif rule.radius is not None:
            limit[i] = rule.radius
    looks = {"rule": of.ravel(), "terms": terms, "limit": limit, "modes": modes}
    return [rules[i] for i in looks["rule"]], looks


def rule_of(weights: Float[np.ndarray, " stage"]) -> Rule:
    """Modes where they can be told apart, else the cube; of V_s, to any scale.

    Neither, where the equilibrium is not stable, or so nearly neutral that floats cannot tell.
    Where the moduli of the parts sum to less than 1 no eviction ever comes, and the start returns.
    Just above the smallest stable input length modes decay by a millionth in an iteration, and
    there this says so thousands of iterations before the deviation has become small.

    Source: Congestion, equation (9) and Appendix B.6.2.
    """
    multipliers, vectors = np.linalg.eig(_transition(weights))
    largest = np.abs(multipliers).max()
    told_apart = bool(np.linalg.cond(vectors) < _WORST_CONDITION)
    if told_apart and largest < 1.0 - _INSIDE:
        return Rule(Modes(vectors[0][:, None] * np.linalg.inv(vectors), multipliers), None)
    # Where all modes are known, one of them does not decay: no power of Phi is a contraction, or
    # none within the blocks that are looked at.
    return Rule(None, None if told_apart else eviction_free_radius(weights))


def eviction_free_radius(weights: Float[np.ndarray, " stage"]) -> float | None:
    """r such that from |y_s - x*| < r x* for all ages s no eviction comes, and y tends to x*.

    Admission stays positive where the deviation is below x* / K with K = sup over n >= 1 of the sum
    of |entries| of e_0 Phi^n. The rows e_0 Phi^n are computed until d of them in a row, which make
    up a power of Phi, have sums below 1: later ones are not larger than those before, and Phi
    contracts. It is the largest such cube where starts are not asked to lie on the memory boundary.

    Args:
        weights: V_s, to any scale.

    Returns:
        r in (0, 1], or None if no contraction shows: the equilibrium is not stable, or its slowest
        mode needs more iterations than are looked at.
    """
    phi = _transition(weights)
    ages = len(phi)
    rows = np.empty((ages, ages))  # e_0 Phi^n for n = 1 ... d, the latest first
    latest = phi[0]
    for n in range(ages):
        rows[ages - 1 - n] = latest
        latest = latest @ phi
    power = np.linalg.matrix_power(phi, ages)
    largest = 0.0
    for _ in range(_MOST_BLOCKS):
        sums = np.abs(rows).sum(axis=1)
        largest = max(largest, float(sums.max()))
        if sums.max() < 1.0 - _MARGIN:
            return (1.0 - _MARGIN) / max(largest, 1.0)
        if not largest < 1e9:
            return None
        rows = rows @ power
    return None


def _transition(weights: Float[np.ndarray, " stage"]) -> Float[np.ndarray, "stage stage"]:
    """Phi: the youngest cohort makes up for what the memory of the others deviates by."""
    phi = np.eye(weights.size, k=-1)
    phi[0, :-1] = -weights[1:] / weights[0]
    phi[0, -1] = 0.0
    return phi
