"""Systems of WAIT: random rational ones, and the paper's instances."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

from fluidkv import wait
from fluidkv.ledger import Range

TWO_TYPES = {"equality": (2, 2), "slack in one": (2, 1), "slack": (1, 1)}
"""Which types have slack below n = 2, 2 -> their rates."""


def random_systems() -> "Iterator[wait.WaitSystem]":
    """200 systems of small lengths and rates, scaled to a random load below 1."""
    draw = Random(1)
    pairs = [(length, output) for length in range(1, 6) for output in range(1, 6)]
    for _ in range(200):
        lengths = draw.sample(pairs, draw.randint(1, 4))
        types = [wait.PromptType(_rational(draw), *pair) for pair in lengths]
        system = wait.WaitSystem(types, _rational(draw), _rational(draw))
        load = Fraction(draw.randint(1, 19), 20)
        yield system.scaled(load / system.load)


RANDOM = Range(
    "200 random rational systems of 1 to 4 types (seed 1), loads below 1", random_systems
)


def one_input() -> "Iterator[wait.WaitSystem]":
    """The random systems at load 1/2, inputs set to 3, outputs that then agree put together."""
    for system in random_systems():
        rates: dict[int, Fraction] = {}
        for each in system.types:
            before = rates.get(each.output_length, Fraction(0))
            rates[each.output_length] = before + each.arrival_rate
        types = [wait.PromptType(rate, 3, output) for output, rate in sorted(rates.items())]
        merged = wait.WaitSystem(types, system.base, system.per_kv_token)
        yield merged.scaled(Fraction(1, 2) / merged.load)


def hello(
    rate: Fraction | int = 4,
    *,
    base: Fraction = Fraction(1, 2),
    per_kv_token: Fraction = Fraction(1, 24),
) -> "wait.WaitSystem":
    """Examples 1 and 2: l = l' = 1; by default four come in an iteration of the equilibrium."""
    return wait.WaitSystem((wait.PromptType(rate, 1, 1),), base, per_kv_token)


def proposition_3(base: Fraction = Fraction(1, 2)) -> "wait.WaitSystem":
    """Its two types, l = 1 and l' = 1, 2, at equal rates that make n* = 1, 1 and tau* = 1.

    tau* = d0 + 9 d1 = 1 for any d0 in (0, 1]: the paper gives no clock.
    """
    types = (wait.PromptType(1, 1, 1), wait.PromptType(1, 1, 2))
    return wait.WaitSystem(types, base, (1 - base) / 9)


def two_types(case: str) -> "wait.WaitSystem":
    """l = 1, l' = 1 and 2, d0 = 1/2; Delta T = 1 at n = 2, 2 whatever the rates."""
    rates = TWO_TYPES[case]
    types = [wait.PromptType(rate, 1, output) for rate, output in zip(rates, (1, 2), strict=True)]
    return wait.WaitSystem(types, Fraction(1, 2), Fraction(1, 36))


def _rational(draw: Random) -> Fraction:
    return Fraction(draw.randint(1, 30), draw.randint(1, 30))
