"""Who asks, and how fast the server is: from the command line to prompt types and d0, d1."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.traces import Trace
    from fluidkv.wait.model import PromptType, WaitSystem
    from fluidkv.wait.prompts import BinnedPrompts, Cut
    from fluidkv.workload import Workload

MOST_TYPES = 200
_TYPE = "RATE:IN:OUT, such as 0.5:128:256: a rate above 0, lengths whole and at least 1"
_BINS = (10, 20, 40, 80, 160)  # 10 as in the paper; each type needs whole prompts, so few is good
_ADDED = Fraction(1, 10)  # to the mean output, below which bins are fine enough


@dataclass(frozen=True)
class Load:
    """Prompt types on a server, and where they came from.

    Fields:
        system: types and clock.
        unit: "s", or "" for the user's own unit of time.
        name: of the trace or preset; "" for types.
        binned: what binning did; None for types.
        bins, cut: asked for, or chosen; of equal "width" or "share". None and "" for types.
        rate: of a trace or preset, prompts a second.
        rate_from: where the rate comes from.
        read: what the reader of the trace did; "" for others.
        rate_option: what to name in a message about the rate.
    """

    system: "WaitSystem"
    unit: str
    name: str = ""
    binned: "BinnedPrompts | None" = None
    bins: int | None = None
    cut: str = ""
    rate: Fraction | None = None
    rate_from: str = ""
    read: str = ""
    rate_option: str = "--type"


def load_of(
    *,
    source: str | None,
    types: list[str],
    preset: str | None,
    rate: str | None,
    bins: str | None,
    format_: str | None,
    d0: str | None,
    d1: str | None,
    clock: str | None,
    common_input: bool,
) -> Load:
    """What was asked about; everything that can be refused without reading a file comes first.

    Raises:
        InputError: in the names of the command line.
    """
    given = {"SOURCE": source, "--type": types, "--preset": preset}
    named = [name for name, value in given.items() if value]
    if len(named) != 1:
        shown = " and ".join(named) or "none"
        raise InputError("SOURCE", shown, "exactly one of SOURCE, --type, --preset")
    for option, text in (("--rate", rate), ("--bins", bins)):
        if text is not None and types:
            raise InputError(option, text, "together with SOURCE or --preset")
    if format_ is not None and source is None:
        raise InputError("--format", format_, "together with SOURCE")
    base, per_kv_token, unit = _clock(d0, d1, clock)
    per_second = None if rate is None else _above_zero("--rate", rate)
    number = None if bins is None else arguments.whole_number("--bins", bins, least=1, most=1000)
    if types:
        return Load(_of_types(types, base, per_kv_token), unit)
    workload, trace, read = _read(source, preset, format_)
    per_second, rate_from = _rate(per_second, trace, preset)
    binned, number, cut = _binned(workload, per_second, number, common_input=common_input)
    system = binned.system(base, per_kv_token)
    itself = system.load / (1 + binned.token_rate_error)
    if itself < 1 <= system.load:
        allowed = f"more: with these the load is {float(system.load):.4g}, of the trace itself "
        raise InputError("--bins", number, f"{allowed}{float(itself):.4g}; it must be below 1")
    return Load(
        system=system,
        unit="s",
        name=workload.name,
        binned=binned,
        bins=number,
        cut=cut,
        rate=per_second,
        rate_from=rate_from,
        read=read,
        rate_option="--rate",
    )


def _clock(d0: str | None, d1: str | None, clock: str | None) -> tuple[Fraction, Fraction, str]:
    """d0, d1 and their unit."""
    if clock is None:
        for option, text in (("--d0", d0), ("--d1", d1)):
            if text is None:
                raise InputError(option, "none", "a time, or --clock for both")
        base = _above_zero("--d0", d0 or "")
        allowed = "a time of at least 0, such as 1e-6"
        per_kv_token = arguments.exact_number("--d1", d1 or "", allowed)
        if per_kv_token < 0:
            raise InputError("--d1", d1, allowed)
        return base, per_kv_token, ""
    if d0 is not None or d1 is not None:
        raise InputError("--clock", clock, "either --clock, or --d0 and --d1")
    from fluidkv.serving.clock import CLOCKS

    if clock not in CLOCKS:
        raise InputError("--clock", clock, f"one of {', '.join(CLOCKS)}")
    found = CLOCKS[clock]
    # The decimals that the clock was written with, not the doubles beside them.
    base, per_kv_token = Fraction(repr(found.base)), Fraction(repr(found.per_kv_token))
    return base, per_kv_token, "s" if found.unit == "s" else ""


def _of_types(texts: list[str], base: Fraction, per_kv_token: Fraction) -> "WaitSystem":
    from fluidkv.wait.model import WaitSystem

    if len(texts) > MOST_TYPES:
        raise InputError("--type", f"{len(texts)} types", f"at most {MOST_TYPES}")
    types = [_type(text) for text in texts]
    try:
        return WaitSystem(types, base, per_kv_token)
    except InputError as error:  # the same lengths twice
        raise InputError("--type", error.value, error.allowed) from None


def _type(text: str) -> "PromptType":
    from fluidkv.wait.model import PromptType

    parts = text.split(":")
    if len(parts) != 3:
        raise InputError("--type", text, _TYPE)
    rate = arguments.exact_number("--type", parts[0], _TYPE)
    fine = all(re.fullmatch(r"[0-9]{1,7}", part.strip()) and int(part) for part in parts[1:])
    if rate <= 0 or not fine:
        raise InputError("--type", text, _TYPE)
    return PromptType(rate, int(parts[1]), int(parts[2]))


def _read(
    source: str | None, preset: str | None, format_: str | None
) -> "tuple[Workload, Trace | None, str]":
    if preset is not None:
        from fluidkv.traces import preset as preset_workload

        with _as_option("preset", "--preset"):
            return preset_workload(preset), None, ""
    from fluidkv.traces import read_trace

    with _as_option("source", "SOURCE"), _as_option("format", "--format"):
        trace, report = read_trace(source or "", format=format_)
    return trace.workload(), trace, report.summary().splitlines()[0]


@contextmanager
def _as_option(argument: str, option: str) -> Iterator[None]:
    """What the reader wrote, in messages about an argument."""
    try:
        yield
    except InputError as error:
        if error.argument != argument:
            raise
        raise InputError(option, error.value, error.allowed) from None


def _rate(
    given: Fraction | None, trace: "Trace | None", preset: str | None
) -> tuple[Fraction, str]:
    """Prompts a second, and where that comes from."""
    if given is not None:
        return given, "given"
    times = None if trace is None else trace.arrival_times_s
    if times is None:
        what = f"--preset {preset}" if trace is None else "a trace without times"
        raise InputError("--rate", "none", f"prompts a second, with {what}")
    length = max(times) - min(times)
    if len(times) < 2 or length <= 0:
        raise InputError("--rate", "none", "prompts a second, as the trace's times do not tell")
    # Rounded, so that thresholds are not computed with fifteen digits of noise.
    rate = Fraction(f"{(len(times) - 1) / length:.6g}")
    return rate, f"{len(times):,} prompts in {length:,.6g} s"


def _binned(
    workload: "Workload", rate: Fraction, number: int | None, *, common_input: bool
) -> "tuple[BinnedPrompts, int, Cut]":
    """Types, bins and how they are cut: the first that is fine enough; widths before shares.

    A number that was asked for is cut by width, as in the paper. Where none is fine enough, the
    one with the least error is taken.
    """
    from fluidkv.wait.prompts import prompt_types

    if number is not None:
        found = prompt_types(workload, rate, bins=number, common_input=common_input)
        return found, number, "width"
    cuts: tuple[Cut, ...] = ("width", "share")
    tried = []
    for bins, cut in product(_BINS, cuts):
        found = prompt_types(workload, rate, bins=bins, cut=cut, common_input=common_input)
        if found.output_error < _ADDED:
            return found, bins, cut
        tried.append((found, bins, cut))
    return min(tried, key=lambda each: each[0].output_error)


def _above_zero(option: str, text: str) -> Fraction:
    allowed = "a number above 0, such as 0.01 or 1/100"
    value = arguments.exact_number(option, text, allowed)
    if value <= 0:
        raise InputError(option, text, allowed)
    return value
