"""Survival weights of a workload, and the eviction-free equilibrium that they give.

A unit of admission, `s` iterations later, has kept the classes with decode length above `s`. It
then holds a fraction alpha_s of its requests and V_s tokens:

    alpha_s = sum of p_k over classes with l1_k > s
    V_s     = sum of p_k (l0_k + 1 + s) over the same classes,   s = 0 ... d-1

Everything about the eviction-free equilibrium and its linear stability follows from V and alpha,
for one class as for the thousands of classes of an empirical trace.

Source: Congestion, equations (8) to (10) and Appendix B.8.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from fluidkv.record import Record
from fluidkv.workload import System, Workload


@dataclass(frozen=True)
class SurvivalWeights(Record):
    """V and alpha over one common denominator, so that all arithmetic on them is on integers.

    Fields, each of length d and indexed by cohort age s = 0 ... d-1:
        memory: V_s times `denominator`, tokens per admitted request.
        requests: alpha_s times `denominator`, requests per admitted request.

    Examples:
        >>> weights = fk.survival_weights(fk.Workload.from_lengths([(2, 2), (2, 3)]))
        >>> weights.memory, weights.requests, weights.denominator
        ((6, 8, 5), (2, 2, 1), 2)
        >>> str(weights.lifetime_memory), str(weights.mean_lifetime)
        ('19/2', '5/2')
    """

    memory: tuple[int, ...]
    requests: tuple[int, ...]
    denominator: int

    @property
    def ages(self) -> int:
        """d, the longest decode length."""
        return len(self.memory)

    @cached_property
    def lifetime_memory(self) -> Fraction:
        """Sum of V_s = sum of p_k C_k: token-iterations that one admitted request takes."""
        return Fraction(sum(self.memory), self.denominator)

    @cached_property
    def mean_lifetime(self) -> Fraction:
        """Sum of alpha_s = mean decode length, iterations."""
        return Fraction(sum(self.requests), self.denominator)


@dataclass(frozen=True)
class Equilibrium(Record):
    """The eviction-free fixed point of a saturated system, exact.

    Fields:
        rate: x*, requests admitted and completed an iteration (Congestion, equation (8)).
        in_flight: requests running, x* times the mean decode length.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(500, 200)]), capacity=1_000_000)
        >>> found = fk.eviction_free_equilibrium(system)
        >>> round(float(found.rate), 3), round(float(found.in_flight), 1)
        (8.326, 1665.3)
    """

    rate: Fraction
    in_flight: Fraction


def survival_weights(workload: Workload, *, input_scale: Fraction = Fraction(1)) -> SurvivalWeights:
    """V_s and alpha_s of a workload, exact, in O(classes + longest decode length).

    Args:
        workload: any number of classes.
        input_scale: multiplies every input length in V; the products need not be whole.

    Examples:
        >>> workload = fk.Workload.from_lengths([(2, 3)])
        >>> fk.survival_weights(workload).memory
        (3, 4, 5)
        >>> fk.survival_weights(workload, input_scale=Fraction(10)).memory
        (21, 22, 23)
    """
    d = workload.longest_decode
    shares = math.lcm(*(c.share.denominator for c in workload.classes))
    ending = [0] * (d + 1)  # share of requests with decode length exactly l1
    ending_input = [0] * (d + 1)  # the same, weighted by input length
    for c in workload.classes:
        units = c.share.numerator * (shares // c.share.denominator)
        ending[c.decode_length] += units * input_scale.denominator
        ending_input[c.decode_length] += units * c.input_length * input_scale.numerator
    # Suffix sums turn "decode length exactly s + 1, s + 2, ..." into "alive at age s".
    alive = list(accumulate(reversed(ending[1:])))[::-1]
    alive_input = list(accumulate(reversed(ending_input[1:])))[::-1]
    memory = [i + (1 + s) * a for s, (i, a) in enumerate(zip(alive_input, alive, strict=True))]
    return SurvivalWeights(tuple(memory), tuple(alive), shares * input_scale.denominator)


def eviction_free_equilibrium(system: System) -> Equilibrium:
    """x* = M / sum(V) and the requests in flight there, in O(classes), however long outputs are.

    Source: Congestion, equation (8); equation (4) is the case of one class.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = fk.eviction_free_equilibrium(system)
        >>> str(found.rate), str(found.in_flight)
        ('2', '6')
    """
    workload = system.workload
    # Of one request l0 + 1, l0 + 2, ..., l0 + l1 tokens: one term after each iteration.
    held = [
        c.decode_length * (2 * c.input_length + c.decode_length + 1) // 2 for c in workload.classes
    ]
    rate = system.capacity / workload.mean(held)
    return Equilibrium(rate=rate, in_flight=rate * workload.mean_decode_length)
