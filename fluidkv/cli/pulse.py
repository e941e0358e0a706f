"""`fluidkv pulse`: the cycle of synchronized pulses of two lengths with a common divisor."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.exact.mixed.cycles.pulse import PulseCycle
    from fluidkv.exact.mixed.cycles.pulse_stability import PulseStability
    from fluidkv.exact.roots.spectrum import UnitCircleCount

LONGEST = 100_000  # decode length; its pulse takes half a second
MOST_VERIFIED = 100_000  # period times decode length: the literal model takes up to 2 seconds
_TWO = "two different decode lengths, such as 2 4"


@dataclass(frozen=True)
class _Answer:
    cycle: "PulseCycle"
    stability: "PulseStability"
    equilibrium: "UnitCircleCount"
    best: Fraction
    verified: bool | None


def pulse(
    lengths: Annotated[list[str], typer.Argument(metavar="LENGTH", help="Two decode lengths.")],
    input_: Annotated[str, typer.Option("--input", metavar="TOKENS", help="Input length of both.")],
    share: Annotated[
        str, typer.Option(metavar="P", help="Share of the first length, such as 1/2 or 0.5.")
    ],
    capacity: Annotated[str, typer.Option(metavar="TOKENS", help="KV capacity.")],
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """Which cycle do two lengths with a common divisor have, and what does it cost?

    The pulse cycle: all requests admitted in one iteration out of g, those of
    the youngest that outgrow memory evicted in the others. Exact, run once
    round, with its certified local stability.

    [bold]fluidkv pulse 2 4 --input 50 --share 1/2 --capacity 626[/bold]
    """
    if len(lengths) != 2:
        raise InputError("LENGTH", " ".join(lengths), _TWO)
    first, second = (
        arguments.whole_number("LENGTH", text, least=1, most=LONGEST) for text in lengths
    )
    if first == second:
        raise InputError("LENGTH", " ".join(lengths), _TWO)
    input_length = arguments.whole_number("--input", input_, least=1, most=arguments.LARGEST_NUMBER)
    allowed = "a share strictly between 0 and 1, such as 1/2 or 0.5"
    portion = arguments.exact_number("--share", share, allowed)
    if not 0 < portion < 1:
        raise InputError("--share", share, allowed)
    answer = _find(first, second, input_length, portion, arguments.capacity(capacity))
    if json_:
        print(json.dumps(_as_dict(answer), indent=2, allow_nan=False))
    else:
        _print(answer, Console(highlight=False))


def _find(first: int, second: int, input_length: int, share: Fraction, tokens: Fraction) -> _Answer:
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle, verify_pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import count_unstable
    from fluidkv.exact.survival import eviction_free_equilibrium
    from fluidkv.workload import System

    mix = two_lengths(first, second, share)
    try:
        system = System(mix.workload(input_length), tokens)
    except InputError as error:
        raise InputError("--capacity", f"{tokens}", error.allowed) from None
    try:
        cycle = pulse_cycle(system)
    except InputError as error:
        raise InputError("LENGTH", f"{first} {second}", error.allowed) from None
    short = cycle.period * mix.ages <= MOST_VERIFIED
    return _Answer(
        cycle,
        pulse_stability(cycle),
        count_unstable(mix.weights(input_length)),
        eviction_free_equilibrium(system).rate,
        verify_pulse_cycle(cycle) if short else None,
    )


def _as_dict(answer: _Answer) -> dict[str, Any]:
    """Plain values for JSON: fractions as text, beside them floats."""
    cycle, classes = answer.cycle, answer.cycle.system.workload.classes
    return {
        "decode_lengths": [c.decode_length for c in classes],
        "shares": [str(c.share) for c in classes],
        "input_length": classes[0].input_length,
        **_number("capacity", cycle.system.capacity),
        "common_divisor": cycle.divisor,
        "period": cycle.period,
        **_number("throughput", cycle.throughput),
        **_number("eviction_free_throughput", answer.best),
        **_number("ratio_to_eviction_free", cycle.share_of_best),
        "evicting_iterations_per_period": cycle.period - cycle.pulses,
        **_number("evicted_per_period", cycle.evicted),
        "leading_masses": [str(y) for y in cycle.leading_masses],
        **_number("settled_mass", cycle.settled_mass),
        "verified": answer.verified,
        "local_stability": answer.stability.verdict,
        "stability": answer.stability.as_dict(),
        "equilibrium_growing_modes": answer.equilibrium.outside,
    }


def _print(answer: _Answer, console: Console) -> None:
    cycle, stability = answer.cycle, answer.stability
    short, long = cycle.system.workload.classes
    console.print(
        f"[bold]Outputs {short.decode_length} and {long.decode_length}[/bold] "
        f"(share of {short.decode_length}: {short.share}), input {short.input_length:,}, "
        f"{float(cycle.system.capacity):,g} KV tokens",
        soft_wrap=True,
    )
    evicting = cycle.period - cycle.pulses
    rows = [
        ("period", f"{cycle.period:,} iterations: 1 admits, {evicting:,} evict"),
        ("throughput", f"{_shown(cycle.throughput)} requests an iteration"),
        ("", f"{float(cycle.share_of_best):.1%} of x* = {_shown(answer.best)}, without eviction"),
        ("admitted", f"{_shown(cycle.leading_masses[0])} requests a period"),
        ("evicted", f"{_shown(cycle.evicted)} requests a period"),
        ("stability", _stability(stability)),
        ("equilibrium", _equilibrium(answer.equilibrium.outside)),
        ("verified", "exact" if answer.verified else "not run, too long: closed forms alone"),
    ]
    if answer.verified is False:
        raise ArithmeticError("the closed form is not a cycle of the literal model")
    for name, text in rows:
        console.print(f"{name:<13}{text}", soft_wrap=True)


def _stability(found: "PulseStability") -> str:
    if found.multipliers == 0:
        return "stable: all starts near it fall on it"
    modulus = f"largest factor {sum(found.radius) / 2:.5f} a period"
    said = {
        "stable": f"stable: starts near it converge, {modulus}",
        "unstable": f"unstable: starts near it leave, {modulus}",
        "neutral": "neutral: small deviations neither grow nor decay",
        "undecided": f"undecided, {modulus}",
    }
    return said[found.verdict]


def _equilibrium(growing: int | None) -> str:
    if growing is None:
        return "number of growing modes undecided"
    return f"x* has {growing:,} growing mode{'' if growing == 1 else 's'}"


def _shown(value: Fraction) -> str:
    exact = str(value)
    return f"{float(value):,.6g}" + (f" ({exact})" if "/" in exact and len(exact) < 16 else "")


def _number(name: str, value: Fraction) -> dict[str, str | float]:
    return {name: str(value), f"{name}_float": float(value)}
