"""`fluidkv pulse`: the cycle of synchronized pulses of two lengths with a common divisor."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import (
    CAPACITY_ALONE,
    KV_BYTES,
    LARGEST,
    MODEL,
    Amount,
    converted_rows,
    tokens,
)
from fluidkv.errors import InputError
from fluidkv.keys import Key, Keyed
from fluidkv.questions.kinds import SHARE, Several, Whole
from fluidkv.questions.options import Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted, exact, percent, short
from fluidkv.report.page import Page
from fluidkv.workload import RequestClass, System

if TYPE_CHECKING:
    from fluidkv.exact.mixed.cycles.pulse import PulseCycle
    from fluidkv.exact.mixed.cycles.pulse_stability import PulseStability
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.roots.spectrum import UnitCircleCount

_LENGTHS = Option(
    "LENGTH",
    Several(Whole(1, 100_000)),  # the pulse of the longest takes half a second
    "Two decode lengths, as 2 4 or 2,4.",
    many=True,
    json_key="lengths",
)
_INPUT = Option("--input TOKENS", Whole(1, LARGEST), "Input length of both.", None)
_SHARE = Option("--share P", SHARE, "Share of the first length, such as 1/2 or 0.5.", None)
_MOST_VERIFIED = 100_000  # period times decode length: the literal model takes up to 2 seconds


@dataclass(frozen=True)
class PulseAnswer(Keyed):
    """What `fluidkv pulse` reports.

    Fields:
        cycle: in closed form.
        stability: of the cycle, near it.
        equilibrium: how many modes grow at the eviction-free equilibrium.
        best: its throughput, completions per iteration.
        verified: that the literal model goes once round the cycle; None: too long to run.

    Examples:
        >>> from fluidkv.answers.pulse import pulse_answer
        >>> half = Fraction(1, 2)
        >>> answer = pulse_answer(fk.LengthMix([2, 4], [half, half]), input_length=1, capacity=10)
        >>> answer.cycle.period, str(answer.cycle.throughput), str(answer.best), answer.verified
        (2, '10/11', '20/19', True)
        >>> answer.stability.verdict
        'stable'
    """

    cycle: "PulseCycle"
    stability: "PulseStability"
    equilibrium: "UnitCircleCount"
    best: Fraction
    verified: bool | None

    KEYS = (
        Key(
            "decode_lengths[]",
            "tokens",
            what="the shorter output first",
            of=lambda answer: [each.decode_length for each in answer.classes],
        ),
        Key(
            "shares[]",
            "share",
            what="of requests with each",
            of=lambda answer: [each.share for each in answer.classes],
            exact=True,
        ),
        Key("input_length", "tokens", "of both", lambda answer: answer.classes[0].input_length),
        Key("capacity", "tokens", "KV memory", "cycle.system.capacity", exact=True),
        Key("common_divisor", "tokens", "g, of the decode lengths", "cycle.common_divisor"),
        Key("period", "iterations", "of the cycle", "cycle.period"),
        Key("throughput", "per iteration", "requests completed", "cycle.throughput", exact=True),
        Key("best", "per iteration", "x*, without eviction", exact=True),
        Key(
            "share_of_best", "share", "the first over the second", "cycle.share_of_best", exact=True
        ),
        Key(
            "evicting_iterations_per_period",
            "iterations",
            what="that evict, in a period",
            of=lambda answer: answer.cycle.period - answer.cycle.pulses,
        ),
        Key("evicted", "requests", "in a period", "cycle.evicted", exact=True),
        Key(
            "leading_masses[]",
            "requests",
            what="α₀ … α_{g−1}, of the youngest at each age",
            of="cycle.leading_masses",
            exact=True,
        ),
        Key("settled_mass", "requests", "β, of those that stay", "cycle.settled_mass", exact=True),
        Key("verified", "yes/no"),
        Key("stability", below="fluidkv.exact.mixed.cycles.pulse_stability:PulseStability"),
        Key("equilibrium_growing_modes", "count", "at x*; null: undecided", "equilibrium.outside"),
    )

    @property
    def classes(self) -> tuple[RequestClass, ...]:
        """The two, the shorter output first."""
        return self.cycle.system.workload.classes


def pulse_answer(mix: "LengthMix", input_length: int, capacity: Fraction | int) -> PulseAnswer:
    """The pulse cycle of a mix at one input length and capacity.

    Raises:
        InputError: a capacity that does not hold the largest request; lengths without a common
            divisor.
        ArithmeticError: the closed form is not a cycle of the literal model.

    Examples:
        >>> from fluidkv.answers.pulse import pulse_answer
        >>> half = Fraction(1, 2)
        >>> answer = pulse_answer(fk.LengthMix([4, 6], [half, half]), input_length=2, capacity=20)
        >>> answer.to_dict()["common_divisor"], answer.to_dict()["evicted"]
        (2, 1.1904761904761905)
    """
    from fluidkv.exact.mixed.cycles.pulse import pulse_cycle, verify_pulse_cycle
    from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
    from fluidkv.exact.roots.spectrum import count_unstable
    from fluidkv.exact.survival import eviction_free_equilibrium

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


def ask_pulse(
    lengths: Annotated[Sequence[Sequence[int]], _LENGTHS],
    input_: Annotated[int, _INPUT],
    share: Annotated[Fraction, _SHARE],
    capacity: Annotated[Amount, CAPACITY_ALONE],
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
) -> PulseAnswer:
    """Which cycle do two lengths with a common divisor have, and what does it cost?

    The pulse cycle: all requests admitted in one iteration out of g, those of
    the youngest that outgrow memory evicted in the others. Exact, run once
    round, with its certified local stability.
    """
    from fluidkv.exact.mixed.mix import two_lengths

    pair = [*chain(*lengths)]
    written = " ".join(map(str, pair))
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InputError("LENGTH", written, "two different decode lengths, such as 2 4")
    try:
        mix = two_lengths(pair[0], pair[1], share)
        return pulse_answer(mix, input_, tokens(capacity, kv_bytes, model))
    except InputError as error:
        if error.argument.endswith("capacity"):
            raise
        raise InputError("LENGTH", written, error.allowed) from None


def say_pulse(page: Page, answer: PulseAnswer) -> None:
    """The cycle, what it costs, and whether it is stable."""
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


def _stability(stability: "PulseStability") -> str:
    if stability.multipliers == 0:
        return "stable: all starts near it fall on it"
    modulus = f"largest factor {sum(stability.radius) / 2:.5f} per period"
    words = {
        "stable": f"stable: starts near it converge, {modulus}",
        "unstable": f"unstable: starts near it leave, {modulus}",
        "neutral": "neutral: small deviations neither grow nor decay",
        "undecided": f"undecided, {modulus}",
    }
    return words[stability.verdict]


PULSE = Question(
    name="pulse",
    ask=ask_pulse,
    say=say_pulse,
    notes=converted_rows,
    doing="verifying the cycle",
    assumes=(
        "Memory is full and never lacks requests to admit, of two output lengths.",
        "Least progressed requests are evicted first, and start again.",
    ),
    examples=("fluidkv pulse 2 4 --input 50 --share 1/2 --capacity 626",),
    time="iteration",
    sweep=None,
)
