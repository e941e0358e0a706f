"""`fluidkv wait`: how many requests to let in, and when, so that memory never overflows."""

import json
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.cli.wait_source import Load, load_of
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.wait.study import WaitAnswer

_WHO, _SERVER, _POLICY, _RUN = "Who asks", "The server", "The policy", "The run"
_LONGEST = 10**6  # tokens of one output; whole thresholds of longer ones mean nothing
_MOST_THRESHOLD, _MOST_SEEDS = 10**9, 1000
_DELTA = "a probability strictly between 0 and 1, such as 0.01"
_OPTIONS = {  # of the functions -> of the command line
    "base": "--d0",
    "bins": "--bins",
    "capacity": "--capacity",
    "clock": "--clock",
    "delta": "--delta",
    "duration": "--run-time",
    "ends": "--segment",
    "horizon": "--horizon",
    "input_length": "--unknown-lengths",
    "per_kv_token": "--d1",
    "segment_ends": "--segment",
    "seeds": "--seeds",
    "thresholds": "--threshold",
    "types": "--type",
}


def wait(
    source: Annotated[
        str | None,
        typer.Argument(help="Trace file; the format is found from the content."),
    ] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="RATE:IN:OUT",
            help="A prompt type: prompts per unit of time, input and output tokens; repeatable.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A synthetic workload: alpaca, bookcorpus, sharegpt.", rich_help_panel=_WHO
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help=r"Prompts a second, of SOURCE or --preset. \[default: from the trace's times]",
            rich_help_panel=_WHO,
        ),
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Bins of outputs, each a type. "
            r"\[default: of 10, 20, 40, 80, 160 the first to add less than 10% output]",
            rich_help_panel=_WHO,
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="Format of SOURCE, if not to be guessed.", rich_help_panel=_WHO
        ),
    ] = None,
    capacity: Annotated[
        str, typer.Option(metavar="TOKENS", help="KV capacity.", rich_help_panel=_SERVER)
    ] = "",
    d0: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Of an iteration.", rich_help_panel=_SERVER),
    ] = None,
    d1: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="More for each KV token in the batch.", rich_help_panel=_SERVER
        ),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            help="Named d0 and d1: vidur-llama3-8b-a100, iteration.", rich_help_panel=_SERVER
        ),
    ] = None,
    unknown_lengths: Annotated[
        bool,
        typer.Option(
            "--unknown-lengths",
            help="Outputs are not known when prompts come: Nested WAIT.",
            rich_help_panel=_POLICY,
        ),
    ] = False,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Check your own: prompts to wait for, one a type or segment, in order.",
            rich_help_panel=_POLICY,
        ),
    ] = None,
    segment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="END",
            help="Check your own: last output of a segment; repeatable. With --unknown-lengths.",
            rich_help_panel=_POLICY,
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Chance of an overflow before the horizon. With --unknown-lengths. "
            r"\[default: 0.01]",
            rich_help_panel=_POLICY,
        ),
    ] = None,
    horizon: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=r"Up to which bounds hold. \[default: 1,000,000 d0]",
            rich_help_panel=_POLICY,
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(help="Run the policy and FCFS on the same prompts.", rich_help_panel=_RUN),
    ] = True,
    seeds: Annotated[
        str, typer.Option(metavar="N", help="Runs of each.", rich_help_panel=_RUN)
    ] = "3",
    run_time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=r"That each run lasts. \[default: some seconds of work]",
            rich_help_panel=_RUN,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "--output",
            metavar="DIR",
            help="Write wait.json and figures here.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    json_: Annotated[
        bool,
        typer.Option("--json", help="Print only JSON on standard output.", rich_help_panel=_RUN),
    ] = False,
) -> None:
    """How many requests to let in, and when, so that KV memory never overflows?

    Says whether any scheduler can keep up, what memory the balanced state holds,
    the admission thresholds of WAIT (or Nested WAIT, where outputs are not known)
    and the memory that they need, then runs them beside first come, first served.

    [bold]fluidkv wait --type 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 9[/bold]
    """
    folder = None if out is None else arguments.writable_folder("--out", out)
    tokens = _capacity(capacity)
    options: dict[str, Any] = {
        "unknown_lengths": unknown_lengths,
        "delta": None if delta is None else _delta(delta),
        "horizon": None if horizon is None else _time("--horizon", horizon),
        "thresholds": _counts("--threshold", threshold, _MOST_THRESHOLD),
        "segment_ends": _counts("--segment", segment, _LONGEST),
        "simulate": simulate,
        "seeds": arguments.whole_number("--seeds", seeds, least=1, most=_MOST_SEEDS),
        "duration": None if run_time is None else _time("--run-time", run_time),
    }
    if segment and not unknown_lengths:
        raise InputError("--segment", " ".join(segment), "together with --unknown-lengths")
    if delta is not None and not unknown_lengths:
        raise InputError("--delta", delta, "together with --unknown-lengths")
    own_segments = bool(segment or threshold)
    load = load_of(
        source=source,
        types=type_ or [],
        preset=preset,
        rate=rate,
        bins=bins,
        format_=format_,
        d0=d0,
        d1=d1,
        clock=clock,
        common_input=unknown_lengths,
    )
    answer = _answer(load, tokens, options, own_segments=own_segments, quiet=json_)
    from fluidkv.cli.wait_json import as_dict

    text = json.dumps(as_dict(answer, load), indent=2, allow_nan=False)
    names = [] if folder is None else _write(answer, load, text, folder)
    if json_:
        print(text)
        return
    from fluidkv.cli.wait_text import print_answer

    print_answer(answer, load, Console(highlight=False))
    if folder is not None:
        print(arguments.written_to(folder, names))


def _answer(
    load: Load, tokens: Fraction, options: dict[str, Any], *, own_segments: bool, quiet: bool
) -> "WaitAnswer":
    from fluidkv.answers.wait.study import wait_study

    console = Console(stderr=True, highlight=False)
    watched = console.is_terminal and not quiet
    with console.status("thresholds (Ctrl-C stops)") if watched else nullcontext() as status:

        def show(doing: str) -> None:
            if status is not None:
                status.update(f"{doing} (Ctrl-C stops)")

        def named(error: InputError) -> InputError:
            name = _option_of(error.argument, load, own_segments=own_segments)
            return InputError(name, error.value, error.allowed)

        try:
            answer = wait_study(load.system, tokens, on_progress=show, **options)
        except InputError as error:
            raise named(error) from None
        if answer.not_simulated is None:
            return answer
        return replace(answer, not_simulated=named(answer.not_simulated))


def _option_of(argument: str, load: Load, *, own_segments: bool) -> str:
    """What the reader wrote."""
    if argument in ("arrival_rate", "rates"):
        if argument == "rates" and own_segments:
            return "--segment"
        return load.rate_option
    return _OPTIONS.get(argument, argument)


def _capacity(text: str) -> Fraction:
    if not text:
        raise InputError("--capacity", "none", "a number of KV tokens")
    value = arguments.capacity(text)
    if value.denominator != 1:
        raise InputError("--capacity", text, "a whole number of KV tokens")
    return value


def _delta(text: str) -> Fraction:
    value = arguments.exact_number("--delta", text, _DELTA)
    if not 0 < value < 1:
        raise InputError("--delta", text, _DELTA)
    return value


def _time(option: str, text: str) -> Fraction:
    allowed = "a time above 0, in the unit of --d0"
    value = arguments.exact_number(option, text, allowed)
    if value <= 0:
        raise InputError(option, text, allowed)
    return value


def _counts(option: str, texts: list[str] | None, most: int) -> tuple[int, ...] | None:
    if not texts:
        return None
    return tuple(arguments.whole_number(option, text, least=1, most=most) for text in texts)


def _write(answer: "WaitAnswer", load: Load, text: str, folder: Path) -> list[str]:
    from fluidkv.figures import MANIFEST, write_figures
    from fluidkv.figures.answers.wait import wait_figures

    files = {"wait.json": (text + "\n").encode()}
    try:
        rendered = write_figures(wait_figures(answer, unit=load.unit), folder, beside=files)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", str(folder), f"a folder that takes files ({error})") from None
    return [*files, *(name for each in rendered for name in each.files), MANIFEST]
