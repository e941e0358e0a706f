"""Pulse cycles of a mixed workload: every balanced cycle, in exact rationals.

When all decode lengths share a divisor g > 1, requests only ever leave g, 2g, 3g ... iterations
after they came. So time splits into g *positions*, the iterations modulo g: what a position
releases, it admits again, and a position without mass stays without. That is the picture of one
class of requests with g stages, and it has the same cycles: for every vector of gaps between live
positions around the circle of g, one balanced cycle. On it a position with gap u holds, once it is
no longer the youngest,

    c u  units of admission at each of its ages,    c = M / sum over positions h of u_h W(S_h - 1),
    W(s) = V_s + V_{s+g} + V_{s+2g} + ...,           S_h = u_0 + ... + u_h,

and the youngest position holds whatever fills memory, trimmed by eviction as all requests grow. c
is the throughput. One gap of g is the paper's pulse cycle, gaps of 1 are the eviction-free
equilibrium.

**Further than the paper.** Proposition 31 has two classes with a common input, and one pulse. Its
proof needs no more than this: between two multiples of g no class ends, so V_{s+1} > V_s there and
memory overflows by less than the youngest position holds; and at a multiple of g the youngest has
shrunk to c u, as all others. Both hold for any number of classes and any inputs. W is affine, so
the sum in c does not depend on which position is counted from. `verify_pulse_cycle` runs the
literal model once round, and tests run it on generated mixes.

Source: Congestion, Propositions 31 and 8; the rest is derived here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from fluidkv.errors import InputError
from fluidkv.exact.mass import iterate
from fluidkv.exact.mixed.cycles.orbits import CohortMap, Cohorts
from fluidkv.exact.one_class.gaps import Gaps, canonical_gaps, checked_gaps, rotational_order
from fluidkv.exact.survival import SurvivalWeights, eviction_free_equilibrium, survival_weights
from fluidkv.record import Record
from fluidkv.workload import System


@dataclass(frozen=True)
class PulseCycle(Record):
    """A balanced cycle of a system whose decode lengths share a divisor.

    Fields:
        system: what it is a cycle of.
        gaps: between live positions, in canonical rotation; (g,) is the paper's pulse cycle.
        throughput: c, requests completed an iteration.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> cycle.common_divisor, cycle.generations, cycle.period, str(cycle.evicted)
        (2, 2, 2, '36/11')
        >>> [[str(y) for y in state] for state in cycle.states]
        [['84/11', '0', '48/11', '0'], ['0', '48/11', '0', '48/11']]
    """

    system: System
    gaps: Gaps
    throughput: Fraction

    @property
    def common_divisor(self) -> int:
        """g, the greatest common divisor of the decode lengths."""
        return sum(self.gaps)

    @property
    def generations(self) -> int:
        """h = d / g: ages that a live position occupies."""
        return self.system.workload.longest_decode // self.common_divisor

    @property
    def period(self) -> int:
        """Smallest number of iterations after which a state returns: g over the symmetry."""
        return self.common_divisor // rotational_order(self.gaps)

    @property
    def pulses(self) -> int:
        """Iterations of one period that admit; in all others eviction trims the youngest."""
        return len(self.gaps) // rotational_order(self.gaps)

    @property
    def name(self) -> str:
        """ "pulse cycle", "eviction-free equilibrium", or "balanced cycle (3,1)"."""
        if len(self.gaps) == 1:
            return "pulse cycle"
        if self.gaps[0] == 1:
            return "eviction-free equilibrium"
        return f"balanced cycle ({','.join(map(str, self.gaps))})"

    @property
    def settled_mass(self) -> Fraction:
        """beta of the pulse cycle: what the position with the first gap holds at each older age."""
        return self.throughput * self.gaps[0]

    @cached_property
    def leading_masses(self) -> tuple[Fraction, ...]:
        """alpha_0, alpha_1, ...: the youngest cohort at each iteration of one period.

        It fills memory: V_r alpha_r = M - c u (W(r) - V_r) - sum over the positions t iterations
        ahead, with gaps u', of c u' W(r + t).
        """
        weights, columns = CohortMap(self.system).weights, residue_memory(self.system)
        masses = []
        for first, ahead in self._blocks():
            for r in range(first):
                held = first * (columns[r] - weights[r])
                held += sum((u * columns[r + t] for t, u in ahead), Fraction(0))
                masses.append((self.system.capacity - self.throughput * held) / weights[r])
        return tuple(masses)

    @cached_property
    def evicted(self) -> Fraction:
        """Requests evicted in one period: what each youngest cohort loses until the next comes."""
        lost, start = Fraction(0), 0
        for first, _ in self._blocks():
            lost += self.leading_masses[start] - self.leading_masses[start + first - 1]
            start += first
        return lost

    @property
    def share_of_best(self) -> Fraction:
        """Throughput over x*, that of the eviction-free equilibrium."""
        return self.throughput / eviction_free_equilibrium(self.system).rate

    @cached_property
    def states(self) -> tuple[Cohorts, ...]:
        """Cohorts at each iteration of one period, Z^(0) first: the first gap has just admitted."""
        g, d = self.common_divisor, self.system.workload.longest_decode
        leading = iter(self.leading_masses)
        states = []
        for first, ahead in self._blocks():
            for r in range(first):
                state = [Fraction(0)] * d
                for distance, gap in [(0, first), *ahead]:
                    for age in range(r + distance, d, g):
                        state[age] = self.throughput * gap
                state[r] = next(leading)
                states.append(tuple(state))
        return tuple(states)

    def _blocks(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """For each pulse, the gap of the position that leads, and (distance, gap) of the others.

        The oldest position completes and leads next, so leaders come in the order 0, m-1, m-2, ...
        """
        for turn in range(self.pulses):
            leader = -turn % len(self.gaps)
            first, *others = self.gaps[leader:] + self.gaps[:leader]
            yield first, list(zip(accumulate(others), others, strict=True))


def pulse_cycle(system: System, gaps: Sequence[int] | None = None) -> PulseCycle:
    """The pulse cycle, or the balanced cycle with these gaps.

    Args:
        system: any number of classes, any inputs; decode lengths with a common divisor g > 1.
        gaps: positive integers with sum g, in any rotation; (g,) if left out.

    Raises:
        InputError: no system, decode lengths without a common divisor, or gaps that do not sum
            to it.

    Source: Congestion, Proposition 31 (two classes, common input, one gap); else see above.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> cycle.name, str(cycle.throughput), str(cycle.share_of_best)
        ('pulse cycle', '24/11', '19/22')
    """
    g = system.workload.decode_gcd
    if g == 1:
        lengths = sorted({c.decode_length for c in system.workload.classes})
        allowed = "lengths with a common divisor above 1; coprime ones have no pulse cycle"
        raise InputError("decode_lengths", lengths, allowed)
    chosen = canonical_gaps(_checked((g,) if gaps is None else gaps, g))
    columns = residue_memory(system)
    ends = accumulate(chosen)
    held = sum((u * columns[end - 1] for u, end in zip(chosen, ends, strict=True)), Fraction(0))
    return PulseCycle(system, chosen, system.capacity / held)


def residue_memory(system: System) -> tuple[Fraction, ...]:
    """W(s) = sum of V_{s+mg} over m, s = 0 ... g-1: tokens of one request at each of these ages."""
    found, g = survival_weights(system.workload), system.workload.decode_gcd
    return tuple(Fraction(sum(found.memory[s::g]), found.denominator) for s in range(g))


def compressed_weights(system: System) -> SurvivalWeights:
    """W_m = V_{g-1+mg} and the survival there: the weights of the compressed polynomial (35).

    They are g times those of the mix with decode lengths l1_k / g and inputs l0_k / g.

    Source: Congestion, Proposition 32.

    Examples:
        >>> from fluidkv.exact.mixed.cycles.pulse import compressed_weights
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> compressed_weights(system).memory
        (6, 5)
    """
    found, g = survival_weights(system.workload), system.workload.decode_gcd
    return SurvivalWeights(found.memory[g - 1 :: g], found.requests[g - 1 :: g], found.denominator)


def verify_pulse_cycle(cycle: PulseCycle) -> bool:
    """Run the literal model once round, class by class, and compare with all that the record says.

    True if each state leads to the next and the last to the first, none comes twice, the first gap
    less one of each block evict and all else admits, and completions and evictions add up.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.exact.mixed.cycles.pulse import verify_pulse_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(1, 2), (1, 4)]), capacity=24)
        >>> cycle = fk.pulse_cycle(system)
        >>> wrong = replace(cycle, throughput=Fraction(3))
        >>> verify_pulse_cycle(cycle), verify_pulse_cycle(wrong)
        (True, False)
    """
    dynamics = CohortMap(cycle.system)
    states = cycle.states
    completed = evicted = Fraction(0)
    admitting = 0
    for state, following in zip(states, [*states[1:], states[0]], strict=True):
        step = iterate(cycle.system, dynamics.masses(state))
        if step.state != dynamics.masses(following):
            return False
        completed += sum(step.completed)
        evicted += sum((sum(row, Fraction(0)) for row in step.evicted), Fraction(0))
        admitting += sum(step.admitted) > 0
    return (
        len(set(states)) == cycle.period
        and admitting == cycle.pulses
        and completed == cycle.throughput * cycle.period
        and evicted == cycle.evicted
    )


def _checked(gaps: Sequence[int], g: int) -> Gaps:
    checked = checked_gaps(gaps)
    if sum(checked) != g:
        raise InputError("gaps", checked, f"positive integers that sum to {g}, the common divisor")
    return checked
