"""`fluidkv study`: one workload at one KV capacity, through every analysis."""

import shlex
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import floor
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fluidkv.answers.backlog import logged_capacity, refuse_rate, words_of, workload_of
from fluidkv.answers.memory import LayeredMemory
from fluidkv.answers.served.load import Origin, Reading
from fluidkv.errors import InputError
from fluidkv.questions.kinds import Exact, Number, Pair, Paired, Text, Whole
from fluidkv.questions.options import Made, Option, as_options, filled, only_with
from fluidkv.questions.question import Late, Question
from fluidkv.report.numbers import short
from fluidkv.report.page import Page
from fluidkv.workload import System

if TYPE_CHECKING:
    from fluidkv.answers.study.chance import Holding
    from fluidkv.answers.study.result import StudyResult
    from fluidkv.footprints.attention import Attention
    from fluidkv.measured import Measurement, Timeseries
    from fluidkv.traces.report import LoadReport

_LARGEST = 10**9  # tokens: what is held in parts of a token fits into 64 bits
_MOST = 2**63 - 1  # of a JAX seed

_holds = partial(Option, panel="What requests hold")
_SLIDING = _holds(
    "--sliding-window W",
    Paired(
        Whole(1, _LARGEST),
        Exact(),
        "W or W:SHARE, such as 128 or 128:1/2: tokens, and the share of layers with that window",
        usual=1,
    ),
    "Layers that keep the last W tokens; W:SHARE for a share of all layers.",
)
_STATE = _holds(
    "--state-space N",
    Paired(
        Exact(0, _LARGEST),
        Exact(),
        "N or N:SHARE, such as 400:3/4: a state as large as N tokens, and the share of layers",
        usual=1,
    ),
    "Layers with a state as large as N tokens; N:SHARE for a share of all layers.",
)
_SPECULATIVE = _holds(
    "--speculative K:ACCEPTANCE",
    Paired(
        Whole(1, 64),
        Exact(included=True),
        "K:ACCEPTANCE, such as 3:0.6: drafts an iteration, and the chance in [0, 1] of each",
    ),
    "Speculative decoding: drafts an iteration, chance that each is accepted.",
)
_CHUNK = _holds(
    "--prefill-chunk N", Whole(), "Tokens of a prompt that an iteration computes at most."
)
_measured = partial(Option, panel="The running engine")
_MEASURED = _measured(
    "--measured FILE",
    Text(),
    "Counters of the running engine, to compare the prediction with: CSV, polled metrics, the "
    "server's output, or a log folder.",
)
_WINDOW = _measured(
    "--window FIRST:LAST",
    Paired(
        Number(),
        Number(),
        "FIRST:LAST in seconds, FIRST before LAST, such as 20:150",
        rising=True,
    ),
    r"Seconds of the series to use. \[default: with a backlog]",
)
_ITERATIONS = Option(
    "--iterations N",
    Whole(),
    r"Iterations to simulate. \[default: 40 longest lifetimes or less]",
)
_SEED = Option("--seed N", Whole(0, _MOST), "Seed of the noise.")


class _Backlog(NamedTuple):
    """A full server; what the reader of its requests says, and where they are from."""

    system: System
    report: "LoadReport | None"
    source: str | None


def _backlog(
    origin: Annotated[Origin, Made(Origin)],
    reading: Annotated[Reading, Made(Reading)],
    memory: Annotated[LayeredMemory, Made(LayeredMemory)],
    on_read: Callable[[Any], object] | None = None,
) -> _Backlog:
    origin.check()
    reading.check(origin.source)
    refuse_rate(reading, "the equilibrium")
    tokens = memory.tokens()
    load, report = reading.requests(origin, on_read)
    capacity = logged_capacity(tokens, origin.source, report)
    return _Backlog(System(workload_of(load, reading.scaling), capacity), report, origin.source)


def _holding(
    memory: Annotated[LayeredMemory, Made(LayeredMemory)],
    sliding_window: Annotated[Pair | None, _SLIDING] = None,
    state_space: Annotated[Pair | None, _STATE] = None,
    speculative: Annotated[Pair | None, _SPECULATIVE] = None,
    prefill_chunk: Annotated[int | None, _CHUNK] = None,
) -> "Holding":
    """What requests hold: a model says what its layers keep, in place of options on layers."""
    from fluidkv.answers.study.chance import Holding, layers_kept
    from fluidkv.footprints import SlidingWindow, Speculation, StateSpace

    drafts = None if speculative is None else Speculation(*speculative)
    model = memory.layers()
    kinds: list[tuple[Fraction, Attention]] = []
    for option, layers, kind in (
        ("--sliding-window", sliding_window, SlidingWindow),
        ("--state-space", state_space, StateSpace),
    ):
        if layers is not None and model is not None:
            allowed = "no --model beside it, which says what layers keep"
            raise InputError(option, str(layers), allowed)
        if layers is not None:
            kinds.append((layers.second, kind(layers.first)))
    if (total := sum(share for share, _ in kinds)) > 1:
        raise InputError("--state-space", f"layers in shares of {total}", "at most 1 in all")
    return Holding(tuple(kinds) if model is None else layers_kept(model), drafts, prefill_chunk)


def _measurement(
    measured: Annotated[str | None, _MEASURED] = None,
    window: Annotated[Pair | None, _WINDOW] = None,
) -> "tuple[Timeseries | None, Measurement | None]":
    if measured is None:
        return None, None
    from fluidkv.logs import read_series
    from fluidkv.measured import measure

    series = read_series(measured)
    return series, measure(series, window=window)


def ask_study(
    backlog: Annotated[_Backlog, Made(_backlog, doing="reading requests")],
    holding: Annotated["Holding", Made(_holding)],
    counters: Annotated[
        "tuple[Timeseries | None, Measurement | None]",
        Made(_measurement, doing="reading the measured series"),
    ],
    iterations: Annotated[int | None, _ITERATIONS] = None,
    seed: Annotated[int, _SEED] = 0,
    on_step: Callable[[str], None] | None = None,
) -> "StudyResult":
    """Is the eviction-free equilibrium of a workload stable at a KV capacity?

    Says how far the boundary is, what period the slowest or growing mode has,
    what the equilibrium carries, and what happens from perturbed starts.
    """
    from fluidkv.answers.study.study import study_system

    series, measurement = counters
    with as_options({"decode_length": "--class"}):
        return study_system(
            backlog.system,
            iterations=iterations,
            seed=seed,
            holding=holding,
            measurement=measurement,
            series=_own_series(backlog) if series is None else series,
            load_report=backlog.report,
            on_progress=on_step,
        )


def _own_series(backlog: _Backlog) -> "Timeseries | None":
    """The counters of the log that the requests are of; None where it has none."""
    if backlog.source is None or backlog.report is None or not backlog.report.of_log:
        return None
    from fluidkv.logs import read_log, series_of

    try:
        return series_of(read_log(backlog.source))
    except InputError:  # a study needs no counters
        return None


def _say(page: Page, answer: "StudyResult", options: Mapping[str, Any]) -> None:
    from fluidkv.answers.study.page import say_study

    say_study(page, answer, _next_commands(answer, options))


def _next_commands(answer: "StudyResult", options: Mapping[str, Any]) -> list[str]:
    """Commands that ask for an engine's own rules, of the same requests at the same capacity.

    Engines have whole tokens. What a log says of its capacity they read there, and a replay is of
    its requests as they were.
    """
    origin, reading = filled(Origin, options), filled(Reading, options)
    is_log = answer.load_report is not None and answer.load_report.of_log
    room = ["--capacity", str(max(1, floor(answer.system.capacity)))]
    room = [] if is_log and options["capacity"] is None else room
    asked = words_of(origin, reading)
    lines = [["recommend", *asked, *room]]
    if is_log and not reading.scaling:
        lines.insert(0, ["replay", asked[0], *room])
    return [shlex.join(["fluidkv", *words]) for words in lines]


def _about(answer: "StudyResult") -> str:
    name = answer.system.workload.name or "A workload"
    return f"{name} at {short(answer.system.capacity)} KV tokens"


STUDY = Question(
    name="study",
    ask=ask_study,
    say=_say,
    figures=Late("fluidkv.answers.figures.study:study_figures"),
    about=_about,
    check=lambda options: only_with(
        "--window", options["window"], "--measured", options["measured"]
    ),
    notes=lambda options: filled(LayeredMemory, options).notes(),
    doing="certifying the equilibrium",
    assumes=(
        "Mass model: requests are amounts, not whole ones; each gets one token per iteration. A "
        "request enters with its prompt in memory, so prefill takes no iteration.",
        "Memory is always in demand: a request waits at all times and is let in as soon as it "
        "fits, classes in proportion to their shares. Times of arrival do not matter.",
        "The evicted have the fewest generated tokens (LPF) and start again. Requests share no "
        "memory: there is no prefix cache.",
        "The verdict is about small disturbances of the equilibrium. What happens from the "
        "perturbed starts is simulated, not proved.",
    ),
    examples=("fluidkv study --preset sharegpt --capacity 41408",),
    time="iteration",
    sweep=None,
)
