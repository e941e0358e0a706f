"""`fluidkv replay`: a measured run, predicted from its requests and a clock from half of it."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

from fluidkv.answers.memory import LoggedMemory, converted_rows
from fluidkv.answers.served.server_options import ENGINE
from fluidkv.questions.kinds import Text, Whole, Word
from fluidkv.questions.options import RUN, SERVER, Made, Option
from fluidkv.questions.question import Late, Question

if TYPE_CHECKING:
    from fluidkv.answers.replay.result import Replay

_COUNT = Whole(1, 2**30 - 1)  # of a capacity in tokens, as the limits of an engine have it
_server = partial(Option, panel=SERVER)
_SOURCE = Option(
    "SOURCE",
    Text(),
    "Log folder of a run: of vLLM requests.jsonl and timeseries.csv, of SGLang requests.jsonl and "
    "decode_log.csv; and, for the server's settings, meta.json.",
    None,
)
_FIT = Option(
    "--fit HALF",
    Word(("first", "second")),
    "Half of the run that the clock is fitted to: first or second.",
    RUN,
    means=("points",),
)
_ENGINE = _server(
    "--engine NAME", ENGINE, r"Engine whose rules are replayed. \[default: that of the log]"
)
_BLOCK = _server(
    "--block-size TOKENS", _COUNT, r"Tokens of a KV block. \[default: as meta.json says]"
)
_SEQS = _server(
    "--max-num-seqs N", _COUNT, r"Cap on running requests. \[default: as meta.json says, or none]"
)
_BUDGET = _server(
    "--max-num-batched-tokens TOKENS",
    _COUNT,
    r"Most tokens of an iteration. \[default: as meta.json says, or no limit]",
)


def ask_replay(
    source: Annotated[str, _SOURCE],
    memory: Annotated[LoggedMemory, Made(LoggedMemory)],
    fit: Annotated[str, _FIT] = "first",
    engine: Annotated[str | None, _ENGINE] = None,
    block_size: Annotated[int | None, _BLOCK] = None,
    max_num_seqs: Annotated[int | None, _SEQS] = None,
    max_num_batched_tokens: Annotated[int | None, _BUDGET] = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> "Replay":
    """Predict one half of a measured run from the other.

    The log's requests, at their own times, go through the engine's rules; the
    duration of an iteration is fitted on one half. Predicted against measured,
    of the other half: running, waiting, KV in use, tokens per second, latencies.
    """
    from fluidkv.answers.replay.replay import replay_log

    return replay_log(
        source,
        fit="first" if fit == "first" else "second",
        engine=engine,
        capacity=memory.count(block_size),
        block_size=block_size,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        on_progress=on_progress,
    )


REPLAY = Question(
    name="replay",
    ask=ask_replay,
    say=Late("fluidkv.answers.replay.page:say_replay"),
    figures=Late("fluidkv.answers.figures.replay_steps:figure_of_replay"),
    tables=Late("fluidkv.answers.replay.result:files"),
    notes=lambda options: converted_rows(options, options["block_size"]),
    doing="replaying the log",
    assumes=(
        "Requests come when the log says and have the lengths that it says; which run, wait "
        "or are preempted follows from the engine's rules.",
        "How long an iteration lasts stands beside 'clock'. That is fitted to one half of the log; "
        "the other half is predicted.",
        "The baseline knows all lengths and the mean token rate of the fitted half.",
    ),
    examples=("fluidkv replay LOG_FOLDER",),
    time="s",
    sweep=None,
)
