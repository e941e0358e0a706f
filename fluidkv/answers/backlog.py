"""Requests that wait at all times, as the theory of a full server has them: lengths and memory."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.answers.served.load import Origin, Reading
from fluidkv.errors import InputError
from fluidkv.questions.options import as_options
from fluidkv.workload import Workload

if TYPE_CHECKING:
    from fluidkv.traces import Trace
    from fluidkv.traces.report import LoadReport
    from fluidkv.traces.scaling import Scaling


def refuse_rate(reading: Reading, what: str) -> None:
    """Refuse a rate that is scaled, before anything is read.

    Args:
        what: is of a backlog.
    """
    if reading.scale_rate != 1:
        allowed = f"none: {what} is of a backlog, whatever the times of arrival"
        raise InputError("--scale-rate", str(reading.scale_rate), allowed)


def workload_of(load: "Workload | Trace", scaling: "Scaling") -> Workload:
    """Lengths alone; of a trace it says how they were scaled."""
    if isinstance(load, Workload):
        return load
    workload = load.workload()
    return replace(workload, note=f"{workload.note}; {scaling}") if scaling else workload


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
