"""The cycle of synchronized pulses of two lengths with a common divisor, and all about it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fluidkv.errors import InputError
from fluidkv.exact.mixed.cycles.pulse import PulseCycle, pulse_cycle, verify_pulse_cycle
from fluidkv.exact.mixed.cycles.pulse_stability import PulseStability, pulse_stability
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.roots.spectrum import UnitCircleCount, count_unstable
from fluidkv.exact.survival import eviction_free_equilibrium
from fluidkv.plain import with_exact, with_exact_list
from fluidkv.record import Record
from fluidkv.workload import System

_MOST_VERIFIED = 100_000  # period times decode length: the literal model takes up to 2 seconds


@dataclass(frozen=True)
class PulseAnswer(Record):
    """What `fluidkv pulse` reports.

    Fields:
        cycle: in closed form.
        stability: of the cycle, near it.
        equilibrium: how many modes grow at the eviction-free equilibrium.
        best: its throughput, completions per iteration.
        verified: that the literal model goes once round the cycle; None: too long to run.

    Examples:
        >>> from fluidkv.answers import pulse_answer
        >>> half = Fraction(1, 2)
        >>> answer = pulse_answer(fk.LengthMix([2, 4], [half, half]), input_length=1, capacity=10)
        >>> answer.cycle.period, str(answer.cycle.throughput), str(answer.best), answer.verified
        (2, '10/11', '20/19', True)
        >>> answer.stability.verdict
        'stable'
    """

    cycle: PulseCycle
    stability: PulseStability
    equilibrium: UnitCircleCount
    best: Fraction
    verified: bool | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and exact ones beside them."""
        cycle, classes = self.cycle, self.cycle.system.workload.classes
        return {
            "decode_lengths": [c.decode_length for c in classes],
            **with_exact_list("shares", (c.share for c in classes)),
            "input_length": classes[0].input_length,
            **with_exact("capacity", cycle.system.capacity),
            "common_divisor": cycle.common_divisor,
            "period": cycle.period,
            **with_exact("throughput", cycle.throughput),
            **with_exact("best", self.best),
            **with_exact("share_of_best", cycle.share_of_best),
            "evicting_iterations_per_period": cycle.period - cycle.pulses,
            **with_exact("evicted", cycle.evicted),
            **with_exact_list("leading_masses", cycle.leading_masses),
            **with_exact("settled_mass", cycle.settled_mass),
            "verified": self.verified,
            "stability": self.stability.to_dict(),
            "equilibrium_growing_modes": self.equilibrium.outside,
        }


def pulse_answer(mix: LengthMix, input_length: int, capacity: Fraction | int) -> PulseAnswer:
    """The pulse cycle of a mix at one input length and capacity.

    Raises:
        InputError: a capacity that does not hold the largest request; lengths without a common
            divisor.
        ArithmeticError: the closed form is not a cycle of the literal model.

    Examples:
        >>> from fluidkv.answers import pulse_answer
        >>> half = Fraction(1, 2)
        >>> answer = pulse_answer(fk.LengthMix([4, 6], [half, half]), input_length=2, capacity=20)
        >>> answer.to_dict()["common_divisor"], answer.to_dict()["evicted"]
        (2, 1.1904761904761905)
    """
    try:
        system = System(mix.workload(input_length), capacity)
    except InputError as error:
        raise InputError("capacity", f"{capacity}", error.allowed) from None
    cycle = pulse_cycle(system)
    verified = verify_pulse_cycle(cycle) if cycle.period * mix.ages <= _MOST_VERIFIED else None
    if verified is False:
        raise ArithmeticError("the closed form is not a cycle of the literal model")
    return PulseAnswer(
        cycle,
        pulse_stability(cycle),
        count_unstable(mix.weights(input_length)),
        eviction_free_equilibrium(system).rate,
        verified,
    )
