"""WAIT, Figure 14: Nested WAIT on a real trace, its own lengths and times."""

import math
from fractions import Fraction

import numpy as np

from fluidkv import runs, serving, wait
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, GREY
from fluidkv.wait.prompts import prompt_types
from fluidkv_papers.bands import listed, ratio
from fluidkv_papers.wait.figures import azure, sweeps
from fluidkv_papers.wait.figures.conversations import MEMORY
from fluidkv_papers.wait.instances import compared, server

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
    thresholds; "first_threshold": prompts of each at the first stage. "brought" and "left":
    output tokens a second, of `_across`, for the running first.

    Raises:
        MissingInput: the trace is not there.
    """
    points, memory, first, across = [], [], [], []
    ends = _segments(Fraction(1)).ends
    for speed in speeds:
        policy, needed = designed(Fraction(speed) * _rate())
        memory.append(needed)
        first.append(float(policy.thresholds[0]))
        contenders: dict[str, compared.Contender] = {
            "new_first": compared.Served("fcfs-new-first"),
            "running_first": compared.Served("fcfs-running-first"),
            "nested": compared.Unlimited(policy),
            "nested_fixed": compared.Unlimited(wait.NestedWait(ends, [1] * len(ends))),
        }
        table = _prompts(speed, seconds)
        points.append(sweeps.Point(speed, [table], contenders, window))
        across.append(_across(table, window))
    found = sweeps.sweep(points, clock=server.clock(), capacity=MEMORY)
    return {
        **found,
        "segment_memory": np.array(memory),
        "first_threshold": np.array(first),
        "brought": np.array([brought for brought, _ in across]),
        "left": np.array([left for _, left in across]),
        "rate": float(_rate()),
    }


def designed(rate: Fraction) -> "tuple[wait.NestedWait, float]":
    """The least thresholds for the trace's distribution at a rate, and M^pi."""
    segments = _segments(rate)
    found = wait.integer_nested_thresholds(segments, server.BASE, server.PER_KV_TOKEN)
    return wait.NestedWait(segments.ends, found.thresholds), float(found.memory)


def _segments(rate: Fraction):
    """Ten segments of the outputs, and the mean input for all, rounded up."""
    types = prompt_types(azure.trace().workload(), rate, bins=_SEGMENTS, common_input=True)
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


def _across(table: "runs.Requests", window: tuple[float, float]) -> tuple[float, float]:
    """Output tokens a second over the ends of the window, first come, first served.

    Returns:
        Of prompts that came before it and complete in it, and of those that came in it and do not.
        What completes beyond what was asked for is the first less the second.
    """
    clock = server.clock()
    run = serving.serve(
        wait.engine_requests(table),
        serving.Server("fcfs-running-first", serving.Limits(MEMORY), clock),
        iterations=math.ceil(table.arrival[-1] / clock.base) + 1,
    ).isel(run=0)
    first, last = window
    done = run.finished.values & (first < run.last_token.values) & (run.last_token.values <= last)
    came = (first <= table.arrival) & (table.arrival < last)
    brought, left = (
        float(table.output_length[rows].sum()) / (last - first)
        for rows in (done & (table.arrival < first), came & ~done)
    )
    return brought, left


def _draw(data: Data, canvas: Canvas) -> None:
    sweeps.draw_sweep(data, canvas, x="speed of the trace")
    place = int((data["brought"] - data["left"]).argmax())
    x, above = data["x"][place], data["running_first.throughput"][place] / 1e3
    canvas.axes[0].annotate(
        "above what was asked: the window\nalso counts prompts from before it\n"
        f"({data['brought'][place]:,.0f} tokens/s at speed {x:.0f}); of its own,\n"
        f"fewer are left at its end ({data['left'][place]:,.0f})",
        (x, above),
        (0.985, 0.2),
        textcoords="axes fraction",
        ha="right",
        color=BLACK,
        fontsize=8,
        arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.8, "shrinkB": 5},
    )


def caption(data: Data) -> str:
    x = data["x"]
    step = data["first_threshold"] / (x * data["rate"])

    def later(key: str) -> str:
        return listed(ratio(data, "latency_mean", key, "running_first"), ".1f")

    return (
        f"{azure.TOLD}: its first {_SECONDS:.0f} s at {listed(x, '.0f')} times its speed, "
        f"{data['rate']:.2f} prompts/s in the mean. {server.CLOCK_TOLD}. {MEMORY:,} "
        f"tokens for first come, first served; Nested WAIT, {_SEGMENTS} segments of equal width, "
        "is not limited, and evicts nobody. Its least thresholds for the trace's distribution "
        f"begin with {listed(data['first_threshold'], '.0f')}, so that a token takes "
        f"{listed(step, '.2f')} s at least on average, and the runs are too short for balance; "
        "a full batch of them holds "
        f"{listed(data['segment_memory'] / MEMORY, '.1f')} times this memory, and the runs "
        f"hold up to {listed(data['nested.peak'], '.2f')} times; fixed thresholds of 1 hold "
        f"up to {listed(data['nested_fixed.peak'], '.2f')} times. Latency over that of first "
        f"come, first served: {later('nested')} and {later('nested_fixed')}; throughput "
        f"{listed(ratio(data, 'throughput', 'nested', 'running_first'), '.2f')} and "
        f"{listed(ratio(data, 'throughput', 'nested_fixed', 'running_first'), '.2f')}. First "
        "come, first served completes more than was asked for in the window where prompts that "
        f"came before it bring more, {listed(data['brought'], ',.0f')} output tokens/s, than is "
        f"left at its end, {listed(data['left'], ',.0f')}. The paper has higher throughput and "
        "about 0.5 s more a prompt."
    )


FIGURE = Figure(
    id="wait_figure_14",
    title="On a real trace one prompt per stage is already a large batch, so Nested WAIT waits",
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
    draw=_draw,
    caption=caption,
)
