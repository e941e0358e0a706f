"""`fluidkv wait`: how many requests to let in, and when, so that memory never overflows."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.load import AS_IT_IS, Origin, Reading
from fluidkv.answers.served.rows import clock_rows
from fluidkv.answers.served.server_options import CLOCK, CLOCK_FROM, which_clock
from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.asked import as_written, written_names
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.source import requests_of
from fluidkv.errors import InputError
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.answers.wait.load import Load
    from fluidkv.answers.wait.study import WaitAnswer
    from fluidkv.figures.figure import Figure
    from fluidkv.wait.model import PromptType

_POLICY = "The policy"
_LONGEST = 10**6  # tokens of one output; whole thresholds of longer ones mean nothing
_MOST_THRESHOLD, _MOST_SEEDS, _MOST_TYPES = 10**9, 1000, 200
_TIME = "a time above 0, in the unit of --d0"
_TYPE = "RATE:IN:OUT, such as 0.5:128:256: a rate above 0, lengths whole and at least 1"
_ARGUMENTS = {
    "base": "--d0",
    "duration": "--run-time",
    "ends": "--segment",
    "input_length": "--unknown-lengths",
    "per_kv_token": "--d1",
    "per_prefill_token": "--d2",
    "segment_ends": "--segment",
    "thresholds": "--threshold",
    "types": "--type",
}  # of functions


def _at_least_zero(argument: str, text: str) -> Fraction:
    allowed = "a time of at least 0, such as 1e-6"
    value = read.exact_number(argument, text, allowed)
    if value < 0:
        raise InputError(argument, text, allowed)
    return value


_TYPE_HELP = "A prompt type: prompts per unit of time, input and output tokens; repeatable."
_Type = Annotated[list[str] | None, opt.option("--type RATE:IN:OUT", str, _TYPE_HELP, opt.WHO)]
_RATE_HELP = r"Prompts per second, of SOURCE or --preset. \[default: from the trace's times]"
_Rate = Annotated[
    Fraction | None, opt.option("--rate --qps R", read.positive_number, _RATE_HELP, opt.WHO)
]
_BINS_HELP = (
    "Number of bins of outputs, each of them a type. "
    r"\[default: of 10, 20, 40, 80, 160 the first to add less than 10% output]"
)
_Bins = Annotated[
    int | None, opt.option("--bins N", read.whole_number, _BINS_HELP, opt.WHO, most=1000)
]
_WHOLE = "a whole number of KV tokens"
_D0_HELP = "Time that an iteration takes without tokens."
_D0 = Annotated[
    Fraction | None, opt.option("--d0 TIME", read.positive_number, _D0_HELP, opt.SERVER)
]
_D1_HELP = "Time that each KV token in the batch adds to it."
_D1 = Annotated[Fraction | None, opt.option("--d1 TIME", _at_least_zero, _D1_HELP, opt.SERVER)]
_D2_HELP = r"Time that each input token of a prompt adds to its prefill. \[default: 0]"
_D2 = Annotated[Fraction | None, opt.option("--d2 TIME", _at_least_zero, _D2_HELP, opt.SERVER)]
_CLOCK_HELP = (
    "All three in seconds: numbers; a name of those that fluidkv clocks lists, or MODEL@GPU, "
    "such as llama-3.1-8b@h100 (modelled)."
)
_Clock = Annotated[str | None, opt.option("--clock D0:D1[:D2]", str, _CLOCK_HELP, opt.SERVER)]
_UNKNOWN_HELP = "Outputs are not known when prompts come: use Nested WAIT."
_Unknown = Annotated[bool, opt.flag("--unknown-lengths", _UNKNOWN_HELP, _POLICY)]
_OWN = "Check your own thresholds: prompts to wait for, one for each type or segment, in order."
_Threshold = Annotated[
    list[int] | None,
    opt.option("--threshold N", read.whole_number, _OWN, _POLICY, most=_MOST_THRESHOLD),
]
_ENDS = "Check your own segments: the last output of one; repeatable. With --unknown-lengths."
_Segment = Annotated[
    list[int] | None, opt.option("--segment END", read.whole_number, _ENDS, _POLICY, most=_LONGEST)
]
_DELTA_HELP = (
    r"Probability of an overflow before the horizon. With --unknown-lengths. \[default: 0.01]"
)
_DELTA = "a probability strictly between 0 and 1, such as 0.01"
_Delta = Annotated[
    Fraction | None, opt.option("--delta P", read.share, _DELTA_HELP, _POLICY, allowed=_DELTA)
]
_HORIZON = r"Time up to which bounds hold. \[default: 1,000,000 d0]"
_Horizon = Annotated[
    Fraction | None,
    opt.option("--horizon TIME", read.positive_number, _HORIZON, _POLICY, allowed=_TIME),
]
_Simulate = Annotated[
    bool,
    opt.flag("--simulate/--no-simulate", "Run the policy and FCFS on the same prompts.", opt.RUN),
]
_Seeds = Annotated[
    int,
    opt.option(
        "--seeds N", read.whole_number, "Number of runs of each policy.", opt.RUN, most=_MOST_SEEDS
    ),
]
_LASTS = r"Time that each run lasts. \[default: some seconds of work]"
_RunTime = Annotated[
    Fraction | None,
    opt.option("--run-time TIME", read.positive_number, _LASTS, opt.RUN, allowed=_TIME),
]


def wait(
    source: opt.Source = None,
    type_: _Type = None,
    preset: opt.Preset = None,
    rate: _Rate = None,
    bins: _Bins = None,
    reading: Reading = AS_IT_IS,
    memory: LoggedMemory = UNSAID_MEMORY,
    d0: _D0 = None,
    d1: _D1 = None,
    d2: _D2 = None,
    clock: _Clock = None,
    clock_from: Annotated[str | None, CLOCK_FROM] = None,
    unknown_lengths: _Unknown = False,
    threshold: _Threshold = None,
    segment: _Segment = None,
    delta: _Delta = None,
    horizon: _Horizon = None,
    simulate: _Simulate = True,
    seeds: _Seeds = 3,
    run_time: _RunTime = None,
    out: Annotated[Path | None, opt.out("wait.json and figures", "--out --output")] = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """How many requests to let in, and when, so that KV memory never overflows?

    Says whether any scheduler can keep up, what memory the balanced state holds,
    the admission thresholds of WAIT (or Nested WAIT, where outputs are not known)
    and the memory that they need, then runs them beside first come, first served.

    [bold]fluidkv wait --type 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 9[/bold]
    """
    capacity = memory.tokens(whole=_WHOLE)
    if capacity is None:
        capacity = _logged_capacity(source)
    read.only_with("--segment", _words(segment), "--unknown-lengths", unknown_lengths)
    read.only_with("--delta", delta, "--unknown-lengths", unknown_lengths)
    read.exactly_one(source=source, type=type_, preset=preset)
    read.only_with("--rate", rate, "SOURCE or --preset", not type_)
    read.only_with("--bins", bins, "SOURCE or --preset", not type_)
    reading.check(source, rate=rate, type=type_)
    scales = "--scale-input, --scale-output"
    read.only_with(scales, str(reading.scaling) or None, "SOURCE or --preset", not type_)
    server, unit, notes = _clock((d0, d1, d2), clock, clock_from, capacity)
    if type_:
        load = _of_types(type_, server, unit)
    else:
        requests, report = requests_of(Origin(source, None, preset), reading)
        first = "" if report is None else report.summary().splitlines()[0]
        first = "; ".join(filter(None, (first, str(reading.scaling))))
        how = {"rate": rate, "bins": bins, "common_input": unknown_lengths, "read": first}
        load = _binned(requests, server, how)
    options: dict[str, Any] = {
        "unknown_lengths": unknown_lengths,
        "delta": delta,
        "horizon": horizon,
        "thresholds": threshold or None,
        "segment_ends": segment or None,
        "simulate": simulate,
        "seeds": seeds,
        "duration": run_time,
    }
    answer = _answer(load, capacity, options, own_segments=bool(segment or threshold))
    from fluidkv.cli.commands.wait.text import ASSUMES, say_wait

    give(
        answer.to_dict,
        lambda page: say_wait(page, answer, load, notes),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="wait.json",
        time=load.unit or "unit of --d0",
        beside=lambda: _beside(answer, load),
        notes=memory.notes(),
    )


def _beside(answer: "WaitAnswer", load: "Load") -> "tuple[dict[str, bytes], tuple[Figure, ...]]":
    from fluidkv.answers.figures.wait import wait_figures

    return {}, wait_figures(answer, unit=load.unit)


def _binned(requests: Any, server: "_Server", how: dict[str, Any]) -> "Load":
    from fluidkv.answers.wait.load import binned_load

    with as_written(_ARGUMENTS):
        return binned_load(requests, *server, **how)


def _logged_capacity(source: str | None) -> Fraction:
    """KV tokens of the server of a log."""
    if source is not None:
        from fluidkv.logs import is_log, read_log

        with read.as_options({"source": "SOURCE"}):
            found = read_log(source).capacity if is_log(source) else None
        if found is not None:
            return Fraction(found)
    raise InputError("--capacity", "none", "a number of KV tokens")


def _answer(
    load: "Load", capacity: Fraction, options: dict[str, Any], *, own_segments: bool
) -> "WaitAnswer":
    from fluidkv.answers.wait.study import wait_study

    rates = "--type" if load.binned is None else "--rate"
    others = {"arrival_rate": rates, "rates": "--segment" if own_segments else rates}
    names = written_names(_ARGUMENTS | others)
    with progress("computing thresholds") as line, read.as_options(names):
        answer = wait_study(load, capacity, on_progress=line.show, **options)
    error = answer.not_simulated
    if error is None:
        return answer
    name = names.get(error.argument, error.argument)
    return replace(answer, not_simulated=InputError(name, error.value, error.allowed))


def _words(values: list[int] | None) -> str | None:
    return " ".join(map(str, values)) if values else None


_Server = tuple[Fraction, Fraction, Fraction]
"""d0, d1, d2."""


def _clock(
    durations: tuple[Fraction | None, Fraction | None, Fraction | None],
    clock: str | None,
    clock_from: str | None,
    capacity: Fraction,
) -> tuple[_Server, str, list[Row]]:
    """d0, d1 and d2, their unit, and what to say of a clock with a name."""
    d0, d1, d2 = durations
    if clock is None and clock_from is None:
        if d0 is None or d1 is None:
            missing = "--d0" if d0 is None else "--d1"
            raise InputError(missing, "none", "a time, or --clock for all")
        return (d0, d1, d2 or Fraction(0)), "", []
    if d0 is not None or d1 is not None or d2 is not None:
        name, text = ("--clock", clock) if clock is not None else ("--clock-from", clock_from)
        raise InputError(name, text, f"either {name}, or --d0, --d1 and --d2")
    found = which_clock(None if clock is None else CLOCK.read("--clock", clock), clock_from)
    assert found is not None  # one of the two is given
    # The decimals that the clock was written with, not the doubles beside them.
    base, per_kv_token, per_prefill_token, pairs = (
        Fraction(repr(value)) for value in found.durations
    )
    notes = clock_rows(found, capacity=float(capacity)) if found.name else []
    if pairs:
        notes.append(("", "attention of prompts to themselves, D3, is left out: WAIT has no term"))
    if found.per_request or found.experts:
        notes.append(("", "what requests and experts cost besides is left out: WAIT has no term"))
    if found.unit != "s":
        notes = []
    return (base, per_kv_token, per_prefill_token), "s" if found.unit == "s" else "", notes


def _of_types(texts: list[str], server: "_Server", unit: str) -> "Load":
    from fluidkv.answers.wait.load import Load
    from fluidkv.wait.model import WaitSystem

    if len(texts) > _MOST_TYPES:
        raise InputError("--type", f"{len(texts)} types", f"at most {_MOST_TYPES}")
    types = [_type(text) for text in texts]
    try:
        return Load(WaitSystem(types, *server), unit)
    except InputError as error:  # the same lengths twice
        raise InputError("--type", error.value, error.allowed) from None


def _type(text: str) -> "PromptType":
    from fluidkv.wait.model import PromptType

    parts = text.split(":")
    if len(parts) != 3:
        raise InputError("--type", text, _TYPE)
    rate = read.exact_number("--type", parts[0], _TYPE)
    fine = all(re.fullmatch(r"[0-9]{1,7}", part.strip()) and int(part) for part in parts[1:])
    if rate <= 0 or not fine:
        raise InputError("--type", text, _TYPE)
    return PromptType(rate, int(parts[1]), int(parts[2]))
