"""`fluidkv threshold`: from which input length on a mix of output lengths is stable."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.errors import InputError
from fluidkv.questions.kinds import POSITIVE, SHARE, Several, Whole
from fluidkv.questions.options import Option
from fluidkv.questions.question import Question
from fluidkv.report.numbers import counted, modes_grow, percent, short
from fluidkv.report.page import Page, Row

if TYPE_CHECKING:
    from fluidkv.exact.mixed.thresholds.threshold import InputThreshold, InputWindow
    from fluidkv.exact.roots.spectrum import UnitCircleCount

LONGEST = 10_000  # decode length; minutes and no answer beyond
_SHOWN_WINDOWS = 6
_SHOWN_LENGTHS = 4
_LENGTHS = Option(
    "LENGTH",
    Several(Whole(1, LONGEST)),
    "Decode lengths, 2 or more, as 5 9 or 5,9.",
    many=True,
    json_key="lengths",
    means=("decode_lengths",),
)
_SHARES = Option(
    "--share P",
    SHARE,
    "Share of the first length, such as 1/2 or 0.5; again for the second, and so on. The last may "
    r"be left out. \[default: equal shares]",
    None,
    many=True,
    means=("shares",),
)
_RATIOS = Option(
    "--ratio R",
    POSITIVE,
    "Input length of each class as a multiple of L, in the order of the lengths. "
    r"\[default: 1 for all, so that L is the common input length l0]",
    None,
    many=True,
    means=("input_ratios",),
)
_BOUND = Option("--bound TOKENS", Whole(0), "Look no further than this input length.", None)


def ask_threshold(
    lengths: Annotated[Sequence[Sequence[int]], _LENGTHS],
    share: Annotated[Sequence[Fraction] | None, _SHARES] = None,
    ratio: Annotated[Sequence[Fraction] | None, _RATIOS] = None,
    bound: Annotated[int | None, _BOUND] = None,
) -> "InputThreshold":
    """From which input length on is a mix of decode lengths stable?

    l0_min, the smallest input length at which the eviction-free equilibrium is
    stable, with a certificate on either side; how many modes grow at every other
    input length; what the asymptotic formulas say. KV capacity does not enter.
    """
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.mixed.thresholds.threshold import input_threshold

    outputs, shares = [*chain(*lengths)], list(share or ())
    written = " ".join(map(str, shares))
    if shares and len(shares) not in (len(outputs), len(outputs) - 1):
        allowed = "one for each length, of which the last may be left out; or none, for equal ones"
        raise InputError("share", written, allowed)
    if shares and len(shares) < len(outputs) and sum(shares) >= 1:
        raise InputError("share", written, "a sum below 1, which leaves a share for the last")
    equal = [Fraction(1, len(outputs))] * len(outputs)
    return input_threshold(LengthMix(outputs, shares or equal, ratio or None), bound=bound)


def say_threshold(page: Page, answer: "InputThreshold", options: Mapping[str, Any]) -> None:
    """The threshold with its certificates, what formulas say, and the windows."""
    mix = answer.mix
    rows = list(zip(mix.decode_lengths, mix.shares, mix.input_ratios, strict=True))
    named = [f"{n:,} ({_fraction(p)})" for n, p, _ in rows[:_SHOWN_LENGTHS]]
    if len(rows) > _SHOWN_LENGTHS:
        named.append(f"{len(rows) - _SHOWN_LENGTHS} more")
    common = ", inputs all l0" if mix.common_input else ""
    page.title(f"Outputs {', '.join(named)}{common}")
    if not mix.common_input:
        ratios = [_fraction(r) for _, _, r in rows[:_SHOWN_LENGTHS]]
        page.title(f"Inputs L times {', '.join(ratios)}{', ...' * (len(rows) > len(ratios))}")
    if not options["share"]:
        page.line("No --share is given, so shares are equal.")
    page.rows([*_answer(answer), *_formulas(answer), *_windows(answer)])


def _fraction(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 7 else short(value)


def _answer(answer: "InputThreshold") -> list[Row]:
    name = "l0" if answer.mix.common_input else "L"
    if answer.at_most is None or answer.at is None:
        return [("threshold", _none(answer, name))]
    rows = [("threshold", _until(answer, name))]
    if answer.below is not None:
        rows.append(("below", f"at {answer.at_most - 1:,}: {_modes(*_below(answer))}"))
    for c in answer.last_crossings[:2]:
        where = _shown(float(c.length.mid()))
        rows.append(("last to go", f"period {short(c.period)} iterations, at {name} = {where}"))
    kinds = [_kind(answer.at_most, answer.at)]
    if answer.below is not None:
        kinds.append(_kind(answer.at_most - 1, answer.below))
    return [*rows, ("certified", ", ".join(kinds))]


def _until(answer: "InputThreshold", name: str) -> str:
    """From where to where it is stable, as far as that is known."""
    least, most = answer.least, answer.at_most or 0
    unit = ""
    if answer.mix.common_input:
        unit = " token of input" if most == 1 else " tokens of input"
    if least is None:
        return (
            f"at most {name} = {most:,}{unit}: stable there, not one below; other lengths were "
            "not all looked at"
        )
    first = answer.stable_windows[0] if answer.windows else None
    if first is None:
        return f"stable at {name} = {least:,}; longer inputs not looked at"
    if first.last is None:
        return f"stable from {name} = {least:,}{unit} on"
    if first.last == answer.bound:
        return f"stable from {name} = {least:,} to the bound, {answer.bound:,}"
    if first.last == least:
        return f"stable at {name} = {least:,}{unit}, then not"
    return f"stable from {name} = {least:,} to {first.last:,}{unit}, then not"


def _below(answer: "InputThreshold") -> tuple[int | None, int | None]:
    """Of the window that ends below: certified where the count by itself may not be."""
    for window in answer.windows:
        if answer.least is not None and window.last == answer.least - 1:
            return window.growing_modes, window.neutral_modes
    return (None, None) if answer.below is None else (answer.below.outside, answer.below.on_circle)


def _kind(length: int, count: "UnitCircleCount") -> str:
    kind = "by the crossings" if count.outside is None else count.evidence
    return f"{length:,}: {kind}"


def _shown(length: float) -> str:
    if length >= 1e12:  # a double has no third decimal there
        return f"{length:.6g}"
    return f"{length:,.3f}".rstrip("0").rstrip(".")


def _none(answer: "InputThreshold", name: str) -> str:
    status = answer.status.name
    if status == "BEYOND_BOUND":
        return f"none up to the bound, {name} = {answer.bound:,}; there is one beyond"
    if status == "UNDECIDED":
        return "not decided: outputs too long to place every crossing"
    g = answer.mix.decode_gcd
    return f"none: unstable at every {name}" + (f"; the lengths share the divisor {g}" * (g > 1))


def _modes(growing: int | None, neutral: int | None) -> str:
    if growing is None or neutral is None:
        return "undecided"
    parts = [modes_grow(growing)] if growing else []
    if neutral:
        parts.append(f"{counted(neutral, 'mode')} {'is' if neutral == 1 else 'are'} neutral")
    return ", ".join(parts) or "stable"


def _formulas(answer: "InputThreshold") -> list[Row]:
    formula = answer.asymptotic
    if formula is None:
        return []
    # with an island, l0_min is not the length from which on it is stable, which formulas mean
    least = answer.least if len(answer.stable_windows) < 2 else None
    source = "(13)" if len(answer.mix.shares) == 2 and answer.mix.common_input else "B.8.7"
    return [
        ("formulas", f"{_estimate(formula.phases, least)}, equation {source}"),
        ("", f"{_estimate(formula.first_order, least)}, first-order drift"),
    ]


def _estimate(value: float, least: int | None) -> str:
    if not math.isfinite(value):
        return "not known"
    shown = f"{value:,.1f}" if value < 1e9 else f"{value:.4g}"
    if not least:
        return shown
    error = value / least - 1
    return f"{shown} ({percent(abs(error))} too {'high' if error >= 0 else 'low'})"


def _windows(answer: "InputThreshold") -> list[Row]:
    """The longest inputs last; of many windows, the ones next to the threshold."""
    if not answer.windows:
        return []
    shown = list(answer.windows)
    rows = []
    if len(shown) > _SHOWN_WINDOWS:
        hidden = len(shown) - _SHOWN_WINDOWS
        rows.append(f"{hidden:,} windows of shorter inputs: --json lists them")
        shown = shown[-_SHOWN_WINDOWS:]
    width = max(22, *(len(_range(w)) for w in shown)) + 2
    rows += [f"{_range(w):<{width}}{_modes(w.growing_modes, w.neutral_modes)}" for w in shown]
    name = "at l0" if answer.mix.common_input else "at L"
    return [(name if i == 0 else "", row) for i, row in enumerate(rows)]


def _range(window: "InputWindow") -> str:
    if window.last is None:
        return f"{window.first:,} and more"
    if window.last == window.first:
        return f"{window.first:,}"
    return f"{window.first:,} to {window.last:,}"


THRESHOLD = Question(
    name="threshold",
    ask=ask_threshold,
    say=say_threshold,
    doing="placing every crossing of the unit circle",
    assumes=(
        "Memory is full and never lacks requests to admit.",
        "Requests of all lengths come in the shares given, whatever is evicted.",
    ),
    examples=("fluidkv threshold 5 9 --share 1/2",),
    time="iteration",
    sweep=None,
)
