"""`fluidkv replay`: a measured run, predicted from its requests and a clock from half of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import UNSAID_MEMORY, LoggedMemory
from fluidkv.answers.served.server_options import engine_named
from fluidkv.cli import arguments as read
from fluidkv.cli.asked import as_written
from fluidkv.cli.options import RUN, SERVER, Html, Json, argument, option, out
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.errors import InputError

if TYPE_CHECKING:
    from fluidkv.answers.replay import Replay
    from fluidkv.figures.figure import Figure

_ARGUMENTS = {"points": "--fit"}  # of functions
_HALVES = ("first", "second")
_LARGEST = 2**30 - 1  # of a capacity in tokens, as the limits of an engine have it


_LOG = (
    "Log folder of a run: of vLLM requests.jsonl and timeseries.csv, of SGLang requests.jsonl and "
    "decode_log.csv; and, for the server's settings, meta.json."
)
_Log = Annotated[str, argument("SOURCE", str, _LOG)]
_FIT = "Half of the run that the clock is fitted to: first or second."
_Fit = Annotated[str, option("--fit HALF", str, _FIT, RUN)]
_ENGINE = r"Engine whose rules are replayed. \[default: that of the log]"
_Engine = Annotated[str | None, option("--engine NAME", engine_named, _ENGINE, SERVER)]


def _count(spec: str, help: str) -> Any:
    return option(spec, read.whole_number, help, SERVER, most=_LARGEST)


_BLOCK = r"Tokens of a KV block. \[default: as meta.json says]"
_Block = Annotated[int | None, _count("--block-size TOKENS", _BLOCK)]
_SEQS = r"Cap on running requests. \[default: as meta.json says, or none]"
_Seqs = Annotated[int | None, _count("--max-num-seqs N", _SEQS)]
_BUDGET = r"Most tokens of an iteration. \[default: as meta.json says, or no limit]"
_Budget = Annotated[int | None, _count("--max-num-batched-tokens TOKENS", _BUDGET)]


def replay(
    source: _Log,
    fit: _Fit = "first",
    engine: _Engine = None,
    memory: LoggedMemory = UNSAID_MEMORY,
    block_size: _Block = None,
    max_num_seqs: _Seqs = None,
    max_num_batched_tokens: _Budget = None,
    out: Annotated[Path | None, out("tables, replay.nc, replay.json and a figure")] = None,
    html: Html = None,
    json_: Json = False,
) -> None:
    """Predict one half of a measured run from the other.

    The log's requests, at their own times, go through the engine's rules; the
    duration of an iteration is fitted on one half. Predicted against measured,
    of the other half: running, waiting, KV in use, tokens per second, latencies.

    [bold]fluidkv replay LOG_FOLDER[/bold]
    """
    if fit not in _HALVES:
        raise InputError("--fit", fit, "first or second")
    from fluidkv.answers.replay import replay_log
    from fluidkv.cli.commands.replay.text import ASSUMES, say_replay

    with progress("replaying the log") as line, as_written(_ARGUMENTS):
        found = replay_log(
            source,
            fit=fit,
            engine=engine,
            capacity=memory.count(block_size),
            block_size=block_size,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            on_progress=line.count,
        )
    give(
        found.to_dict,
        lambda page: say_replay(page, found),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="replay.json",
        notes=memory.notes(block_size),
        time="s",
        beside=lambda: _beside(found),
    )


def _beside(found: "Replay") -> "tuple[dict[str, bytes], list[Figure]]":
    from fluidkv.answers.figures.replay import replay_figure
    from fluidkv.answers.figures.replay_steps import steps_figure
    from fluidkv.answers.replay import tables
    from fluidkv.serving.clock_fit.steps import StepFit

    files = {name: table.encode() for name, table in tables(found).items()}
    files["replay.nc"] = bytes(found.to_xarray().to_netcdf(engine="scipy"))
    picture = steps_figure if isinstance(found.fit, StepFit) else replay_figure
    return files, [picture(found)]
