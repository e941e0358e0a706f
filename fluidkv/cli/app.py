"""Commands: parse, call one function of the package, print. Nothing heavy is imported for help."""

import difflib
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from typer.exceptions import TyperException

import fluidkv
from fluidkv.cli import arguments
from fluidkv.cli.atlas import atlas
from fluidkv.cli.cascade import cascade
from fluidkv.cli.equilibria import equilibria
from fluidkv.cli.mix import mix
from fluidkv.cli.oracle import oracle
from fluidkv.cli.pulse import pulse
from fluidkv.cli.recommend import recommend
from fluidkv.cli.replay import replay
from fluidkv.cli.signals import INTERRUPTED
from fluidkv.cli.table import table
from fluidkv.cli.threshold import threshold
from fluidkv.cli.wait import wait
from fluidkv.errors import InputError
from fluidkv.text import printable

if TYPE_CHECKING:
    from fluidkv.answers.study import StudyResult
    from fluidkv.measured import Measurement, Timeseries
    from fluidkv.traces import LoadReport
    from fluidkv.workload import System, Workload

BAD_INPUT, DIFFERS = 2, 1

app = typer.Typer(
    name="fluidkv",
    help="The stability laboratory for KV-cache memory in LLM serving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_messages = Console(stderr=True, highlight=False)


def run(argv: Sequence[str] | None) -> int:
    """What `fluidkv.cli.main` does, handlers of signals apart."""
    if not os.environ.get("COLUMNS", "80").strip("0"):
        del os.environ["COLUMNS"]  # some shells export a width of 0: nothing would be shown in it
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what it cannot encode it spells out
            stream.reconfigure(errors="backslashreplace")
    try:
        words = None if argv is None else list(argv)
        code = app(args=words, prog_name="fluidkv", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be answered
    except InputError as error:
        return _refuse(str(error))
    except TyperException as error:
        message = " ".join(error.format_message().split())
        return _refuse(printable(message)) if message else BAD_INPUT  # no command: help is printed
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # the reader of a pipe has seen enough; typer exits then
        _discard_output()
        return 0
    except OSError as error:  # standard output, on a full disk for one
        _discard_output()
        return _refuse(f"output: {error.strerror or error}")
    if code == INTERRUPTED:  # typer's answer to Ctrl-C inside a command
        return _interrupted()
    return code if isinstance(code, int) else 0


def _interrupted() -> int:
    print("fluidkv: interrupted; nothing was left half-written", file=sys.stderr)
    return INTERRUPTED


def _discard_output() -> None:
    """What is still buffered goes nowhere: flushing it at exit would fail once more."""
    with suppress(OSError, ValueError):  # a stream of the caller's, without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> int:
    print(f"fluidkv: {message}", file=sys.stderr)
    return BAD_INPUT


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fluidkv {fluidkv.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """The stability laboratory for KV-cache memory in LLM serving."""


@app.command()
def study(
    source: Annotated[
        str | None,
        typer.Argument(help="Trace file or log folder; the format is found from the content."),
    ] = None,
    class_: Annotated[
        list[str] | None,
        typer.Option("--class", metavar="IN:OUT[:SHARE]", help="A request class; repeatable."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A synthetic workload: alpaca, bookcorpus, sharegpt.")
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS", help="KV capacity. May be left out for a log folder that names it."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of SOURCE, if not to be guessed: azure, burstgpt, csv, mooncake, vidur, "
            "vllm-bench.",
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="Time series of the running engine, to hold the prediction against."
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST:LAST", help=r"Seconds of the series to use. \[default: with a backlog]"
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write study.json and figures here.")
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
    iterations: Annotated[
        str | None,
        typer.Option(
            metavar="N", help=r"Horizon of the simulation. \[default: 40 longest lifetimes or less]"
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Of the noise.")] = "0",
) -> None:
    """Is the eviction-free equilibrium of a workload stable at a KV capacity?

    Says how far the boundary is, what period the slowest or growing mode has,
    what the equilibrium carries, and what happens from perturbed starts.

    [bold]fluidkv study --preset sharegpt --capacity 41408[/bold]
    """
    if sum(given is not None and given != [] for given in (source, class_, preset)) != 1:
        raise InputError(
            "SOURCE", _given(source, class_, preset), "exactly one of SOURCE, --class, --preset"
        )
    folder = arguments.writable_folder("--out", out) if out is not None else None
    if window is not None and measured is None:
        raise InputError("--window", window, "together with --measured")
    if format_ is not None and source is None:
        raise InputError("--format", format_, "together with SOURCE")
    span = arguments.window(window) if window is not None else None
    tokens = arguments.capacity(capacity) if capacity is not None else None
    horizon = None
    if iterations is not None:
        horizon = arguments.whole_number("--iterations", iterations, least=1)
    seed_number = arguments.whole_number("--seed", seed, least=0)

    workload, report = _workload(source, class_, preset, format_)
    system = _system(workload, tokens, source, report)
    series, measurement = _measurement(measured, span)
    with _progress("certifying the equilibrium, simulating perturbed starts", quiet=json_):
        from fluidkv.answers.study import study_system

        result = study_system(
            system,
            iterations=horizon,
            seed=seed_number,
            measurement=measurement,
            load_report=report,
        )
    text = json.dumps(result.as_dict(), indent=2, allow_nan=False)
    names = []
    if folder is not None:
        with _progress(f"drawing into {folder}", quiet=json_):
            names = _write(result, series, text, folder)
    if json_:
        print(text)
        return
    from fluidkv.cli.summary import print_study

    print_study(result, Console(highlight=False))
    if folder is not None:
        print(arguments.written_to(folder, names))


app.command()(equilibria)
app.command()(cascade)
app.command()(pulse)
app.command()(threshold)
app.command()(atlas)
app.command()(recommend)
app.command()(replay)
app.command()(mix)
app.command()(wait)
app.command()(table)
app.command()(oracle)


@app.command()
def verify(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Claims, or the front of their ids."),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> int:
    """Check the ledger: what the papers claim, and whether it holds.

    Exits with 1 if an outcome differs from the one on record.
    """
    from fluidkv.cli.summary import print_claim, print_tally
    from fluidkv.papers.ledger import verify as verify_claims

    console = Console(highlight=False)
    show = None if json_ else (lambda result: print_claim(result, console))
    results = verify_claims(ids or None, on_result=show)
    if json_:
        print(json.dumps([r.as_dict() for r in results], indent=2, allow_nan=False))
    else:
        print_tally(results, console)
    return 0 if all(r.as_expected for r in results) else DIFFERS


@app.command()
def figure(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Figures.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every figure.")] = False,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to write.")] = "figures",
) -> None:
    """Regenerate figures: PNG, SVG and data, with a manifest. Without ID, list them."""
    from fluidkv.papers.figures import figures, render

    if ids and all_:
        raise InputError("--all", " ".join(ids), "either figure ids or --all")
    if not ids and not all_:
        for each in figures():
            front = f"{each.id:<22} "
            lines = textwrap.wrap(
                each.title, 80, initial_indent=front, subsequent_indent=" " * len(front)
            )
            print("\n".join(lines))
        return
    known = {each.id for each in figures()}
    for name in ids or ():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            near = f"; the nearest is {close[0]}" if close else ""
            raise InputError("ID", name, f"one of those that `fluidkv figure` lists{near}")
    folder = arguments.writable_folder("--out", out)
    try:
        with _progress(f"drawing into {folder}", quiet=False):
            rendered = render(ids or None, folder, on_skip=_refuse_missing if ids else None)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", out, f"a folder that takes files ({error})") from None
    for each in rendered:
        print(
            f"{each.id}: " + (f"skipped, {each.skipped}" if each.skipped else ", ".join(each.files))
        )


def _refuse_missing(id_: str, reason: str) -> None:
    """Who asks for a figure by name wants that one."""
    raise InputError("ID", id_, f"a figure whose input is there ({reason})")


def _given(source: str | None, class_: list[str] | None, preset: str | None) -> str:
    names = [
        text
        for text, value in (("SOURCE", source), ("--class", class_), ("--preset", preset))
        if value
    ]
    return " and ".join(names) or "none"


def _workload(
    source: str | None, class_: list[str] | None, preset: str | None, format_: str | None
) -> "tuple[Workload, LoadReport | None]":
    if class_:
        return arguments.request_classes(class_), None
    if preset is not None:
        from fluidkv.traces import preset as preset_workload

        return preset_workload(preset), None
    from fluidkv.traces import read_trace

    trace, report = read_trace(source or "", format=format_)
    return trace.workload(), report


def _system(
    workload: "Workload", tokens: object, source: str | None, report: "LoadReport | None"
) -> "System":
    from fluidkv.workload import System

    if tokens is None and report is not None and report.format == "vllm-bench":
        from fluidkv.traces import bench_capacity

        tokens = bench_capacity(source or "")
    if tokens is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    return System(workload, tokens)  # pyright: ignore[reportArgumentType]  # System checks it


def _measurement(
    path: Path | None, span: tuple[float, float] | None
) -> "tuple[Timeseries | None, Measurement | None]":
    if path is None:
        return None, None
    from fluidkv.measured import measure, read_timeseries

    series = read_timeseries(path)
    return series, measure(series, window=span)


def _write(result: "StudyResult", series: "Timeseries | None", text: str, out: Path) -> list[str]:
    from fluidkv.figures import MANIFEST, study_figures, write_figures

    answer = {"study.json": (text + "\n").encode()}
    try:
        rendered = write_figures(study_figures(result, series), out, beside=answer)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", str(out), f"a folder that takes files ({error})") from None
    return [*answer, *(name for each in rendered for name in each.files), MANIFEST]


def _progress(message: str, *, quiet: bool) -> AbstractContextManager[object]:
    """A line that moves while work goes on; nothing where no person watches."""
    if quiet or not _messages.is_terminal:
        return nullcontext()
    return _messages.status(escape(printable(f"{message} (Ctrl-C stops)")))
