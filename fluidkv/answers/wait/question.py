"""`fluidkv wait`: how many requests to let in, and when, so that memory never overflows."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory, converted_rows
from fluidkv.answers.served.load import PRESET, SOURCE, Origin, Reading
from fluidkv.answers.served.server_options import CLOCK, CLOCK_FROM, which_clock
from fluidkv.errors import InputError
from fluidkv.questions.kinds import FEW_DIGITS, POSITIVE, Exact, Text, Whole, rational
from fluidkv.questions.options import (
    SERVER,
    WHO,
    Made,
    Option,
    as_options,
    exactly_one,
    filled,
    flags_of,
    only_with,
)
from fluidkv.questions.question import Late, Question

if TYPE_CHECKING:
    from fluidkv.answers.wait.load import Load
    from fluidkv.answers.wait.study import WaitAnswer
    from fluidkv.serving.clock import IterationClock
    from fluidkv.traces.report import LoadReport
    from fluidkv.wait.model import PromptType

_MOST_TYPES = 200
_NEEDED = "RATE:IN:OUT, such as 0.5:128:256: a rate above 0, lengths whole and at least 1"
_FROM_0 = Exact(0, math.inf, example="1e-6", included=True, what="a time")
_TIME = Exact(0, math.inf, example="1000 (in the unit of --d0)", what="a time")
_who, _server = partial(Option, panel=WHO), partial(Option, panel=SERVER)
_policy = partial(Option, panel="The policy")

_TYPE = "A prompt type: prompts per unit of time, input and output tokens; repeatable."
_RATE = r"Prompts per second, of SOURCE or --preset. \[default: from the trace's times]"
_BINS = (
    "Number of bins of outputs, each of them a type. "
    r"\[default: of 10, 20, 40, 80, 160 the first to add less than 10% output]"
)
_D0 = _server(
    "--d0 TIME", POSITIVE, "Time that an iteration takes without tokens.", means=("base",)
)
_D1 = _server(
    "--d1 TIME",
    _FROM_0,
    "Time that each KV token in the batch adds to it.",
    means=("per_kv_token",),
)
_D2 = _server(
    "--d2 TIME",
    _FROM_0,
    r"Time that each input token of a prompt adds to its prefill. \[default: 0]",
    means=("per_prefill_token",),
)
_CLOCK = _server(
    "--clock D0:D1[:D2]",
    Text(),
    "All three in seconds: numbers; a name of those that fluidkv clocks lists, or MODEL@GPU, "
    "such as llama-3.1-8b@h100 (modelled).",
)
_UNKNOWN = _policy(
    "--unknown-lengths",
    None,
    "Outputs are not known when prompts come: use Nested WAIT.",
    means=("input_length",),
)
_THRESHOLD = _policy(
    "--threshold N",
    Whole(1, 10**9),
    "Check your own thresholds: prompts to wait for, one for each type or segment, in order.",
    many=True,
    means=("thresholds",),
)
_SEGMENT = _policy(
    "--segment END",
    Whole(1, 10**6),  # whole thresholds of longer outputs mean nothing
    "Check your own segments: the last output of one; repeatable. With --unknown-lengths.",
    many=True,
    means=("ends", "segment_ends"),
)
_DELTA = _policy(
    "--delta P",
    Exact(example="0.01", what="a probability", below=True),
    r"Probability of an overflow before the horizon. With --unknown-lengths. \[default: 0.01]",
)
_HORIZON = _policy(
    "--horizon TIME", _TIME, r"Time up to which bounds hold. \[default: 1,000,000 d0]"
)
_SIMULATE = Option("--simulate/--no-simulate", None, "Run the policy and FCFS on the same prompts.")
_SEEDS = Option("--seeds N", Whole(1, 1000), "Number of runs of each policy.")
_RUN_TIME = Option(
    "--run-time TIME",
    _TIME,
    r"Time that each run lasts. \[default: some seconds of work]",
    means=("duration",),
)


# --- which prompts come -----------------------------------------------------------------------


@dataclass(frozen=True)
class Prompts:
    """Where prompts come from: types as they are written, or requests that are to be binned."""

    source: Annotated[str | None, SOURCE] = None
    type_: Annotated[
        Sequence[str] | None,
        _who("--type RATE:IN:OUT", Text(), _TYPE, many=True, means=("types",)),
    ] = None
    preset: Annotated[str | None, PRESET] = None
    rate: Annotated[Fraction | None, _who("--rate --qps R", POSITIVE, _RATE)] = None
    bins: Annotated[int | None, _who("--bins N", Whole(1, 1000), _BINS)] = None


def prompts_of(
    prompts: Annotated[Prompts, Made(Prompts)],
    reading: Annotated[Reading, Made(Reading)],
    on_read: "Callable[[LoadReport], object] | None" = None,
) -> "Callable[..., Load]":
    """The load that they are, of d0, d1, d2 and of whether all prompts have `common_input`.

    Args:
        prompts, reading: what is read, and how.
        on_read: is told what the reader of a trace did with its rows.
    """
    from fluidkv.answers.wait.load import Load, binned_load
    from fluidkv.wait.model import WaitSystem

    texts = prompts.type_ or ()
    if len(texts) > _MOST_TYPES:
        raise InputError("--type", f"{len(texts)} types", f"at most {_MOST_TYPES}")
    if texts:
        types = [_type(text) for text in texts]
        return lambda *server, common_input: Load(WaitSystem(types, *server))
    origin = Origin(source=prompts.source, preset=prompts.preset)
    requests, report = reading.requests(origin, on_read)
    first = "" if report is None else report.summary().splitlines()[0]
    read = "; ".join(filter(None, (first, str(reading.scaling))))
    return partial(binned_load, requests, rate=prompts.rate, bins=prompts.bins, read=read)


def _type(text: str) -> "PromptType":
    from fluidkv.wait.model import PromptType

    parts = text.split(":")
    if len(parts) != 3:
        raise InputError("--type", text, _NEEDED)
    rate = rational(parts[0], FEW_DIGITS)
    if rate is None:
        raise InputError("--type", parts[0], _NEEDED)
    lengths = all(re.fullmatch(r"[0-9]{1,7}", part.strip()) and int(part) for part in parts[1:])
    if rate <= 0 or not lengths:
        raise InputError("--type", text, _NEEDED)
    return PromptType(rate, int(parts[1]), int(parts[2]))


# --- the server ---------------------------------------------------------------------------------


def durations_of(
    d0: Annotated[Fraction | None, _D0] = None,
    d1: Annotated[Fraction | None, _D1] = None,
    d2: Annotated[Fraction | None, _D2] = None,
    clock: Annotated[str | None, _CLOCK] = None,
    clock_from: Annotated[str | None, CLOCK_FROM] = None,
) -> "tuple[tuple[Fraction, ...], IterationClock | None]":
    """d0, d1 and d2, and the clock that they are of; None: they are the user's own."""
    if clock is None and clock_from is None:
        if d0 is None or d1 is None:
            missing = "--d0" if d0 is None else "--d1"
            raise InputError(missing, "none", "a time, or --clock for all")
        return (d0, d1, d2 or Fraction(0)), None
    if d0 is not None or d1 is not None or d2 is not None:
        name, text = ("--clock", clock) if clock is not None else ("--clock-from", clock_from)
        raise InputError(name, text, f"either {name}, or --d0, --d1 and --d2")
    ticks = which_clock(None if clock is None else CLOCK.read("--clock", clock), clock_from)
    assert ticks is not None  # one of the two is there
    # The decimals that the clock was written with, not the doubles beside them.
    return tuple(Fraction(repr(each)) for each in ticks.durations[:3]), ticks


def capacity_of(
    source: Annotated[str | None, SOURCE] = None,
    memory: Annotated[LoggedMemory, Made(LoggedMemory)] = UNSAID_MEMORY,
) -> Fraction:
    """KV tokens as an option has them, or else the log that the requests are of."""
    capacity = memory.tokens(whole="a whole number of KV tokens")
    if capacity is None and source is not None:
        from fluidkv.logs import read_log
        from fluidkv.logs.read import is_log

        logged = read_log(source).capacity if is_log(source) else None
        capacity = None if logged is None else Fraction(logged)
    if capacity is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    return capacity


# --- the question -------------------------------------------------------------------------------


def check(options: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing together, before anything is read."""
    segment = " ".join(map(str, options["segment"] or ())) or None
    only_with("--segment", segment, "--unknown-lengths", options["unknown_lengths"])
    only_with("--delta", options["delta"], "--unknown-lengths", options["unknown_lengths"])
    source, types, rate = options["source"], options["type"], options["rate"]
    exactly_one(source=source, type=types, preset=options["preset"])
    only_with("--rate", rate, "SOURCE or --preset", not types)
    only_with("--bins", options["bins"], "SOURCE or --preset", not types)
    reading = filled(Reading, options)
    reading.check(source, rate=rate, type=types)
    scales = "--scale-input, --scale-output"
    only_with(scales, str(reading.scaling) or None, "SOURCE or --preset", not types)


def ask_wait(
    prompts: Annotated["Callable[..., Load]", Made(prompts_of, doing="reading requests")],
    capacity: Annotated[Fraction, Made(capacity_of)],
    clocked: Annotated["tuple[tuple[Fraction, ...], IterationClock | None]", Made(durations_of)],
    unknown_lengths: Annotated[bool, _UNKNOWN] = False,
    threshold: Annotated[Sequence[int] | None, _THRESHOLD] = None,
    segment: Annotated[Sequence[int] | None, _SEGMENT] = None,
    delta: Annotated[Fraction | None, _DELTA] = None,
    horizon: Annotated[Fraction | None, _HORIZON] = None,
    simulate: Annotated[bool, _SIMULATE] = True,
    seeds: Annotated[int, _SEEDS] = 3,
    run_time: Annotated[Fraction | None, _RUN_TIME] = None,
    on_step: Callable[[str], None] | None = None,
) -> "WaitAnswer":
    """How many requests to let in, and when, so that KV memory never overflows?

    Says whether any scheduler can keep up, what memory the balanced state holds,
    the admission thresholds of WAIT (or Nested WAIT, where outputs are not known)
    and the memory that they need, then runs them beside first come, first served.
    """
    from fluidkv.answers.wait.study import wait_study

    durations, clock = clocked
    load = prompts(*durations, common_input=unknown_lengths)
    own_unit = "s" if clock is not None and clock.unit == "s" else ""
    load = replace(load, unit=load.unit or own_unit, clock=clock)
    rates = "--type" if load.binned is None else "--rate"
    of_segments = "--segment" if segment or threshold else rates
    names = flags_of(ask_wait) | {"arrival_rate": rates, "rates": of_segments}
    with as_options(names):
        answer = wait_study(
            load,
            capacity,
            unknown_lengths=unknown_lengths,
            horizon=horizon,
            delta=delta,
            thresholds=threshold,
            segment_ends=segment,
            simulate=simulate,
            seeds=seeds,
            duration=run_time,
            on_progress=on_step,
        )
    if (error := answer.not_simulated) is None:
        return answer
    name = names.get(error.argument, error.argument)
    return replace(answer, not_simulated=InputError(name, error.value, error.allowed))


WAIT = Question(
    name="wait",
    ask=ask_wait,
    say=Late("fluidkv.answers.wait.wait_text:say_wait"),
    figures=Late("fluidkv.answers.wait.figures:wait_figures"),
    check=check,
    notes=converted_rows,
    doing="computing thresholds",
    assumes=(
        "Prompts of each type come as a Poisson process, at a rate that does not change.",
        "An iteration moves each prompt of its batch by one stage. It lasts d0, more for each KV "
        "token in the batch (d1) and each token of prefill (d2; 0 in the paper).",
        "An evicted request loses its cache and starts again. Prompts share no memory.",
        "Bounds hold for this model; what is marked as sampled comes from runs of it.",
    ),
    examples=("fluidkv wait --type 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 9",),
    time=lambda answer: answer.unit or "unit of --d0",
    sweep=None,
)
