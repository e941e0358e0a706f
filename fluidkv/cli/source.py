"""The requests that a command is about: of a trace, a preset, or as they stand in the options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.classes import request_classes
from fluidkv.cli import arguments
from fluidkv.cli import options as opt
from fluidkv.cli.asked import note_read
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.runs.max_tokens import MaxTokens
    from fluidkv.traces import LoadedTrace, LoadReport, Scaling, Trace
    from fluidkv.workload import Workload

_ASKED = (
    "What clients ask for at most: exact (just what they get, as a benchmark's clients do), a "
    "number, a multiple such as 2x, uniform:LOW:HIGH, context:TOKENS (what the input leaves of "
    "it, as chats do where nothing is said), or column:NAME of a CSV trace. Engines that reserve "
    r"memory for outputs to come look at it. \[default: exact]"
)
_Asked = Annotated[str | None, opt.option("--max-tokens N", str, _ASKED, opt.WHO)]
SCALES = {f"scale_{name}": f"--scale-{name}" for name in ("input", "output", "rate")}


@dataclass(frozen=True)
class Scales:
    """Options that make requests longer, shorter or faster; a factor of 1 changes nothing."""

    scale_input: opt.ScaleInput = Fraction(1)
    scale_output: opt.ScaleOutput = Fraction(1)
    scale_rate: opt.ScaleRate = Fraction(1)

    @property
    def scaling(self) -> "Scaling":
        from fluidkv.traces import Scaling

        return Scaling(self.scale_input, self.scale_output, self.scale_rate)

    def check(self, source: str | None, **arrivals: object) -> None:
        """Refuse, before anything is read, a rate of what has none.

        Args:
            source: a trace or log, whose times alone can be scaled.
            arrivals: other options that say when requests come, by their names; None: not given.
        """
        if self.scale_rate == 1:
            return
        rate = str(self.scale_rate)
        arguments.only_with("--scale-rate", rate, "a SOURCE with times of arrival", source)
        for name, value in arrivals.items():
            if value:
                allowed = f"no --{name} beside it, which says when requests come"
                raise InputError("--scale-rate", rate, allowed)


@dataclass(frozen=True)
class Reading(Scales):
    """Options on how SOURCE is read and what is done to its requests."""

    format_: opt.Format = None
    columns: opt.Columns = None

    def check(self, source: str | None, **arrivals: object) -> None:
        arguments.only_with("--format", self.format_, "SOURCE", source)
        arguments.only_with("--columns", _said(self.columns), "SOURCE", source)
        super().check(source, **arrivals)

    def requests(
        self, source: str | None, classes: list[str] | None, preset: str | None
    ) -> "tuple[Workload | Trace, LoadReport | None]":
        """Classes, a preset, or a trace with the report of its reader; exactly one is given."""
        load, report = _read(source, classes, preset, self.format_, self.columns)
        if self.scaling:
            from fluidkv.traces import scale

            with arguments.as_options(SCALES):
                load = scale(load, self.scaling)
        return load, report


@dataclass(frozen=True)
class Asking(Reading):
    """As `Reading`, and an option on what clients ask for at most."""

    max_tokens: _Asked = None

    @property
    def asked(self) -> "MaxTokens | None":
        """None: nothing was said."""
        from fluidkv.runs.max_tokens import max_tokens_of

        if self.max_tokens is None:
            return None
        with arguments.as_options({"max_tokens": "--max-tokens"}):
            return max_tokens_of(self.max_tokens)

    def check(self, source: str | None, **arrivals: object) -> None:
        super().check(source, **arrivals)
        if self.asked is not None and self.asked.column:
            arguments.only_with("--max-tokens", self.max_tokens, "SOURCE", source)

    def requests(
        self, source: str | None, classes: list[str] | None, preset: str | None
    ) -> "tuple[Workload | Trace, LoadReport | None]":
        if self.asked is None or not self.asked.column:
            return super().requests(source, classes, preset)
        columns = {**(self.columns or {}), "max_tokens": self.asked.column}
        return replace(self, columns=columns, max_tokens=None).requests(source, classes, preset)


def logged_capacity(
    tokens: Fraction | None, source: str | None, report: "LoadReport | None"
) -> Fraction:
    """KV tokens as an option has them, or else the log that the requests are of.

    Raises:
        InputError: neither says.
    """
    if tokens is None and report is not None and report.of_log:
        from fluidkv.logs import read_log

        with arguments.as_options({"source": "SOURCE"}):
            logged = read_log(source or "").capacity
        tokens = None if logged is None else Fraction(logged)
    if tokens is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    return tokens


def scaled_workload(trace: "Trace", scaling: "Scaling") -> "Workload":
    """What a trace says of lengths, and how they were scaled."""
    workload = trace.workload()
    return replace(workload, note=f"{workload.note}; {scaling}") if scaling else workload


def asked_again(
    source: str | None, classes: list[str] | None, preset: str | None, reading: Reading
) -> list[str]:
    """The words of a command line that ask for the same requests; the source comes first."""
    words = [source] if source else ["--preset", preset] if preset else []
    words += [word for text in classes or () for word in ("--class", text)]
    for option, value in (
        ("--format", reading.format_),
        ("--columns", _said(reading.columns)),
        ("--scale-input", reading.scale_input),
        ("--scale-output", reading.scale_output),
        ("--scale-rate", reading.scale_rate),
    ):
        if value not in (None, 1):
            words += [option, str(value)]
    return words


AS_IT_IS, AS_ASKED = Reading(), Asking()


def _read(
    source: str | None,
    classes: list[str] | None,
    preset: str | None,
    format_: str | None,
    columns: Mapping[str, str] | None,
) -> "tuple[Workload | Trace, LoadReport | None]":
    if classes:
        return request_classes(classes), None
    names = {"source": "SOURCE", "format": "--format", "preset": "--preset"}
    with arguments.as_options(names), progress(f"reading {source or preset}"):
        if preset is not None:
            from fluidkv.traces import preset as preset_workload

            return preset_workload(preset), None
        from fluidkv.traces import read_trace

        try:
            found = read_trace(source or "", format=format_, columns=columns)
        except InputError as error:
            if error.argument == "columns":
                raise InputError("--columns", _said(columns), error.allowed) from None
            found = _of_log(source or "") if error.argument == "source" else None
            if found is None:
                raise
        note_read(found.report)
        return found


def _of_log(source: str) -> "LoadedTrace | None":
    """The requests of a log whose files have to be looked at for them; None if it is none.

    Raises:
        InputError: a log without requests, of files that are named for what they are.
    """
    from fluidkv.logs import is_log, read_log
    from fluidkv.traces.read import LoadedTrace, read_trace

    if not is_log(source):
        return None
    log = read_log(source)
    if log.requests_from is None:
        what = "; ".join(f"{each.name} is {each.kind}" for each in log.files[:4])
        raise InputError("source", source, f"requests ({what}); {log.missing[0].command}")
    trace, report = read_trace(log.requests_from)
    return LoadedTrace(trace, replace(report, of_log=True))


def _said(columns: Mapping[str, str] | None) -> str | None:
    """As it was written."""
    words = {name: word for word, name in arguments.COLUMNS.items()}
    return (
        ",".join(f"{words.get(name, name)}={column}" for name, column in (columns or {}).items())
        or None
    )
