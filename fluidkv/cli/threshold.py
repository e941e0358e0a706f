"""`fluidkv threshold`: from which input length on a mix of output lengths is stable."""

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.exact.mixed.mix import LengthMix
    from fluidkv.exact.mixed.thresholds.asymptotic import AsymptoticThreshold
    from fluidkv.exact.mixed.thresholds.pencil import Crossing
    from fluidkv.exact.mixed.thresholds.threshold import InputThreshold, InputWindow
    from fluidkv.exact.roots.spectrum import UnitCircleCount

LONGEST = 10_000  # decode length; minutes and no answer beyond
_SHOWN_WINDOWS = 6
_SHOWN_LENGTHS = 4
_ARGUMENTS = {"decode_lengths": "LENGTH", "shares": "--share", "input_ratios": "--ratio"}


def threshold(
    lengths: Annotated[
        list[str], typer.Argument(metavar="LENGTH", help="Decode lengths, 2 or more.")
    ],
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P",
            help="Share of the first length, such as 1/2 or 0.5; again for the second, and so on. "
            "The last may be left out.",
        ),
    ] = None,
    ratio: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R",
            help="Input length of each class as a multiple of L, in the order of the lengths. "
            r"\[default: 1 for all, so that L is the common input length l0]",
        ),
    ] = None,
    bound: Annotated[
        str | None, typer.Option(metavar="TOKENS", help="Look no further than this input length.")
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """From which input length on is a mix of decode lengths stable?

    l0_min, the smallest input length at which the eviction-free equilibrium is
    stable, with a certificate on either side; how many modes grow at every other
    input length; what the asymptotic formulas say. KV capacity does not enter.

    [bold]fluidkv threshold 5 9 --share 1/2[/bold]
    """
    from fluidkv.exact.mixed.thresholds.threshold import input_threshold

    mix = _mix(lengths, share or [], ratio)
    most = None if bound is None else arguments.whole_number("--bound", bound, least=0)
    found = input_threshold(mix, bound=most)
    if json_:
        print(json.dumps(as_dict(found), indent=2, allow_nan=False))
    else:
        _print(found, Console(highlight=False))


def _mix(lengths: list[str], share: list[str], ratio: list[str] | None) -> "LengthMix":
    from fluidkv.exact.mixed.mix import LengthMix

    numbers = [arguments.whole_number("LENGTH", text, least=1, most=LONGEST) for text in lengths]
    allowed = "a share strictly between 0 and 1, such as 1/2 or 0.5"
    shares = [arguments.exact_number("--share", text, allowed) for text in share]
    for text, value in zip(share, shares, strict=True):
        if not 0 < value < 1:
            raise InputError("--share", text, allowed)
    if len(share) not in (len(lengths), len(lengths) - 1):
        given = " ".join(share) or None
        raise InputError("--share", given, "one for each length; the last may be left out")
    if len(share) < len(lengths) and sum(shares) >= 1:
        raise InputError(
            "--share", " ".join(share), "a sum below 1, which leaves a share for the last"
        )
    positive = "a positive number such as 2 or 1/2"
    ratios = [arguments.exact_number("--ratio", text, positive) for text in ratio or []]
    try:
        return LengthMix(numbers, shares, ratios or None)
    except InputError as error:
        raise InputError(_ARGUMENTS[error.argument], error.value, error.allowed) from None


# --- JSON ---------------------------------------------------------------------------------------


def as_dict(found: "InputThreshold") -> dict[str, Any]:
    """Plain values for JSON: fractions as text, `null` for what is not known or not finite."""
    mix = found.mix
    return {
        "decode_lengths": list(mix.decode_lengths),
        "shares": [str(p) for p in mix.shares],
        "input_ratios": [str(r) for r in mix.input_ratios],
        "common_divisor": mix.decode_gcd,
        "status": found.status.name.lower(),
        "l0_min": found.least,
        "l0_min_at_most": found.at_most,
        "bound": found.bound,
        "at": _count(found.at_most, found.at),
        "below": _count(None if found.at_most is None else found.at_most - 1, found.below),
        "last_crossings": [_crossing(c) for c in last_crossings(found)],
        "stable_windows": [_window(w) for w in found.stable_windows],
        "windows": [_window(w) for w in found.windows],
        "crossings": [_crossing(c) for c in found.crossings],
        "asymptotic": None if found.asymptotic is None else _asymptotic(found, found.asymptotic),
    }


def last_crossings(found: "InputThreshold") -> list["Crossing"]:
    """Those between `least` - 1 and `least`: what takes the last growing modes in."""
    if found.least is None:
        return []
    low, high = found.least - 1, found.least
    return [c for c in found.crossings if not (c.length < low or c.length > high) and c.outward < 0]


def _count(length: int | None, count: "UnitCircleCount | None") -> dict[str, Any] | None:
    if count is None:
        return None
    return {
        "input_length": length,
        "growing_modes": count.outside,
        "neutral_modes": count.on_circle,
        "evidence": None if count.outside is None else count.evidence,
    }


def _window(window: "InputWindow") -> dict[str, Any]:
    return {
        "first": window.first,
        "last": window.last,
        "growing_modes": window.growing_modes,
        "neutral_modes": window.neutral_modes,
    }


def _crossing(crossing: "Crossing") -> dict[str, Any]:
    return {
        "input_length": _finite(float(crossing.length.mid())),
        "exact": None if crossing.exact is None else str(crossing.exact),
        "period": _finite(_period(crossing)),
        "modes_outward": crossing.outward,
    }


def _asymptotic(found: "InputThreshold", formula: "AsymptoticThreshold") -> dict[str, Any]:
    return {
        "phases": _finite(formula.phases),
        "phases_relative_error": _relative(formula.phases, found.least),
        "first_order": _finite(formula.first_order),
        "first_order_relative_error": _relative(formula.first_order, found.least),
        "limit_radius": list(formula.limit_radius),
    }


def _period(crossing: "Crossing") -> float:
    return 2 / float(crossing.turn.mid())


def _relative(value: float, least: int | None) -> float | None:
    return _finite(value / least - 1) if least else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- text ---------------------------------------------------------------------------------------


def _print(found: "InputThreshold", console: Console) -> None:
    console.print(f"[bold]{_mixed(found.mix)}[/bold]", soft_wrap=True)
    for name, text in [*_answer(found), *_formulas(found), *_windows(found)]:
        console.print(f"{name:<13}{text}", soft_wrap=True)


def _mixed(mix: "LengthMix") -> str:
    rows = list(zip(mix.decode_lengths, mix.shares, mix.input_ratios, strict=True))
    named = [f"{n:,} ({_short(p)})" for n, p, _ in rows[:_SHOWN_LENGTHS]]
    if len(rows) > _SHOWN_LENGTHS:
        named.append(f"{len(rows) - _SHOWN_LENGTHS} more")
    title = f"Outputs {', '.join(named)}"
    if mix.common_input:
        return f"{title}, inputs all l0"
    ratios = [_short(r) for _, _, r in rows[:_SHOWN_LENGTHS]]
    return f"{title}\nInputs L times {', '.join(ratios)}{', ...' * (len(rows) > len(ratios))}"


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 7 else f"{float(value):.4g}"


def _answer(found: "InputThreshold") -> list[tuple[str, str]]:
    name = "l0" if found.mix.common_input else "L"
    if found.at_most is None or found.at is None:
        return [("threshold", _none(found, name))]
    unit = _tokens(found.at_most) if found.mix.common_input else ""
    if found.least is None:
        rows = [
            (
                "threshold",
                f"at most {name} = {found.at_most:,}{unit}: stable there, not one below;",
            ),
            ("", "other lengths were not all looked at"),
        ]
    else:
        first = found.stable_windows[0] if found.windows else None
        if first is None:
            until = f"stable at {name} = {found.least:,}; longer inputs not looked at"
        elif first.last is None:
            until = f"stable from {name} = {found.least:,}{unit} on"
        elif first.last == found.bound:
            until = f"stable from {name} = {found.least:,} to the bound, {found.bound:,}"
        elif first.last == found.least:
            until = f"stable at {name} = {found.least:,}{unit}, then not"
        else:
            until = f"stable from {name} = {found.least:,} to {first.last:,}{unit}, then not"
        rows = [("threshold", until)]
    if found.below is not None:
        rows.append(("below", f"at {found.at_most - 1:,}: {_modes(_window_below(found))}"))
    for c in last_crossings(found)[:2]:
        where = _shown(float(c.length.mid()))
        rows.append(("last to go", f"period {_period(c):,.4g} iterations, at {name} = {where}"))
    kinds = [_kind(found.at_most, found.at)]
    if found.below is not None:
        kinds.append(_kind(found.at_most - 1, found.below))
    return [*rows, ("certified", ", ".join(kinds))]


def _window_below(found: "InputThreshold") -> "UnitCircleCount | InputWindow":
    """The window that ends below the threshold: certified where the count by itself may not be."""
    ending = (w for w in found.windows if found.least is not None and w.last == found.least - 1)
    window = next(ending, found.below)
    if window is None:
        raise ValueError("no input length below 0")
    return window


def _kind(length: int, count: "UnitCircleCount") -> str:
    kind = "by the crossings" if count.outside is None else count.evidence
    return f"{length:,}: {kind}"


def _shown(length: float) -> str:
    if length >= 1e12:  # a double has no third decimal there
        return f"{length:.6g}"
    return f"{length:,.3f}".rstrip("0").rstrip(".")


def _tokens(length: int) -> str:
    return " token of input" if length == 1 else " tokens of input"


def _none(found: "InputThreshold", name: str) -> str:
    status = found.status.name
    if status == "BEYOND_BOUND":
        return f"none up to the bound, {name} = {found.bound:,}; there is one beyond"
    if status == "UNDECIDED":
        return "not decided: outputs too long to place every crossing"
    g = found.mix.decode_gcd
    return f"none: unstable at every {name}" + (f"; the lengths share the divisor {g}" * (g > 1))


def _modes(count: "UnitCircleCount | InputWindow") -> str:
    growing, neutral = _numbers(count)
    if growing is None or neutral is None:
        return "undecided"
    if growing == neutral == 0:
        return "stable"
    parts = []
    if growing:
        parts.append("1 mode grows" if growing == 1 else f"{growing:,} modes grow")
    if neutral:
        parts.append("1 mode is neutral" if neutral == 1 else f"{neutral:,} modes are neutral")
    return ", ".join(parts)


def _numbers(count: "UnitCircleCount | InputWindow") -> tuple[int | None, int | None]:
    from fluidkv.exact.mixed.thresholds.threshold import InputWindow

    if isinstance(count, InputWindow):
        return count.growing_modes, count.neutral_modes
    return count.outside, count.on_circle


def _formulas(found: "InputThreshold") -> list[tuple[str, str]]:
    formula = found.asymptotic
    if formula is None:
        return []
    # with an island, l0_min is not the length from which on it is stable, which formulas mean
    least = found.least if len(found.stable_windows) < 2 else None
    source = "(13)" if len(found.mix.shares) == 2 and found.mix.common_input else "B.8.7"
    return [
        ("formulas", f"{_estimate(formula.phases, least)}, equation {source}"),
        ("", f"{_estimate(formula.first_order, least)}, first-order drift"),
    ]


def _estimate(value: float, least: int | None) -> str:
    if not math.isfinite(value):
        return "not known"
    shown = f"{value:,.1f}" if value < 1e9 else f"{value:.4g}"
    error = _relative(value, least)
    if error is None:
        return shown
    size = f"{abs(error):.1%}" if abs(error) >= 1e-3 else f"{100 * abs(error):.1g}%"
    return f"{shown} ({size} too {'high' if error >= 0 else 'low'})"


def _windows(found: "InputThreshold") -> list[tuple[str, str]]:
    """The longest inputs last; of many windows, the ones next to the threshold."""
    if not found.windows:
        return []
    shown = list(found.windows)
    rows = []
    if len(shown) > _SHOWN_WINDOWS:
        hidden = len(shown) - _SHOWN_WINDOWS
        rows.append(f"{hidden:,} windows of shorter inputs: --json lists them")
        shown = shown[-_SHOWN_WINDOWS:]
    width = max(22, *(len(_range(w)) for w in shown)) + 2
    rows += [f"{_range(w):<{width}}{_modes(w)}" for w in shown]
    name = "at l0" if found.mix.common_input else "at L"
    return [(name if i == 0 else "", row) for i, row in enumerate(rows)]


def _range(window: "InputWindow") -> str:
    if window.last is None:
        return f"{window.first:,} and more"
    if window.last == window.first:
        return f"{window.first:,}"
    return f"{window.first:,} to {window.last:,}"
