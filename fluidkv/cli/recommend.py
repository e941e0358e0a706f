"""`fluidkv recommend`: settings of an engine for a workload, a KV capacity and what is asked."""

import csv
import difflib
import io
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.recommend import Demand, Recommendation
    from fluidkv.answers.recommend.frontier import Setting, Slo
    from fluidkv.serving.clock import IterationClock
    from fluidkv.traces import LoadReport, Trace
    from fluidkv.workload import Workload

NO_PICK = 1
_WHO, _SERVER, _TRIED, _RUN = "Who asks", "The server", "What to try and to ask for", "The run"
_UNITS = {"s": Fraction(1), "ms": Fraction(1, 1000)}
_TIMES = ("ttft", "latency", "tpot", "longest_gap")  # metrics that seconds can be a bound of
_LARGEST_COUNT = 10**6
_AS_SET = ("watermark", "max_num_seqs", "admission_rate")  # clients are who asks, not a setting
_OPTIONS = {  # of the function -> of the command line
    "admission_rate": "--rate-cap",
    "block_size": "--block-size",
    "capacity": "--capacity",
    "clients": "--clients",
    "engine": "--engine",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_num_seqs": "--max-num-seqs",
    "rate": "--rate",
    "replay": "--replay",
    "requests": "--requests",
    "runs": "--runs",
    "slo": "--slo",
    "source": "SOURCE",
    "speed": "--speed",
    "watermark": "--watermark",
}


def recommend(
    source: Annotated[
        str | None,
        typer.Argument(help="Trace file or log folder; the format is found from the content."),
    ] = None,
    class_: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="IN:OUT[:SHARE]",
            help="A request class; repeatable.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A synthetic workload: alpaca, bookcorpus, sharegpt.", rich_help_panel=_WHO
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help="KV capacity. May be left out for a log folder that names it.",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="vllm, vllm-0.11, sglang, trtllm-max-utilization, trtllm-no-evict, "
            "vidur-sarathi, restart.",
            rich_help_panel=_SERVER,
        ),
    ] = "vllm",
    slo: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=BOUND",
            help="What must hold in every run, such as ttft_p99=2s or preemption_rate=0; "
            "repeatable.",
            rich_help_panel=_TRIED,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="Poisson arrivals a second; an iteration without --clock.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    clients: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="N clients, each with one request at a time.", rich_help_panel=_WHO
        ),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="The trace at its own times: what a trace and a --clock do anyway.",
            rich_help_panel=_WHO,
        ),
    ] = False,
    speed: Annotated[
        str, typer.Option(metavar="X", help="Of the replay: X times as fast.", rich_help_panel=_WHO)
    ] = "1",
    clock: Annotated[
        str | None,
        typer.Option(
            metavar="D0[:D1[:D2]]",
            help="Seconds of an iteration: D0, D1 more for each KV token, D2 for each token of "
            "prefill; or a name, such as vidur-llama3-8b-a100. "
            r"\[default: fitted to a log folder, else time in iterations]",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    now: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KNOB=VALUE",
            help="How the server is set: watermark, max_num_seqs, rate_cap; repeatable. "
            r"\[default: 0 and no caps]",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    watermark: Annotated[
        str | None,
        typer.Option(
            metavar="W,W,...", help="Watermarks to try, each in [0, 1).", rich_help_panel=_TRIED
        ),
    ] = None,
    max_num_seqs: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Caps on running requests to try.", rich_help_panel=_TRIED
        ),
    ] = None,
    rate_cap: Annotated[
        str | None,
        typer.Option(
            metavar="R,R,...",
            help="Admissions an iteration to try, such as 1/2.",
            rich_help_panel=_TRIED,
        ),
    ] = None,
    client_cap: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="With --clients: other numbers of them to try.",
            rich_help_panel=_TRIED,
        ),
    ] = None,
    block_size: Annotated[
        str | None,
        typer.Option(metavar="TOKENS", help=r"\[default: the engine's]", rich_help_panel=_SERVER),
    ] = None,
    max_num_batched_tokens: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help=r"Most tokens an iteration. \[default: no limit]",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    requests: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help=r"In each run; of a replay the first N, and on. \[default: 200 to 2,000]",
            rich_help_panel=_RUN,
        ),
    ] = None,
    runs: Annotated[
        str,
        typer.Option(
            metavar="N", help="Of each setting, with other requests each.", rich_help_panel=_RUN
        ),
    ] = "4",
    seed: Annotated[
        str, typer.Option(metavar="N", help="Of the first run.", rich_help_panel=_RUN)
    ] = "0",
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="Format of SOURCE, if not to be guessed.", rich_help_panel=_WHO
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Write JSON, a table of all that was tried, and a figure.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    json_: Annotated[
        bool,
        typer.Option("--json", help="Print only JSON on standard output.", rich_help_panel=_RUN),
    ] = False,
) -> int:
    """Which watermark, max_num_seqs or rate limit to set, and what it buys.

    Runs the same requests through every setting of the engine's own rules and
    shows throughput against preemptions and tail latency, the setting to take,
    and the flags. Exits with 1 if there is none to take: no setting meets every
    --slo, or the runs are too short to say.

    [bold]fluidkv recommend --preset sharegpt --capacity 41408 --clients 128[/bold]
    """
    given = {"SOURCE": source, "--class": class_, "--preset": preset}
    named = [name for name, value in given.items() if value]
    if len(named) != 1:
        shown = " and ".join(named) or "none"
        raise InputError("SOURCE", shown, "exactly one of SOURCE, --class, --preset")
    if format_ is not None and source is None:
        raise InputError("--format", format_, "together with SOURCE")
    folder = None if out is None else arguments.writable_folder("--out", out)
    # Everything that can be refused without reading a file, before a file is read.
    ticks = None if clock is None else _clock(clock)
    options: dict[str, Any] = {
        "now": _now(now or []),
        "candidates": _candidates(watermark, max_num_seqs, rate_cap, client_cap),
        "block_size": _count("--block-size", block_size),
        "max_num_batched_tokens": _count("--max-num-batched-tokens", max_num_batched_tokens),
        "requests": _count("--requests", requests),
        "runs": _count("--runs", runs),
        "seed": arguments.whole_number("--seed", seed, least=0, most=2**62),
    }
    tokens = None if capacity is None else _tokens(capacity)
    own_blocks = options["block_size"] is not None
    if client_cap is not None and clients is None:
        raise InputError("--client-cap", client_cap, "together with --clients")
    asked = (_rate("--rate", rate), _count("--clients", clients), replay, _rate("--speed", speed))
    bounds = [_slo(text) for text in slo or []]
    load, report = _load(source, class_, preset, format_)
    notes: list[tuple[str, str]] = []
    if report is not None:
        first, *reasons = report.summary().splitlines()
        notes += [("read", first), *(("", reason.strip()) for reason in reasons)]
        if report.format == "vllm-bench":
            tokens, ticks = _as_logged(source or "", tokens, ticks, options, notes)
    if tokens is None:
        raise InputError("--capacity", "none", "a number of KV tokens")
    if own_blocks:
        arguments.fits_blocks("--block-size", tokens, options["block_size"])
    demand, why = _demand(load, ticks, *asked)
    if why:
        notes.append(("", why))
    options |= {"clock": ticks, "slos": _slos(bounds, ticks)}
    found = _run(load, tokens, engine, demand, options)
    text = json.dumps(found.as_dict(), indent=2, allow_nan=False)
    names = [] if folder is None else _write(found, text, folder)
    if json_:
        print(text)
    else:
        from fluidkv.cli.recommend_text import print_recommendation

        print_recommendation(found, load.name, notes, Console(highlight=False))
        if folder is not None:
            print(arguments.written_to(folder, names))
    return NO_PICK if found.choice.index is None else 0


def _run(
    load: "Workload | Trace",
    tokens: int,
    engine: str,
    demand: "Demand",
    options: dict[str, Any],
) -> "Recommendation":
    from fluidkv.answers.recommend import recommend_settings

    console = Console(stderr=True, highlight=False)
    with console.status("running every setting (Ctrl-C stops)") as status:

        def show(_: int, served: int) -> None:
            if console.is_terminal:
                status.update(f"running every setting: {served:,} requests served (Ctrl-C stops)")

        try:
            return recommend_settings(
                load, tokens, engine=engine, demand=demand, on_progress=show, **options
            )
        except InputError as error:
            name = _option_of(error.argument, options)
            raise InputError(name, error.value, error.allowed) from None


def _option_of(argument: str, options: dict[str, Any]) -> str:
    """What the reader wrote: a knob may have been given as it is set now, or to be tried."""
    as_set = argument in options["now"].changed(type(options["now"])())
    if as_set and argument not in options["candidates"]:
        return "--now"
    return _OPTIONS.get(argument, argument)


# --- what is served -----------------------------------------------------------------------------


def _load(
    source: str | None, class_: list[str] | None, preset: str | None, format_: str | None
) -> "tuple[Workload | Trace, LoadReport | None]":
    if class_:
        return arguments.request_classes(class_), None
    if preset is not None:
        from fluidkv.traces import preset as preset_workload

        return preset_workload(preset), None
    from fluidkv.traces import read_trace

    return read_trace(source or "", format=format_)


def _as_logged(
    source: str,
    tokens: int | None,
    clock: "IterationClock | None",
    options: dict[str, Any],
    notes: list[tuple[str, str]],
) -> "tuple[int | None, IterationClock | None]":
    """Capacity and clock, and in `options` how the server was set, where nobody says otherwise."""
    from fluidkv.cli.recommend_log import read_server

    server = read_server(source)
    logged = server.settings
    taken = []
    for name in ("block_size", "max_num_batched_tokens"):
        if options[name] is None and getattr(logged, name) is not None:
            options[name] = getattr(logged, name)
            taken.append(name)
    if options["now"].max_num_seqs is None and logged.max_num_seqs is not None:
        options["now"] = replace(options["now"], max_num_seqs=logged.max_num_seqs)
        taken.append("max_num_seqs")
    if taken:
        notes.append(("from the log", ", ".join(taken)))
    if clock is None and server.fit:
        notes.append(("", f"clock: {server.fit}"))
    if logged.version is not None:
        notes.append(("", f"logged with vllm {logged.version}"))
    if logged.prefix_caching:
        notes.append(("CAUTION", "the log's server had prefix caching on; these runs have none"))
    return tokens or server.capacity, clock or server.clock


def _demand(
    load: "Workload | Trace",
    clock: "IterationClock | None",
    rate: float | None,
    clients: int | None,
    replay: bool,
    speed: float | None,
) -> "tuple[Demand, str]":
    """Who asks, and why that, where nobody said: a trace with times is replayed if it can be."""
    from fluidkv.answers.recommend import Demand
    from fluidkv.traces import Trace

    given = [
        name
        for name, there in (("--rate", rate), ("--clients", clients), ("--replay", replay))
        if there
    ]
    if len(given) > 1:
        raise InputError(given[0], " ".join(given), "one of --rate, --clients, --replay")
    timed = isinstance(load, Trace) and load.arrival_times_s is not None
    why = ""
    if not given and timed:
        replay = clock is not None and clock.unit == "s"
        if not replay:
            why = "its times are in seconds: --clock would replay them"
    if replay and (clock is None or clock.unit != "s"):
        raise InputError("--replay", "no --clock", "together with a clock in seconds")
    if replay and not timed:
        raise InputError("--replay", load.name or "no trace", "a trace with arrival times")
    if speed != 1 and not replay:
        raise InputError("--speed", speed, "only where a trace is replayed")
    return Demand(rate=rate, clients=clients, replay=replay, speed=speed or 1.0), why


# --- from text to values ------------------------------------------------------------------------


def _clock(text: str) -> "IterationClock":
    from fluidkv.serving.clock import CLOCKS, IterationClock

    if text in CLOCKS:
        return CLOCKS[text]
    allowed = f"D0[:D1[:D2]] in seconds, such as 0.01:1.7e-7, D0 above 0; or {', '.join(CLOCKS)}"
    parts = text.split(":")
    if len(parts) > 3:
        raise InputError("--clock", text, allowed)
    numbers = [float(arguments.exact_number("--clock", part, allowed)) for part in parts]
    base, per_kv_token, per_prefill_token = (*numbers, 0.0, 0.0)[:3]
    try:
        return IterationClock(base, per_kv_token, per_prefill_token)
    except InputError:
        raise InputError("--clock", text, allowed) from None


def _now(texts: list[str]) -> "Setting":
    from fluidkv.answers.recommend.frontier import Setting

    allowed = "watermark=W, max_num_seqs=N or rate_cap=R, each once"
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = {"rate_cap": "admission_rate"}.get(name.strip(), name.strip())
        if not equals or name in values or name not in _AS_SET:
            raise InputError("--now", text, allowed)
        (values[name],) = _values("--now", value, name)
    return Setting(**values)


def _candidates(
    watermark: str | None, max_num_seqs: str | None, rate_cap: str | None, client_cap: str | None
) -> dict[str, list[Any]]:
    texts = (
        ("--watermark", "watermark", watermark),
        ("--max-num-seqs", "max_num_seqs", max_num_seqs),
        ("--rate-cap", "admission_rate", rate_cap),
        ("--client-cap", "clients", client_cap),
    )
    return {name: _values(option, text, name) for option, name, text in texts if text is not None}


def _values(option: str, text: str, knob: str) -> list[Any]:
    parts = text.split(",")
    if knob in ("max_num_seqs", "clients"):
        return [arguments.whole_number(option, p, least=1, most=_LARGEST_COUNT) for p in parts]
    if knob == "watermark":
        allowed = "shares in [0, 1), such as 0.02"
        shares = [arguments.exact_number(option, part, allowed) for part in parts]
        if not all(0 <= share < 1 for share in shares):
            raise InputError(option, text, allowed)
        return [float(share) for share in shares]
    allowed = "admissions an iteration, above 0, such as 0.5 or 1/2"
    rates = [arguments.exact_number(option, part, allowed) for part in parts]
    if not all(0 < value <= _LARGEST_COUNT for value in rates):
        raise InputError(option, text, allowed)
    return [max(value.limit_denominator(10**6), Fraction(1, 10**6)) for value in rates]


def _slo(text: str) -> "tuple[str, Slo, str]":
    """The text, the bound, and the unit in it; a bound in ms is in seconds then."""
    from fluidkv.answers.recommend.frontier import SLO_METRICS, Slo

    needs = "METRIC=BOUND, such as ttft_p99=2s or preemption_rate=0"
    name = text.partition("=")[0].strip()
    if name not in SLO_METRICS:
        close = difflib.get_close_matches(name, SLO_METRICS, n=3, cutoff=0.5)
        known = f"{needs}; METRIC one of {', '.join(SLO_METRICS)}"
        raise InputError("--slo", text, f"{needs}; near: {', '.join(close)}" if close else known)
    name, bound, unit = arguments.metric_bound("--slo", text, needs=needs)
    if unit and (unit not in _UNITS or not name.startswith(_TIMES)):
        what = "a time: a number, s or ms" if name.startswith(_TIMES) else "a number without a unit"
        raise InputError("--slo", text, f"{what}, for {name}")
    return text, Slo(name, float(bound * _UNITS.get(unit, 1))), unit


def _slos(bounds: "list[tuple[str, Slo, str]]", clock: "IterationClock | None") -> "list[Slo]":
    for text, _, unit in bounds:
        if unit and (clock is None or clock.unit != "s"):
            raise InputError("--slo", text, "a number of iterations, or --clock for seconds")
    return [slo for _, slo, _ in bounds]


def _tokens(text: str) -> int:
    value = arguments.capacity(text)
    if value.denominator != 1:
        raise InputError("--capacity", text, "a whole number of tokens")
    return value.numerator


def _count(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    return arguments.whole_number(option, text, least=1, most=_LARGEST_COUNT)


def _rate(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    allowed = "a finite number above 0"
    value = arguments.exact_number(option, text, allowed)
    if value <= 0:
        raise InputError(option, text, allowed)
    return float(value)


# --- files --------------------------------------------------------------------------------------


def _write(found: "Recommendation", text: str, folder: Path) -> list[str]:
    from fluidkv.figures import MANIFEST, write_figures
    from fluidkv.figures.answers.recommend import recommend_frontier

    files = {
        "recommend.json": (text + "\n").encode(),
        "recommend.csv": _table(found).encode(),
    }
    try:
        rendered = write_figures([recommend_frontier(found)], folder, beside=files)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", str(folder), f"a folder that takes files ({error})") from None
    return [*files, *(name for each in rendered for name in each.files), MANIFEST]


def _table(found: "Recommendation") -> str:
    """A row for each setting and run; empty where there is no cap or no value."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    knobs, metrics = list(found.table.coords), list(found.table.data_vars)
    rows.writerow([*knobs, "run", "frontier", "allowed", "pick", *metrics])
    for index in range(len(found.settings)):
        marks = (
            index in found.frontier,
            index in found.choice.allowed,
            index == found.choice.index,
        )
        set_to = [_cell(float(found.table[name].values[index])) for name in knobs]
        for run in range(found.runs):
            values = [_cell(float(found.table[name].values[index, run])) for name in metrics]
            rows.writerow([*set_to, run, *(int(mark) for mark in marks), *values])
    return text.getvalue()


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value == int(value) else repr(value)
