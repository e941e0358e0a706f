"""The requests of a command that is no question, and their words on another command line."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.answers.served.load import Origin, Reading
from fluidkv.cli.asked import note_read
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError
from fluidkv.questions.options import as_options

if TYPE_CHECKING:
    from fluidkv.traces import LoadReport, Scaling, Trace
    from fluidkv.workload import Workload


def requests_of(origin: Origin, reading: Reading) -> "tuple[Workload | Trace, LoadReport | None]":
    """Classes, a preset, or a trace with the report of its reader; exactly one is there."""
    with progress(f"reading {origin.source or origin.preset or 'classes'}"):
        return reading.requests(origin, note_read)


def logged_capacity(
    tokens: Fraction | None, source: str | None, report: "LoadReport | None"
) -> Fraction:
    """KV tokens as an option has them, or else the log that the requests are of.

    Raises:
        InputError: neither says.
    """
    if tokens is None and report is not None and report.of_log:
        from fluidkv.logs import read_log

        with as_options({"source": "SOURCE"}):
            logged = read_log(source or "").capacity
        tokens = None if logged is None else Fraction(logged)
    if tokens is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    return tokens


def scaled_workload(trace: "Trace", scaling: "Scaling") -> "Workload":
    """What a trace says of lengths, and how they were scaled."""
    workload = trace.workload()
    return replace(workload, note=f"{workload.note}; {scaling}") if scaling else workload


def words_of(origin: Origin, reading: Reading) -> list[str]:
    """The words of a command line that ask for the same requests; the source comes first."""
    source, preset = origin.source, origin.preset
    words = [source] if source else ["--preset", preset] if preset else []
    words += [word for text in origin.class_ or () for word in ("--class", text)]
    for option, value in (
        ("--format", reading.format_),
        ("--columns", reading.columns_text),
        ("--scale-input", reading.scale_input),
        ("--scale-output", reading.scale_output),
        ("--scale-rate", reading.scale_rate),
    ):
        if value not in (None, 1):
            words += [option, str(value)]
    return words
