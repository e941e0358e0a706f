"""`fluidkv replay`: a measured run, predicted from its requests and a clock from half of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fluidkv.cli import arguments
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.replay import Replay

_OPTIONS = {  # of the function -> of the command line
    "block_size": "--block-size",
    "capacity": "--capacity",
    "engine": "--engine",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_num_seqs": "--max-num-seqs",
    "points": "--fit",
    "source": "SOURCE",
}
_HALVES = ("first", "second")
_LARGEST = 2**30 - 1  # of a capacity in tokens, as the limits of an engine have it


def replay(
    source: Annotated[
        str,
        typer.Argument(
            help="Log folder of a vLLM run: requests.jsonl, timeseries.csv and, for the server's "
            "settings, meta.json."
        ),
    ],
    fit: Annotated[
        str,
        typer.Option(metavar="HALF", help="Of the run, for the clock: first or second."),
    ] = "first",
    engine: Annotated[
        str | None,
        typer.Option(help=r"Rules to replay with. \[default: vllm, or as meta.json says]"),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS", help=r"That requests can hold. \[default: as meta.json says]"
        ),
    ] = None,
    block_size: Annotated[
        str | None, typer.Option(metavar="TOKENS", help=r"\[default: as meta.json says]")
    ] = None,
    max_num_seqs: Annotated[
        str | None, typer.Option(metavar="N", help=r"\[default: as meta.json says, or none]")
    ] = None,
    max_num_batched_tokens: Annotated[
        str | None,
        typer.Option(metavar="TOKENS", help=r"\[default: as meta.json says, or no limit]"),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write tables, replay.nc, replay.json and a figure here."),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print only JSON on standard output.")
    ] = False,
) -> None:
    """What half of a measured run says of the other half.

    The log's requests, at their own times, go through the engine's rules; the
    duration of an iteration is fitted on one half. Predicted against measured:
    running, waiting, KV in use, tokens a second and latencies of the other half.

    [bold]fluidkv replay LOG_FOLDER[/bold]
    """
    from fluidkv.answers.replay import as_dict, replay_log

    folder = arguments.writable_folder("--out", out) if out is not None else None
    if fit not in _HALVES:
        raise InputError("--fit", fit, "first or second")
    counts: dict[str, Any] = {
        name: None if text is None else arguments.whole_number(option, text, least=1, most=_LARGEST)
        for name, option, text in (
            ("capacity", "--capacity", capacity),
            ("block_size", "--block-size", block_size),
            ("max_num_seqs", "--max-num-seqs", max_num_seqs),
            ("max_num_batched_tokens", "--max-num-batched-tokens", max_num_batched_tokens),
        )
    }
    try:
        found = replay_log(source, fit=fit, engine=engine, **counts)
    except InputError as error:
        option = _OPTIONS.get(error.argument, error.argument)
        raise InputError(option, error.value, error.allowed) from None
    text = json.dumps(as_dict(found), indent=2, allow_nan=False)
    names = [] if folder is None else _write(found, text, folder)
    if json_:
        print(text)
        return
    from fluidkv.cli.replay_text import print_replay

    print_replay(found, Console(highlight=False))
    if folder is not None:
        print(arguments.written_to(folder, names))


def _write(found: "Replay", text: str, folder: Path) -> list[str]:
    from fluidkv.answers.replay import as_dataset, tables
    from fluidkv.figures import MANIFEST, write_figures
    from fluidkv.papers.vllm.figures.replay_measured import replay_figure

    answer = {"replay.json": (text + "\n").encode()}
    answer |= {name: table.encode() for name, table in tables(found).items()}
    answer["replay.nc"] = bytes(as_dataset(found).to_netcdf(engine="scipy"))
    try:
        rendered = write_figures([replay_figure(found)], folder, beside=answer)
    except OSError as error:  # the disk filled up, or the folder changed since it was checked
        raise InputError("--out", str(folder), f"a folder that takes files ({error})") from None
    return [*answer, *(name for each in rendered for name in each.files), MANIFEST]
