"""`fluidkv pulse`: the cycle of synchronized pulses of two lengths with a common divisor."""

from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import LARGEST, KnownMemory
from fluidkv.cli import arguments as read
from fluidkv.cli.options import Json, argument, option
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.report.numbers import counted, exact, percent, short
from fluidkv.report.page import Page

if TYPE_CHECKING:
    from fluidkv.answers.pulse import PulseAnswer
    from fluidkv.exact.mixed.cycles.pulse_stability import PulseStability

LONGEST = 100_000  # decode length; its pulse takes half a second
_TWO = "two different decode lengths, such as 2 4"


def pulse(
    lengths: Annotated[
        list[tuple],
        argument("LENGTH", read.lengths, "Two decode lengths, as 2 4 or 2,4.", most=LONGEST),
    ],
    input_: Annotated[
        int,
        option("--input TOKENS", read.whole_number, "Input length of both.", most=LARGEST),
    ],
    share: Annotated[
        Fraction, option("--share P", read.share, "Share of the first length, such as 1/2 or 0.5.")
    ],
    memory: KnownMemory,
    json_: Json = False,
) -> None:
    """Which cycle do two lengths with a common divisor have, and what does it cost?

    The pulse cycle: all requests admitted in one iteration out of g, those of
    the youngest that outgrow memory evicted in the others. Exact, run once
    round, with its certified local stability.

    [bold]fluidkv pulse 2 4 --input 50 --share 1/2 --capacity 626[/bold]
    """
    pair = [*chain(*lengths)]
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InputError("LENGTH", " ".join(map(str, pair)), _TWO)
    from fluidkv.answers.pulse import pulse_answer
    from fluidkv.exact.mixed.mix import two_lengths

    capacity = memory.tokens()
    mix = two_lengths(pair[0], pair[1], share)
    try:
        with progress("verifying the cycle"):
            answer = pulse_answer(mix, input_, capacity)
    except InputError as error:
        if error.argument == "capacity":
            raise InputError("--capacity", error.value, error.allowed) from None
        raise InputError("LENGTH", " ".join(map(str, pair)), error.allowed) from None
    give(answer.to_dict, lambda page: _say(page, answer), as_json=json_, notes=memory.notes())


def _say(page: Page, answer: "PulseAnswer") -> None:
    cycle = answer.cycle
    one, other = cycle.system.workload.classes
    page.title(
        f"Outputs {one.decode_length} and {other.decode_length}",
        f" (share of {one.decode_length}: {one.share}), input {one.input_length:,}, "
        f"{short(cycle.system.capacity, 6)} KV tokens",
    )
    growing = answer.equilibrium.outside
    modes = "number of growing modes undecided"
    if growing is not None:
        modes = f"x* has {counted(growing, 'growing mode')}"
    page.rows(
        [
            (
                "period",
                f"{cycle.period:,} iterations: 1 admits, {cycle.period - cycle.pulses:,} evict",
            ),
            ("throughput", f"{exact(cycle.throughput)} requests per iteration"),
            ("", f"{percent(cycle.share_of_best)} of x* = {exact(answer.best)}, without eviction"),
            ("admitted", f"{exact(cycle.leading_masses[0])} requests per period"),
            ("evicted", f"{exact(cycle.evicted)} requests per period"),
            ("stability", _stability(answer.stability)),
            ("equilibrium", modes),
            ("verified", "exact" if answer.verified else "not run, too long: closed forms alone"),
        ]
    )


def _stability(found: "PulseStability") -> str:
    if found.multipliers == 0:
        return "stable: all starts near it fall on it"
    modulus = f"largest factor {sum(found.radius) / 2:.5f} per period"
    said = {
        "stable": f"stable: starts near it converge, {modulus}",
        "unstable": f"unstable: starts near it leave, {modulus}",
        "neutral": "neutral: small deviations neither grow nor decay",
        "undecided": f"undecided, {modulus}",
    }
    return said[found.verdict]
