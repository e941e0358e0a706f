"""A measured SGLang run against its own scheduler here, with a clock from half of the log."""

import os
from pathlib import Path

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay_steps import SIZE, describe, draw_steps, steps_data
from fluidkv.figures.figure import Data, Figure, MissingInput

LOG = "sglang_rtx4090_qwen3_4b"


def log_folder() -> Path:
    """The log beside a checkout.

    Raises:
        MissingInput: it is not there.
    """
    default = Path(__file__).parents[5] / "shared" / "traces"
    folder = Path(os.environ.get("FLUIDKV_TRACES") or default) / LOG
    if not (folder / "decode_log.csv").is_file():
        raise MissingInput(f"no measured log: FLUIDKV_TRACES names no folder with {LOG}")
    return folder


def data() -> Data:
    """Of the log beside a checkout.

    Raises:
        MissingInput: the log is not there.
    """
    return steps_data(replay_log(log_folder()))


FIGURE = Figure(
    id="sglang_run",
    title="SGLang's scheduler and a clock from the first half of a log, against all of the run",
    source="Measured log sglang_rtx4090_qwen3_4b, HwaminJung00, CC BY 4.0",
    parameters={"log": LOG, "fitted": "first"},
    size=SIZE,
    data=data,
    draw=draw_steps,
    caption=describe,
)
