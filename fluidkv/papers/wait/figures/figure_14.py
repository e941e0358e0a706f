"""WAIT, Figure 14: Nested WAIT on a real trace, its own lengths and times."""

from fractions import Fraction
from functools import partial

import numpy as np

from fluidkv import runs, wait
from fluidkv.figures.figure import Data, Figure
from fluidkv.papers.wait.figures import azure, sweeps
from fluidkv.papers.wait.figures.conversations import MEMORY
from fluidkv.papers.wait.instances import server

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
    points, memory, first = [], [], []
    ends = _segments(Fraction(1)).ends
    for speed in speeds:
        policy, needed = designed(Fraction(speed) * _rate())
        memory.append(needed)
        first.append(float(policy.thresholds[0]))
        contenders: dict[str, wait.Contender] = {
            "new_first": wait.Served("fcfs-new-first"),
            "running_first": wait.Served("fcfs-running-first"),
            "nested": wait.Unlimited(policy),
            "nested_fixed": wait.Unlimited(wait.NestedWait(ends, [1] * len(ends))),
        }
        points.append(sweeps.Point(speed, [_prompts(speed, seconds)], contenders, window))
    found = sweeps.sweep(points, clock=server.clock(), capacity=MEMORY)
    return {
        **found,
        "segment_memory": np.array(memory),
        "first_threshold": np.array(first),
        "rate": float(_rate()),
    }


def designed(rate: Fraction) -> "tuple[wait.NestedWait, float]":
    """The least thresholds for the trace's distribution at a rate, and M^pi."""
    segments = _segments(rate)
    found = wait.integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    return wait.NestedWait(segments.ends, found.thresholds), float(found.memory)


def _segments(rate: Fraction):
    """Ten segments of the outputs, and the mean input for all, rounded up."""
    types = wait.prompt_types(azure.trace().workload(), rate, bins=_SEGMENTS, common_input=True)
    return wait.Segments.of(types.system(server.BASE, server.PER_KV_TOKEN))


def _rate() -> Fraction:
    """Prompts a second over the whole trace, to a thousandth."""
    times = azure.trace().arrival_times_s
    assert times is not None  # the format has them
    return Fraction(round(1000 * len(times) / max(times)), 1000)


def _prompts(speed: int, seconds: float) -> "runs.Requests":
    """The trace from its start, faster, in the order of arrival."""
    trace = azure.trace()
    times = np.array(trace.arrival_times_s) / speed
    rows = np.argsort(times, kind="stable")
    rows = rows[times[rows] < seconds]
    return runs.Requests(
        np.array(trace.input_lengths)[rows],
        np.array(trace.decode_lengths)[rows],
        arrival=times[rows],
    )


def caption(data: Data) -> str:
    x = data["x"]
    step = data["first_threshold"] / (x * data["rate"])

    def each(values: np.ndarray, form: str) -> str:
        return ", ".join(format(value, form) for value in values)

    def later(key: str) -> str:
        return each(sweeps.ratio(data, "latency_mean", key, "running_first"), ".1f")

    return (
        f"{azure.TOLD}: its first {_SECONDS:.0f} s at {each(x, '.0f')} times its speed, "
        f"{data['rate']:.2f} prompts/s in the mean. {server.CLOCK_TOLD}. {MEMORY:,} "
        f"tokens for first come, first served; Nested WAIT, {_SEGMENTS} segments of equal width, "
        "is not limited, and evicts nobody. Its least thresholds for the trace's distribution "
        f"begin with {each(data['first_threshold'], '.0f')}, so that a token takes "
        f"{each(step, '.2f')} s at least on average, and the runs are too short for balance; "
        "a full batch of them holds "
        f"{each(data['segment_memory'] / MEMORY, '.1f')} times this memory, and the runs "
        f"hold up to {each(data['nested.peak'], '.2f')} times; fixed thresholds of 1 hold "
        f"up to {each(data['nested_fixed.peak'], '.2f')} times. Latency over that of first "
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
    draw=partial(sweeps.draw_sweep, x="speed of the trace"),
    caption=caption,
)
