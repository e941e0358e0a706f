"""WAIT, Example 3 and section 5.1: twelve units of memory, outputs of one or two tokens."""

from dataclasses import replace
from fractions import Fraction

from fluidkv.ledger import Finding, Origin, Outcome, equals
from fluidkv_papers.wait.instances.nested import instance
from fluidkv_papers.wait.paper import statements

CLAIMS = statements()

_MEMORY, _SHORT, _LONG = 12, 2, 3  # units of a prompt that has decoded its one or two tokens


@CLAIMS.claim("example-3.admitted", "Example 3")
def _admitted() -> Outcome:
    """Six prompts taken for short fill 12 units after their decode; taken for long, four do."""
    return equals((6 * _SHORT, _MEMORY // _SHORT, _MEMORY // _LONG), "12, 6, 4")


@CLAIMS.claim("example-3.overflows", "Example 3")
def _overflows() -> Finding:
    """If some of six prompts taken for short are long, 12 units of memory overflow.

    Paper: memory overflows if some are long"""
    # Of six prompts, how many long ones overflow.
    most = max(k for k in range(7) if k * _LONG + (6 - k) * _SHORT <= _MEMORY)
    return Finding(
        most == 0 or f"{most} long ones fit", f"six of which one is long hold {_LONG + 5 * _SHORT}"
    )


def _unused(short: int) -> Fraction:
    """Part of the memory that four prompts leave, as each decodes its last token."""
    return 1 - Fraction(short * _SHORT + (4 - short) * _LONG, _MEMORY)


@CLAIMS.claim("example-3.waste", "Example 3", origin=Origin.READING)
def _waste() -> Outcome:
    """Four prompts taken for long waste 25 % of the 12 units when most outputs are short.

    Checked: three short ones and a long one"""
    # Three of four short, which is most of them.
    found = equals(100 * _unused(3), "25")
    note = f"With three of the four short. With all four short {_unused(4)} of it would be unused."
    return replace(found, note=note)


@CLAIMS.claim("section-5-1.segments", "section 5.1", kind="example")
def _segments() -> Outcome:
    """With outputs 1 and 2, segment 1 has stages 0 and 1 and segment 2 has stage 2."""
    cut = instance()
    stages = [k for pair in zip(cut.starts, cut.ends, strict=True) for k in pair]
    return equals(stages, "0, 1, 2, 2")
