"""What moves the equilibrium, and how much: exact partial derivatives and elasticities.

Everything in balance follows from K = sum of lambda_j c_j and P = sum of lambda_j l_j, since
rho = d1 K + d2 P:

    tau* = d0 / (1 - rho),   M* = K tau*,   n*_j = lambda_j tau*,   throughput* = sum lambda_j l'_j.

Lengths are taken as real numbers in c = (l' + 1)(l + l'/2), so that one token more is a derivative
and not a difference. Near the limit of load all but the throughput grow like 1 / (1 - rho), and
their elasticities with it.

Source: the derivatives are ours, of WAIT, equations (5) to (10).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, WaitSystem, count
from fluidkv.wait.theory.fluid import FluidEquilibrium, fluid_equilibrium

Parameter = Literal[
    "arrival_rate",
    "input_length",
    "output_length",
    "base",
    "per_kv_token",
    "per_prefill_token",
]
Quantity = Literal["iteration_time", "memory", "throughput"]


@dataclass(frozen=True)
class Effect(Record):
    """How one quantity answers to one parameter, the others held; exact.

    Fields:
        derivative: in the quantity's unit for each unit of the parameter.
        elasticity: percent of the quantity for each percent of the parameter.
    """

    derivative: Fraction
    elasticity: Fraction


@dataclass(frozen=True)
class Sensitivity(Record):
    """What one parameter does.

    Fields:
        parameter: its name, as in `PromptType` and `WaitSystem`.
        type_index: whose it is, from 0 in the order of types; None: the clock's.
        value: where it stands.
        iteration_time, memory, throughput: its effects on tau*, M* and throughput*.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.sensitivity import sensitivity
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> row = sensitivity(system).rows[0]
        >>> row.parameter, row.memory.elasticity  # 1 percent more prompts hold 2 percent more
        ('arrival_rate', Fraction(2, 1))
    """

    parameter: Parameter
    type_index: int | None
    value: Fraction
    iteration_time: Effect
    memory: Effect
    throughput: Effect


@dataclass(frozen=True)
class Sensitivities(Record):
    """What every parameter does, at one equilibrium.

    Fields:
        system, equilibrium: where.
        rows: rate, input and output of each type, in the order of types; then d0, d1 and, where it
            is not 0, d2.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.sensitivity import sensitivity
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> found = sensitivity(system)
        >>> [row.parameter for row in found.by_elasticity("memory")]
        ['arrival_rate', 'input_length', 'output_length', 'base', 'per_kv_token']
    """

    system: WaitSystem
    equilibrium: FluidEquilibrium
    rows: tuple[Sensitivity, ...]

    def by_elasticity(self, quantity: Quantity) -> tuple[Sensitivity, ...]:
        """The rows, what moves `quantity` most first; equals stay in order.

        Raises:
            InputError: a quantity of another name.
        """
        names = ("iteration_time", "memory", "throughput")
        if quantity not in names:
            raise InputError("quantity", quantity, f"one of {', '.join(names)}")
        return tuple(sorted(self.rows, key=lambda row: -abs(getattr(row, quantity).elasticity)))

    def per_stage(self, type_index: int) -> tuple[Effect, ...]:
        """The effects on n*_j = lambda_j tau* of one type, in the order of `rows`.

        Args:
            type_index: the type, from 0.

        Raises:
            InputError: no such type.
        """
        place = count("type_index", type_index, least=0)
        if place >= len(self.system.types):
            raise InputError("type_index", place, f"at most {len(self.system.types) - 1}")
        rate, time = self.system.types[place].arrival_rate, self.equilibrium.iteration_time
        effects = []
        for row in self.rows:
            slope = rate * row.iteration_time.derivative
            if row.parameter == "arrival_rate" and row.type_index == place:
                slope += time
            effects.append(_effect(slope, row.value, rate * time))
        return tuple(effects)


def sensitivity(system: WaitSystem) -> Sensitivities:
    """Every partial derivative and elasticity of tau*, M*, n* and throughput*.

    Raises:
        InputError: a load of 1 or more.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.sensitivity import sensitivity
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> rows = sensitivity(system).rows
        >>> {row.parameter: str(row.memory.elasticity) for row in rows[:3]}
        {'arrival_rate': '2', 'input_length': '8/5', 'output_length': '7/5'}
    """
    at = fluid_equilibrium(system)
    tokens, time = system.token_rate, at.iteration_time
    d1, d2 = system.per_kv_token, system.per_prefill_token
    stretch = time / system.base  # 1 / (1 - rho)
    rows: list[Sensitivity] = []

    def add(
        parameter: Parameter,
        place: int | None,
        value: Fraction | int,
        slopes: tuple[Fraction, Fraction, Fraction | int],
    ) -> None:
        now = (at.iteration_time, at.memory, at.throughput)
        effects = (_effect(s, value, q) for s, q in zip(slopes, now, strict=True))
        rows.append(Sensitivity(parameter, place, Fraction(value), *effects))

    by_load = time * stretch  # d tau* / d rho = d0 / (1 - rho)^2; and M* = K tau*
    for place, each in enumerate(system.types):
        rate, length, output = each.arrival_rate, each.input_length, each.output_length
        more: tuple[tuple[Parameter, Exact, Exact, Exact, Exact], ...] = (
            ("arrival_rate", rate, each.lifetime_cost, length, output),
            ("input_length", length, rate * each.stages, rate, 0),
            ("output_length", output, rate * (length + output + Fraction(1, 2)), 0, rate),
        )
        for parameter, value, held, prefilled, throughput in more:
            longer = by_load * (d1 * held + d2 * prefilled)
            add(parameter, place, value, (longer, held * time + tokens * longer, throughput))
    add("base", None, system.base, (stretch, tokens * stretch, 0))
    by_d1, by_d2 = tokens * by_load, system.prefill_rate * by_load
    add("per_kv_token", None, d1, (by_d1, tokens * by_d1, 0))
    if d2:
        add("per_prefill_token", None, d2, (by_d2, tokens * by_d2, 0))
    return Sensitivities(system, at, tuple(rows))


def _effect(slope: Fraction | int, value: Fraction | int, quantity: Fraction) -> Effect:
    return Effect(Fraction(slope), slope * value / quantity)
