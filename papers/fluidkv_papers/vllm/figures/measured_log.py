"""A measured vLLM run: the batch swings about the predicted equilibrium at the predicted period."""

import os
from pathlib import Path

from fluidkv import exact
from fluidkv.answers.figures.measured_series import describe_measured, draw_measured, measured_data
from fluidkv.figures.figure import Canvas, Data, Figure, MissingInput
from fluidkv.logs.meta import read_settings
from fluidkv.measured import SURROGATE_SEED, compare_with_prediction, measure, read_timeseries
from fluidkv.traces import read_trace
from fluidkv.workload import System

LOG = "vllm_rtx4090_llama31_8b"


def data() -> Data:
    """The series, the mode fitted to it, its autocorrelation, and both periods.

    Raises:
        MissingInput: the log is not there.
    """
    folder = log_folder()
    series = read_timeseries(folder / "timeseries.csv")
    capacity = read_settings(folder).capacity
    if capacity is None:
        raise MissingInput(f"{LOG}/meta.json does not give the KV capacity")
    predicted = exact.stability(System(read_trace(folder).trace.workload(), capacity))
    in_flight = float(predicted.equilibrium.in_flight)
    versus = compare_with_prediction(measure(series), in_flight, predicted.leading_period)
    numbers = measured_data(series, versus, predicted)
    # The title speaks of these; a log that was exchanged for another may not have them.
    if "mode" not in numbers or "measured_period_s" not in numbers:
        raise MissingInput("no oscillation, predicted or measured, in this log")
    return numbers


def draw(data: Data, canvas: Canvas) -> None:
    draw_measured(data, canvas, FIGURE.title)


def caption(data: Data) -> str:
    return (
        "Requests running in vLLM 0.19.0 on one RTX 4090 with "
        f"{data['capacity']:,.0f} KV tokens; the prediction is from the lengths of its "
        f"{data['requests']:.0f} requests. The window is the stretch with a backlog, less "
        f"its first and last tenth. {describe_measured(data)}"
    )


def log_folder() -> Path:
    default = Path(__file__).parents[5] / "shared" / "traces"  # beside a checkout
    folder = Path(os.environ.get("FLUIDKV_TRACES") or default) / LOG
    if not (folder / "timeseries.csv").is_file():
        raise MissingInput(f"no measured log: FLUIDKV_TRACES names no folder with {LOG}")
    return folder


FIGURE = Figure(
    id="measured_log",
    title="A saturated vLLM server oscillates near the predicted level and period",
    source="Measured log vllm_rtx4090_llama31_8b, from the examples of LLMServingSim (MIT)",
    parameters={"log": LOG, "window": "default of fluidkv.measured", "seed": SURROGATE_SEED},
    size=(9.0, 5.4),
    data=data,
    draw=draw,
    caption=caption,
)
