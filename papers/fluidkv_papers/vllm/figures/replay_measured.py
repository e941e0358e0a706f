"""A measured vLLM run against what the engine's rules predict, with a clock from half of it."""

from fluidkv.answers import replay_log
from fluidkv.answers.figures.replay import SIZE, describe, draw_replay, replay_data
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv_papers.vllm.figures.measured_log import LOG, log_folder


def data() -> Data:
    """Of the log beside a checkout.

    Raises:
        MissingInput: the log is not there.
    """
    return replay_data(replay_log(log_folder()))


def draw(data: Data, canvas: Canvas) -> None:
    draw_replay(data, canvas, FIGURE.title)


FIGURE = Figure(
    id="replay_measured",
    title="vLLM's rules and a clock from the first half, against the second half of a measured run",
    source="Measured log vllm_rtx4090_llama31_8b, from the examples of LLMServingSim (MIT)",
    parameters={"log": LOG, "fitted": "first"},
    size=SIZE,
    data=data,
    draw=draw,
    caption=describe,
)
