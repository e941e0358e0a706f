"""WAIT, Example 3 and section 5.1: twelve units of memory, outputs of one or two tokens."""

from dataclasses import replace
from fractions import Fraction

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import equals, holds_for
from fluidkv.papers.wait.paper import wait

_MEMORY, _SHORT, _LONG = 12, 2, 3  # units of a prompt that has decoded its one or two tokens


def _admitted() -> Outcome:
    return equals((6 * _SHORT, _MEMORY // _SHORT, _MEMORY // _LONG), "12, 6, 4")


def _overflows() -> Outcome:
    """Of six prompts, how many long ones overflow."""
    most = max(k for k in range(7) if k * _LONG + (6 - k) * _SHORT <= _MEMORY)
    return holds_for(
        None if most == 0 else f"{most} long ones fit",
        ours=f"six of which one is long hold {_LONG + 5 * _SHORT}",
        paper="memory overflows if some are long",
    )


def _unused(short: int) -> Fraction:
    """Part of the memory that four prompts leave, as each decodes its last token."""
    return 1 - Fraction(short * _SHORT + (4 - short) * _LONG, _MEMORY)


def _waste() -> Outcome:
    """Three of four short, which is most of them."""
    found = equals(100 * _unused(3), "25")
    note = f"With three of the four short. With all four short {_unused(4)} of it would be unused."
    return replace(found, note=note)


def _segments() -> Outcome:
    from fluidkv.wait.segments import Segments

    cut = Segments(1, (1, 2), (Fraction(2), Fraction(1)))
    stages = [k for pair in zip(cut.starts, cut.ends, strict=True) for k in pair]
    return equals(stages, "0, 1, 2, 2")


CLAIMS: tuple[Claim, ...] = (
    wait(
        "example-3.admitted",
        "Six prompts taken for short fill 12 units after their decode; taken for long, four do.",
        "Example 3",
        _admitted,
    ),
    wait(
        "example-3.overflows",
        "If some of six prompts taken for short are long, 12 units of memory overflow.",
        "Example 3",
        _overflows,
    ),
    wait(
        "example-3.waste",
        "Four prompts taken for long waste 25 % of the 12 units when most outputs are short.",
        "Example 3",
        _waste,
        checked="three short ones and a long one",
    ),
    wait(
        "section-5-1.segments",
        "With outputs 1 and 2, segment 1 has stages 0 and 1 and segment 2 has stage 2.",
        "section 5.1",
        _segments,
    ),
)
