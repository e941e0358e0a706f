"""The best and the worst that a saturated server does, in l0, l1 and M.

Both follow here from the memory that requests hold, summed over stages by sympy.

Source: Congestion, equations (4), (8) and (27), section 3.2.
"""

from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr

from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.symbolic.formulas import Formulas
from fluidkv.symbolic.symbols import CAPACITY, DECODE_LENGTH, INPUT_LENGTH, coefficients
from fluidkv.workload import Workload


@dataclass(frozen=True)
class Equilibrium(Formulas):
    """The eviction-free fixed point; `fluidkv.exact.survival.Equilibrium` has it in numbers.

    Fields:
        rate: x*, requests admitted and completed an iteration.
        in_flight: requests running.

    Examples:
        >>> from fluidkv.symbolic import equilibrium
        >>> equilibrium()._repr_latex_()
        '$\\\\displaystyle \\\\begin{aligned}x^* &= \\\\frac{2 M}{l_{1} \\\\left(2 l_{0} + ...
    """

    rate: Expr = field(metadata={"latex": "x^*"})
    in_flight: Expr = field(metadata={"latex": r"x^* \bar{l}_1"})


@dataclass(frozen=True)
class WorstCycle(Formulas):
    """The maximal-eviction cycle: one stage holds all memory, and is trimmed as its requests grow.

    Fields:
        masses: requests at the occupied stage j, by its symbol.
        throughput: completions an iteration, M / (l1 (l0 + l1)).
        share_of_best: throughput over that of the fixed point.
        wasted_share: memory-time of evicted requests over all memory-time, E / (p M).

    Examples:
        >>> from fluidkv.symbolic import worst_cycle
        >>> worst_cycle().masses, worst_cycle().throughput
        (M/(j + l0 + 1), M/(l1*(l0 + l1)))
    """

    masses: Expr = field(metadata={"latex": "x_j"})
    throughput: Expr = field(metadata={"latex": r"\bar{T}"})
    share_of_best: Expr = field(metadata={"latex": r"\bar{T} / x^*"})
    wasted_share: Expr = field(metadata={"latex": "E / (p M)"})


def equilibrium(
    mix: LengthMix | Workload | None = None, *, shares: bool = False, ratios: bool = False
) -> Equilibrium:
    """The eviction-free equilibrium: of one class in l0, l1 and M, of a mix in l0 and M.

    Args:
        mix: decode lengths and shares; a workload has its inputs, so M is left. None: one class.
        shares, ratios: as in `characteristic_polynomial`.

    Source: Congestion, equations (4) and (8).

    Examples:
        >>> from fluidkv.symbolic import equilibrium
        >>> equilibrium().rate
        2*M/(l1*(2*l0 + l1 + 1))
        >>> equilibrium(fk.LengthMix((2, 3), [Fraction(1, 2)])).rate
        2*M/(5*l0 + 9)
    """
    stage = sympy.Symbol("j", integer=True, nonnegative=True)
    if mix is None:
        held = sympy.summation(INPUT_LENGTH + 1 + stage, (stage, 0, DECODE_LENGTH - 1))
        lifetime: Expr = DECODE_LENGTH
    else:
        made = coefficients(mix, shares=shares, ratios=ratios)
        held = sympy.Add(*made.memory)
        lifetime = sympy.Add(*(g / (1 + s) for s, g in enumerate(made.growth)))
    rate: Any = sympy.factor(CAPACITY / held)
    in_flight: Any = sympy.factor(rate * lifetime)
    return Equilibrium(rate, in_flight)


def worst_cycle() -> WorstCycle:
    """The maximal-eviction cycle of one class, in l0, l1 and M.

    Source: Congestion, section 3.2, Lemma 1 and the waste decomposition (27), by which the share
    that is not wasted is that of the throughput.

    Examples:
        >>> from fluidkv.symbolic import worst_cycle
        >>> worst_cycle().share_of_best, worst_cycle().wasted_share
        ((2*l0 + l1 + 1)/(2*(l0 + l1)), (l1 - 1)/(2*(l0 + l1)))
    """
    stage = sympy.Symbol("j", integer=True, nonnegative=True)
    masses = CAPACITY / (INPUT_LENGTH + 1 + stage)
    throughput = masses.subs(stage, DECODE_LENGTH - 1) / DECODE_LENGTH  # one batch in l1 iterations
    share: Any = sympy.factor(throughput / equilibrium().rate)
    wasted: Any = sympy.factor(1 - share)
    return WorstCycle(masses, throughput, share, wasted)
