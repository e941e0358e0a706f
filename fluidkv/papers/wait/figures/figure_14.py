"""WAIT, Figure 14: Nested WAIT on a real trace, its own lengths and times."""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fluidkv.figures.figure import Data, Figure, array, scalar
from fluidkv.papers.wait.figures import azure, sweeps
from fluidkv.papers.wait.figures.conversations import MEMORY
from fluidkv.papers.wait.instances import server

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from fluidkv.runs.requests import Requests
    from fluidkv.wait.policy import NestedWait

_SPEEDS = (1, 2, 3)
_SECONDS, _WINDOW = 400.0, (150.0, 280.0)
_SEGMENTS = 10


def data(
    speeds: tuple[int, ...] = _SPEEDS,
    seconds: float = _SECONDS,
    window: tuple[float, float] = _WINDOW,
) -> Data:
    """As `sweeps.sweep`, over the speed at which the trace is replayed.

    "rate": prompts a second of the whole trace; "segment_memory", (speed,): M^pi of the least
    thresholds; "boundary": prompts of each at the first stage.

    Raises:
        MissingInput: the trace is not there.
    """
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.compare import Contender, Served, Unlimited

    points, memory, first = [], [], []
    ends = _segments(Fraction(1)).ends
    for speed in speeds:
        policy, needed = designed(Fraction(speed) * _rate())
        memory.append(needed)
        first.append(float(policy.thresholds[0]))
        contenders: dict[str, Contender] = {
            "new_first": Served("fcfs-new-first"),
            "running_first": Served("fcfs-running-first"),
            "nested": Unlimited(policy),
            "nested_fixed": Unlimited(NestedWait(ends, [1] * len(ends))),
        }
        points.append(sweeps.Point(speed, [_prompts(speed, seconds)], contenders, window))
    found = sweeps.sweep(points, clock=server.clock(), capacity=MEMORY)
    return {
        **found,
        "segment_memory": np.array(memory),
        "first_threshold": np.array(first),
        "rate": float(_rate()),
    }


def designed(rate: Fraction) -> "tuple[NestedWait, float]":
    """The least thresholds for the trace's distribution at a rate, and M^pi."""
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.theory.nested import integer_nested_thresholds

    segments = _segments(rate)
    found = integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    return NestedWait(segments.ends, found.thresholds), float(found.memory)


def _segments(rate: Fraction):
    """Ten segments of the outputs, and the mean input for all, rounded up."""
    from fluidkv.wait.prompts import prompt_types
    from fluidkv.wait.segments import Segments

    types = prompt_types(azure.trace().workload(), rate, bins=_SEGMENTS, common_input=True)
    return Segments.of(types.system(server.BASE, server.PER_KV_TOKEN))


def _rate() -> Fraction:
    """Prompts a second over the whole trace, to a thousandth."""
    times = azure.trace().arrival_times_s
    assert times is not None  # the format has them
    return Fraction(round(1000 * len(times) / max(times)), 1000)


def _prompts(speed: int, seconds: float) -> "Requests":
    """The trace from its start, faster, in the order of arrival."""
    from fluidkv.runs.requests import Requests

    trace = azure.trace()
    times = np.array(trace.arrival_times_s) / speed
    rows = np.argsort(times, kind="stable")
    rows = rows[times[rows] < seconds]
    return Requests(
        np.array(trace.input_lengths)[rows],
        np.array(trace.decode_lengths)[rows],
        arrival=times[rows],
    )


def draw(data: Data, canvas: "Canvas") -> None:
    sweeps.draw_sweep(data, canvas, FIGURE.title, "speed of the trace")


def caption(data: Data) -> str:
    x = array(data, "x")
    step = array(data, "first_threshold") / (x * scalar(data, "rate"))

    def each(values: np.ndarray, form: str) -> str:
        return ", ".join(format(value, form) for value in values)

    def later(key: str) -> str:
        return each(sweeps.ratio(data, "latency_mean", key, "running_first"), ".1f")

    return (
        f"{azure.TOLD}: its first {_SECONDS:.0f} s at {each(x, '.0f')} times its speed, "
        f"{scalar(data, 'rate'):.2f} prompts/s in the mean. {server.CLOCK_TOLD}. {MEMORY:,} "
        f"tokens for first come, first served; Nested WAIT, {_SEGMENTS} segments of equal width, "
        "is not limited, and evicts nobody. Its least thresholds for the trace's distribution "
        f"begin with {each(array(data, 'first_threshold'), '.0f')}, so that a token takes "
        f"{each(step, '.2f')} s at least on average, and the runs are too short for balance; "
        "a full batch of them holds "
        f"{each(array(data, 'segment_memory') / MEMORY, '.1f')} times this memory, and the runs "
        f"hold up to {each(array(data, 'nested.peak'), '.2f')} times; fixed thresholds of 1 hold "
        f"up to {each(array(data, 'nested_fixed.peak'), '.2f')} times. Latency over that of first "
        f"come, first served: {later('nested')} and {later('nested_fixed')}; throughput "
        f"{each(sweeps.ratio(data, 'throughput', 'nested', 'running_first'), '.2f')} and "
        f"{each(sweeps.ratio(data, 'throughput', 'nested_fixed', 'running_first'), '.2f')}. The "
        "paper has higher throughput and about 0.5 s more a prompt."
    )


FIGURE = Figure(
    id="wait_figure_14",
    title="A real trace: one prompt a stage is a large batch, so that Nested WAIT waits",
    source="WAIT, Figure 14 and section 6.2",
    parameters={
        "trace": azure.FILE,
        "speeds": list(_SPEEDS),
        "segments": _SEGMENTS,
        "capacity": MEMORY,
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": _SECONDS,
        "window_s": list(_WINDOW),
    },
    size=(10.5, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
