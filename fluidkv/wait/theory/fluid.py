"""The balanced state: arrivals match completions, every stage holds the same number of a type.

Source: WAIT, section 3 (equations 4 to 10, Propositions 1 and 2), with w = d1 c + d2 l for d1 c.
"""

from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import WaitSystem, shown


@dataclass(frozen=True)
class FluidEquilibrium(Record):
    """What a server does in balance; exact.

    Fields:
        iteration_time: tau* = d0 / (1 - rho).
        per_stage: n*_j = lambda_j tau*, prompts of each type at every stage, in the order of types.
        memory: M* = sum of n*_j c_j, tokens.
        throughput: sum of lambda_j l'_j, output tokens per unit of time: above it no policy comes
            in the long run (Proposition 2).

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, fluid_equilibrium
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> found = fluid_equilibrium(system)
        >>> [str(value) for value in (found.per_stage[0], found.memory, found.throughput)]
        ['2', '10', '1']
    """

    iteration_time: Fraction
    per_stage: tuple[Fraction, ...]
    memory: Fraction
    throughput: Fraction


def fluid_equilibrium(system: WaitSystem) -> FluidEquilibrium:
    """The equilibrium of a load that can be served.

    Raises:
        InputError: rho = sum of lambda w is 1 or more, where no policy is stable
            (Proposition 1); the message says by how much.

    Source: WAIT, equations (5), (6), (8) to (10).

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, fluid_equilibrium
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> fluid_equilibrium(system).iteration_time  # the load is 1/2: twice the base
        Fraction(2, 1)
        >>> fluid_equilibrium(system.scaled(2))
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: arrival_rate: got '2 prompts per unit of time'; allowed: ...
    """
    require_stable(system)
    time = system.base / (1 - system.load)
    return FluidEquilibrium(
        iteration_time=time,
        per_stage=tuple(each.arrival_rate * time for each in system.types),
        memory=system.token_rate * time,
        throughput=sum(
            (each.arrival_rate * each.output_length for each in system.types), Fraction(0)
        ),
    )


def require_stable(system: WaitSystem) -> None:
    """Refuse a load that no policy can serve.

    Raises:
        InputError: as `fluid_equilibrium`.
    """
    if system.load >= 1:
        raise InputError(
            "arrival_rate",
            f"{shown(system.arrival_rate)} prompts per unit of time",
            f"below {shown(system.arrival_rate / system.load)} with these lengths and "
            f"{_clock(system)} is {shown(system.load)} and must be below 1",
        )


def _clock(system: WaitSystem) -> str:
    if system.per_prefill_token:
        return "d1, d2: the load sum(rate (d1 c + d2 l))"
    return "d1: the load d1 sum(rate c)"
