"""States from which no eviction can come any more, so that the linear dynamics rule for good.

Near the equilibrium memory never overflows, and the deviation of the cohorts from it moves by the
matrix Phi of Appendix B.6.2. Iteration n then admits x* + e_0 Phi^n (y - x*), and no eviction comes
as long as that is positive. Two ways to know that it stays positive, both in floats and without a
proof about roundings: a sum over modes, which is sharp once the fast modes have died out, and a
cube about the equilibrium.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from fluidkv.fluid.model import cohort_model
from fluidkv.workload import System

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


class Rules(NamedTuple):
    """Rules of many systems, to be asked of many states at once.

    Fields:
        rules: the different ones: systems that differ in capacity alone share one.
        of: which of them is a system's.
        by_modes: of each rule, whether it is the sum over modes.
        limits: of each rule, the radius, or what the sum over modes has to stay below; NaN where no
            state is known to be free of evictions.
        parts: of each rule, a column for the real part of each mode and one for its imaginary
            part; 0 where it is none by modes.
    """

    rules: list[Rule]
    of: Int[np.ndarray, " system"]
    by_modes: Bool[np.ndarray, " rule"]
    limits: Float[np.ndarray, " rule"]
    parts: Float[np.ndarray, "rule stage column"]

    def free_of_evictions(
        self, system: Int[np.ndarray, " row"], deviation: Float[np.ndarray, "row stage"]
    ) -> Bool[np.ndarray, " row"]:
        """Of each state whether no eviction can come any more; a rule that is none never says so.

        Args:
            system: whose state it is.
            deviation: y_s / x* - 1; 0 at stages that the system does not have.
        """
        rule = self.of[system]
        limit = self.limits[rule]
        # The youngest cohort is in the cube, and deviates by the sum of the parts of all modes.
        free = np.abs(deviation[:, 0]) <= limit
        in_cube = np.flatnonzero(free & ~self.by_modes[rule])
        free[in_cube] = np.abs(deviation[in_cube]).max(axis=1, initial=0.0) <= limit[in_cube]
        by_modes = np.flatnonzero(free & self.by_modes[rule])
        parts = _products(deviation[by_modes], rule[by_modes], self.parts)
        real, imaginary = np.split(parts, 2, axis=1)
        free[by_modes] = np.hypot(real, imaginary).sum(axis=1) <= limit[by_modes]
        return free


def rules_of(weights: Float[np.ndarray, "system stage"], radius: float | None = None) -> Rules:
    """The rule of each system, of V_s, 0 beyond its own stages; with a radius it is that for all.

    Systems of equal weights share a rule, which does not depend on capacity.
    """
    if radius is None:
        different, of = np.unique(weights, axis=0, return_inverse=True)
        rules = [rule_of(row[row > 0]) for row in different]
    else:
        rules, of = [Rule(None, float(radius))], np.zeros(len(weights), np.int64)
    stages = weights.shape[1]
    parts = np.zeros((len(rules), stages, 2 * stages))
    limits = np.full(len(rules), np.nan)
    for i, rule in enumerate(rules):
        if rule.modes is not None:
            own, ages = rule.modes.parts.T, len(rule.modes.parts)
            parts[i, :ages, :ages] = np.real(own)
            parts[i, :ages, stages : stages + ages] = np.imag(own)
            limits[i] = _SUM
        elif rule.radius is not None:
            limits[i] = rule.radius
    by_modes = np.array([rule.modes is not None for rule in rules])
    return Rules(rules, of.ravel(), by_modes, limits, parts)


def _products(
    values: Float[np.ndarray, "row stage"],
    which: Int[np.ndarray, " row"],
    matrices: Float[np.ndarray, "matrix stage column"],
) -> Float[np.ndarray, "row column"]:
    """Each row times its matrix: rows of one matrix side by side, so that it is multiplied once."""
    order = np.argsort(which, kind="stable")
    present, first, counts = np.unique(which[order], return_index=True, return_counts=True)
    row = np.arange(which.size) - np.repeat(first, counts)
    place = np.repeat(np.arange(present.size), counts), row
    table = np.zeros((present.size, counts.max(initial=0), values.shape[1]))
    table[place] = values[order]
    products = np.empty((which.size, matrices.shape[2]))
    products[order] = (table @ matrices[present])[place]
    return products


def rule_of(weights: Float[np.ndarray, " stage"]) -> Rule:
    """Modes where they can be told apart, else the cube; of V_s, to any scale.

    Neither, where the equilibrium is not stable, or so nearly neutral that floats cannot tell.
    """
    multipliers, vectors = np.linalg.eig(_transition(weights))
    largest = np.abs(multipliers).max()
    told_apart = bool(np.linalg.cond(vectors) < _WORST_CONDITION)
    if told_apart and largest < 1.0 - _INSIDE:
        return Rule(Modes(vectors[0][:, None] * np.linalg.inv(vectors), multipliers), None)
    # Where all modes are known, one of them does not decay: no power of Phi is a contraction, or
    # none within the blocks that are looked at.
    return Rule(None, None if told_apart else _contraction(weights))


def stable_modes(system: System) -> Modes | None:
    """The modes, where all of them decay and they can be told apart in floats; else None.

    Where the moduli of the parts sum to less than 1 no eviction ever comes, and the start returns.
    Just above the smallest stable input length modes decay by a millionth in an iteration, and
    there this says so thousands of iterations before the deviation has become small.

    Source: Congestion, equation (9) and Appendix B.6.2.
    """
    return rule_of(cohort_model(system).weights[0]).modes


def eviction_free_radius(system: System) -> float | None:
    """r such that from |y_s - x*| < r x* for all ages s no eviction comes, and y tends to x*.

    Admission stays positive where the deviation is below x* / K with K = sup over n >= 1 of the sum
    of |entries| of e_0 Phi^n. The rows e_0 Phi^n are computed until d of them in a row, which make
    up a power of Phi, have sums below 1: later ones are not larger than those before, and Phi
    contracts. It is the largest such cube where starts are not asked to lie on the memory boundary.

    Returns:
        r in (0, 1], or None if no contraction shows: the equilibrium is not stable, or its slowest
        mode needs more iterations than are looked at.
    """
    return _contraction(cohort_model(system).weights[0])


def _contraction(weights: Float[np.ndarray, " stage"]) -> float | None:
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
