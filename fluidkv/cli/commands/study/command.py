"""`fluidkv study`: one workload at one KV capacity, through every analysis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import LayeredMemory
from fluidkv.answers.served.load import AS_IT_IS, NOWHERE, Origin, Reading
from fluidkv.cli import arguments as read
from fluidkv.cli import options as opt
from fluidkv.cli.asked import as_written
from fluidkv.cli.commands.study.holding import EVERY_TOKEN, HoldingOptions
from fluidkv.cli.commands.study.next import commands
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.source import logged_capacity, requests_of, scaled_workload, words_of
from fluidkv.errors import InputError
from fluidkv.report.numbers import short

if TYPE_CHECKING:
    from fluidkv.measured import Measurement, Timeseries
    from fluidkv.traces import LoadReport

_MEASURED = "The running engine"
_ARGUMENTS = {"decode_length": "--class"}  # of functions


def _path(_: str, text: str) -> Path:
    return Path(text)


_SERIES = (
    "Counters of the running engine, to compare the prediction with: CSV, polled metrics, the "
    "server's output, or a log folder."
)
_Measured = Annotated[Path | None, opt.option("--measured FILE", _path, _SERIES, _MEASURED)]
_WINDOW = r"Seconds of the series to use. \[default: with a backlog]"
_Window = Annotated[
    tuple | None, opt.option("--window FIRST:LAST", read.window, _WINDOW, _MEASURED)
]
_HORIZON = r"Iterations to simulate. \[default: 40 longest lifetimes or less]"
_Iterations = Annotated[
    int | None, opt.option("--iterations N", read.whole_number, _HORIZON, opt.RUN)
]

_NO_MEMORY = LayeredMemory()


def study(
    origin: Origin = NOWHERE,
    reading: Reading = AS_IT_IS,
    memory: LayeredMemory = _NO_MEMORY,
    holds: HoldingOptions = EVERY_TOKEN,
    measured: _Measured = None,
    window: _Window = None,
    iterations: _Iterations = None,
    seed: Annotated[int, opt.seed("the noise")] = 0,
    out: Annotated[Path | None, opt.out("study.json and figures")] = None,
    html: opt.Html = None,
    json_: opt.Json = False,
) -> None:
    """Is the eviction-free equilibrium of a workload stable at a KV capacity?

    Says how far the boundary is, what period the slowest or growing mode has,
    what the equilibrium carries, and what happens from perturbed starts.

    [bold]fluidkv study --preset sharegpt --capacity 41408[/bold]
    """
    origin.check()
    read.only_with("--window", window, "--measured", measured)
    reading.check(origin.source)
    if reading.scale_rate != 1:
        what = "none: the equilibrium is of a backlog, whatever the times of arrival"
        raise InputError("--scale-rate", str(reading.scale_rate), what)
    memory.per_token()
    holding = holds.holding(memory.layers())
    load, report = requests_of(origin, reading)
    tokens = logged_capacity(memory.tokens(), origin.source, report)
    series, measurement = _measurement(measured, window)
    with progress("certifying the equilibrium") as line:
        from fluidkv.answers.study import study_system
        from fluidkv.workload import System, Workload

        workload = load if isinstance(load, Workload) else scaled_workload(load, reading.scaling)
        with as_written(_ARGUMENTS):
            result = study_system(
                System(workload, tokens),
                iterations=iterations,
                seed=seed,
                holding=holding,
                measurement=measurement,
                series=series if measured else _own_series(origin.source, report),
                load_report=report,
                on_progress=line.show,
            )
    from fluidkv.cli.commands.study.text import ASSUMES, say_study

    is_log = report is not None and report.of_log
    asked = words_of(origin, reading)
    room = None if memory.capacity is None and is_log else tokens
    to_run = commands(asked, room, is_run=is_log and not reading.scaling)

    def beside():
        from fluidkv.answers.figures.study import study_figures

        return {}, study_figures(result, series)

    give(
        result.to_dict,
        lambda page: say_study(page, result, to_run),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        about=f"{workload.name or 'A workload'} at {short(tokens)} KV tokens",
        name="study.json",
        beside=beside,
        notes=memory.notes(),
    )


def _own_series(source: str | None, report: "LoadReport | None") -> "Timeseries | None":
    """The counters of the log that the requests are of; None where it has none."""
    if source is None or report is None or not report.of_log:
        return None
    from fluidkv.logs import read_log, series_of

    try:
        return series_of(read_log(source))
    except InputError:  # a study needs no counters
        return None


def _measurement(
    path: Path | None, span: tuple[float, float] | None
) -> "tuple[Timeseries | None, Measurement | None]":
    if path is None:
        return None, None
    from fluidkv.logs import read_series
    from fluidkv.measured import measure

    with read.as_options({"measured": "--measured"}):
        series = read_series(path)
    return series, measure(series, window=span)
